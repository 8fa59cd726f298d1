"""MNIST's form of a picture of one digit: where the ink is, and how it is placed.

LeCun et al., "Gradient-based learning applied to document recognition", 1998: each
digit of MNIST was fitted into a box of 20 x 20 pixels with its proportions kept, and
the box was placed so that the ink's centre of mass is the centre of 28 x 28 pixels.
"""

from collections.abc import Sequence

import numpy as np

from elu_zoo import errors
from elu_zoo.data.plausibility import BLACK, SHAPE
from elu_zoo.data.shapes import Shape

_SIDE, _BOX, _CENTRE = 28, 20, 14  # pixels
_LONGEST = 16, 22  # pixels of the ink's longer side, which is 19 or 20 in MNIST
_ENLARGED = 1.12  # Ink that needs less enlargement than this is only moved.
_MOST = 256  # pixels of the longest side of a picture in which ink is searched
_SMALL = 32  # pixels of the longest side of a picture whose paper is measured
_FAINTEST = 0.15  # contrast of ink, as a share of the paper's brightness
_DIM, _LEAST = 64, 128  # smallest whole contrasts of dark and light ink, of 255
_PIECE = 0.05  # shortest piece of ink, as a share of the picture's longest side
_INSIDE = 0.125  # Beside a piece of this share that touches no edge, others are dropped.
_WHOLE = 10  # pixels; a smaller piece may be a part of a digit at the edge
_SPECK = 0.1  # A piece with less of the largest piece's area is a speck.
_DIGIT = 0.5  # A piece of this share of the tallest one's height may be a digit.

Pixels = list[tuple[int, int]]


def check_shape(shape: Shape, option: str) -> None:
    """Checks that a network takes MNIST's images."""
    if tuple(shape) != SHAPE:
        raise errors.UsageError(
            f"{option} is for networks of images of 28 x 28 x 1, such as mnist_mlp_8x128. Images "
            f"of this network are {' x '.join(map(str, shape))}. Remove {option}."
        )


def normalize(picture: np.ndarray) -> tuple[np.ndarray, str]:
    """Returns an image of one digit in MNIST's form, and what is odd about it, or "".

    The paper's brightness is measured in each region, so that shading vanishes. Ink is
    what differs, on the side (darker or lighter) with the stronger differences. Specks
    are dropped, and pieces that touch edges of the picture, such as a dark frame, if
    other ink remains. What is odd is the second half of a sentence.
    """
    from elu_zoo.data import images

    grey = picture[..., 0].astype(np.float32)
    scale = _MOST / max(grey.shape)
    if scale < 1:
        grey = images.resize(grey, _scaled(grey.shape, scale))
    ink, level, is_dark = _ink(grey)
    picture = 255 - picture if is_dark else picture
    is_ready = picture.shape == SHAPE and np.median(picture[[0, -1]]) == 0
    if is_ready and is_placed(picture[..., 0]) and ink.max() > level:
        return picture, ""
    pieces, odd = _digit(_pieces(ink > level), ink.shape)
    mask = np.zeros(ink.shape, bool)
    mask[tuple(np.transpose(sum(pieces, [])))] = True
    ink /= np.percentile(ink[mask], 75)
    rows, columns = (_extent(mask.any(axis)) for axis in (1, 0))
    near = np.pad(mask, 1)
    near = np.lib.stride_tricks.sliding_window_view(near, (3, 3)).any((2, 3))
    ink = np.where(near, np.clip(ink, 0, 1), 0)  # with the soft edges of the strokes
    size = rows.stop - rows.start, columns.stop - columns.start
    scale = _BOX / max(size)
    if not 1 <= scale <= _ENLARGED:
        ink = images.resize(ink[rows, columns], _scaled(size, scale))
        # Strokes thinner than a pixel of the box become as light as MNIST's.
        faintest = min(_FAINTEST, ink.max() / 2)
        ink = np.clip(ink / np.percentile(ink[ink > faintest], 90), 0, 1)
    return _centred(np.rint(255 * ink).astype(np.uint8)), odd


def _scaled(size: Sequence[int], scale: float) -> tuple[int, ...]:
    return tuple(max(1, round(n * scale)) for n in size)


def is_placed(picture: np.ndarray) -> bool:
    """Returns whether the ink of `(28, 28)` pixels is where and as large as in MNIST."""
    sides = []
    for axis in (0, 1):
        sums = picture.astype(np.float32).sum(axis)
        if abs(sums @ np.arange(_SIDE) / max(sums.sum(), 1) - _CENTRE) > 1:
            return False
        used = _extent((picture > BLACK).any(axis))
        sides.append(used.stop - used.start)
    return _LONGEST[0] <= max(sides) <= _LONGEST[1]


