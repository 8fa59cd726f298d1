"""Start-up times: Python programs that import a library or predict one image."""

import functools
import subprocess
import sys
from collections.abc import Callable

BASELINE = "import tensorflow"
_PREDICT = (
    "import elu_zoo, numpy; "
    "model = elu_zoo.get_model('{name}', weights='{weights}'); "
    "model(numpy.zeros((1, *model.input_shape[1:]), 'uint8'))"
)
_PROGRAMS = {
    "python": "pass",
    "import elu_zoo": "import elu_zoo; elu_zoo.__all__",
    BASELINE: "import tensorflow",
    "import keras": "import keras",
    "first prediction, mnist_mlp_8x128": _PREDICT.format(
        name="mnist_mlp_8x128", weights="mnist"
    ),
    "first prediction, elu_cifar_11": _PREDICT.format(
        name="elu_cifar_11", weights="cifar100"
    ),
}


def forms() -> dict[str, Callable[[], object]]:
    """Returns functions that run a program in a new process, by name."""
    run = functools.partial(subprocess.run, check=True, capture_output=True)
    return {
        name: functools.partial(run, [sys.executable, "-c", program])
        for name, program in _PROGRAMS.items()
    }
