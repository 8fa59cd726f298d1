import numpy as np
import pytest

from elu_zoo.benchmark import op

SIZE = 1000


def inputs():
    draws = np.random.Generator(np.random.Philox(0))
    x = draws.standard_normal(SIZE, np.float32)
    dy = draws.standard_normal(SIZE, np.float32)
    return x.astype(np.float64), dy.astype(np.float64)


@pytest.fixture(scope="module")
def results():
    """Results of the forms: {pass: {name of the form: result}}."""
    return {
        kind: {name: call() for name, call in op.forms(SIZE, kind).items()}
        for kind in op.PASSES
    }


@pytest.mark.parametrize("form", ["ours, XLA", "tf.nn.elu, XLA", "tf.nn.elu, eager"])
def test_tensorflow_forms_return_the_last_element(results, form):
    """Forms with a backward pass return the last element of the gradient."""
    x, dy = (values[-1] for values in inputs())
    value, slope = (x, 1) if x > 0 else (np.expm1(x), np.exp(x))
    elements = [of_pass[form] for of_pass in results.values()]
    np.testing.assert_allclose(elements, [[value], [dy * slope]], rtol=1e-6)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_other_libraries_compute_elu(results, library):
    pytest.importorskip(library)
    x, dy = inputs()
    y = np.where(x > 0, x, np.expm1(x))
    value, gradient = results[op.PASSES[1]][library]
    gradient = gradient[0] if library == "jax" else gradient
    value = value.detach() if library == "torch" else value
    np.testing.assert_allclose(value, y, rtol=1e-5, atol=1e-7)
    expected = dy * np.where(x > 0, 1, np.exp(x))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


def test_largest_errors_are_within_their_bounds():
    largest = {n: op.largest_error(f) for n, f in op.APPROXIMATIONS.items()}
    assert largest[op.BASELINE] < 2**-24
    # At most 6.1 % of an exponential that is at most 1 (Schraudolph, 1999).
    assert 0.01 < largest["Schraudolph's exponential, XLA"] < 0.061
    assert op.largest_error(lambda x: x * 0) == pytest.approx(1 - np.exp(-20))
