"""elu_zoo: the ELU paper (Clevert et al., 2016, arXiv 1511.07289) as a model zoo.

Public names are imported on first use, so that `import elu_zoo` imports neither Keras
nor TensorFlow.
"""

import importlib
from typing import Any

from elu_zoo import keras_registration

__version__ = "0.1.0"

_PUBLIC = {
    "ELU": "elu_zoo.activations",
    "elu": "elu_zoo.activations",
    "elu_xla": "elu_zoo.activations",
    "register_activation": "elu_zoo.activations",
    "register_model": "elu_zoo.registry",
    "get_model": "elu_zoo.zoo",
    "list_models": "elu_zoo.zoo",
    "model_info": "elu_zoo.zoo",
    "model_card": "elu_zoo.weights.card",
    "load_image": "elu_zoo.images",
    "preprocess_input": "elu_zoo.images",
    "decode_predictions": "elu_zoo.images",
    "list_weights": "elu_zoo.weights.manifest",
    "fetch_weights": "elu_zoo.weights.fetch",
    "push_weights": "elu_zoo.export.release",
}

_MODULES = "errors", "training"

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"elu_zoo.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'elu_zoo' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


keras_registration.install()
