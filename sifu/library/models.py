"""Trained models, one for each seed, as the library gives them out."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sifu.errors import ConfigError, SifuError
from sifu.federation.segment import Work
from sifu.library.arrays import Array
from sifu.library.numbers import Accuracy
from sifu.library.setup import Setup
from sifu.metrics.accuracy import shares
from sifu.metrics.measure import measured
from sifu.unlearning.lineage import Lineage


@dataclass(frozen=True, repr=False, eq=False)
class SeedModels:
    """Models of several seeds, and the history that led to them."""

    setup: Setup
    lineage: Lineage
    work: Work  # what making them took

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in the order of all numbers."""
        return self.setup.seeds

    @property
    def status(self) -> tuple[str, ...]:
        """How each seed ended: done (at the target, or at the end of a budget), not_reached, or diverged."""
        return tuple(status.value for status in self.lineage.segments[-1].status)

    @property
    def weights(self) -> Tensor:
        """The weights of each seed's model in one row, a copy on the CPU. [S, P]"""
        return self.lineage.segments[-1].final.clone()

    def state_dict(self, seed: int | None = None) -> dict[str, Tensor]:
        """The weights of one seed's model by the names of its parameters; without a seed the first one's."""
        if seed is not None and seed not in self.seeds:
            raise ConfigError("seed", seed, ", ".join(map(str, self.seeds)))
        row = self.weights[0 if seed is None else self.seeds.index(seed)]
        model = self.setup.engine.model
        if len(row) > model.num_weights:
            count = len(row) // model.num_weights
            raise SifuError(f"this is an ensemble of {count} models: `weights` has them side by side in a row")
        parts = zip(model.names, model.split(row), model.shapes, strict=True)
        return {name: part.view(shape) for name, part, shape in parts}

    def module(self, seed: int | None = None) -> nn.Module:
        """One seed's model as a torch module, on the CPU and in evaluation mode; it takes what `inputs` gives."""
        module = copy.deepcopy(self.setup.engine.model.module).cpu().requires_grad_(True)
        with torch.no_grad():
            for name, values in self.state_dict(seed).items():
                module.get_parameter(name).copy_(values)
        return module.eval()

    def inputs(self, images: Array) -> Tensor:
        """Images, given as those of the clients were, scaled as the models see them. [n, ...]"""
        return self.setup.images.prepare(images, "the images")

    def _accuracy(self, forget: Tensor, forgotten: Tensor) -> Accuracy:
        """`forget` [S, C]: clients of the last request, `forgotten` [S, C]: of all requests."""
        models = measured(self.setup.engine, self.weights, forget, forgotten, self.setup.test)
        return Accuracy.of(shares(models))

    def _ending(self) -> str:
        """How the seeds ended, in words."""
        if len(self.seeds) == 1:
            return self.status[0]
        counts = {status: self.status.count(status) for status in dict.fromkeys(self.status)}
        return ", ".join(f"{status} in {count} of {len(self.seeds)} seeds" for status, count in counts.items())
