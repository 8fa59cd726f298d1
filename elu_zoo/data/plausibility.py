"""Warnings about images whose scale, background or place differs from training."""

from collections.abc import Sequence

import numpy as np

DIGITS = ("mnist", "mnist_5k")  # data sets of light digits on black
SHAPE = (28, 28, 1)  # shape of the images of the data sets in DIGITS
_CENTRE = 14  # of MNIST's ink, within half a pixel
_LONGEST = 16, 22  # pixels of the ink's longer side, which is 19 or 20 in MNIST
# Brightness, 0..255, of the border of an image. MNIST's borders have the brightness 0.
_PAPER = 64  # A brighter border may be paper.
_BLACK = 40  # A brighter border is not black.
_TRAINED = "this network was trained on"
_NAMED = 3  # the largest number of images that a message names


def takes_light_on_black(shape: Sequence[int], dataset: str | None) -> bool:
    """Returns whether a network was trained on light digits on black.

    Args:
        shape: `(height, width, channels)` of the network's images.
        dataset: name of the training data set. If the name is None, the shape decides.
    """
    return tuple(shape) == SHAPE if dataset is None else dataset in DIGITS


def scale_complaint(images: np.ndarray, names: Sequence[str]) -> str:
    """Returns a sentence that lists the images with pixels in [0, 1], or "".

    A black image is the same on the scales [0, 1] and 0..255, and is not listed.

    Args:
        images: `(batch, height, width, channels)`.
        names: name of each image.
    """
    highest = images.max(axis=(1, 2, 3), initial=0)
    text = " like pixels in [0, 1]; expected 0..255."
    return _sentence(names, (highest > 0) & (highest <= 1), "looks", "look", text)


def ground_complaint(images: np.ndarray, names: Sequence[str], option: str, inverted: bool) -> str:
    """Returns sentences that list images unlike MNIST's light digits on black, or "".

    The border of an image that is dark on light, such as ink on paper, is bright and
    not darker than the mean of the image. Other images may have a grey border, or ink
    at another place.

    Args:
        images: `(batch, height, width, channels)`, 0..255, the inputs of a network
            that `takes_light_on_black`.
        names: name of each image.
        option: an option as the user writes it: "--{}" or "{}=True".
        inverted: whether `images` are inverted already.
    """
    borders = _borders(images)
    dark = (borders > _PAPER) & (borders >= images.mean(axis=(1, 2, 3)))
    digit, invert = (option.format(name) for name in ("digit", "invert"))
    remedy = f"pass {digit} in place of {invert}." if inverted else f"pass {digit}."
    if inverted:
        dark_text = f" light on dark already: leave {invert} out."
    else:
        dark_text = f" dark on light; {_TRAINED} light digits on black: {remedy}"
    grey = (borders > _BLACK) & ~dark
    shades = sorted({round(border) for border in borders[grey]})
    shade = " to ".join(str(x) for x in shades[:1] + shades[1:][-1:])  # lowest, highest
    grey_text = f" a grey background ({shade} of 255 around the digit); {_TRAINED} black: {remedy}"
    moved = ~dark & ~grey & misplaced(images)
    moved_text = (
        f" ink off the centre, or smaller or larger than MNIST's; {_TRAINED} centred "
        f"digits, 20 of 28 pixels high or wide: {remedy}"
    )
    sentences = (
        _sentence(names, dark, "is", "are", dark_text),
        _sentence(names, grey, "has", "have", grey_text),
        _sentence(names, moved, "has", "have", moved_text),
    )
    return " ".join(filter(None, sentences))


def misplaced(images: np.ndarray) -> np.ndarray:
    """Returns whether each image has ink, but not where and as large as in MNIST.

    Of MNIST, it is wrong about 1 of 50,000 training images and no test image. Images
    of another size than MNIST's are not judged.
    """
    wrong = np.zeros(len(images), bool)
    if images.shape[1:] != SHAPE:
        return wrong
    ink, longest = images[..., 0].astype(np.float32), 0
    for axis in (1, 2):
        sums = ink.sum(axis)
        centres = sums @ np.arange(sums.shape[1]) / np.maximum(sums.sum(1), 1)
        wrong |= np.abs(centres - _CENTRE) > 1
        used = (ink > _BLACK).any(axis)
        ends = used.argmax(1), used.shape[1] - used[:, ::-1].argmax(1)
        longest = np.maximum(longest, ends[1] - ends[0])
    wrong |= (longest < _LONGEST[0]) | (longest > _LONGEST[1])
    return wrong & (ink > _BLACK).any((1, 2))


def _borders(images: np.ndarray) -> np.ndarray:
    """Returns the median of each image's outermost pixels."""
    inside = np.zeros(images.shape[1:3], bool)
    inside[1:-1, 1:-1] = True
    return np.median(images[:, ~inside], axis=(1, 2))


def _sentence(
    names: Sequence[str], chosen: np.ndarray, singular: str, plural: str, text: str
) -> str:
    """Returns a sentence about the chosen images, with a verb in singular or plural."""
    listed = [names[i] for i in np.flatnonzero(chosen)]
    if not listed:
        return ""
    if len(listed) == 1:
        return f"{listed[0]} {singular}{text}"
    named = ", ".join(listed[:_NAMED]) + ", ..." * (len(listed) > _NAMED)
    return f"{len(listed)} of {len(names)} images ({named}) {plural}{text}"
