"""A trained federation, which can be asked to forget clients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd
import torch

from sifu.config.fields import between
from sifu.config.scenario import Scenario
from sifu.errors import ConfigError
from sifu.federation.first_training import train_everyone
from sifu.federation.segment import count_work
from sifu.library.answer import Answer, Asked
from sifu.library.method import GivenMethod, chosen_method
from sifu.library.models import SeedModels
from sifu.library.numbers import Accuracy, Cost, summary
from sifu.library.scenario import NAME
from sifu.library.setup import Setup
from sifu.plan.method_check import refuse_private_updates
from sifu.stages.rows import Cell, cell_rows
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, OwnTraining
from sifu.unlearning.sequence import StopRule, budget_rule, target_rule


@dataclass(frozen=True, repr=False, eq=False)
class Training(SeedModels):
    """A federation that was trained on all its clients. `sifu.train` makes it."""

    @staticmethod
    def of(setup: Setup, name: str = "train") -> Training:
        """Train all clients until the target; `name` is shown with the progress."""
        with setup.progress(name) as progress:
            segment = train_everyone(setup.engine, setup.scenario, setup.seeds, progress)
        federation = setup.scenario.federation
        work = count_work(segment, federation.local_steps, num_models=federation.num_models)
        return Training(setup, Lineage.of(setup.engine, segment), work)

    @cached_property
    def accuracy(self) -> Accuracy:
        """Accuracy on all clients' own data (`retain`), and on the test set if one was given."""
        nobody = torch.zeros_like(self.lineage.segments[0].available)
        return self._accuracy(nobody, nobody)

    @property
    def cost(self) -> Cost:
        """What the training took."""
        return Cost.of(self.work)

    @property
    def cells(self) -> pd.DataFrame:
        """The rows of the table `cells`, one a seed (docs/results.md)."""
        return cell_rows(self.lineage.segments[0].status, self.work, Cell(NAME, "train", "target", self.seeds, 0))

    def forget(
        self,
        clients: int | Iterable[int],
        method: GivenMethod = "sifu",
        *,
        budget: float | None = None,
        **settings: Any,
    ) -> Answer:
        """Forget clients by a method, as the first request to this training, which itself stays as it is.

        `clients` are numbers, from 0: places in the lists that `sifu.train` got. `method` is a name of the catalog
        (`python -m sifu methods`), "module:name" of a class, the class itself, or a method with its settings.
        `settings` are the method's own, and those of its certificate: epsilon, delta, sigma, preset, ...
        (config/README.md).

        Recovery ends at the training's target; with a `budget`, after this share of the training's client steps,
        whatever is reached. A method with a training of its own (dp_fedavg) is trained first, once.
        """
        chosen, scenario = chosen_method(method, settings, self.setup.scenario)
        trained = self
        if isinstance(chosen, OwnTraining):
            refuse_private_updates(chosen, scenario)
            scenario = chosen.training(scenario)
            trained = self._trained_for(chosen, scenario)
        rule = self._stop_rule(scenario, budget)
        return Asked(trained, chosen, scenario, rule, budget).answer(trained.lineage, clients)

    def _stop_rule(self, scenario: Scenario, budget: float | None) -> StopRule:
        allowed = between(0, 1)
        if budget is None:
            return target_rule(scenario)
        if isinstance(budget, bool) or not isinstance(budget, int | float) or not allowed.test(budget):
            raise ConfigError("budget", budget, allowed.text)
        return budget_rule(scenario, budget, self.work.client_steps)

    def _trained_for(self, method: Method, scenario: Scenario) -> Training:
        """The federation as it is trained for one method alone."""
        if repr(method) not in self._own_trainings:
            engine = replace(self.setup.engine, federation=scenario.federation)
            setup = replace(self.setup, scenario=scenario, engine=engine)
            self._own_trainings[repr(method)] = Training.of(setup, f"train for {method.name}")
        return self._own_trainings[repr(method)]

    @cached_property
    def _own_trainings(self) -> dict[str, Training]:
        """Trainings for single methods so far, by the methods with their settings."""
        return {}

    def __repr__(self) -> str:
        title = f"Federation of {self.setup.engine.clients.num_clients} clients, trained"
        lines = {"status": self._ending(), "accuracy": self.accuracy.words(), "cost": self.cost.words()}
        return summary(title, len(self.seeds), lines)
