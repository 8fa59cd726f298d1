import numpy as np
import pytest

from elu_zoo.benchmark import op

SIZE = 1000


def inputs():
    draws = np.random.Generator(np.random.Philox(0))
    found = (
        draws.standard_normal(SIZE, np.float32),
        draws.standard_normal(SIZE, np.float32),
    )
    return [x.astype(np.float64) for x in found]


@pytest.mark.parametrize("kind", op.PASSES)
def test_every_form_runs(kind):
    forms = op.forms(SIZE, kind)
    assert op.BASELINE in forms and "jax" in forms
    for call in forms.values():
        call()


@pytest.mark.parametrize("form", ["ours, XLA", "tf.nn.elu, XLA", "tf.nn.elu, eager"])
def test_what_is_timed_is_the_unit(form):
    """The last element of the result, of the gradient where there is one."""
    x, dy = (values[-1] for values in inputs())
    value, slope = (x, 1) if x > 0 else (np.expm1(x), np.exp(x))
    found = [op.forms(SIZE, kind)[form]() for kind in op.PASSES]
    np.testing.assert_allclose(found, [[value], [dy * slope]], rtol=1e-6)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_other_libraries_compute_value_and_gradient(library):
    pytest.importorskip(library)
    x, dy = inputs()
    y = np.where(x > 0, x, np.expm1(x))
    value, gradient = op.forms(SIZE, op.PASSES[1])[library]()
    gradient = gradient[0] if library == "jax" else gradient
    value = value.detach() if library == "torch" else value
    np.testing.assert_allclose(value, y, rtol=1e-5, atol=1e-7)
    expected = dy * np.where(x > 0, 1, np.exp(x))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


def test_largest_errors():
    found = {n: op.largest_error(f) for n, f in op.APPROXIMATIONS.items()}
    assert found[op.BASELINE] < 2**-24
    # Schraudolph (1999) gives 6.1 % for the largest of his best in this sense; half
    # of a slope's interpolation is 6.1 %, of an exponential that is at most 1.
    assert 0.01 < found["Schraudolph's exponential, XLA"] < 0.061
    assert op.largest_error(lambda x: x * 0) == pytest.approx(1 - np.exp(-20))
