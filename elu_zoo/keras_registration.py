"""Registration of the layers and the optimizer as soon as Keras is imported.

`keras.models.load_model` finds a saved object by its registered name and imports only Keras' own
modules. `import elu_zoo` stays fast without Keras, so the modules below are imported after it.
"""

import importlib.util
import os
import sys

from elu_zoo import errors

_BACKENDS = "tensorflow", "jax"
_MODULES = "elu_zoo.activations", "elu_zoo.initializers", "elu_zoo.training.step.muon"


def install() -> None:
    """Imports the modules at once if Keras is imported, otherwise right after Keras."""
    if "keras" in sys.modules:
        _import_modules()
    else:
        sys.meta_path.insert(0, _AfterKeras)


def check_backend() -> None:
    """Checks that $KERAS_BACKEND names an installed package."""
    name = os.environ.get("KERAS_BACKEND") or "tensorflow"
    errors.check_choice("KERAS_BACKEND", name, _BACKENDS)
    if importlib.util.find_spec(name) is None:
        remedy = f'pip install "elu-zoo[{name}]"' if name == "jax" else "Install it"
        raise errors.UsageError(f"KERAS_BACKEND={name}, but {name} is not installed. {remedy}.")


def _import_modules() -> None:
    for name in _MODULES:
        importlib.import_module(name)
    layers = importlib.import_module("elu_zoo.layers")
    for name in layers.__all__:
        getattr(layers, name)


class _AfterKeras:
    """An import hook that imports the modules right after `keras`."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "keras":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        sys.meta_path.insert(0, cls)  # whoever asks for the place of Keras may not import it
        if spec:
            execute = spec.loader.exec_module

            def exec_module(module):
                try:
                    if os.environ.get("KERAS_BACKEND") in _BACKENDS:  # Keras has others
                        check_backend()
                except errors.UsageError as error:
                    raise ModuleNotFoundError(str(error)) from None
                execute(module)
                sys.meta_path.remove(cls)
                _import_modules()

            spec.loader.exec_module = exec_module
        return spec
