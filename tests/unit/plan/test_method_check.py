"""What the author of a method can forget: it is one sentence before any job starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from sifu.catalog.methods import METHODS
from sifu.config.certificate import Certificate
from sifu.config.federation import Privacy
from sifu.config.fields import setting
from sifu.config.scenario import Scenario
from sifu.contract.world import SCENARIO
from sifu.errors import SifuError
from sifu.plan.method_check import method_class, refuse_private_updates
from sifu.plan.variants import build_method
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Method


class NoMethod:
    name = "tried"


class OtherName(Method):
    name = "other"


class NoName(Method):
    def unlearn(self, history: Any, request: Any, server: Any, keys: Any) -> Any: ...


class NoUnlearn(Method):
    name = "tried"


class TooFew(Method):
    name = "tried"

    def unlearn(self, history: Any, request: Any) -> Any: ...  # type: ignore[override]


class OddAssumptions(Method):
    name = "tried"
    assumptions = "few"  # type: ignore[assignment]

    def unlearn(self, history: Any, request: Any, server: Any, keys: Any) -> Any: ...


class OddKeeps(Method):
    name = "tried"
    keeps = Kept.MODELS  # type: ignore[assignment]

    def unlearn(self, history: Any, request: Any, server: Any, keys: Any) -> Any: ...


@dataclass
class Twice(Method):
    name = "tried"
    every: int = setting("a round in how many", default=2)

    def unlearn(self, history: Any, request: Any, server: Any, keys: Any) -> Any: ...


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    method_class.cache_clear()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NoMethod", "it is no method: write `class ...(Method)`"),
        ("OtherName", 'it has name = "other", but its key in the catalog is "tried": make them the same'),
        ("NoName", 'it has no name, but its key in the catalog is "tried"'),
        ("NoUnlearn", "it has no `unlearn`: write `def unlearn(self, history, request, server, keys)`"),
        ("TooFew", "must be `unlearn(self, history, request, server, keys)`"),
        ("OddAssumptions", "its `assumptions` must be Assumptions(...)"),
        ("OddKeeps", "method tried: its `keeps` must be a set, such as frozenset({Kept.MODELS})"),
        ("Twice", "Twice has a type but no meaning for `every`"),
    ],
)
def test_what_is_forgotten_is_one_sentence(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "tried", f"{__name__}:{name}")
    with pytest.raises(SifuError) as caught:
        build_method("tried", {}, Certificate(sigma=0.0))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


class Private(Method):
    """A training with noise on the average; it reads what single clients sent."""

    name = "tried"
    keeps = frozenset({Kept.UPDATES, Kept.COHORTS})

    def training(self, scenario: Scenario) -> Scenario:
        privacy = Privacy(update_clip=1.0, noise=0.1)
        return replace(scenario, federation=replace(scenario.federation, privacy=privacy))

    def unlearn(self, history: Any, request: Any, server: Any, keys: Any) -> Any: ...


def test_single_updates_of_a_private_training_are_refused() -> None:
    with pytest.raises(SifuError, match="method tried: it reads updates, and its training shortens updates"):
        refuse_private_updates(Private(), SCENARIO)
    refuse_private_updates(build_method("fed_accum", {}, SCENARIO.certificate), SCENARIO)  # an ordinary training
    refuse_private_updates(build_method("dp_fedavg", {"clip": 1.0}, SCENARIO.certificate), SCENARIO)  # reads none
