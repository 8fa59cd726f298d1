"""Pictures of images above their reconstructions."""

import io

import numpy as np
import pytest
from PIL import Image

from elu_zoo import errors
from elu_zoo.export import pictures


def images(count, shape=(3, 2, 1), seed=0):
    """Returns pixels that must be rounded, of which some must be clipped."""
    return np.random.default_rng(seed).uniform(-20, 275, (count, *shape))


def reference(originals, reconstructions):
    """Computes the picture pixel by pixel, with ten pairs of images side by side."""
    count, height, width, channels = originals.shape
    zoom = max(1, 112 // max(height, width))
    columns = min(count, 10)
    bands = (count + 9) // 10
    tall, wide = height * zoom, width * zoom
    expected = np.full(
        (bands * (2 * tall + 2) + (bands - 1) * 10, columns * wide + (columns - 1) * 2)
        + (channels,),
        128,
    )
    for index in range(count):
        for row, source in enumerate((originals, reconstructions)):
            top = index // 10 * (2 * tall + 12) + row * (tall + 2)
            left = index % 10 * (wide + 2)
            for y in range(tall):
                for x in range(wide):
                    pixel = source[index, y // zoom, x // zoom]
                    expected[top + y, left + x] = np.clip(np.round(pixel), 0, 255)
    return expected


@pytest.mark.parametrize(
    ("count", "shape"), [(1, (28, 28, 1)), (3, (5, 40, 3)), (11, (57, 2, 1)), (23, (2, 113, 3))]
)
def test_layout_agrees_with_the_reference(count, shape):
    originals, reconstructions = images(count, shape), images(count, shape, seed=1)
    found = pictures.pairs(originals, reconstructions)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, reference(originals, reconstructions))


@pytest.mark.parametrize("channels", [1, 3])
def test_png_file_holds_the_picture(tmp_path, channels):
    originals = images(3, (40, 30, channels)).astype(np.uint8)
    path = tmp_path / "new" / "picture.png"
    assert pictures.write_pairs(path, originals, 255 - originals) == 3
    assert [entry.name for entry in path.parent.iterdir()] == ["picture.png"]
    picture = Image.open(io.BytesIO(path.read_bytes()))
    assert (picture.format, picture.mode) == ("PNG", "L" if channels == 1 else "RGB")
    expected = pictures.pairs(originals, 255 - originals)
    np.testing.assert_array_equal(np.array(picture).reshape(expected.shape), expected)


def test_picture_has_at_most_limit_images(tmp_path):
    many = images(pictures.LIMIT + 5, (1, 113, 1))
    path = tmp_path / "picture.png"
    assert pictures.write_pairs(str(path), many, many) == pictures.LIMIT
    with Image.open(path) as picture:
        assert picture.size == (10 * 115 - 2, pictures.LIMIT // 10 * 14 - 10)


def test_unwritable_file_raises(tmp_path):
    (tmp_path / "picture.png").mkdir()
    one = images(1)
    with pytest.raises(errors.ResourceError, match=r"Cannot write .*picture.png: Is a"):
        pictures.write_pairs(tmp_path / "picture.png", one, one)
    assert [entry.name for entry in tmp_path.iterdir()] == ["picture.png"]
