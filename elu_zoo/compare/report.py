"""Report of a comparison in Markdown: conclusions, tables, figures and method."""

from pathlib import Path

from elu_zoo import files
from elu_zoo.compare import estimate, tables, tuning
from elu_zoo.compare.paired_tests import Tested
from elu_zoo.compare.result import ComparisonResult
from elu_zoo.pairs.statistics import LEAST_PAIRS

NAME = "report.md"


def write(result: ComparisonResult, output: Path) -> None:
    """Writes report.md, and only the tables of the report to table.md."""
    files.write_bytes(output / NAME, _text(result).encode())
    files.write_bytes(output / "table.md", (_tables(result) + "\n").encode())


def conclusions(result: ComparisonResult) -> str:
    """Returns the report's first part: what the pairs of runs decide.

    It has a line for each activation except the reference.
    """
    comparison = result.comparison
    reference, *others = tables.tested(result, tuned=True)
    tuned = comparison.tune > 1
    rate = f"the best of {comparison.tune} rates" if tuned else "the config's rate"
    lines = [
        f"Errors on the {comparison.split} images in {comparison.seeds} pairs of runs, "
        f"compared with {comparison.reference}{_edge(comparison.reference, result)}, each "
        f"activation at {rate}:",
        "",
        *(f"- {_conclusion(each, reference, result)}" for each in others),
    ]
    if reference.diverged or not reference.errors:
        total = reference.diverged + len(reference.errors)
        runs = f"{reference.diverged} of {total} runs" if total else "all tuning runs"
        lines[:0] = [
            f"**{reference.activation} did not train in {runs}, so that nothing is "
            "tested. "
            "Name another activation first.**",
            "",
        ]
    if comparison.config.smoke:
        lines[:0] = [
            "**A smoke test: it shows that everything runs, and nothing else.**",
            "",
        ]
    return "\n".join(lines)


def _conclusion(each: Tested, reference: Tested, result: ComparisonResult) -> str:
    difference, other = each.difference, reference.activation
    name = f"**{each.activation}**{_edge(each.activation, result)}"
    unit = "points" if tables.unit(result) == "percent" else "squared error"
    if each.verdict == "too few pairs":
        return (
            f"{name}: nothing is decided by fewer than {LEAST_PAIRS} pairs. Mean "
            f"difference {difference.mean:+.3g} {unit}."
        )
    if each.verdict == "not tested: equal differences":
        return (
            f"{name}: not tested, because all {difference.n} differences are equal, so "
            f"that there is no interval: {difference.mean:+.3g} {unit}."
        )
    if each.verdict == "not trained":
        return f"{name}: not tested, because {_why_untested(each, other)}."
    values = (
        f"difference {difference.mean:+.3g} {unit}, interval {difference.low:+.2g} to "
        f"{difference.high:+.2g}"
    )
    if each.verdict == "cannot be told apart":
        return f"{name} cannot be told apart from {other}: {values}, which contains 0."
    return f"{name} has a {each.verdict} than {other}: {values}."


def _edge(activation: str, result: ComparisonResult) -> str:
    is_edge = result.choices[activation].at_edge
    return " (best rate at the edge of those tried)" if is_edge else ""


def _why_untested(each: Tested, reference: str) -> str:
    runs = each.diverged + len(each.errors)
    if each.diverged:
        return f"{each.diverged} of its {runs} runs diverged or stayed at chance"
    return f"runs of {reference} did not train" if runs else "every rate diverged"


def _tables(result: ComparisonResult) -> str:
    parts = []
    if result.comparison.tune > 1:
        parts += [
            "## Each activation at its best tried learning rate",
            tables.main(result, tuned=True),
            "## At the config's learning rate",
            tables.main(result, tuned=False),
            "## Both learning rates side by side",
            tables.side_by_side(result),
        ]
    else:
        parts += ["## Errors", tables.main(result, tuned=False)]
    return "\n\n".join(parts)


