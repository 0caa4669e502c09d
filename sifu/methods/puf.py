"""PUF (Mora et al. 2026): one round in which the updates of the clients to forget count negatively."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import one_of, setting
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


_PUBLISHED = {"regular": 20.0, "special": 2.0, "stored": 2.0}  # lambda


class Puf(Method):
    """theta' = theta^N + (sum over R of n_k U_k - lambda sum over W of n_u U_u) / n, then FedAvg of those that remain.

    U are updates of an ordinary local training from theta^N. `regular`: R is a cohort of remaining clients, W are the
    clients to forget, n the examples of both; the authors' code has lambda = 20, with all clients in every round.
    `special`: W alone, n the examples of W, there lambda = 2. `stored`: as special with what each of W sent in the last
    round that it took part in itself, so that nobody is asked. Who never took part has no update: zero. Tables mark
    methods, not variants: the data of the clients to forget, which the mark says are needed, are not by `stored`.

    Sequential: every request starts from the model of the last recovery, whose rounds count as rounds.
    """

    name = "puf"
    specified_from = "authors' code: alessiomora/puf_unlearning 9c89bd7"
    assumptions = Assumptions(
        forgotten_data=True,
        stores="nothing; `stored`: each client's last update",
        reference="Mora et al., IEEE TBD 2026",
    )

    updates: str = setting("whose updates are used", one_of(("regular", "special", "stored")), default="special")
    factor: float | None = setting(
        "lambda: how much the clients to forget count against; null: the authors' code's, 20 for `regular`, else 2",
        default=None,
    )

    @property
    def keeps(self) -> frozenset[Kept]:
        return frozenset({Kept.LAST_UPDATES} if self.updates == "stored" else set())

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        return server.recover(self._start(history, request, server, keys), keys)

    @property
    def _factor(self) -> float:
        return _PUBLISHED[self.updates] if self.factor is None else self.factor

    def _start(self, history: History, request: Request, server: Server, keys: Keys) -> Tensor:
        """theta'. [S, P]"""
        model, factor = history.current, self._factor
        if self.updates == "stored":
            return model - factor * history.last_updates(request)
        asked = server.ask_forgotten(model, keys)
        away = factor * (asked.mean - model)
        if self.updates == "special":
            return model - away
        stayed = server.ask_remaining(model, keys, same_round=True)
        weight = history.share_of(request.forget).to(model)[:, None]  # a cohort stands for all that remain
        moved = model + (1 - weight) * (stayed.mean - model) - weight * away
        paid = (stayed.examples.sum(1) > 0).to(model.device)[:, None]  # a budget may not pay for both
        return moved.where(paid, model)
