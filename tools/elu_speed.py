"""Times the XLA op of ELU against jitted tf.nn.elu and jitted tf.nn.relu.

    python tools/elu_speed.py --sizes=1000000,10000000 --rounds=15

All forms are timed in turn, round by round, in one process, so that phases of the
machine fall on all of them. A ratio is the median over the rounds of the form's
time by that of tf.nn.elu, with the quartiles.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from absl import app, flags

from elu_zoo.activations import elu_xla

_SIZES = flags.DEFINE_list("sizes", ["1000000", "10000000"], "Elements of the tensor.")
_ROUNDS = flags.DEFINE_integer("rounds", 15, "Rounds of each size.", lower_bound=1)
_CALLS = flags.DEFINE_integer("calls", 5, "Calls a round, timed as one.", lower_bound=1)

OPERATIONS = {"elu_xla": elu_xla, "tf.nn.elu": tf.nn.elu, "tf.nn.relu": tf.nn.relu}
BASELINE = "tf.nn.elu"


def forward(operation: Callable) -> Callable:
    return tf.function(operation, jit_compile=True)


def forward_backward(operation: Callable) -> Callable:
    @tf.function(jit_compile=True)
    def both(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = operation(x)
        return y, tape.gradient(y, x)

    return both


def seconds(function: Callable, x: tf.Tensor) -> float:
    start = time.perf_counter()
    for _ in range(_CALLS.value):
        result = function(x)
    np.asarray(tf.nest.flatten(result)[0][:1])
    return (time.perf_counter() - start) / _CALLS.value


def table(size: int, label: str, wrap: Callable) -> None:
    x = tf.random.stateless_normal([size], seed=[1, 2])
    functions = {name: wrap(operation) for name, operation in OPERATIONS.items()}
    for function in functions.values():
        seconds(function, x)
    times = {name: [] for name in functions}
    for _ in range(_ROUNDS.value):
        for name, function in functions.items():
            times[name].append(seconds(function, x))
    for name in functions:
        ratios = np.divide(times[name], times[BASELINE])
        low, median, high = np.percentile(ratios, [25, 50, 75])
        print(
            f"{size:>10}  {label:<16}  {name:<10}  {1e3 * np.median(times[name]):8.3f}"
            f"  {median:5.2f} ({low:.2f}-{high:.2f})  {1 / median:5.2f}"
        )


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
    print(
        f"{'elements':>10}  {'pass':<16}  {'form':<10}  {'ms':>8}"
        f"  by {BASELINE} (quartiles)  speed-up"
    )
    for size in map(int, _SIZES.value):
        table(size, "forward", forward)
        table(size, "forward+backward", forward_backward)


if __name__ == "__main__":
    app.run(main)
