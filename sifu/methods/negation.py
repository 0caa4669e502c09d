"""NoT (Khalil et al. 2025): negate the weights of some layers, then recover."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sifu.config.fields import setting
from sifu.errors import MethodRefused
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from sifu.unlearning.method_types import History, Keys, Request, Segment, Server


class Negation(Method):
    """theta' = theta^N with W_l -> -W_l in the chosen layers l, biases as they are; then FedAvg of those that remain.

    For the first layer -W x + b = W (-x) + b, so that the negated network answers f'(x) = f(-x): before recovery it has
    forgotten nothing, and whoever asks about inverted images reads theta^N's answers. The metric `inverted_accuracy`
    does that. Deeper layers have no such inverse. What forgetting there is comes from recovery. No
    authors' code was found: that it is layer 0 alone is what ports of others do.

    Sequential: every request negates the model of the last recovery.
    """

    name = "negation"
    specified_from = "ports in alessiomora/FedQUIT e447fa0 and puf_unlearning 9c89bd7: layer 0"
    assumptions = Assumptions(reference="NoT: Khalil et al., CVPR 2025")

    layers: tuple[int, ...] = setting(
        "which linear and convolution layers: 0 is the first, -1 the last; normalisations do not count", default=(0,)
    )

    def unlearn(self, history: History, request: Request, server: Server, keys: Keys) -> Segment:
        model = history.current
        found = server.linear_layers(model)
        for number in self.layers:
            if not -len(found) <= number < len(found):
                raise MethodRefused(
                    f"the model has no layer {number}: it has {len(found)} linear or convolution layers"
                )
        for number in {number % len(found) for number in self.layers}:  # 0 and -1 may be the same layer
            found[number].weight.neg_()  # [S, out, in, ...], a view of the model
        return server.recover(model, keys)
