"""Writes configs/results/digits.csv: errors on drawn, photographed and moved digits.

    python tools/read_digits.py

The digits are drawn with the fonts of matplotlib, dark on white, at any place and of
any size; "photographed" adds shading, noise, a slight turn and a dark table around the
paper. The test images of MNIST are read as they are, and moved by up to 6 pixels.
"""

from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from elu_zoo import results, zoo
from elu_zoo.bin import flags as binary
from elu_zoo.data import digits, image_files, load

FILE = Path(__file__).parents[1] / "configs/results/digits.csv"
WAYS = "as it is", "--digit"
FONTS = "DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif", "DejaVuSansMono", "cmr10"
_FOLDER = Path(matplotlib.get_data_path(), "fonts/ttf")
_SIDE = 200  # pixels of a drawn picture
_MARGIN = _MOST = 6  # pixels; a test image is moved by at most _MOST


def draw(digit: int, font: str, generator: np.random.Generator) -> np.ndarray:
    """Returns a black digit on white, of 30 % to 75 % of the picture, at any place."""
    size = int(generator.uniform(0.3, 0.75) * _SIDE)
    face = ImageFont.truetype(str(_FOLDER / f"{font}.ttf"), size)
    picture = Image.new("L", (_SIDE, _SIDE), 255)
    pen = ImageDraw.Draw(picture)
    left, top, right, bottom = pen.textbbox((0, 0), str(digit), font=face)
    x, y = (generator.integers(_MARGIN, _SIDE - n - _MARGIN) for n in (right - left, bottom - top))
    pen.text((x - left, y - top), str(digit), font=face, fill=0)
    return np.asarray(picture)[..., None]


def photograph(picture: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns a drawn picture as a photograph of paper on a dark table."""
    table = _SIDE // 10
    paper = 60 + picture[..., 0] / 255 * 170
    seen = np.pad(paper, table, constant_values=30)
    y, x = np.mgrid[: len(seen), : len(seen)] / len(seen)
    angle = generator.uniform(0, 2 * np.pi)
    shade = np.cos(angle) * x + np.sin(angle) * y
    seen *= 1 - 0.5 * (shade - shade.min()) / np.ptp(shade)
    turned = Image.fromarray(seen.astype(np.uint8)).rotate(
        generator.uniform(-4, 4), Image.Resampling.BILINEAR, fillcolor=20
    )
    blurred = np.asarray(turned.filter(ImageFilter.GaussianBlur(1)), np.float64)
    noisy = blurred + generator.normal(0, 8, blurred.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)[..., None]


def moved(images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns images of MNIST moved by up to 6 pixels in each direction."""
    result = np.zeros_like(images)
    shifts = generator.integers(-_MOST, _MOST + 1, (len(images), 2))
    padded = np.pad(images, [(0, 0), (_MOST, _MOST), (_MOST, _MOST), (0, 0)])
    for i, (y, x) in enumerate(_MOST - shifts):
        result[i] = padded[i, y : y + images.shape[1], x : x + images.shape[2]]
    return result


def drawn(variants: int = 2) -> tuple[list[np.ndarray], np.ndarray]:
    """Returns pictures of every digit in every font, and their classes."""
    generator = np.random.default_rng(0)
    cases = [(d, font) for _ in range(variants) for font in FONTS for d in range(10)]
    return [draw(*case, generator) for case in cases], np.array([d for d, _ in cases])


def read(pictures: list[np.ndarray] | np.ndarray, way: str) -> np.ndarray:
    """Returns pictures as the inputs of a network, read in one of `WAYS`."""
    return image_files.read_image(list(pictures), digits.SHAPE, way == "--digit").pixels


def main(argv: list[str]) -> None:
    pictures, classes = drawn()
    generator = np.random.default_rng(1)
    photographs = [photograph(picture, generator) for picture in pictures]
    test = load.load("mnist").test
    sets = {
        "drawn": (pictures, classes),
        "photographed": (photographs, classes),
        "MNIST": (test.images, test.labels),
        "MNIST, moved": (moved(test.images, generator), test.labels),
    }
    model = zoo.get_model("mnist_mlp_8x128", weights="mnist")
    rows = []
    for name, (images, labels) in sets.items():
        rows.append({"pictures": name, "number": len(labels)})
        for way in WAYS:
            chosen = model.predict(read(images, way), verbose=0).argmax(1)
            rows[-1][way] = f"{100 * np.mean(chosen != labels):.2f}"
    results.write(FILE, rows[0], rows)


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
