"""Where Graham's (2014) pooling regions start, in exact numbers."""

from fractions import Fraction

import numpy as np


def graham(cells, regions, u):
    """Starts by `Regions.cu`, in exact numbers."""
    if regions == 1:
        return [0]
    a, u = Fraction(cells - 2, regions - 1), Fraction(u)
    starts = [int((j + u) * a) - int(u * a) for j in range(regions)]
    return [*starts[:-1], cells - 2]


def check_cover(found, cells, regions):
    """Regions go from the first cell to the last and leave none out."""
    found = np.asarray(found)
    assert found.dtype.kind == "i" and found.shape == (regions,)
    assert found[0] == 0 and found[-1] == cells - 2
    assert set(np.diff(found)) <= {1, 2}
