"""What every method must do. A check that fails raises a SifuError, whose sentence tells the author what to change."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from sifu.contract.require import require
from sifu.contract.world import SIZES, World, masks, scenario_for, trained
from sifu.core.keys import Keys
from sifu.core.types import Clients, Status
from sifu.errors import MethodRefused, SifuError
from sifu.unlearning.lineage import Lineage
from sifu.unlearning.method import Footprint, Method
from sifu.unlearning.sequence import Answer

DOES_NOTHING = {"original"}  # the one method that may give back the model as it is


def usual(method: Method) -> World:
    """The world that most checks share."""
    return trained(scenario_for(method))


@cache
def answered(method: Method) -> tuple[Answer, ...]:
    """What the method answers there, once for all checks that read it."""
    return tuple(usual(method).answer(method))


def weights(answers: Sequence[Answer]) -> list[Tensor]:
    return [answer.unlearned.weights for answer in answers]


def check_shape(method: Method) -> None:
    """A finite row of weights for each seed."""
    world = usual(method)
    for final in weights(answered(method)):
        require(final.shape == world.lineage.start.shape, "give back one row of weights for each seed, [S, P]")
        require(final.isfinite().all(), "the weights must stay finite on a harmless problem")


def check_deterministic(method: Method) -> None:
    """Two runs give the same bits."""
    first, second = weights(answered(method)), weights(World.fit(method, seeds=range(2)).answer(method))
    require(
        all(torch.equal(a, b) for a, b in zip(first, second, strict=True)),
        "two runs differ: draw from the `keys` that unlearn is given, never from torch's own generator",
    )


def check_seed_by_seed(method: Method) -> None:
    """A seed alone is the seed among others."""
    world = usual(method)
    together, clients = weights(answered(method)), world.lineage.engine.clients
    for s in world.seeds:
        own = Clients(clients.images[s : s + 1], clients.labels[s : s + 1], clients.size[s : s + 1])
        alone = weights(World.fit(method, own, range(s, s + 1)).answer(method))
        for one, many in zip(alone, together, strict=True):
            require(
                torch.equal(one[0], many[s]),
                f"seed {s} alone is not seed {s} among others: never mix values along the first axis, S",
            )


def check_padded_client(method: Method) -> None:
    """A client that is not available changes nothing."""
    clients = usual(method).lineage.engine.clients
    images, labels, size = (
        torch.cat([part, part[:, :1]], dim=1) for part in (clients.images, clients.labels, clients.size)
    )
    images[:, -1] = torch.nan
    available = torch.arange(size.shape[1]).expand_as(size) < clients.num_clients
    padded = World.fit(method, Clients(images, labels, size), range(2), available)
    for one, other in zip(weights(answered(method)), weights(padded.answer(method)), strict=True):
        require(
            torch.allclose(one, other, atol=1e-4),
            "a client that is not available changes the result: use history and request, which leave it out",
        )


def check_forgotten_data(method: Method) -> None:
    """Other data of the forgotten clients, even none that is a number, must not be noticed."""
    if method.assumptions.forgotten_data:
        return
    world = usual(method)
    forget = masks(world.lineage.engine.clients.num_clients, len(world.seeds))[:1]
    expected = answered(method)[0].unlearned.weights
    for value in (torch.nan, 0.5):
        images = world.lineage.engine.clients.images.clone()
        images[forget[0]] = value
        (answer,) = world.with_images(images).answer(method, forget)
        lost = Status.DIVERGED in answer.unlearned.segment.status
        require(
            not lost and torch.equal(answer.unlearned.weights, expected),
            "the data of forgotten clients are still read: train with server.recover, "
            "or set assumptions.forgotten_data",
        )


def check_forgotten_before(method: Method) -> None:
    """Clients of an earlier request have left: their data must not be noticed, whatever a method declares."""
    world = usual(method)
    first, second, *_ = masks(world.lineage.engine.clients.num_clients, len(world.seeds))
    expected = answered(method)[1].unlearned.weights
    images = world.lineage.engine.clients.images.clone()
    images[first] = torch.nan
    found = world.answer(method, [first, second], later=images)[1].unlearned
    require(
        Status.DIVERGED not in found.segment.status and torch.equal(found.weights, expected),
        "the data of clients that an earlier request has forgotten are still read: ask the clients to forget now, "
        "with server.ask_forgotten, and no others",
    )


def check_server_data(method: Method) -> None:
    """Data at the server are noticed by a method that declares them, which refuses to work without."""
    world, (forget, *_) = usual(method), masks(len(SIZES), len(usual(method).seeds))
    try:
        found = world.with_server_data(None).answer(method, [forget])[0].unlearned.weights
    except MethodRefused:
        require(method.assumptions.server_data, "it asks for data at the server: set assumptions.server_data")
        return
    require(
        not method.assumptions.server_data or not torch.equal(found, answered(method)[0].unlearned.weights),
        "it declares data at the server, and gives the same answer without: clear assumptions.server_data",
    )


def check_not_a_no_op(method: Method) -> None:
    """Every request changes the model of every seed."""
    if method.name in DOES_NOTHING:
        return
    before = usual(method).lineage.current
    for number, after in enumerate(weights(answered(method)), start=1):
        require(
            (after != before).any(1).all(),
            f"the model of some seed came back unchanged from request {number}: give back the segment that was trained",
        )
        before = after


def check_sequence(method: Method) -> None:
    """Answers build on the past that there is."""
    answers = answered(method)
    require([answer.request.number for answer in answers] == [1, 2, 3], "every request must be answered")
    for number, answer in enumerate(answers):
        branch = answer.unlearned.node.branch
        require((branch <= number).all(), "a node's branch must be one that exists already: 0 is the training")
        require((branch >= -1).all(), "before everything is branch -1: use history.nowhere")


def check_refusals(method: Method) -> None:
    """Requests that make no sense are refused before the method sees them."""
    world = usual(method)
    one, *_ = masks(world.lineage.engine.clients.num_clients, len(world.seeds))
    for forget, words in (
        ([torch.zeros_like(one)], "is empty"),
        ([one, one], "forgotten before"),
        ([torch.ones_like(one)], "leaves no client"),
    ):
        require(words in _refusal(world, method, forget), f"a request that {words} must be refused")


def _refusal(world: World, method: Method, forget: list[Tensor]) -> str:
    try:
        world.answer(method, forget)
    except SifuError as error:
        return str(error)
    return ""


def check_declared_reads(method: Method) -> None:
    """`answer_requests` shows a method only what it declares; this asks for what it then says."""
    answered(method)


def check_promise(method: Method) -> None:
    """The noise of a certificate is where it is said to be.

    That is on the model of the past that the new branch starts at, on the model that is given out, or in every round
    that there was.
    """
    lineage = usual(method).lineage
    for answer in answered(method):
        promise, node, segment = answer.unlearned.promise, answer.unlearned.node, answer.unlearned.segment
        if promise is not None:
            at = answer.unlearned.initial if promise.blurred is None else promise.blurred
            if at is None:
                before = bool((node.branch < 0).all())
                at = lineage.start if before else lineage.at(node.round, node.branch, dropped=True)
            found = {
                "start": _noise(segment.start - at),
                "end": _noise(answer.unlearned.weights - segment.final),
                "rounds": _noise_of_a_round(lineage),
            }
            require(
                torch.allclose(found[promise.noise], promise.sigma.double(), rtol=0.05, atol=1e-7),
                f"there is not the noise of the promised sigma at the {promise.noise} (start: on the node that is "
                "given back, where the branch starts)",
            )
            if promise.noise != "start":
                require(torch.equal(segment.start, at), "the branch does not start at the node that is given back")
        lineage = lineage.grow(node, segment)
        require(
            (promise is not None and promise.epsilon == 0) == method.exact,
            "set `exact = True` next to its name if every answer carries `exact_promise`, and only then",
        )


def check_cost(method: Method) -> None:
    """Cost is counted by the engine; what the server stores is a number for each seed."""
    rounds = torch.tensor([10, 20, 30])
    stored = method.server_floats(Footprint(7, 100, 3, rounds))
    require(stored.shape == rounds.shape, "server_floats gives one number a seed, [S]")
    require((stored >= 0).all(), "server_floats counts: nothing below zero")
    require(not stored.is_floating_point(), "server_floats counts: whole numbers")


def check_interface(method: Method) -> None:
    """A method trains through the server alone: what is private there, such as the engine, is not its business."""
    tree = ast.parse(Path(inspect.getfile(type(method))).read_text())
    own = {cls.__name__ for cls in type(method).__mro__}
    tree.body = [part for part in tree.body if not isinstance(part, ast.ClassDef) or part.name in own]
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
    private = {ast.unparse(node) for node in attributes} | _calls(tree, {"getattr", "vars", "setattr"})
    private = {name for name in private if not re.fullmatch(r"self\.\w+", name)}
    require(not private, f"private parts are read ({', '.join(sorted(private))}): use what history and server offer")


def _calls(tree: ast.Module, names: set[str]) -> set[str]:
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name) and call.id in names}


def _noise_of_a_round(lineage: Lineage) -> Tensor:
    """What noise adds to each weight in the training's first round: the round with it, less the same without. [S]"""
    engine, segment = lineage.engine, lineage.segments[0]
    privacy = engine.federation.privacy
    if privacy is None:
        return torch.zeros(len(segment.start), dtype=torch.float64)
    quiet = replace(engine, federation=replace(engine.federation, privacy=replace(privacy, noise=0.0)))
    seeds, keys = torch.arange(len(segment.start)), Keys(segment.key_state)
    both = (one.round(segment.start, seeds, seeds * 0, segment.available, keys).weights for one in (engine, quiet))
    loud, still = both
    return _noise(loud - still)


def _noise(difference: Tensor) -> Tensor:
    """The standard deviation of the noise on each weight. [S]"""
    return difference.double().norm(dim=1) / difference.shape[1] ** 0.5


CHECKS: tuple[Callable[[Method], None], ...] = (
    check_shape,
    check_deterministic,
    check_seed_by_seed,
    check_padded_client,
    check_forgotten_data,
    check_forgotten_before,
    check_server_data,
    check_not_a_no_op,
    check_sequence,
    check_refusals,
    check_declared_reads,
    check_promise,
    check_cost,
    check_interface,
)
