"""The types in the signature of a method, so that one import brings them all; for type checkers, as it is heavy."""

from __future__ import annotations

from sifu.core.keys import Keys
from sifu.federation.segment import Segment
from sifu.unlearning.history import History
from sifu.unlearning.node import Node
from sifu.unlearning.past_round import PastRound
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server

__all__ = ["History", "Keys", "Node", "PastRound", "Request", "Segment", "Server"]
