"""The claims of sections 4.2 to 4.4: CIFAR, ImageNet and time."""

import math
from collections.abc import Iterator, Mapping

from elu_zoo.paper.experiment import Rows
from elu_zoo.paper.figures import fig4_cifar_curves, timing
from elu_zoo.paper.judging import (
    NAMES,
    NOT_DECIDED,
    Claim,
    Finding,
    Judge,
    Read,
    Values,
    final,
    lower,
)

_ERROR, _LOSS = "test_error_percent", "train_loss"
_P_OF_TEN = {"level": 0.001, "least": 10, "shown": 10}  # of the paper's ten runs


def _of_cifar() -> Iterator[Claim]:
    """Yields those of section 4.2, figures 4 and 5."""
    measures = (_ERROR, "test error"), (_LOSS, "training loss")
    for other in ("relu", "leaky_relu", "shifted_relu"):
        for measure, title in measures:
            yield Claim(
                f"cifar100-{title.replace(' ', '-')}-below-{other}",
                "abstract, 4.2",
                f"ELU has a lower {title} than {NAMES[other]} (CIFAR-100)",
                "fig4",
                _in_pairs("elu", other, measure, title),
            )
            yield Claim(
                f"cifar100-{title.replace(' ', '-')}-p-below-.001-{other}",
                "4.2",
                f"ELU's {title} is lower than {NAMES[other]}'s with p < 0.001 "
                "(Wilcoxon, CIFAR-100)",
                "fig4",
                _in_pairs("elu", other, measure, title, **_P_OF_TEN),
            )
    for low, high in (("shifted_relu", "leaky_relu"), ("leaky_relu", "relu")):
        yield Claim(
            f"cifar100-{low}-below-{high}",
            "4.2",
            f"{NAMES[low]} has a lower test error than {NAMES[high]}",
            "fig4",
            _in_pairs(low, high, _ERROR, "test error"),
        )
    pairs = (("elu", "relu+bn", "ELU has a lower test error than ReLU + BN"),)
    pairs += (("elu", "elu+bn", "batch norm does not improve ELU, which is lower"),)
    pairs += (
        ("shifted_relu", "shifted_relu+bn",
         "batch norm does not improve SReLU, which is lower"),
    )  # fmt: skip
    pairs += (("relu+bn", "relu", "batch norm improves ReLU"),)
    pairs += (("leaky_relu+bn", "leaky_relu", "batch norm improves LReLU"),)
    for low, high, text in pairs:
        yield Claim(
            f"cifar100-{low}-below-{high}".replace("+", "-"),
            "abstract, 4.2" if low == "elu" else "4.2",
            text,
            "fig5",
            _in_pairs(low, high, _ERROR, "test error"),
        )
    yield Claim(
        "cifar100-elu-below-relu-bn-p-below-.001",
        "4.2",
        "ELU's test error is lower than ReLU + BN's with p < 0.001 (Wilcoxon)",
        "fig5",
        _in_pairs("elu", "relu+bn", _ERROR, "test error", **_P_OF_TEN),
    )


def _in_pairs(low: str, high: str, measure: str, title: str, **limits) -> Judge:
    def named(arm: str) -> str:
        name, plus, _ = arm.partition("+bn")
        return NAMES[name] + " + BN" * bool(plus)

    pair = f"{named(low)} - {named(high)}"
    measured = f"{title}, {pair}; of runs that are better than chance"
    return lower(_learned(low, measure), _learned(high, measure), measured, **limits)


def _learned(arm: str, measure: str) -> Read:
    """Returns what reads the runs that learned."""
    experiment = "fig5" if "+bn" in arm else "fig4"
    reached = final(experiment, arm, measure)

    def read(rows: Mapping[str, Rows]) -> Values:
        return reached(
            {experiment: fig4_cifar_curves.learned(rows.get(experiment, []))}
        )

    return read


