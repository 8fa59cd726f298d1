"""Errors of each image, and intervals from seeds and images together."""

import io
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from elu_zoo import files, zoo
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.training import build
from elu_zoo.training.config import resolve
from elu_zoo.training.result import find

_NAME = "compared_errors.npy"


def errors(trial: Trial, workdir: Path, plan: Plan, split: str, measure: str) -> np.ndarray:
    """Returns the measure of each image of a split with the final weights of a run.

    The values are kept in the run's folder.
    """
    path = workdir / _NAME
    if not path.exists():
        entry, data = find(workdir), build.load_data(resolve(trial.load()), plan.data_dir)
        objective = Objective(trial.base.train.loss, entry["preprocessing"])
        evaluator = Evaluator(zoo.get_model(entry["model"], weights=workdir), objective)
        content = io.BytesIO()
        np.save(content, evaluator.of_images(data.split(split), measure).astype(np.float32))
        files.write_bytes(path, content.getvalue())
    return np.load(io.BytesIO(files.read(path)))


def interval(
    ours: Mapping[int, np.ndarray], theirs: Mapping[int, np.ndarray]
) -> tuple[float, float]:
    """Returns the ends of a 95 % interval of the mean difference; errors are by seed.

    The differences of s seeds and i images are a table with random effects of seeds, of
    images, and of both together (crossed, without repetitions). With the mean squares of
    the three, the variance of the mean is (MS_seed + MS_image - MS_both) / (s * i) (Cornfield
    and Tukey, 1956), with Satterthwaite's (1946) degrees of freedom. Images whose mean
    square is below MS_both add nothing. At least two seeds must differ.
    """
    from scipy import stats

    table = np.array([np.subtract(ours[seed], theirs[seed], dtype=np.float64) for seed in ours])
    seeds, images = table.shape
    mean, of_seeds, of_images = table.mean(), table.mean(1), table.mean(0)
    rest = table - of_seeds[:, None] - of_images + mean
    free = np.array([seeds - 1, images - 1, (seeds - 1) * (images - 1)])
    squares = np.array([
        images * ((of_seeds - mean) ** 2).sum(), seeds * ((of_images - mean) ** 2).sum(),
        (rest**2).sum(),
    ]) / free  # fmt: skip
    if squares[1] < squares[2]:
        squares[1:] = 0
    total = squares[0] + squares[1] - squares[2]
    quantile = stats.t.ppf(0.975, total**2 / (squares**2 / free).sum())
    half = quantile * math.sqrt(total / table.size)
    return float(mean - half), float(mean + half)
