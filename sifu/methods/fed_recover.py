"""FedRecover (Cao et al. 2023): replay the training, with updates that are mostly estimated from the stored ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import at_least, from_to, setting
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method, Unlearned

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Node, Request, Server


class FedRecover(Method):
    """From theta^0 through all N rounds without the forgotten clients, U~_i = U_i - B_i (w~ - w) for most updates.

    w is the stored model of a round and U_i client i's stored update, w~ the model of the replay; with g = -U, B_i is
    the L-BFGS estimate of its Hessian matrix (sifu/unlearning/lbfgs.py) from the last s pairs (w~ - w, g~ - g) of
    rounds in which it really trained. Clients train in the first T_w rounds, in every T_c-th one after them, in the
    last T_f, where they have no pair yet (the paper's clients are in every round, here cohorts are sampled), and where
    a number of U~_i is above tau: the largest over rounds of the (1 - alpha) quantile of the stored numbers' sizes.
    These last ones give no pair. The paper bounds the distance to retraining for strongly convex losses and one local
    step; no promise is made of it. The defaults of T_w, T_c, T_f, s and alpha are as remembered, not looked up. A seed
    whose budget does not reach goes no further. Recovery follows.

    Sequential: the training is replayed from theta^0 again, then earlier recoveries; every stored round is one that was
    trained, never an estimate.
    """

    name = "fed_recover"
    specified_from = "a transcription of the paper; T_w, T_c, T_f, s and alpha as remembered"
    assumptions = Assumptions(convex=True, stores="every client's updates", reference="Cao et al., S&P 2023")
    keeps = frozenset({Kept.START, Kept.UPDATES, Kept.COHORTS})

    warm_up: int = setting("rounds at the start in which clients train (T_w)", at_least(0), default=20)
    every: int = setting("a round in how many after them in which they train (T_c)", at_least(1), default=20)
    final: int = setting("rounds at the end in which they train (T_f)", at_least(0), default=5)
    pairs: int = setting("pairs of differences that the Hessian is estimated from (s)", at_least(1), default=2)
    tolerance: float = setting("share of stored numbers above tau (alpha)", from_to(0, 1), default=1e-6)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Unlearned:
        model, node = self._replay(history, request, server)
        return Unlearned(server.recover(model, keys), node)

    def _replay(self, history: History, request: Request, server: Server) -> tuple[Tensor, Node]:
        """The replayed model [S, P], and the last round that was replayed."""
        from sifu.hardware.upload import upload
        from sifu.unlearning.lbfgs import Pairs, difference

        model, node, limit = history.start, history.early(0), self._limit(history, request)
        pairs, done = Pairs.none(request.remain, self.pairs, model), node.round
        going = done == 0  # [S]: until the budget is spent
        for stored in history.stored(request.remain):
            past, away = stored.past, difference(model, stored.model)
            guess = stored.update - pairs.product(past.cohort, away)  # [S, m, P]
            present = (past.cohort >= 0) & going[:, None]  # [S, m]
            learns = present & (self._trains(done, history.length)[:, None] | ~pairs.known(past.cohort).cpu())
            exact = learns | (present & (guess.abs().amax(2) > limit).cpu())
            asked, sent = server.ask_again(model, past.keep(exact), server.scenario.federation.local_steps)
            going = going & ((asked.visits > 0) | ~exact.any(1))
            place = upload((exact.cumsum(1) - 1).clamp(min=0), model.device)[..., None]  # [S, m, 1], of the answer
            trained = sent.local.gather(1, place.expand_as(guess))
            local = trained.where(upload(exact, model.device)[..., None], model[:, None] + guess)
            pairs.add(past.cohort, learns & going[:, None], away, stored.update - (trained - model[:, None]))
            model = server.average(model, local, past.hide((~going)[:, None].expand_as(request.remain)))
            node = node.moved(past.branch, past.number + 1, going & past.happened)
            done = done + (going & past.happened)
        return model, node

    def _trains(self, done: Tensor, rounds: Tensor) -> Tensor:
        """Whether clients train in the next round after `done` [S] of `rounds` [S]. [S]"""
        early, late = done < self.warm_up, done >= rounds - self.final
        return early | late | ((done + 1 - self.warm_up) % self.every == 0)

    def _limit(self, history: History, request: Request) -> Tensor:
        """tau. [S, 1]"""
        limit = history.start[:, :1] * 0
        for stored in history.stored(request.remain):
            sizes = stored.update.abs().flatten(1)  # [S, m P]
            count = stored.past.visits * stored.update.shape[2]  # [S] numbers of clients that took part
            above = (self.tolerance * count).long().minimum(count - 1).clamp(min=0).to(sizes.device)
            largest = sizes.topk(int(above.max()) + 1, dim=1).values
            limit = limit.maximum(largest.gather(1, above[:, None]))
        return limit
