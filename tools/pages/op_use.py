"""Where `elu_xla` is faster than `tf.nn.elu`, from rows of the benchmark."""

from collections.abc import Callable, Iterable

from elu_zoo.benchmark import report

# Part, case and words of each use on the front page. In the part `fit` the other
# activation is `elu`, which is `tf.nn.elu` in a model.
_USES = (
    ("op", "jit, forward, 1e7 floats", "compiled"),
    ("op", "jit, forward and backward, 1e7 floats", "compiled with the gradient"),
    ("op", "eager, forward and backward, 1e7 floats", "eager with the gradient"),
    ("op", "eager, forward, 128 x 128", "eager on 128 x 128 floats"),
    ("fit", "mnist_mlp_8x128, batch of 64, default", "in `fit` of `mnist_mlp_8x128`"),
    ("fit", "mnist_mlp_8x128, batch of 64, jit_compile", "in its compiled `fit`"),
    ("fit", "elu_cifar_11, batch of 100, default", "in `fit` of `elu_cifar_11`"),
)
_FASTER, _SAME, _SLOWER = "faster", "as fast within the interval", "slower"


def _verdict(row: report.Row) -> str:
    """Returns the verdict of the interval of a row's ratio to the stock op."""
    # Rounds that do not vary have no interval.
    if abs(row.ratio - 1) < 0.01 or row.ratio_low == row.ratio_high:
        return _SAME
    if row.ratio_high < 1:
        return _FASTER
    return _SLOWER if row.ratio_low > 1 else _SAME


def _by_verdict(rows: Iterable[tuple[str, report.Row]]) -> dict[str, list[str]]:
    found = {_FASTER: [], _SAME: [], _SLOWER: []}
    for words, row in rows:
        ratio = f"{row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})"
        found[_verdict(row)].append(f"{words} {ratio}")
    return found


def row(rows: Iterable[report.Row]) -> str:
    """Returns a Markdown table of one row: all uses by verdict, except of layers."""
    uses = [
        (f"{row.part}, {row.case}:", row)
        for row in rows
        if row.form == "elu_xla" and row.unit == "ms"
    ]
    found = _by_verdict(uses)
    cells = ["where the op pays", *("<br>".join(texts) for texts in found.values())]
    head = f"| | {' | '.join(found)} |\n" + "|---" * 4 + "|"
    return f"{head}\n| {' | '.join(cells)} |"


def sentence(find: Callable[[str, str, str], report.Row]) -> str:
    """Returns a sentence on the uses of the front page.

    Args:
        find: function from a part, a case and a form to their row.
    """
    uses = [(words, find(part, case, "elu_xla")) for part, case, words in _USES]
    texts = [f"{verdict} {', '.join(uses)}" for verdict, uses in _by_verdict(uses).items() if uses]
    return (
        "compared with `tf.nn.elu` (ratios of times, 1e7 floats unless stated), "
        f"`elu_xla` is {'; '.join(texts)}."
    )