def _of_long_runs() -> Iterator[Claim]:
    """Yields those of numbers that only the paper's own schedules give."""
    reached = {"elu": 28.75, "shifted_relu": 29.35, "leaky_relu": 30.59, "relu": 31.56}
    for arm, error in reached.items():
        yield Claim(
            f"cifar100-{arm}-reaches-{error}",
            "4.2",
            f"{NAMES[arm]} has a test error of {error} % (CIFAR-100, eleven layers)",
            "fig4",
            _open("our test error, elu_cifar_11, the paper's schedule, ten runs"),
        )
    yield Claim(
        "cifar100-elu-gains-from-another-schedule",
        "4.2",
        "ELU would benefit from a schedule that is not made for ReLU (CIFAR-100)",
        "fig4",
        _open("test error, ELU, a schedule made for it - the paper's"),
    )
    of_cifar = "our test error, elu_cifar_18, the paper's schedule"
    for data, error in (("CIFAR-10", "6.55"), ("CIFAR-100", "24.28")):
        yield Claim(
            f"{data.lower()}-elu-network-reaches-{error}",
            "abstract, 4.3",
            f"the ELU network has a test error of {error} % on {data}",
            "table1",
            _open(of_cifar),
        )
    yield Claim(
        "elu-network-ranks",
        "abstract, 4.3",
        "it is second on CIFAR-10 and best on CIFAR-100 of table 1",
        "table1",
        _open("rank of our test errors, all networks at their own schedules"),
    )
    yield Claim(
        "imagenet-elu-starts-earlier",
        "4.4",
        "ELU starts reducing the top-5 error earlier than ReLU (ImageNet)",
        "fig6",
        _open("top-5 error after the first 50,000 iterations, ELU - ReLU"),
    )
    yield Claim(
        "imagenet-elu-reaches-20-percent-first",
        "abstract, 4.4",
        "ELU reaches 20 % top-5 error after 160,000 iterations, ReLU after 200,000",
        "fig6",
        _open("iterations to 20 % top-5 error, ELU - ReLU"),
    )
    yield Claim(
        "imagenet-elu-below-10-percent",
        "abstract, 4.4",
        "ELU's top-5 error of a single crop is below 10 %",
        "fig6",
        _open("top-5 error %"),
    )


def _open(measure: str) -> Judge:
    return lambda rows: Finding(measure=measure)


def _of_timing() -> Iterator[Claim]:
    """Yields that of section 4.4's 5 %."""
    yield Claim(
        "elu-costs-5-percent",
        "4.4",
        "networks of ELUs are no more than 5.8 % slower than of ReLUs (by its hours; "
        "its text: 5 %)",
        "timing",
        _ratio,
    )

    yield Claim(
        "elu-costs-less-than-batch-norm",
        "abstract",
        "ELU has a lower computational complexity than batch normalisation",
        "timing",
        _cheaper,
    )


def _cheaper(rows: Mapping[str, Rows]) -> Finding:
    measure = "elu_cifar_11: ELU's time of a training step by ReLU's with BN"
    own = [r for r in rows.get("timing", []) if r["case"].startswith("elu_cifar_11")]
    found = {row["form"]: row for row in own}
    if not found.keys() >= {"elu", "relu, batch norm"}:
        return Finding(measure=measure)
    ours, theirs = found["elu"], found["relu, batch norm"]
    ratio = float(ours["ratio"]) / float(theirs["ratio"])
    # The ends of both intervals: wider than the ratio's own.
    low = float(ours["ratio_low"]) / float(theirs["ratio_high"])
    high = float(ours["ratio_high"]) / float(theirs["ratio_low"])
    verdict = "holds" if high < 1 else "does not hold" if low > 1 else NOT_DECIDED
    return Finding(int(ours["rounds"]), ratio, low, high, math.nan, verdict, measure)


def _ratio(rows: Mapping[str, Rows]) -> Finding:
    measure = "elu_cifar_11: time of a training step by ReLU's"
    for row in rows.get("timing", []):
        if row["case"].startswith("elu_cifar_11") and row["form"] == "elu":
            ratio, low, high = (
                float(row[key]) for key in ("ratio", "ratio_low", "ratio_high")
            )
            verdict = "holds" if high <= timing.PAPER else NOT_DECIDED
            verdict = "does not hold" if low > timing.PAPER else verdict
            n = int(row["rounds"])
            return Finding(n, ratio, low, high, math.nan, verdict, measure)
    return Finding(measure=measure)


CLAIMS: tuple[Claim, ...] = (*_of_cifar(), *_of_long_runs(), *_of_timing())
