"""Who takes part in a round: keyed priorities, as in the suite's own engine (sifu/federation/cohort.py).

A client's priority depends on its id alone, so the others' do not change when it is forgotten. An id that is a whole
number, such as "7", has the priority of that client number in the suite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import torch

from sifu.core.keys import Keys


def request_keys(seed: int, number: int) -> Keys:
    """The keys of a request, as the suite has them. state [1]"""
    return Keys.of([seed]).fold("unlearn").fold("request", number)


def branch_keys(seed: int, branch: int) -> Keys:
    """The keys of the draws of a branch, as the suite has them; 0 is the training. state [1]"""
    return request_keys(seed, branch).fold("recovery") if branch else Keys.of([seed]).fold("train")


def in_line(clients: Collection[str], seed: int, branch: int, number: int) -> list[str]:
    """The clients by priority in round `number` (0: the first) of a branch; the first ones take part."""
    ordered = sorted(clients)  # a tie is broken by the id
    words = torch.tensor([_word(client) for client in ordered], dtype=torch.int64)
    priority = branch_keys(seed, branch).fold("cohort", number).each(words).state[0]  # [C]
    return [ordered[place] for place in priority.argsort(stable=True).tolist()]


def _word(client: str) -> int:
    """The 64-bit number that stands for an id."""
    if client.isdecimal() and client.isascii() and client == str(int(client)) and int(client) < 2**63:
        return int(client)
    word = int.from_bytes(hashlib.blake2b(client.encode(), digest_size=8).digest(), "big")
    return (word + 2**63) % 2**64 - 2**63  # as torch's int64 holds it


def number_order(client: str) -> tuple[int, str]:
    """A key that sorts ids: whole numbers by value, then all others by name."""
    is_number = client.isdecimal() and client.isascii()
    return (int(client), "") if is_number else (2**63, client)
