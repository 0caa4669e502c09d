"""ConDa (Chundawat et al. 2024): damp the weights that the clients to forget moved more than the others did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import above, from_to, one_of, setting
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from torch import Tensor

    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class Conda(Method):
    """theta' = theta^N min(lambda q, bound) in the weights where q = C_R / C_W < cutoff; then FedAvg of the others.

    C_R is the mean over the remaining clients of C_i = sum_n |theta_i^n - theta^0|, weight by weight, over the rounds n
    that client i took part in; theta_i^n is the model that it sent. C_W is that of the clients to forget. The authors
    forget one client; of several in the same round only the mean of their models is used here, as often as there are
    clients in it, so that no client is asked. Nothing is damped where a weight was not moved by both (0/0).

    `as_released` divides the other way, q = C_W / C_R, as two arguments are exchanged in the authors' code (compared at
    its commit a4108eb): then the weights where the clients to forget moved least are damped, and where they are at
    theta^0 they become zero. Of several clients to forget that code counts all but the first among the remaining ones
    as well, which is not repeated.

    With distances to theta^0 the clients of late rounds look alike, so that q is close to 1; `round` takes them from
    the model that the round began with.

    The authors need no recovery; it follows here, as with every method. Sequential: rounds of recovery count as rounds,
    theta^0 stays that of the training, and clients of earlier requests count nowhere. One running sum a client, C_i,
    would do instead of every update: what the method is said to store is an upper limit.
    """

    name = "conda"
    specified_from = "authors' code: respailab/ConDa-Federated-Unlearning a4108eb"
    assumptions = Assumptions(stores="every client's updates", reference="Chundawat et al., 2024")
    keeps = frozenset({Kept.START, Kept.UPDATES, Kept.COHORTS})

    factor: float = setting("of the ratio (lambda)", above(0), default=0.5)
    bound: float = setting("largest factor of a damped weight", from_to(0, 1), default=0.5)
    cutoff: float = setting("weights of a smaller ratio are damped", above(0), default=0.5)
    origin: str = setting("what distances are taken from", one_of(("initial", "round")), default="initial")
    as_released: bool = setting("divide the other way, as the authors' code does", default=False)

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        remaining, forgotten = self._moved(history, request)
        ratio = forgotten / remaining if self.as_released else remaining / forgotten  # [S, P]; 0/0 is no number
        damped = (self.factor * ratio).clamp(max=self.bound).where(ratio < self.cutoff, 1.0)
        model = history.current
        return server.recover(model * damped.to(model.dtype), keys)

    def _moved(self, history: History, request: Request) -> tuple[Tensor, Tensor]:
        """C_R and C_W. [S, P] float64 each"""
        start = history.start
        remaining = forgotten = start.double() * 0
        for stored, past in zip(history.stored(request.remain), history.contributions(request), strict=True):
            away = (stored.model - start) * (self.origin == "initial")  # [S, P]
            present, visits = (part.to(start)[..., None] for part in (stored.past.cohort >= 0, past.visits))
            remaining = remaining + ((away[:, None] + stored.update).abs() * present).sum(1)
            forgotten = forgotten + (away + past.forgotten).abs() * visits
        count, size = (part.sum(1, keepdim=True).to(remaining) for part in (request.remain, request.forget))  # [S, 1]
        return remaining / count, forgotten / size
