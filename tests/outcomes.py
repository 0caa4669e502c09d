"""What each variant does where every claim of the paper holds, and how a test says that one does something else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What a variant does, the same in every seed but for `spread` between one seed and the next."""

    rounds: float = 100  # of each request, to the target
    forgotten: float = 0.0  # accuracy on forgotten clients
    gap: float = 0.5  # to scratch under a budget, on retain and on forget alike
    status: str = "done"
    delta: float | None = None  # actual one, where 0.01 is claimed, for whom it is promised
    together: float | None = None  # the same for all clients of a request together; None: the same
    spread: float = 0.0  # of rounds
    retain: float = 0.9  # accuracy on remaining clients under a budget; 0.9 at the target
    cut: int = 200  # the round that it goes back to
    triggers: int = 1  # of 100 that it answers with the label of their client
    steps: int = 10  # of all clients in a round
    counted: int | None = None  # rounds of each request as the method's own code counts them; None: the same

    def rounds_of(self, seed: int) -> int:
        return round(self.rounds + self.spread * seed)

    def counted_of(self, seed: int) -> int:
        return self.rounds_of(seed) if self.counted is None else round(self.counted + self.spread * seed)


# every claim of the paper holds: SIFU saves 60%, FedEraser takes 12% more, and so on
AS_CLAIMED = {
    "scratch": Outcome(),
    "original": Outcome(0, 0.6, status="not_reached", triggers=90),
    "fine_tuning": Outcome(50, 0.6, triggers=80),
    "sifu": Outcome(40, 0.02, gap=0.1, delta=0.005),
    "sifu_released": Outcome(40, 0.02, gap=0.1, delta=0.005),
    "sifu_strict": Outcome(40, 0.02, gap=0.1, delta=0.005),
    "exact_rollback": Outcome(100),
    "blurred_scratch": Outcome(100),  # noise alone saves nothing
    "last": Outcome(30, status="not_reached"),
    "fed_eraser_searched": Outcome(111, spread=1),
    "last_released": Outcome(30, status="not_reached"),
    "fed_eraser_released": Outcome(149, counted=111, spread=1),
    "fed_accum": Outcome(50, 0.6),
    "fed_accum_released": Outcome(50, 0.6),
    "dp_released": Outcome(30, 0.6),
}
