"""Scripts for tests of the web page: a stand-in server, and the visible content."""

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
ANSWERED = 'document.querySelectorAll(".took, .answer .error").length'


def model(name="net", signatures=("serve_bytes",), class_names=("a", "b"), **fields):
    described = {"activation": None, "input_shape": None, **fields}
    names = {"signatures": signatures, "class_names": class_names}
    return {"name": name, "version": 3, **names, **described}


def answered(prediction):
    return 200, json.dumps({"predictions": [prediction]})


def stub(models=None, **answers):
    """Returns a script that replaces fetch; `answers` are (status, text) by model."""
    found = {f"/v1/models/{name}:predict": answer for name, answer in answers.items()}
    if models is not None:
        found["/models"] = 200, json.dumps(models)
    return f"""window.fetch = async (path) => {{
        const found = {json.dumps(found)}[path];
        if (!found) throw new TypeError("it hung up");
        return new Response(found[1], {{status: found[0]}});
    }};"""
