"""One step of SGD with momentum, clipping and weight decay, on rows of flat weights; torch.optim.SGD's arithmetic."""

from __future__ import annotations

from torch import Tensor

from sifu.config.federation import Federation

_TINY = 1e-6  # as torch.nn.utils.clip_grad_norm_ adds to the norm


def clip_factor(norm: Tensor, clip: float) -> Tensor:
    """The factor that clips a gradient of this norm to `clip`."""
    return (clip / (norm + _TINY)).clamp(max=1.0)


def sgd_step(weights: Tensor, velocity: Tensor, gradient: Tensor, federation: Federation) -> None:
    """One step on weights [..., P] and velocity [..., P], in place."""
    if federation.clip is not None:
        gradient = gradient * clip_factor(gradient.norm(dim=-1, keepdim=True), federation.clip)
    if federation.weight_decay:
        gradient = gradient.add(weights, alpha=federation.weight_decay)
    velocity.mul_(federation.momentum).add_(gradient)
    weights.add_(velocity, alpha=-federation.client_lr)