def _ink(grey: np.ndarray) -> tuple[np.ndarray, float, bool]:
    """Returns the ink in [0, 1], the level that divides it, and if it is dark."""
    low, middle, high = _levels(grey)
    is_dark = ((grey - middle) ** 3).sum() < 0
    if is_dark:
        ink = (high - grey) / np.maximum(high, _DIM)
    else:
        ink = (grey - low) / np.maximum(255 - low, _LEAST)
    # The standard deviation of normal noise; shading and frames hardly change it.
    noise = np.median(np.abs(np.diff(ink, axis=0))) if len(ink) > 1 else 0
    ink = np.clip(ink, 0, 1)
    return ink, max(_FAINTEST, 4 * noise, _otsu(ink)), is_dark


def _levels(grey: np.ndarray) -> list[np.ndarray]:
    """Returns percentiles 40, 50 and 60 of half the picture around each pixel.

    The paper is 60 if the ink is dark and 40 if it is light, so that the paper
    is found where bold ink takes up to 60 % of the place.
    """
    from elu_zoo.data import images

    small = images.resize(grey, _scaled(grey.shape, min(1, _SMALL / max(grey.shape))))
    window = [2 * (n // 4) + 1 for n in small.shape]
    padded = np.pad(small, [(n // 2, n // 2) for n in window], "symmetric")
    around = np.lib.stride_tricks.sliding_window_view(padded, window)
    levels = np.percentile(around, [40, 50, 60], axis=(2, 3))
    return [images.resize(level, grey.shape) for level in levels]


def _otsu(ink: np.ndarray) -> float:
    """Returns the level that separates two groups of values best (Otsu, 1979)."""
    counts, edges = np.histogram(ink, 128, (0, 1))
    values = (edges[1:] + edges[:-1]) / 2
    below, total = np.cumsum(counts), np.cumsum(counts * values)
    groups = np.maximum(below * (below[-1] - below), 1)
    return values[np.argmax((total[-1] * below / below[-1] - total) ** 2 / groups)]


def _pieces(mask: np.ndarray) -> list[Pixels]:
    """Returns the pixels of each connected piece of a mask."""
    left, pieces = set(map(tuple, np.argwhere(mask).tolist())), []
    while left:
        found = [left.pop()]
        for y, x in found:  # `found` grows.
            around = {(y + i, x + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} & left
            left -= around
            found += around
        pieces.append(found)
    return pieces


def _digit(pieces: list[Pixels], shape: tuple[int, ...]) -> tuple[list[Pixels], str]:
    """Returns the pieces of the digit, and what is odd about them; see `normalize`."""
    height, width = shape
    edges, inside = {}, False
    for i, piece in enumerate(pieces):
        (top, left), (bottom, right) = np.min(piece, 0), np.max(piece, 0)
        ends = top == 0, left == 0, bottom == height - 1, right == width - 1
        touched, side = sum(map(int, ends)), 1 + max(bottom - top, right - left)
        if side >= max(3, max(shape) * _PIECE):
            edges[i] = touched, 1 + bottom - top
            inside |= not touched and side >= max(_WHOLE, _INSIDE * max(shape))
    if not edges:
        raise errors.DataError("it shows no ink, like an empty page")
    most = 1 if inside else 2  # edges that ink may not touch, such as a dark frame
    chosen = [i for i, (touched, _) in edges.items() if touched < most] or list(edges)
    most = max(len(pieces[i]) for i in chosen)
    chosen = [i for i in chosen if len(pieces[i]) >= _SPECK * most]
    tallest = max(edges[i][1] for i in chosen)
    digits = sum(edges[i][1] >= _DIGIT * tallest for i in chosen)
    odd = ""
    if digits > 1:
        odd = f"shows {digits} separate shapes, which are read as one digit: crop to one"
    elif any(edges[i][0] for i in chosen):
        odd = "shows ink that touches the edge: leave some paper around the digit"
    return [pieces[i] for i in chosen], odd


def _extent(used: np.ndarray) -> slice:
    return slice(np.argmax(used), len(used) - np.argmax(used[::-1]))


def _centred(ink: np.ndarray) -> np.ndarray:
    """Returns ink with its centre of mass at MNIST's centre, uint8 of `SHAPE`."""
    sums = ink.sum(1, dtype=np.int64), ink.sum(0, dtype=np.int64)
    means = [x @ np.arange(len(x)) / x.sum() for x in sums]
    top, left = (round(mean) + _SIDE - _CENTRE for mean in means)
    return np.pad(ink, _SIDE)[top : top + _SIDE, left : left + _SIDE, None]
