"""Report of a comparison: what can be concluded, tables, figures, and how."""

from pathlib import Path

from elu_zoo import files
from elu_zoo.compare import estimate, tables
from elu_zoo.compare.answer import Answer
from elu_zoo.compare.paired_tests import Tested
from elu_zoo.paper.verdicts import LEAST_PAIRS

NAME = "report.md"


def write(answer: Answer, output: Path) -> None:
    """Writes report.md, and its tables alone as table.md."""
    files.write_bytes(output / NAME, _text(answer).encode())
    files.write_bytes(output / "table.md", (_tables(answer) + "\n").encode())


def conclusions(answer: Answer) -> str:
    """Returns a line for each activation: what the pairs of runs decide.

    It is the first part of the report.
    """
    question = answer.question
    tuned = question.tune > 1
    where = "at its own best" if tuned else "at the config's"
    split = question.split
    lines = [
        f"Error on the {split} images, each activation {where} rate, against "
        f"{question.reference}, in {question.seeds} pairs of runs:",
        "",
    ]
    for each in tables.tested(answer, tuned=True):
        if each.activation != question.reference:
            lines.append(f"- {_conclusion(each, question.reference, answer)}")
    return "\n".join(lines)


def _conclusion(each: Tested, reference: str, answer: Answer) -> str:
    name, found = f"**{each.activation}**", each.difference
    points = "points" if tables.unit(answer) == "percent" else "squared error"
    if each.verdict == "too few pairs":
        return (
            f"{name}: nothing is decided by fewer than {LEAST_PAIRS} pairs. Mean "
            f"difference {found.mean:+.3g} {points}."
        )
    if each.verdict == "not tested: diverged":
        return f"{name}: not tested, because {_lost(each, reference)}."
    interval = f"{found.low:+.2g} to {found.high:+.2g} {points}"
    if each.verdict == "cannot be told apart":
        return (
            f"{name} cannot be told apart from {reference}: the difference is "
            f"{found.mean:+.3g}, and the interval {interval} contains 0."
        )
    return (
        f"{name} has a {each.verdict} than {reference}: by {abs(found.mean):.3g} "
        f"{points}, interval {interval}."
    )


def _lost(each: Tested, reference: str) -> str:
    total = each.diverged + len(each.errors)
    if each.diverged:
        return f"{each.diverged} of its {total} runs diverged"
    return f"runs of {reference} diverged" if total else "every rate diverged"


def _tables(answer: Answer) -> str:
    parts = []
    if answer.question.tune > 1:
        parts += [
            "## At its own best learning rate",
            tables.main(answer, tuned=True),
            "## At the config's learning rate",
            tables.main(answer, tuned=False),
            "## Side by side",
            tables.side_by_side(answer),
        ]
    else:
        parts += ["## Errors", tables.main(answer, tuned=False)]
    return "\n\n".join(parts)


def _text(answer: Answer) -> str:
    question, config = answer.question, answer.question.config
    parts = [
        f"# Activations on {config.name}",
        conclusions(answer),
        _limits(answer),
        _tables(answer),
        _how(answer),
    ]
    tuned = question.tune > 1
    pictures = {
        "errors.png": "Error of each run; lines join the runs of one seed.",
        "errors_at_config_rate.png": "The same at the config's learning rate.",
        "curves.png": "Learning curves at the best learning rate.",
        "rates.png": "Validation error over the factor on the learning rate.",
    }
    if not tuned:
        pictures = {k: pictures[k] for k in ("errors.png", "curves.png")}
    parts += ["## Figures"]
    parts += [f"![{text}]({name})" for name, text in pictures.items()
              if (question.output / name).exists()]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _limits(answer: Answer) -> str:
    question, config = answer.question, answer.question.config
    edges = [name for name in question.activations if answer.choices[name].at_edge]
    edge = (
        f" The best factor of {', '.join(edges)} is at the edge of the grid: other "
        "rates may be better."
    ) * bool(edges)
    smoke = "**A smoke test: it shows that everything runs, and nothing else.** "
    return (
        f"{smoke * config.smoke}This holds for {config.model.name} on "
        f"{config.data.name}, for {config.train.epochs} epochs of this schedule, and "
        "for no other network or data set. Activations that cannot be told apart may "
        "still differ: the interval says by how much. Only differences to "
        f"{question.reference} are tested; ranks order the means.{edge}"
    )


def _how(answer: Answer) -> str:
    question = answer.question
    tuning = (
        f"Each activation had {question.tune} tuning runs, one for each factor on all "
        "learning rates, with a seed that no other run has. The factor with the "
        "smallest error on validation images, held out of the training images, was "
        "chosen. A run that diverged counts as a run. "
    ) * (question.tune > 1)
    return (
        "## How\n\n"
        f"{tuning}There are {question.seeds} paired runs at a rate, with seeds from 0 "
        "on: runs of one seed have equal initial weights and data order. ± is the "
        "standard deviation over runs. Intervals are Student's of the paired "
        "differences, widened by the Bonferroni factor of the test's step in Holm's "
        "procedure: an interval excludes 0 exactly where Holm's p is at most 0.05, and "
        "in at most 5 % of such tables any interval excludes a true 0. Each table is a "
        "family of its own; the first one decides. Wilcoxon's p is exact, two-sided "
        "and not corrected; with these pairs it is at least "
        f"{estimate.smallest_p(question.seeds):.2g}. An activation with runs that "
        "diverged is neither tested nor ranked. Step times are relative to "
        f"{question.reference}, measured in turn in one process.\n\n"
        f"The comparison: `{question.command}`. compare.csv has the "
        "command of each run."
    )