def _text(result: ComparisonResult) -> str:
    comparison, config = result.comparison, result.comparison.config
    parts = [
        f"# Activations on {config.name}",
        conclusions(result),
        _limits(result),
        _tables(result),
        _method(result),
    ]
    tuned = comparison.tune > 1
    dots = (
        "Each marker is a run, in the form of its activation (a cross is tanh). A thin "
        "grey line joins the runs of one seed; a short line is the mean. Runs that did "
        "not train are not shown."
    )
    rate = "best" if tuned else "config's"
    pictures = {
        "errors.png": f"Error of each run. {dots}",
        "errors_at_config_rate.png": "Error of each run at the config's learning rate, "
        "drawn in the same way.",
        "curves.png": f"Learning curves at the {rate} learning rate: the mean over "
        "runs and a band of one standard deviation, on a logarithmic axis from the "
        "lowest run on. Of fewer than five runs, each is a thin line beside the mean.",
        "rates.png": "Validation error over the factor on the rate: the mean of the "
        "runs, and beside it a bar from the smallest to the largest error. Runs that "
        "diverged and much larger errors are not shown.",
    }
    if not tuned:
        pictures = {k: pictures[k] for k in ("errors.png", "curves.png")}
    parts += ["## Figures"]
    parts += [f"![{name}]({name})\n\n{text}" for name, text in pictures.items()
              if (comparison.output / name).exists()]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _limits(result: ComparisonResult) -> str:
    comparison, config = result.comparison, result.comparison.config
    edges = [name for name in comparison.activations if result.choices[name].at_edge]
    edge = (
        f" The best factor of {', '.join(edges)} is the smallest or largest that was "
        "tried: a factor beyond may have a lower error, and may change the conclusion."
    ) * bool(edges)
    if comparison.tune > 1:
        tuned = (
            "Only the learning rate was tuned: initial weights and everything else are "
            "the config's. The search for a rate begins at the config's rate and "
            "follows single runs. It may miss a better rate, the more easily the "
            "farther this rate is from the config's."
        )
    else:
        tuned = "Nothing was tuned: at another learning rate the order may be another one."
    return (
        f"These errors were measured for {config.model.name} on {config.data.name}, "
        f"after {config.train.epochs} of the {config.schedule_epochs} epochs of the "
        f"schedule. They say nothing about other networks or data. {tuned} Activations "
        "have their default parameters. Activations that cannot be told apart may "
        "differ by any value in the interval. Only differences from "
        f"{comparison.reference} are tested; ranks order the mean errors.{edge}"
    )


def _method(result: ComparisonResult) -> str:
    comparison = result.comparison
    how_tuned = (
        f"Each activation had {comparison.tune} tuning runs, each with another factor on "
        "all learning rates. The first factor is 1. While the best factor is the "
        "largest or the smallest that was tried, the next one is 4 times larger or "
        "smaller. Then the wider gap beside the best factor is halved. The two best "
        f"factors had {tuning.FURTHER_RUNS} further runs together; if only one factor "
        "did not diverge, it had all of them. The factor with the fewest diverged "
        "runs was chosen; of several such factors one of the two best, with the "
        "smaller mean error on validation images. These images are held out of the "
        "training images, and no other runs have the seeds of tuning runs. A run that "
        "diverged was not replaced. "
    ) * (comparison.tune > 1)
    one_table = (
        "They do not cover the choice of the rate or of the images. Each table is "
        "corrected by itself; the first one decides. "
        if comparison.tune > 1
        else "They do not cover the choice of the images. "
    )
    return (
        "## How\n\n"
        f"{how_tuned}Each activation has {comparison.seeds} runs at a compared rate, "
        "with seeds from 0 on. Runs with the same seed are a pair: they have equal "
        "initial weights and data order. ± is the standard deviation over runs. "
        "Intervals are Student's for paired differences, widened by the Bonferroni "
        "factor of the test's step in Holm's procedure: an interval excludes 0 "
        "exactly if Holm's p is at most 0.05. In at most 5 % of such tables, an "
        "interval excludes 0 though the true difference is 0. As a range of the "
        "difference, an interval is right in at least 95 % of comparisons, all "
        "intervals together in fewer. They cover the variation between seeds at these "
        "rates and on these images, and assume that differences are about normal. "
        f"{one_table}Wilcoxon's p is exact, "
        "two-sided and not corrected; with this number of pairs it is at least "
        f"{estimate.smallest_p(comparison.seeds):.2g}. An activation "
        "with runs that did not train is neither tested nor ranked: they diverged, or "
        "ended at the error of guessing among the classes. All steps were timed in "
        "turn in one process; step times are divided by the step time of "
        f"{comparison.reference}, and vary by a few percent between measurements.\n\n"
        f"The comparison: `{comparison.command}`. compare.csv has the command of each "
        "run."
    )
