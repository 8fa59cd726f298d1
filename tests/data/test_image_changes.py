"""Changes of images against float64 references, and their randomness."""

import numpy as np
import pytest

from elu_zoo.data import image_changes
from elu_zoo.data.image_changes import LEVELS, SEVERITIES, change

RANDOM = "noise", "shift", "rotation"
each_kind = pytest.mark.parametrize("kind", LEVELS)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).integers(0, 256, (4, 9, 7, 3), "uint8")


@each_kind
def test_larger_severities_change_images_more(kind):
    smooth = np.linspace(60, 190, 28)[:, None] + 20 * np.sin(np.arange(28) / 3)
    smooth = np.repeat(smooth[None, ..., None], 4, 0).astype("uint8")
    changed = [change(smooth, kind, n) for n in SEVERITIES]
    assert {(x.dtype, x.shape) for x in changed} == {(np.dtype("uint8"), smooth.shape)}
    distances = [np.abs(x.astype(float) - smooth).mean() for x in changed]
    assert distances == sorted(distances) and distances[0] > 0


@each_kind
def test_draws_depend_on_seed_and_index_alone(kind, images, monkeypatch):
    changed = change(images, kind, 3)
    np.testing.assert_array_equal(change(images[:2], kind, 3), changed[:2])
    monkeypatch.setattr(image_changes, "_BATCH_SIZE", 3)
    np.testing.assert_array_equal(change(images, kind, 3), changed)
    assert (change(images, kind, 3, seed=1) != changed).any() == (kind in RANDOM)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_noise_has_the_deviation_of_its_level(severity):
    grey = np.full((50, 20, 20, 1), 128, "uint8")
    noise = change(grey, "noise", severity).astype(np.float64) - 128
    # Clipping at 0 and 255 reduces the largest deviation by about 2 %.
    assert noise.std() == pytest.approx(LEVELS["noise"][severity - 1], rel=0.04)
    assert abs(noise.mean()) < 1


@pytest.mark.parametrize("severity", SEVERITIES)
def test_contrast_scales_around_the_mean(severity, images):
    exact = images.astype(np.float64)
    mean = exact.mean((1, 2, 3), keepdims=True)
    exact = mean + LEVELS["contrast"][severity - 1] * (exact - mean)
    assert np.abs(change(images, "contrast", severity) - exact).max() < 0.501


@pytest.mark.parametrize("severity", SEVERITIES)
def test_blur_is_a_convolution_with_a_gaussian(severity, images):
    deviation = LEVELS["blur"][severity - 1]
    radius = int(np.ceil(3 * deviation))
    taps = np.exp(-(np.arange(-radius, radius + 1) ** 2) / (2 * deviation**2))
    kernel = np.outer(taps, taps) / taps.sum() ** 2
    margins = [(0, 0), (radius, radius), (radius, radius), (0, 0)]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(images.astype(np.float64), margins, mode="edge"), kernel.shape, (1, 2)
    )
    exact = (windows * kernel).sum((-2, -1))
    assert np.abs(change(images, "blur", severity) - exact).max() < 0.501


@pytest.mark.parametrize(("rows", "columns"), [(2, 0), (0, -3), (1, 1), (0.5, 0.25)])
def test_a_shift_moves_the_content(rows, columns, images):
    floats = images.astype(np.float32)
    shifts = np.tile([rows, columns], (4, 1))
    shifted = image_changes._resample(floats, np.zeros(4), shifts)
    y, x = (np.clip(np.arange(n) - move, 0, n - 1) for n, move in ((9, rows), (7, columns)))
    exact = np.zeros(images.shape)
    for i, row in enumerate(y):
        for j, column in enumerate(x):
            near = floats[:, int(row) : int(row) + 2, int(column) : int(column) + 2]
            weights = np.outer([1 - row % 1, row % 1], [1 - column % 1, column % 1])
            weights = weights[: near.shape[1], : near.shape[2], None]
            exact[:, i, j] = (near * weights).sum((1, 2))
    np.testing.assert_allclose(shifted, exact, atol=1e-3)


@pytest.mark.parametrize("quarters", [-1, 1, 2])
def test_a_rotation_by_right_angles_is_exact(quarters, images):
    square = images[:, :7].astype(np.float32)
    angles = np.full(4, quarters * np.pi / 2)
    rotated = image_changes._resample(square, angles, np.zeros((4, 2)))
    np.testing.assert_allclose(rotated, np.rot90(square, quarters, (1, 2)), atol=1e-2)
