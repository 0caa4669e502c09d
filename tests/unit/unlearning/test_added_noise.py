"""The noise that a method really adds, as two answers show it."""

from __future__ import annotations

import pytest
import torch

from sifu.contract.world import World, masks, scenario_for
from sifu.core.keys import Keys
from sifu.plan.variants import build_method
from sifu.unlearning.added_noise import before_noise, new_noise, with_noise
from sifu.unlearning.worlds import Asker


@pytest.mark.parametrize(
    ("name", "settings"),
    [("sifu", {}), ("sifu", {"noise": "end"}), ("last", {}), ("descent_to_delete", {}), ("f2l2", {})],
)
def test_it_is_what_is_promised(name: str, settings: dict[str, str]) -> None:
    """So many weights tell sigma to some percent."""
    scenario = scenario_for(build_method(name, settings, World.make(seeds=range(1)).scenario.certificate))
    method = build_method(name, settings, scenario.certificate)
    world = World.make(seeds=range(2), scenario=scenario)
    asker, clients = Asker(method, scenario, Keys.of(range(2))), masks(7, 2)[0]
    answer = asker.recovered(world.lineage, clients)
    assert answer.promise is not None
    sigma, lineage = answer.promise.sigma.float()[:, None], world.lineage
    added = with_noise(answer).cpu() - before_noise(lineage, answer).cpu()
    again = asker.noise(lineage, clients, answer)
    for noise in (added, again):
        torch.testing.assert_close(noise.std(1, keepdim=True), sigma, rtol=0.05, atol=0.0)
    shared = (added * again).mean(1) / (added.std(1) * again.std(1))  # half of the variance is that of `added`
    torch.testing.assert_close(shared, torch.full((2,), 0.5**0.5), rtol=0.1, atol=0.0)
    assert not new_noise(lineage, answer, answer).any(), "the same draws are no noise"
