"""Starts of the pooling regions of Graham (2014), in exact arithmetic."""

from fractions import Fraction

import numpy as np


def graham(cells, regions, u):
    """Returns the starts that Graham's `Regions.cu` computes."""
    if regions == 1:
        return [0]
    a, u = Fraction(cells - 2, regions - 1), Fraction(u)
    starts = [int((j + u) * a) - int(u * a) for j in range(regions)]
    return [*starts[:-1], cells - 2]


def check_cover(starts, cells, regions):
    """Asserts that regions of 2 cells cover all cells of an axis without gaps."""
    starts = np.asarray(starts)
    assert starts.dtype.kind == "i" and starts.shape == (regions,)
    assert starts[0] == 0 and starts[-1] == cells - 2
    assert set(np.diff(starts)) <= {1, 2}
