"""Fixtures for conformance tests of servers with TensorFlow Serving's interface.

The tests use a running server if the command states its addresses:

python -m pytest tests/serving_conformance --serving_rest=http://host:8501 \
    --serving_grpc=host:8500 --serving_model=mnist_mlp_8x128

Without addresses, the tests start our server with two exported models.
"""

import pytest

DENSE, CONV = "mnist_mlp_8x128", "elu_cifar_11"
_EXTRA = "tensorflow_serving", "aiohttp", "orjson", "prometheus_client", "grpc_health"


def pytest_addoption(parser):
    group = parser.getgroup("serving")
    group.addoption("--serving_rest", help="http://host:port of a server")
    group.addoption("--serving_grpc", help="host:port of the same server")
    group.addoption("--serving_model", help="an image classifier on the server")


@pytest.fixture(scope="session")
def exports(request, tmp_path_factory):
    """Returns a folder with exports of two networks, which tests must not change."""
    if request.config.getoption("--serving_rest", default=None):
        pytest.skip("needs a server started by the tests, but --serving_rest is set")
    from elu_zoo import zoo
    from elu_zoo.export import predictor
    from elu_zoo.export.saved_model import export_saved_model
    from elu_zoo.weights import pretrained

    for package in _EXTRA:
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("served")
    weights = pretrained.find(DENSE, "mnist")
    dense = zoo.get_model(DENSE, weights=weights)
    description = predictor.description(dense, DENSE, weights)
    export_saved_model(dense, folder, name=DENSE, **description)
    conv = zoo.get_model(CONV, width=0.05, num_classes=5, preprocessing=False)
    export_saved_model(conv, folder, name=CONV, class_names=list("abcde"))
    return folder


@pytest.fixture(scope="session")
def server(request, tmp_path_factory):
    """Returns a client of the running server, or of a server that the tests start."""
    import served

    rest, address = (
        request.config.getoption(f"--serving_{surface}", default=None)
        for surface in ("rest", "grpc")
    )
    if rest and address:
        yield served.Server(rest, address)
        return
    if rest or address:
        pytest.exit("Set both --serving_rest and --serving_grpc, or neither.", 2)
    log = tmp_path_factory.mktemp("server") / "log"
    with served.start_server(request.getfixturevalue("exports"), log) as client:
        yield client


@pytest.fixture(scope="session")
def model(request, server):
    """Returns the model that most tests use."""
    name = request.config.getoption("--serving_model", default=None)
    return server.model(name or DENSE)


@pytest.fixture(scope="session")
def conv(server, model):
    """Returns the convolutional network, or `model` if the tests started no server."""
    return model if server.process is None else server.model(CONV)


@pytest.fixture(scope="session")
def images(model):
    """Returns a batch of images for `model`."""
    return model.images(3)


@pytest.fixture
def needs_our_server(server):
    """Skips tests of behaviour that TensorFlow Serving does not have."""
    import served

    name = server.get("/livez").headers.get("Server", "")
    if not name.startswith(served.OURS):
        pytest.skip(f"tests only {served.OURS}, but the server is {name!r}")


@pytest.fixture
def models_folder(server):
    """Returns the folder of the served models; skips the test if it is unknown."""
    if server.folder is None:
        pytest.skip("needs the folder of the served models")
    return server.folder
