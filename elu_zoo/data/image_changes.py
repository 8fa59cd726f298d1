"""Changes of images at five severities: noise, blur, contrast, shift and rotation.

The benchmark ImageNet-C contains noise, blur and contrast, and ImageNet-P contains
shift and rotation: D. Hendrycks, T. Dietterich, "Benchmarking Neural Network Robustness
to Common Corruptions and Perturbations", ICLR 2019. We chose the levels, which are
small enough for images of 28 x 28 pixels.
"""

import math
from collections.abc import Callable

import numpy as np

# Levels of the severities 1 to 5.
LEVELS = {
    "noise": (10, 20, 30, 40, 60),  # standard deviation, of pixels 0..255
    "blur": (0.5, 0.75, 1.0, 1.5, 2.0),  # standard deviation, in pixels
    "contrast": (0.75, 0.5, 0.35, 0.25, 0.15),  # factor around the image's mean
    "shift": (1, 2, 3, 4, 6),  # pixels, in any direction
    "rotation": (5, 10, 15, 20, 30),  # degrees, in either direction
}
SEVERITIES = range(1, 6)
_BATCH_SIZE = 1000  # bounds the memory of the float32 images

Floats = np.ndarray


def change(images: np.ndarray, kind: str, severity: int, seed: int = 0) -> np.ndarray:
    """Returns changed copies of uint8 images `(n, height, width, channels)`.

    The change of an image depends on the seed, the kind, the severity, the size of the
    images and the index of the image. It does not depend on the number of images. A pixel
    that comes from outside of the image has the value of the nearest pixel of the image.
    """
    key = seed, list(LEVELS).index(kind), severity
    draws = np.random.Generator(np.random.Philox(key))
    level = LEVELS[kind][severity - 1]
    changed = np.empty_like(images)
    for start in range(0, len(images), _BATCH_SIZE):
        part = slice(start, start + _BATCH_SIZE)
        floats = _CHANGES[kind](images[part].astype(np.float32), level, draws)
        changed[part] = np.clip(np.rint(floats), 0, 255)
    return changed


def _add_noise(images: Floats, deviation: float, draws: np.random.Generator) -> Floats:
    return images + deviation * draws.standard_normal(images.shape, np.float32)


def _blur(images: Floats, deviation: float, _: np.random.Generator) -> Floats:
    radius = math.ceil(3 * deviation)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    kernel = (kernel / kernel.sum()).astype(np.float32)
    for axis in 1, 2:
        size = images.shape[axis]
        margins = [(radius, radius) if i == axis else (0, 0) for i in range(4)]
        padded = np.pad(images, margins, mode="edge")
        shifted = (padded.take(range(i, i + size), axis) for i in range(len(kernel)))
        images = sum(k * each for k, each in zip(kernel, shifted, strict=True))
    return images


def _reduce_contrast(images: Floats, factor: float, _: np.random.Generator) -> Floats:
    mean = images.mean((1, 2, 3), keepdims=True)
    return mean + np.float32(factor) * (images - mean)


def _shift(images: Floats, distance: float, draws: np.random.Generator) -> Floats:
    direction = draws.uniform(0, 2 * np.pi, len(images))
    by = distance * np.stack([np.sin(direction), np.cos(direction)], axis=1)
    return _resample(images, np.zeros(len(images)), by)


def _rotate(images: Floats, degrees: float, draws: np.random.Generator) -> Floats:
    signs = draws.choice([-1.0, 1.0], len(images))
    return _resample(images, np.radians(degrees) * signs, np.zeros((len(images), 2)))


def _resample(images: Floats, angles: Floats, shifts: Floats) -> Floats:
    """Returns images, turned around their centre and then shifted (bilinear).

    Angles `(n,)` are radians from the axis of rows to the axis of columns; shifts `(n, 2)`
    are rows and columns by which the content moves.
    """
    height, width = images.shape[1:3]
    centre = (height - 1) / 2, (width - 1) / 2
    grid = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    # The position of each pixel relative to the centre, before the shift.
    y = grid[0] - centre[0] - shifts[:, 0, None, None]
    x = grid[1] - centre[1] - shifts[:, 1, None, None]
    cosine, sine = (f(angles)[:, None, None] for f in (np.cos, np.sin))
    rows = np.clip(cosine * y + sine * x + centre[0], 0, height - 1)
    columns = np.clip(cosine * x - sine * y + centre[1], 0, width - 1)
    top, left = (sources.astype(np.intp) for sources in (rows, columns))
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down = (rows - top).astype(np.float32)[..., None]
    across = (columns - left).astype(np.float32)[..., None]
    n = np.arange(len(images))[:, None, None]
    above = images[n, top, left] * (1 - across) + images[n, top, right] * across
    below = images[n, bottom, left] * (1 - across) + images[n, bottom, right] * across
    return above * (1 - down) + below * down


_CHANGES: dict[str, Callable[[Floats, float, np.random.Generator], Floats]] = {
    "noise": _add_noise,
    "blur": _blur,
    "contrast": _reduce_contrast,
    "shift": _shift,
    "rotation": _rotate,
}
