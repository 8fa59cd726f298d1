"""The claims of section 4.1, appendix C and the abstract about MNIST networks."""

import itertools
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Rows
from elu_zoo.paper.figures import fig3_autoencoders, fig7_median_changes
from elu_zoo.paper.judging import (
    NAMES,
    Claim,
    Read,
    Values,
    at,
    below,
    final,
    lower,
)

_EARLY, _FLAT = "5", "25"  # epochs
_DEEP = 6, 8, 12  # hidden layers, "more than 5"
_LITTLE = 0.1  # of what went before: flat
_SMALL = 0.1, 0.01, 0.001  # training losses: curves cross
_WORST = 9.0  # log10 of an error
_NONE = 1e-12  # variance of a unit that is dead
_OTHERS = "relu", "leaky_relu", "shifted_relu", "prelu"
_OURS = "shifted_relu", "prelu"  # the paper's figure 2 has neither
_ERROR, _LOSS = "test_error_percent", "train_loss"


def _of_mnist() -> Iterator[Claim]:
    """Yields the claims of section 4.1.1, figure 2."""
    yield from _of_learning()
    yield from _of_smaller_medians()
    yield from _of_flat_curves()


def _of_learning() -> Iterator[Claim]:
    """Yields the claims that ELU learns faster, with activations closer to zero."""
    early = {"epoch": _EARLY}
    for other in _OTHERS:
        yield Claim(
            f"mnist-learns-faster-than-{other}",
            "abstract, 4.1.1",
            f"ELU's training error falls faster than {NAMES[other]}'s (MNIST)",
            "fig2",
            lower(
                at("fig2", "elu", _LOSS, early),
                at("fig2", other, _LOSS, early),
                f"training loss in epoch {_EARLY}, ELU - {NAMES[other]}",
            ),
            ours=other in _OURS,
        )
        for loss in _SMALL:
            yield Claim(
                f"mnist-fits-to-{loss}-sooner-than-{other}",
                "abstract, 4.1.1",
                f"ELU's training error falls much more rapidly than {NAMES[other]}'s, "
                f"to a loss of {loss} (MNIST)",
                "fig2",
                lower(
                    _epochs_to("elu", loss),
                    _epochs_to(other, loss),
                    f"epochs until the training loss is {loss}, ELU - {NAMES[other]}; "
                    "more, not how much",
                ),
                ours=other in _OURS,
            )
        yield Claim(
            f"mnist-activations-closer-to-zero-than-{other}",
            "abstract, 4.1.1",
            f"ELU keeps mean activations closer to zero than {NAMES[other]}",
            "fig2",
            lower(
                _median_activation("elu"),
                _median_activation(other),
                "size of the median activation, mean over the first 50 epochs, ELU - "
                f"{NAMES[other]}",
            ),
            ours=other in _OURS,
        )


def _of_smaller_medians() -> Iterator[Claim]:
    """Yields the claims that ELU's medians are smaller in every epoch."""
    for other in ("relu", "leaky_relu"):
        yield Claim(
            f"mnist-activations-smaller-throughout-than-{other}",
            "4.1.1",
            f"ELU has a smaller median than {NAMES[other]} throughout training",
            "fig2",
            below(
                0.0,
                _largest_gap("elu", other),
                "size of the median activation, ELU - "
                f"{NAMES[other]}, the largest of all epochs",
            ),
        )


def _of_flat_curves() -> Iterator[Claim]:
    """Yields the claims on losses after epoch 25."""
    for measure, title in ((_LOSS, "training"), ("validation_loss", "validation")):
        for arm in ("elu", "relu", "leaky_relu"):
            yield Claim(
                f"mnist-{title}-flat-after-25-{arm}",
                "4.1.1",
                f"{NAMES[arm]}'s {title} loss stays flat after epoch 25",
                "fig2",
                below(
                    _LITTLE,
                    _share_after(arm, measure),
                    "change after epoch 25 by that until then; flat, on a linear axis, "
                    "is below 0.1",
                ),
            )


def _epochs_to(arm: str, loss: float) -> Read:
    """Returns what reads the first epoch with a loss, or the last one there is."""

    def read(rows: Mapping[str, Rows]) -> Values:
        runs = grouping.of_arm(rows.get("fig2", []), (arm, False, ""))
        found = {}
        for seed, own in runs.items():
            small = [r for r in own if r[_LOSS] and float(r[_LOSS]) <= loss]
            found[seed] = float((small or own[-1:])[0]["epoch"])
        return found

    return read


def _sizes(rows: Mapping[str, Rows], arm: str) -> dict[int, dict[int, float]]:
    """Returns by seed and epoch after the first the median activation's size."""
    runs = grouping.of_arm(rows.get("fig2", []), (arm, False, ""))
    return {
        seed: {
            int(r["epoch"]): abs(float(r["median_activation"]))
            for r in own
            if r["epoch"] != "0"
        }
        for seed, own in runs.items()
    }


def _median_activation(arm: str) -> Read:
    """Returns what reads the mean over the first 50 epochs, which are all points."""

    def read(rows: Mapping[str, Rows]) -> Values:
        return {
            seed: float(np.mean([x for epoch, x in sizes.items() if epoch <= 50]))
            for seed, sizes in _sizes(rows, arm).items()
            if sizes
        }

    return read


