"""elu_zoo: the ELU paper (Clevert et al., 2016, arXiv 1511.07289) as a model zoo.

Names are imported on first use, so that `import elu_zoo` is fast; type checkers see them all.
"""

import importlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from elu_zoo import errors as errors
from elu_zoo import keras_registration
from elu_zoo import training as training

if TYPE_CHECKING:
    from elu_zoo.activations.elu import ELU as ELU
    from elu_zoo.activations.elu import elu as elu
    from elu_zoo.activations.elu import elu_xla as elu_xla
    from elu_zoo.activations.table import register_activation as register_activation
    from elu_zoo.export.release import push_weights as push_weights
    from elu_zoo.images import decode_predictions as decode_predictions
    from elu_zoo.images import load_image as load_image
    from elu_zoo.images import preprocess_input as preprocess_input
    from elu_zoo.registry import register_model as register_model
    from elu_zoo.weights.card import model_card as model_card
    from elu_zoo.weights.fetch import fetch_weights as fetch_weights
    from elu_zoo.weights.manifest import list_weights as list_weights
    from elu_zoo.zoo import get_model as get_model
    from elu_zoo.zoo import list_models as list_models
    from elu_zoo.zoo import model_info as model_info

__version__ = "0.1.0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow's C++ code prints errors only

_IMPORTS = re.findall(r"^    from (\S+) import (\w+) as", Path(__file__).read_text("utf-8"), re.M)
_PUBLIC = {name: module for module, name in _IMPORTS}  # of the block above

__all__ = ["__version__", *_PUBLIC, "errors", "training"]

if not TYPE_CHECKING:  # For type checkers, a misspelt name is an error.

    def __getattr__(name):
        if name not in _PUBLIC:
            raise AttributeError(f"module 'elu_zoo' has no attribute {name!r}")
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)


keras_registration.install()
