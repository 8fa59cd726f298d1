"""Start-up: from the first line of a program to its first prediction."""

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
    """Returns what is timed, by name: a call runs a program in a new process."""

    def program(text: str) -> Callable[[], object]:
        command = [sys.executable, "-c", text]
        return lambda: subprocess.run(command, check=True, capture_output=True)

    return {name: program(text) for name, text in _PROGRAMS.items()}