def _largest_gap(arm: str, other: str) -> Read:
    def read(rows: Mapping[str, Rows]) -> Values:
        ours, theirs = _sizes(rows, arm), _sizes(rows, other)
        return {
            seed: max(ours[seed][e] - theirs[seed][e] for e in ours[seed])
            for seed in ours.keys() & theirs.keys()
            if ours[seed]
        }

    return read


def _share_after(arm: str, measure: str) -> Read:
    """Returns what reads a measure's change after epoch 25, by that until then."""

    def read(rows: Mapping[str, Rows]) -> Values:
        first, flat = (
            at("fig2", arm, measure, {"epoch": epoch})(rows) for epoch in ("1", _FLAT)
        )
        last = final("fig2", arm, measure)(rows)
        seeds = first.keys() & flat.keys() & last.keys()
        return {s: abs((last[s] - flat[s]) / (flat[s] - first[s])) for s in seeds}

    return read


def _of_medians() -> Iterator[Claim]:
    """Yields those of appendix C, figure 7."""
    readings = (
        (fig7_median_changes.CHANGES, "changes from epoch to epoch", ""),
        (fig7_median_changes.MEDIANS, "medians after each epoch", "-themselves"),
    )
    middles = ("median", np.median), ("mean", np.mean)
    for (column, text, suffix), (name, middle) in itertools.product(readings, middles):
        yield Claim(
            f"mnist-medians{suffix}-vary-less-than-relu-{name}",
            "4.1.1, appendix C",
            f"the medians of ReLU's activations vary much more than ELU's: {text}, "
            f"{name} of units",
            "fig7",
            lower(
                _of_units("elu", column, middle),
                _of_units("relu", column, middle),
                f"log10 of the variance of a unit's {text}, {name} of a layer's "
                "units, mean of layers, ELU - ReLU; more, not how much",
            ),
        )


def _of_units(arm: str, column: str, middle: Callable[[np.ndarray], float]) -> Read:
    def read(rows: Mapping[str, Rows]) -> Values:
        own = rows.get("fig7", [])
        found = (
            fig7_median_changes.variances(own, (arm, False, ""), column) if own else {}
        )
        return {
            seed: float(np.mean([np.log10(middle(x) + _NONE) for x in layers.values()]))
            for seed, layers in found.items()
        }

    return read


def _of_autoencoders() -> Iterator[Claim]:
    """Yields those of section 4.1.2, figure 3."""
    splits = (fig3_autoencoders.TRAIN, "training"), (fig3_autoencoders.TEST, "test")
    for other in ("relu", "leaky_relu", "shifted_relu"):
        for measure, split in splits:
            for rate in fig3_autoencoders.RATES:
                yield Claim(
                    f"autoencoder-{split}-{rate}-better-than-{other}",
                    "4.1.2",
                    f"at learning rate {rate} ELU reconstructs {split} images better "
                    f"than {NAMES[other]}",
                    "fig3",
                    lower(
                        _reconstruction("elu", measure, rate),
                        _reconstruction(other, measure, rate),
                        f"log10 of squared error, ELU - {NAMES[other]}; of what "
                        "diverged it is 9",
                    ),
                )
    rates = fig3_autoencoders.RATES
    for high, low in zip(rates, rates[1:], strict=False):
        yield Claim(
            f"autoencoder-{high}-better-than-{low}",
            "4.1.2",
            f"learning rate {high} performs better than {low}",
            "fig3",
            # What diverges depends on how the loss is scaled, which the paper leaves
            # open: that decides nothing.
            lower(
                _converged(high),
                _converged(low),
                f"log10 of ELU's squared test error, {high} - {low}; what diverged is "
                "left out",
            ),
        )


def _reconstruction(arm: str, measure: str, rate: str) -> Read:
    """Returns what reads log10 of an error; a run that diverged ranks last."""

    def read(rows: Mapping[str, Rows]) -> Values:
        runs = grouping.of_arm(rows.get("fig3", []), (arm, False, f"lr {rate}"))
        lost = {seed: _WORST for seed, own in runs.items() if grouping.diverged(own)}
        found = final("fig3", arm, measure, f"lr {rate}")(rows)
        return lost | {seed: float(np.log10(value)) for seed, value in found.items()}

    return read


def _converged(rate: str) -> Read:
    every = _reconstruction("elu", fig3_autoencoders.TEST, rate)
    return lambda rows: {s: v for s, v in every(rows).items() if v < _WORST}


def _of_depth() -> Iterator[Claim]:
    """Yields that of the abstract's more than five layers."""
    for other, layers in itertools.product(("relu", "leaky_relu"), _DEEP):
        variant = f"{layers:02} layers"
        yield Claim(
            f"depth-{layers}-generalises-better-than-{other}",
            "abstract",
            f"ELU generalises better than {NAMES[other]} with more than 5 layers: "
            f"{layers} (MNIST)",
            "depth",
            lower(
                final("depth", "elu", _ERROR, variant),
                final("depth", other, _ERROR, variant),
                f"test error, {layers} hidden layers, ELU - {NAMES[other]}",
            ),
        )


CLAIMS: tuple[Claim, ...] = (
    *_of_mnist(),
    *_of_autoencoders(),
    *_of_medians(),
    *_of_depth(),
)
