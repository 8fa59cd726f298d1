"""Idioms of other model zoos, and public functions with values of a wrong type."""

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors
from elu_zoo.configs import quickstart

IMAGES = np.zeros((1, 32, 32, 3), np.uint8)
CIFAR = "pass weights='cifar10' or weights='cifar100'"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: elu_zoo.get_model("elu_cifar_11", pretrained=True), CIFAR),
        (lambda: elu_zoo.get_model("elu_cifar_11", weights=True), CIFAR),
        (lambda: elu_zoo.get_model("elu_cifar_11", weights="imagenet"), CIFAR),
        (lambda: elu_zoo.get_model("elu_cifar_11", weights="DEFAULT"), CIFAR),
        (lambda: elu_zoo.get_model("elu_cifar_11", weights=""), CIFAR),
        (lambda: elu_zoo.get_model("fmp", weights="imagenet"), "with weights: alexnet"),
        (lambda: elu_zoo.get_model("nin", weight="cifar100"), "mean 'weights'"),
        (lambda: elu_zoo.get_model("nin", classes=9), "mean 'num_classes'"),
        (lambda: elu_zoo.model_info(np.zeros((9, 9))), "must be a string"),
        (lambda: elu_zoo.list_models(["elu*"]), "pattern must be a text"),
        (lambda: elu_zoo.list_models(pretrained="cifar1000"), "mean 'cifar100'"),
        (lambda: elu_zoo.elu("x"), "real numbers. Received: 'x'"),
        (lambda: elu_zoo.elu([[1.0], []]), "real numbers"),
        (lambda: elu_zoo.elu_xla(None), "real numbers"),
        (lambda: elu_zoo.register_model("nin"), "needs a function"),
        (lambda: elu_zoo.register_model(lambda activation="elu": None), "needs a function"),
        (lambda: elu_zoo.register_activation("plus", keras.ops.add), "of one tensor: missing"),
        (lambda: elu_zoo.load_image("no.png", "nin"), "does not exist"),
        (lambda: elu_zoo.load_image(IMAGES, "nin", digit="no"), "digit must be True or False"),
        (lambda: elu_zoo.preprocess_input(IMAGES, "nin", allow_unverified="no"), "True or False"),
        (lambda: elu_zoo.decode_predictions({"logits": IMAGES}, "nin"), "Received: {'logits'"),
        (lambda: elu_zoo.training.train(quickstart.get_config(), "a", accumulate=0), "accumulate"),
        (lambda: elu_zoo.decode_predictions([[np.inf]], "nin"), "infinity"),
    ],
)
def test_habits_of_other_zoos_get_one_line(tmp_path, monkeypatch, call, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.UsageError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())
