import numpy as np
import pytest

from elu_zoo.benchmark import op

SHAPE = (50, 20)


def inputs():
    draws = np.random.Generator(np.random.Philox(0))
    return [draws.standard_normal(SHAPE, np.float32).astype(float) for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("call", op.CALLS)
def test_every_form_computes_elu_and_its_gradient(call):
    """Forms of TensorFlow return the last row."""
    x, dy = inputs()
    y = np.where(x > 0, x, np.expm1(x))
    gradient = dy * np.where(x > 0, 1, np.exp(x))
    no_elu = {"relu", "copy (negation)"}
    for kind, expected in zip(op.PASSES, (y, gradient), strict=True):
        forms = op.forms(call, kind, SHAPE)
        assert forms.keys() >= op.FUNCTIONS.keys() | op.LAYERS.keys()
        for name in forms.keys() - no_elu:
            result = forms[name]()
            if name == "jax" and kind == op.PASSES[1]:
                result = result[1][0]
            elif name == "torch" and kind == op.PASSES[1]:
                result = result[0]
            last = np.asarray(result)[-1:]
            np.testing.assert_allclose(last, expected[-1:], rtol=1e-5, atol=2e-7)


def test_a_tape_of_the_op_keeps_as_much_as_that_of_the_stock_op(monkeypatch):
    monkeypatch.setattr(op, "MEMORY_FLOATS", 2**20)  # 4 MiB
    found = op.tape_memory() or pytest.skip("TensorFlow counts no memory on this CPU")
    # For a tensor of 4 MiB the allocator gives a free piece of memory of less than 8.
    assert {int(kept) // 4 for kept in found["kept"].values()} == {1}
    assert 8.0 <= found["peak"][op.STOCK] < 16.0


def test_the_polynomial_has_at_most_one_unit_of_error():
    assert op.ulps("jit")["elu_xla"] <= 1
