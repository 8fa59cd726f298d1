"""What our speed is held against, and whether it holds."""

import dataclasses
from collections.abc import Sequence

from elu_zoo.benchmark.report import Row

# An interval of fewer says little.
_ROUNDS = 40


@dataclasses.dataclass(frozen=True)
class Bar:
    """A promise about a form and the baseline of its table.

    Attributes:
        part: see `report.Row`, as are `case`, `form` and `baseline`.
        case: what was done.
        form: whose time it is.
        baseline: by whose time it is divided.
        least: the ratio is at least this, or
        most: the upper end of its 95 % interval is at most this, or
        most_more: the value is at most this much more than the baseline's.
    """

    part: str
    case: str
    form: str
    baseline: str
    least: float | None = None
    most: float | None = None
    most_more: float | None = None

    def verdict(self, found: Sequence[Row]) -> str:
        """Returns a line that says whether the bar holds in these rows."""
        what = f"{self.part}, {self.case}: {self.form} / {self.baseline}"
        own = self.part, self.case, self.form, self.baseline
        for row in found:
            if (row.part, row.case, row.form, row.baseline) == own:
                break
        else:
            return f"not measured   {what}"
        if self.most_more is not None:
            (base,) = (
                other.value
                for other in found
                if (other.part, other.case, other.form) == (*own[:2], self.baseline)
            )
            more = row.value - base
            word = "holds" if more <= self.most_more else "DOES NOT HOLD"
            limit = f"at most {self.most_more} {row.unit} more"
            return f"{word:<14} {what}: {more:.2f} {row.unit} more, {limit}"
        if self.least is not None:
            word = "holds" if row.ratio >= self.least else "DOES NOT HOLD"
            return f"{word:<14} {what}: {row.ratio:.3f}, at least {self.least}"
        word = "holds" if row.ratio_high <= self.most else "DOES NOT HOLD"
        word = word if row.rounds >= _ROUNDS else "too few rounds"
        ends = f"{row.ratio:.3f} ({row.ratio_low:.3f} to {row.ratio_high:.3f})"
        return f"{word:<14} {what}: {ends}, upper end at most {self.most}"


_FORWARD, _BOTH = "forward, 1e7 elements", "forward and backward, 1e7 elements"
_MLP, _CNN = "mnist_mlp_8x128, batch of 64", "elu_cifar_11, batch of 100"
_MLP_LOAD = "mnist_mlp_8x128, 32 clients, throughput"
_CNN_LOAD = "elu_cifar_11, 32 clients, throughput"
BARS = (
    # Ours takes at most 1.2 times as long.
    Bar("op", _BOTH, "relu, XLA", "ours, XLA", least=0.833),
    Bar("op", _FORWARD, "tf.nn.elu, XLA", "ours, XLA", least=1.5),
    Bar("step", _CNN, "Keras fit, jit_compile", "ours", least=1.8),
    Bar("unit", _CNN, "elu", "relu", most=1.02),
    Bar("unit", _MLP, "elu", "relu", most=1.08),
    Bar("policy", _MLP, "XLA, 1 a call", "XLA, 100 a call", least=1.4),
    Bar("policy", _CNN, "XLA, 1 a call", "plain, 10 a call", least=1.0),
    Bar("replicas", _CNN, "two devices", "one device", most=1.15),
    *(
        Bar("serving", f"{name}, 1 client", form, "in process", most_more=2.0)
        for name in ("mnist_mlp_8x128", "elu_cifar_11")
        for form in ("gRPC", "REST")
    ),
    Bar("serving", _MLP_LOAD, "gRPC", "gRPC, unbatched", least=2.0),
    Bar("serving", _CNN_LOAD, "gRPC", "gRPC, unbatched", least=1.0),
)
