"""The starts of the pooling regions of Graham (2014), in exact numbers."""

from fractions import Fraction

import numpy as np


def graham(cells, regions, u):
    """Returns the starts as `Regions.cu` computes them."""
    if regions == 1:
        return [0]
    a, u = Fraction(cells - 2, regions - 1), Fraction(u)
    starts = [int((j + u) * a) - int(u * a) for j in range(regions)]
    return [*starts[:-1], cells - 2]


def check_cover(found, cells, regions):
    """Checks that regions go from the first to the last cell without gaps."""
    found = np.asarray(found)
    assert found.dtype.kind == "i" and found.shape == (regions,)
    assert found[0] == 0 and found[-1] == cells - 2
    assert set(np.diff(found)) <= {1, 2}
