"""Results of a comparison: its runs, chosen learning rates and costs."""

import collections
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
        question: the config, the activations and the numbers of runs.
        runs: results of all runs, by spec.
        choices: factors on the learning rates that tuning chose, by activation.
        costs: measured times, by activation.
    """

    question: Question
    runs: Runs
    choices: Mapping[str, Choice]
    costs: Mapping[str, Cost]

    def paired(self, activation: str, *, tuned: bool) -> dict[int, Measured]:
        """Returns the results of an activation's paired runs, by seed.

        Args:
            activation: name of the activation.
            tuned: whether to take runs at the best rates, not at the config's rates.
        """
        factor = self.choices[activation].factor if tuned else 1.0
        return {
            run.seed: measured
            for run, measured in self.runs.items()
            if run.activation == activation and run.factor == factor and not run.tuning
        }

    def tried(self, activation: str) -> dict[float, list[float]]:
        """Returns the validation errors of an activation's tuning runs, by factor."""
        errors = collections.defaultdict(list)
        for run, measured in self.runs.items():
            if run.activation == activation and run.tuning:
                errors[run.factor].append(measured.error)
        return dict(errors)
