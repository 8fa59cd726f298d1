"""Every unit of an experiment against one of them, tested over pairs of runs."""

from collections.abc import Iterator, Mapping

from elu_zoo.paper import grouping, statistics
from elu_zoo.paper.experiment import Rows
from elu_zoo.paper.plots import palette


def table(rows: Rows, measures: Mapping[str, str]) -> str:
    """Returns exact tests of the last values of measures, in Markdown; "" for no pair.

    Units are compared with `grouping.reference`, networks with batch norm among
    themselves, and so are those of a variant.

    Args:
        rows: of one experiment and budget.
        measures: titles by column; of both, lower is better.
    """
    found = list(_lines(rows, measures)) if rows and measures else []
    if not found:
        return ""
    titles = ["measure", "pair", "n", "difference", "W", "p", "effect"]
    titles += ["lower, at p <= .05"]
    if any(variant for variant, _ in found):
        return grouping.markdown(["of", *titles], [[v, *line] for v, line in found])
    return grouping.markdown(titles, [line for _, line in found])


def _lines(
    rows: Rows, measures: Mapping[str, str]
) -> Iterator[tuple[str, list[object]]]:
    first = grouping.reference(rows)
    for arm in grouping.arms(rows):
        if arm[0] == first:
            continue
        for column, title in measures.items():
            both = (
                grouping.finals(rows, (name, *arm[1:]), column)
                for name in (first, arm[0])
            )
            pair = grouping.pairs(*both)
            if pair[0]:
                names = [palette.label(name, arm[1]) for name in (first, arm[0])]
                compared = statistics.paired(*pair)
                yield arm[2], [title, " - ".join(names), *_cells(compared, names)]


def _cells(found: statistics.Comparison, names: list[str]) -> list[object]:
    lower = dict(zip(("holds", "does not hold"), names, strict=True))
    return [
        found.n,
        interval(found),
        f"{found.w:g}",
        statistics.p_text(found),
        f"{found.effect:+.2f}",
        lower.get(statistics.verdict(found), statistics.verdict(found)),
    ]


def interval(found: statistics.Comparison) -> str:
    """Returns a difference and, of more than one pair, its 95 % interval."""
    text = f"{found.difference:+.3g}"
    return text if found.n == 1 else f"{text} ({found.low:+.3g} to {found.high:+.3g})"
