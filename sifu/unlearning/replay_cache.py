"""Past rounds that were replayed, and sums of their updates, kept for the next replay as long as there is room.

Next to them what another stage has made of the training: see sifu/stages/counterfactual.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor

from sifu.federation.rounds import Round
from sifu.federation.segment import Segment
from sifu.unlearning.training_without import TrainingWithout

_ROOM = 2**30  # bytes: a short training of a small model fits, and is replayed only once


class ReplayCache:
    """Replayed rounds by segment and number, up to `room` bytes; and the training `without` some clients, if known."""

    def __init__(self, room: int = _ROOM, without: Sequence[TrainingWithout] = ()) -> None:
        self._left, self._without = room, tuple(without)
        self._rounds: dict[tuple[int, int], tuple[Segment, Tensor, Round]] = {}
        self._sums: dict[tuple[int, Hashable], tuple[Segment, Tensor]] = {}

    def round(self, segment: Segment, number: int, cohort: Tensor, train: Callable[[], Round]) -> Round:
        """Round `number` of `segment` with the clients `cohort` [S, m]; `train` does it where it is not cached."""
        key = id(segment), number
        if key in self._rounds:
            _, same, known = self._rounds[key]
            if torch.equal(same, cohort):
                return known
        result = train()
        size = sum(part.numel() * part.element_size() for part in result)
        if key not in self._rounds and size <= self._left:
            self._left -= size
            self._rounds[key] = segment, cohort, result  # the segment, too: its id must stay its own
        return result

    def total(self, segment: Segment, which: Hashable, add_up: Callable[[], Tensor]) -> Tensor:
        """What was made of the rounds of `segment`, and `which`; `add_up` makes it where it is not cached.

        There is room for all: a model or the scalars of a branch for each seed, and as few of them as requests.
        """
        key = id(segment), which
        if key not in self._sums:
            self._sums[key] = segment, add_up()
        return self._sums[key][1]

    def increments(self, sets: Sequence[Tensor], until: Tensor) -> Tensor | None:
        """What the training up to round `until` [S] adds to Psi of the `sets` [S, C]; None where that is not known."""
        found = (known.increments_of(sets, until) for known in self._without)
        return next((part for part in found if part is not None), None)

    def without(self, clients: Tensor) -> TrainingWithout | None:
        """The training without `clients` [S, C]; None where that is not known."""
        return next((known for known in self._without if known.is_without(clients)), None)
