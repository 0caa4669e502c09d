"""A method's answer to one request, without those before it."""

from __future__ import annotations

from sifu.core.keys import Keys
from sifu.unlearning.answer_check import checked_answer
from sifu.unlearning.history import History
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Method, Unlearned
from sifu.unlearning.request import Request
from sifu.unlearning.server import Server


def unlearn(method: Method, lineage: Lineage, request: Request, server: Server, keys: Keys) -> Unlearned:
    """A method's answer to one request, as the sequence of requests asks for it."""
    return checked_answer(
        method, method.unlearn(History(lineage, method.keeps), request, server, keys), lineage, server
    )
