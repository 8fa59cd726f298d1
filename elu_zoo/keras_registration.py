"""Makes our layers and optimizer known to Keras as soon as Keras itself is imported.

`keras.models.load_model` finds a saved object by its registered name, and imports no
package but its own to look for it. Importing ours with `import elu_zoo` would
load Keras and TensorFlow there; so they are imported right after Keras, whoever
imports it.
"""

import importlib
import importlib.util
import sys

_MODULES = (
    *("elu_zoo.activations", "elu_zoo.initializers", "elu_zoo.layers"),
    "elu_zoo.training.muon",
)


def install() -> None:
    """Registers the layers now, if Keras is imported already, or right after it."""
    if "keras" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _AfterKeras)


def _register() -> None:
    for name in _MODULES:
        importlib.import_module(name)


class _AfterKeras:
    """A finder that leaves the search to the others and acts after Keras has run."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "keras":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                _register()

            spec.loader.exec_module = exec_module
        return spec
