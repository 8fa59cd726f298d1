import numpy as np
import pytest

from elu_zoo.benchmark import limit
from elu_zoo.benchmark.case import Case


def test_flop_of_a_training_step():
    first, others = 784 * 128, 7 * 128 * 128 + 128 * 10
    expected = 3 * 2 * (2 * first + 3 * others)
    assert Case("mnist_mlp_8x128", batch_size=3).flop == expected


def test_data_are_repeatable_noise_and_batches():
    case = Case("elu_cifar_11", batch_size=3, steps=2)
    split, batches = case.data()
    assert split.images.shape == (6, *case.create().input_shape[1:])
    assert sorted(batches.ravel()) == list(range(6)) and batches.shape == (2, 3)
    np.testing.assert_array_equal(case.data()[0].images, split.images)


def test_the_network_has_neither_dropout_nor_preprocessing():
    model = Case("elu_cifar_11", batch_norm=True).create()
    rates = [x.rate for x in model.layers if "drop" in x.name]
    assert len(rates) > 5 and not any(rates)
    names = [x.name for x in model.layers]
    assert names[1] == "stack1_conv1" and "norm_stack1_conv1" in names


def test_matrix_products_compute_in_their_dtype(monkeypatch):
    monkeypatch.setattr(limit, "_SIZE", 64)
    exact, rounded = (float(np.ravel(call())[0]) for call in limit.forms().values())
    draws = np.random.Generator(np.random.Philox(0)).standard_normal((64, 64))
    assert exact == pytest.approx(draws[0] @ draws[:, 0], rel=1e-3)
    assert rounded == pytest.approx(exact, abs=0.1) and rounded != exact
    assert limit.FLOP == 2 * 2048**3
