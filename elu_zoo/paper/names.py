"""Names of the experiments, importable without Keras."""

import importlib.util
from collections.abc import Sequence

from elu_zoo import errors

NAMES = (
    *("fig1", "fig2", "fig3", "fig4", "fig5", "wilcoxon", "rivals", "table1", "fig6"),
    *("timing", "fig7", "depth", "theory", "theorems"),
)


def check(names: Sequence[str]) -> None:
    """Checks the names of experiments, `all` for every experiment, and the packages."""
    for name in names:
        if name not in (*NAMES, "all"):
            raise errors.unknown_name_error("experiment", name, [*NAMES, "all"])
    if not names:
        raise errors.UsageError(
            f"Pass at least one experiment: all, or some of {', '.join(NAMES)}."
        )
    for package in ("scipy", "pandas", "matplotlib"):
        if importlib.util.find_spec(package) is None:
            raise errors.UsageError(
                f'Experiments need {package}. Run: pip install "elu-zoo[paper]"'
            )
