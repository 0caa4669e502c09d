"""Local optimisers beyond the federation's own SGD, for methods that ask clients to train in another way.

Their state starts at zero in every local training, as the momentum of FedAvg does.
"""

from __future__ import annotations

from typing import ClassVar

from sifu.config.federation import Federation
from sifu.config.fields import above, at_least, from_to, one_of, setting, settings

CURVATURES = ("gradient", "fisher", "hutchinson")
_CLIP = "gradients with a larger norm are shortened to this norm; null: never"


@settings
class Sgd:
    """w <- w - lr v, v <- momentum v + g: torch.optim.SGD's arithmetic."""

    kind: ClassVar[str] = "sgd"
    lr: float = setting("step size", at_least(0))
    momentum: float = setting("share of the last step's direction that is kept", from_to(0, 0.999), default=0.0)
    clip: float | None = setting(_CLIP, above(0), default=None)
    weight_decay: float = setting("lambda of the penalty lambda / 2 ||weights||^2", at_least(0), default=0.0)

    @property
    def gradients(self) -> int:
        """Gradients of a batch that a step takes: as many client steps it counts."""
        return 1


@settings
class Adaptive:
    """w <- w - lr mhat / (sqrt(vhat) + damping): m averages gradients g, v averages the squares of a curvature d.

    d = g is Adam (Kingma and Ba 2015). `fisher`: d is the diagonal of the empirical Fisher matrix, the mean of the
    squared gradients of single examples. `hutchinson`: d = z * (H z) with H the Hessian of the batch's loss and z of
    keyed signs, one probe a step, as in AdaHessian (Yao et al. 2021); it is exact where H is diagonal.
    """

    kind: ClassVar[str] = "adaptive"
    lr: float = setting("step size", above(0), default=1e-3)
    curvature: str = setting("what divides a step", one_of(CURVATURES), default="gradient")
    beta1: float = setting("how much of m is kept at a step", from_to(0, 0.9999), default=0.9)
    beta2: float = setting("how much of v is kept at a step", from_to(0, 0.9999), default=0.999)
    damping: float = setting("added to the root of v", above(0), default=1e-8)
    clip: float | None = setting(_CLIP, above(0), default=None)

    @property
    def gradients(self) -> int:
        """As `Sgd.gradients`. H z is a gradient of a gradient, so that `hutchinson` takes two; the gradients of single
        examples, which `fisher` squares, add up to that of the batch, so that it takes one.
        """
        return 2 if self.curvature == "hutchinson" else 1


@settings
class Svgd:
    """Stein variational gradient descent (Liu and Wang 2016): rows hold N particles theta_n side by side.

    theta_n <- theta_n - lr v_n with momentum on v_n = sum_j [k(theta_j, theta_n) g_j - alpha grad_{theta_j} k], g_j the
    gradient of particle j's loss and k(a, b) = exp(-||a - b||^2 / h). The stationary particles stand for the
    distribution exp(-loss / alpha). The paper's step size is N lr, so that a particle far from all others moves as by
    SGD. `anchored` multiplies the target by the density of the particles that the local training began with, estimated
    with the same kernel: g_j has alpha (2 / h) (theta_j - m_j) more, m_j their mean, weighted by k.
    """

    kind: ClassVar[str] = "svgd"
    lr: float = setting("step size", at_least(0))
    particles: int = setting("number of particles (N)", at_least(1))
    temperature: float = setting("of the target (alpha)", above(0))
    momentum: float = setting("share of the last step's direction that is kept", from_to(0, 0.999), default=0.0)
    clip: float | None = setting(_CLIP, above(0), default=None)
    weight_decay: float = setting("lambda of the penalty lambda / 2 ||weights||^2", at_least(0), default=0.0)
    bandwidth: float | None = setting(
        "h of the kernel; null: the median of the squared distances over log N", above(0), default=None
    )
    anchored: bool = setting("whether the particles at the start are part of the target", default=False)

    @property
    def gradients(self) -> int:
        """As `Sgd.gradients`: one of all particles, which are one model."""
        return 1


Optimiser = Sgd | Adaptive | Svgd


def gradients_of(optimiser: Optimiser | None) -> int:
    """Gradients of a batch that a step of clients takes; None: a step of the federation's SGD."""
    return 1 if optimiser is None else optimiser.gradients


def own_sgd(federation: Federation) -> Sgd:
    """The SGD that the federation's clients train with."""
    return Sgd(
        lr=federation.client_lr,
        momentum=federation.momentum,
        clip=federation.clip,
        weight_decay=federation.weight_decay,
    )
