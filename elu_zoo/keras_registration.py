"""Registration of the layers and the optimizer as soon as Keras is imported.

`keras.models.load_model` finds a saved object by its registered name and imports no
modules except those of Keras. `import elu_zoo` must stay fast and imports neither Keras
nor TensorFlow. Therefore the modules below are imported right after Keras.
"""

import importlib
import importlib.util
import sys

_MODULES = "elu_zoo.activations", "elu_zoo.initializers", "elu_zoo.training.step.muon"


def install() -> None:
    """Imports the modules at once if Keras is imported, otherwise right after Keras."""
    if "keras" in sys.modules:
        _import_modules()
    else:
        sys.meta_path.insert(0, _AfterKeras)


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
        if spec := importlib.util.find_spec(name):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                _import_modules()

            spec.loader.exec_module = exec_module
        return spec
