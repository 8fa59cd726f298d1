"""Makes two logical CPU devices and a cache folder; skips tests without data or GPU."""

import gc
import os
import signal
from pathlib import Path

import numpy as np
import pytest

os.environ.pop("TF_CONFIG", None)
if "PYTEST_XDIST_WORKER" in os.environ:
    # pytest-xdist starts one worker per core, so each worker uses one thread. So do commands
    # that a test starts: sums of a product depend on the number of threads.
    os.environ |= {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
GPUS = []


def pytest_configure(config):
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return  # pytest-xdist's first process runs no test, and the import takes seconds
    if "gpu" not in config.getoption("markexpr").replace("not gpu", ""):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # tests count devices and name the hardware
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    GPUS.extend(tf.config.list_physical_devices("GPU"))
    for gpu in GPUS:
        tf.config.experimental.set_memory_growth(gpu, True)  # shared by several processes
    tf.config.list_logical_devices()  # initializes TensorFlow: tests cannot change devices


def pytest_collection_finish():
    # Collections of millions of objects, nearly all of imported modules, took a fifth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


# A process runs all files of these folders, whose fixtures for a session take many seconds.
SHARED = "tests/bin/", "tests/export/", "tests/serving_conformance/"


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadFileScheduling

    class LoadFolders(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return next(filter(nodeid.startswith, SHARED), None) or super()._split_scope(nodeid)

    return LoadFolders(config, log)


def pytest_runtest_setup(item):
    root = os.environ.get("TFDS_DATA_DIR", "")
    marker = item.get_closest_marker("data")
    for name in (marker.args or ("mnist",)) if marker else ():
        if name == "imagenet_sample":
            if not (root and (Path(root).parent / name).is_dir()):
                pytest.skip(f"there is no folder {name} beside TFDS_DATA_DIR")
        elif not (root and list(Path(root).glob(f"{name}/3.*.*/dataset_info.json"))):
            pytest.skip(f"TFDS_DATA_DIR names no folder with a prepared {name} 3.*.*")
    if item.get_closest_marker("gpu") and not GPUS:
        pytest.skip("TensorFlow sees no GPU")


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory):
    """A new folder as $ELU_ZOO_HOME, so that tests do not use the user's cache."""
    folder = tmp_path_factory.mktemp("elu_zoo_home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELU_ZOO_HOME", str(folder))
        yield folder


@pytest.fixture
def restored_models(monkeypatch):
    """Removes the networks that a test registers when it ends."""
    from elu_zoo import registry

    known = {name: registry.entry(name) for name in registry.names()}
    monkeypatch.setattr(registry, "_MODELS", known)


@pytest.fixture
def within():
    """A function that calls another one, and fails if the call hangs."""

    def fail(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(30)
    yield lambda function, *arguments: function(*arguments)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def made():
    """Small networks, as (entry, content of the weight file, model), by name."""
    import published_weights

    return {
        "elu": published_weights.make(),
        "relu": published_weights.make(activation="relu", seed=4),
        "elu_bn": published_weights.make(batch_norm=True, seed=5),
        "letters": published_weights.make("letters", seed=6, classes=list("abcdefghij")),
    }


@pytest.fixture
def published(made, tmp_path, monkeypatch):
    """The entries of `made` by name, which alone are in the manifest."""
    import published_weights

    published_weights.publish(monkeypatch, tmp_path, *made.values())
    return {name: entry for name, (entry, _, _) in made.items()}


@pytest.fixture
def quick_figures(monkeypatch):
    """Low resolution and no layout: both are slow, and tested in tests/pairs/test_plots.py."""
    figure = pytest.importorskip("matplotlib.figure")
    monkeypatch.setattr("elu_zoo.pairs.plots.DPI", 40)
    monkeypatch.setattr(figure, "Figure", lambda size, layout, figure=figure.Figure: figure(size))


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (5, 28, 28, 1), "uint8")
