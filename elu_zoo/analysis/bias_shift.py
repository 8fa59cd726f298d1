"""The theorems of the paper's section 2, for every unit of a classifier's layers.

See `elu_zoo.analysis.natural_gradient` for the terms.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.analysis import natural_gradient
from elu_zoo.models import arguments

_VALUES = 2**26  # of all layers' outputs at once, to bound the memory
_LARGEST = 0.1  # share of the covariances that `positive_share` looks at


@dataclasses.dataclass(frozen=True, eq=False)
class BiasShift:
    """Of each unit of a layer, float64 `(units,)`.

    A dead unit, whose deltas are all 0, has no q: NaN stands for what follows from it.

    Attributes:
        k: the factor of the bias unit (Theorem 2), 1 where nothing is corrected.
        weighted_mean_length: Euclidean length of E_q(a).
        mean_length: Euclidean length of E_p(a), the same for all units.
        delta2: E_p(delta^2).
        effective_draws: (sum of delta^2)^2 / sum of delta^4: how many draws of equal
            delta^2 q is as good as. Where they are few, they decide all numbers here.
        positive_share: of the largest tenth, rounded up, of the components of
            Cov_p(delta^2, a) by absolute value, the positive ones; incoming units
            that do not vary are not counted.
        uncorrected_shift: the bias shift of the unit's natural gradient without
            correction, b = 0 and s = 1 / c; None without labels.
        shift: the same with correction; None without labels.
    """

    k: np.ndarray
    weighted_mean_length: np.ndarray
    mean_length: np.ndarray
    delta2: np.ndarray
    effective_draws: np.ndarray
    positive_share: np.ndarray
    uncorrected_shift: np.ndarray | None
    shift: np.ndarray | None


def bias_shift(
    model: keras.Model,
    images: Any,
    *,
    labels: Any = None,
    fisher: str = "drawn",
    layers: Sequence[str] | None = None,
    damping: float = 0.0,
    draws: int = 4096,
    seed: int = 0,
) -> dict[str, BiasShift]:
    """Returns what Theorem 2 says of each unit of a classifier's layers.

    The gradient is that of the mean cross-entropy of the labels. A shift is the change
    of the unit's mean net input when the natural gradient is added to its weights; a
    step of learning rate eta shifts by -eta times it.

    The theory is of perceptrons. Of a convolution each position of each image is
    taken as a draw of z: a is its patch, `(height * width * channels,)` with the zeros
    of the padding, delta the derivative by the net input there, and the gradient the
    mean over these draws (an image's gradient is their sum over its positions).

    An incoming unit that is 0 in all draws with delta not 0 has a zero row in F and is
    left out, the limit of small damping. Where F is singular still, as of a unit that
    is seldom active, damping is required.

    The model is not changed; no other thread must use it meanwhile.

    Args:
        model: of one input and one output, logits `(batch, classes)`.
        images: `(examples, height, width, channels)`, as the model takes them.
        labels: the class of each image, integers `(examples,)`; None: no shifts.
        fisher: the y of the deltas. "drawn": one an image from the model's softmax.
            "expected": the expectation over all, without the noise of a draw; a
            backward pass a class. "given": `labels`, which makes F the "empirical
            Fisher matrix", not that of the theorems.
        layers: names of `Dense` and `Conv2D` layers with a bias; None for all.
        damping: >= 0, the variance of noise that is thought added to each incoming
            activation: Var_q(a) + damping * identity stands for Var_q(a), and so in
            F, but for its bias. It leaves k = 1 where E_q(a) is 0 or E_p(a).
        draws: of z at most, chosen with the seed among all images and positions. A
            unit takes about draws * d^2 + d^3 operations for d incoming ones.
        seed: of the labels and of the draws, >= 0.

    Returns:
        By layer name, in the order of the model.

    Raises:
        UsageError: an argument or the model does not fit, or a Fisher matrix is
            singular without damping; the message says what to do.
    """
    images = _check_images(model, images)
    arguments.check_choice("fisher", fisher, ("drawn", "expected", "given"))
    arguments.check_integer("seed", seed, minimum=0)
    arguments.check_integer("draws", draws, minimum=1)
    arguments.check_number("damping", damping, "is finite and >= 0", lambda v: v >= 0)
    chosen_layers = _choose(model, layers)
    p = _probabilities(model, images)
    if labels is not None or fisher == "given":
        labels = _check_labels(labels, *p.shape)
    if fisher == "expected":
        targets = [(np.full(len(p), c, "int32"), p[:, c]) for c in range(p.shape[1])]
    else:
        targets = [(_draw(p, seed) if fisher == "drawn" else labels, np.ones(len(p)))]
    found = {}
    for layer in chosen_layers:
        chosen = _positions(layer, len(images), draws, seed)
        collected = _collect(model, layer, images, targets, labels, chosen)
        try:
            found[layer.name] = _of_layer(*collected, damping)
        except errors.UsageError as error:
            raise errors.UsageError(f"Layer {layer.name!r}: {error}") from error
    return found


def _of_layer(inputs, squares, losses, damping) -> BiasShift:
    """Returns the numbers of a layer; the arguments are what `_collect` returns."""
    count, units = squares.shape
    delta2 = squares.mean(axis=0)
    alive = delta2 > 0  # A dead unit is computed too, and is NaN in the end.
    c, noise = np.where(alive, [delta2, damping * delta2], 1)
    mean = inputs.mean(axis=0)
    b = inputs.T @ squares / count
    g, g_0 = np.zeros_like(b), np.zeros(units)
    if losses is not None:
        g, g_0 = inputs.T @ losses / count, losses.mean(axis=0)
    right, deltas = np.stack([g, b], axis=2), np.sqrt(squares)
    solved = natural_gradient.precondition(inputs, deltas, right, noise, bias=False)
    a_g, a_b = solved[..., 0], solved[..., 1]
    unexplained = 1 - (b * a_b).sum(axis=0) / c  # by the others, of the bias unit
    if (unexplained < 1e-12).any():
        raise errors.UsageError("An incoming unit is constant. Give damping > 0.")
    s = 1 / (c * unexplained)
    update_0 = s * (g_0 - (b * a_g).sum(axis=0))
    shift = mean @ (a_g - update_0 * a_b) + update_0
    spread = np.maximum(((squares / c) ** 2).mean(axis=0), 1)
    covariance = (squares - delta2).T @ (inputs - mean) / count
    varying = max(1, math.ceil(_LARGEST * (np.ptp(inputs, axis=0) > 0).sum()))
    order = np.argsort(-np.abs(covariance), axis=1)[:, :varying]
    largest = np.take_along_axis(covariance, order, axis=1)
    of_alive = np.where(alive, 1, np.nan)
    return BiasShift(
        k=of_alive * c * s * (1 - mean @ a_b),
        weighted_mean_length=of_alive * np.linalg.norm(b, axis=0) / c,
        mean_length=np.full(units, np.linalg.norm(mean)),
        delta2=delta2,
        effective_draws=of_alive * count / spread,
        positive_share=of_alive * (largest > 0).mean(axis=1),
        uncorrected_shift=None if losses is None else of_alive * (mean @ a_g + g_0 / c),
        shift=None if losses is None else of_alive * shift,
    )


def _check_images(model, images):
    inputs, outputs = (getattr(model, n, None) or () for n in ("inputs", "outputs"))
    shapes = [tuple(tensor.shape) for tensor in (*inputs, *outputs)]
    if (len(inputs), len(outputs)) != (1, 1) or len(shapes[1]) != 2:
        raise errors.UsageError(
            "bias_shift takes a built Keras model of one input and one output, logits "
            f"(batch, classes). Received shapes: {shapes}."
        )
    images, shape = np.asarray(images), shapes[0][1:]
    if images.shape[1:] != shape or not images.size or images.dtype.kind not in "uif":
        expected, received = f"(examples, *{shape})", f"{images.dtype} {images.shape}"
        raise errors.UsageError(f"images are numbers {expected}. Received: {received}.")
    return images


def _check_labels(labels, count, classes):
    labels = np.asarray(labels)
    fits = labels.shape == (count,) and labels.dtype.kind in "ui"
    if not fits or labels.min() < 0 or labels.max() >= classes:
        raise errors.UsageError(
            f"labels are {count} integers in 0..{classes - 1}. Received: {labels!r}."
        )
    return labels.astype("int32")


def _choose(model, names):
    reasons = {layer.name: _unfit(layer) for layer in model.layers}
    if names is None:
        names = [name for name, reason in reasons.items() if not reason]
    if isinstance(names, str) or not names:
        raise errors.UsageError(
            "layers is a list of names of Dense and Conv2D layers with a bias. "
            f"Received: {names!r}."
        )
    for name in names:
        if name not in reasons:
            raise errors.unknown(f"layer of {model.name}", name, reasons)
        if reasons[name]:
            raise errors.UsageError(f"Layer {name!r} {reasons[name]}; leave it out.")
    return [layer for layer in model.layers if layer.name in names]


def _unfit(layer) -> str:
    if not isinstance(layer, keras.layers.Dense | keras.layers.Conv2D):
        return f"is {type(layer).__name__}, neither Dense nor Conv2D"
    if not layer.use_bias:
        return "has no bias, whose interaction the natural gradient corrects"
    is_first = getattr(layer, "data_format", "") == "channels_first"
    if is_first or getattr(layer, "groups", 1) > 1:
        return "is a convolution of groups, or with channels first"
    return ""


def _parts(model, count: int) -> list[slice]:
    outputs = keras.tree.flatten([layer.output for layer in model.layers])
    size = max(1, _VALUES // sum(math.prod(tensor.shape[1:]) for tensor in outputs))
    return [slice(a, min(a + size, count)) for a in range(0, count, size)]


def _probabilities(model, images):
    parts = _parts(model, len(images))
    logits = [_float64(model(images[part], training=False)) for part in parts]
    logits = np.concatenate(logits)
    if not np.isfinite(logits).all():
        raise errors.UsageError("The model's logits of these images are not finite.")
    if (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1, atol=1e-3):
        raise errors.UsageError(
            "The model returns probabilities. Give it without its softmax: logits."
        )
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _draw(probabilities, seed):
    generator = np.random.Generator(np.random.Philox(seed))
    ends = np.cumsum(probabilities, axis=1)[:, :-1]
    return (generator.random((len(ends), 1)) >= ends).sum(axis=1).astype("int32")


def _positions(layer, images, draws, seed):
    """Returns numbers of positions, counted over all images, in order."""
    total = images * math.prod(layer.output.shape[1:-1])
    if total <= draws:
        return np.arange(total)
    generator = np.random.Generator(np.random.Philox([seed, 1]))
    return np.sort(generator.choice(total, draws, replace=False))


def _collect(model, layer, images, targets, labels, chosen):
    """Returns incoming activations, delta^2 and d loss / d net of the chosen draws."""
    before = keras.Model(model.inputs[0], layer.input)
    size = math.prod(layer.output.shape[1:-1])
    inputs, squares, losses = [], [], []
    for part in _parts(model, len(images)):
        own = chosen - part.start * size
        own = own[(own >= 0) & (own < (part.stop - part.start) * size)]
        if not len(own):
            continue

        def deltas(labels, part=part, own=own):
            found = _deltas(model, layer, images[part], labels[part])
            return found.reshape(-1, found.shape[-1])[own]

        inputs.append(_incoming(layer, _float64(before(images[part])), own))
        image = own // size
        squares.append(sum(p[part][image, None] * deltas(y) ** 2 for y, p in targets))
        if labels is not None:
            losses.append(-deltas(labels))
    return [np.concatenate(x) if x else None for x in (inputs, squares, losses)]


def _incoming(layer, maps, chosen):
    """Returns the incoming activations of the chosen positions, `(chosen, d)`."""
    if isinstance(layer, keras.layers.Dense):
        return maps.reshape(-1, maps.shape[-1])[chosen]
    image, *position = np.unravel_index(chosen, (len(maps), *layer.output.shape[1:-1]))
    margins, where = [], []
    for axis in range(2):
        stride, size = layer.strides[axis], maps.shape[1 + axis]
        taps = np.arange(layer.kernel_size[axis]) * layer.dilation_rate[axis]
        end = (layer.output.shape[1 + axis] - 1) * stride + taps[-1] + 1
        lacking = max(0, end - size)  # of padding="same"
        margins.append((lacking // 2, lacking - lacking // 2))
        where.append(position[axis][:, None] * stride + taps)
    maps = np.pad(maps, [(0, 0), *margins, (0, 0)])
    rows, columns = where
    patches = maps[image[:, None, None], rows[:, :, None], columns[:, None]]
    return patches.reshape(len(chosen), -1)


def _deltas(model, layer, images, labels):
    """Returns d ln p(label | image) / d net, of the shape of the layer's output."""

    def log_likelihood(probe):
        with _added_to_net(layer, probe):
            logits = model(images, training=False)
        log_p = keras.ops.log_softmax(keras.ops.cast(logits, "float32"))
        return keras.ops.sum(keras.ops.take_along_axis(log_p, labels[:, None], 1))

    probe = keras.ops.zeros((len(images), *layer.output.shape[1:]), "float32")
    return _float64(_gradient(log_likelihood, probe))


@contextlib.contextmanager
def _added_to_net(layer, probe) -> Iterator[None]:
    """Adds a tensor to a layer's net input."""
    # A graph that Keras cuts at a layer leaves new nodes in all layers behind it.
    activation, calls = layer.activation, []

    def shifted(net):
        calls.append(1)
        return activation(keras.ops.add(net, keras.ops.cast(probe, net.dtype)))

    layer.activation = shifted
    try:
        yield
    finally:
        layer.activation = activation
    if len(calls) != 1:
        raise errors.UsageError(
            f"The layer {layer.name!r} is used {len(calls)} times; leave it out."
        )


def _gradient(function: Callable, point: Any) -> Any:
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(point)
            value = function(point)
        return tape.gradient(value, point)
    if backend == "jax":
        import jax

        return jax.grad(function)(point)
    raise errors.UsageError(f"bias_shift takes tensorflow or jax, not {backend}.")


def _float64(tensor) -> np.ndarray:
    tensor = keras.ops.cast(tensor, "float32")  # NumPy has no bfloat16
    return np.asarray(keras.ops.convert_to_numpy(tensor), np.float64)
