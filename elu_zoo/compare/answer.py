"""Answer of a comparison: its runs, choices and costs."""

import dataclasses
from collections.abc import Mapping

from elu_zoo.compare.estimate import Cost
from elu_zoo.compare.question import Question
from elu_zoo.compare.spec import Measured, Spec
from elu_zoo.compare.tuning import Choice

Runs = Mapping[Spec, Measured]


@dataclasses.dataclass(frozen=True)
class Answer:
    """Everything that a comparison measured.

    Attributes:
        question: what was asked.
        runs: all runs.
        choices: by activation, the learning rate that tuning chose.
        costs: by activation.
    """

    question: Question
    runs: Runs
    choices: Mapping[str, Choice]
    costs: Mapping[str, Cost]

    def paired(self, activation: str, *, tuned: bool) -> dict[int, Measured]:
        """Returns the runs of an activation by seed.

        Args:
            activation: its name.
            tuned: at its own best learning rates, instead of the config's.
        """
        factor = self.choices[activation].factor if tuned else 1.0
        return {
            run.seed: measured
            for run, measured in self.runs.items()
            if run.activation == activation and run.factor == factor and not run.tuning
        }

    def tried(self, activation: str) -> dict[float, Measured]:
        """Returns the runs that tuned an activation, by factor."""
        return {
            run.factor: measured
            for run, measured in self.runs.items()
            if run.activation == activation and run.tuning
        }
