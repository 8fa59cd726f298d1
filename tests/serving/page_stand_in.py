"""JavaScript that replaces the server and reads the web page in tests."""

import json

# JavaScript that returns the visible content of each model.
SHOWN = """[...document.querySelectorAll(".model")].map((model) => {
    const all_of = (selector) => [...model.querySelectorAll(selector)];
    const texts = (selector) => all_of(selector).map((e) => e.textContent);
    const canvas = model.querySelector("canvas");
    const area = canvas && [0, 0, canvas.width, canvas.height];
    return {
        text: model.innerText, title: texts("h2")[0], names: texts(".name"),
        percents: texts(".percent"), errors: texts(".error"), took: texts(".took"),
        widths: all_of(".bar").map((e) => e.offsetWidth),
        pixels: canvas && [...canvas.getContext("2d").getImageData(...area).data],
    };
})"""
# JavaScript that returns the number of models that show outputs or an error.
ANSWERED = 'document.querySelectorAll(".took, .answer .error").length'


def model(name="net", signatures=("serve_bytes",), class_names=("a", "b"), **fields):
    """Returns a model as the server's list of models describes it."""
    facts = {"activation": None, "input_shape": None, **fields}
    names = {"signatures": signatures, "class_names": class_names}
    return {"name": name, "version": 3, **names, **facts}


def success(prediction):
    """Returns the response (status, text) of a server to a request of one image."""
    return 200, json.dumps({"predictions": [prediction]})


def replace_fetch(models=None, **responses):
    """Returns a script that replaces `window.fetch`; requests to other paths fail.

    `models` is the list of models, and `responses` has (status, text) by model name or
    by path.
    """
    by_path = {
        name if name.startswith("/") else f"/v1/models/{name}:predict": response
        for name, response in responses.items()
    }
    if models is not None:
        by_path["/models"] = 200, json.dumps(models)
    return f"""window.fetch = async (path) => {{
        const response = {json.dumps(by_path)}[path];
        if (!response) throw new TypeError("it hung up");
        return new Response(response[1], {{status: response[0]}});
    }};"""
