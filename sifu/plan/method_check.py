"""A method's class, checked before it is used: what its author may have forgotten is one sentence."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from sifu.catalog.lookup import place, resolve
from sifu.catalog.methods import METHODS
from sifu.config.fields import file_name, refuse_plain_fields
from sifu.config.scenario import Scenario
from sifu.errors import MethodError
from sifu.unlearning.kept import Kept
from sifu.unlearning.method import Assumptions, Method, OwnTraining

_SENT = frozenset({Kept.UPDATES, Kept.LAST_UPDATES, Kept.FIRST_ROUND, Kept.NORMS})  # of clients, as they trained them
_UNLEARN = "unlearn(self, history, request, server, keys)"


@cache
def method_class(name: str) -> type[Method]:
    """The class of a method, by its name in the catalog or as "module:name"."""
    target = METHODS[name]
    cls = resolve(target)
    problem = _problem(cls, name)
    if problem:
        raise MethodError(f"{target} ({place(target)}): {problem}")
    refuse_plain_fields(cls)  # again: another decorator may have changed them
    found: type[Method] = cls
    return found


def own_class(cls: Any) -> type[Method]:
    """A user's own class of a method, which is in no catalog."""
    problem = _problem(cls, getattr(cls, "name", ""))
    if problem or not cls.name:
        raise MethodError(f"{getattr(cls, '__name__', cls)}: {problem or 'it has no name: write `name = ...`'}")
    found: type[Method] = cls
    return found


def _problem(cls: Any, name: str) -> str:
    """What is wrong with a class that should be the method `name`; empty: nothing."""
    if not isinstance(cls, type) or not issubclass(cls, Method):
        return "it is no method: write `class ...(Method)`, from sifu.unlearning.method"
    if _name_problem(cls, name):
        return _name_problem(cls, name)
    if cls.unlearn is Method.unlearn:
        return f"it has no `unlearn`: write `def {_UNLEARN}`"
    assumptions: object = cls.assumptions
    if not isinstance(assumptions, Assumptions):
        return "its `assumptions` must be Assumptions(...), from sifu.unlearning.method"
    return _signature_problem(cls)


def _name_problem(cls: type[Method], name: str) -> str:
    """A method has the name of its entry; one that the config gives as "module:name" has one that no entry has."""
    has = f'name = "{cls.name}"' if cls.name else "no name"
    if ":" not in name:
        return "" if cls.name == name else f'it has {has}, but its key in the catalog is "{name}": make them the same'
    if not file_name().test(cls.name):
        return f"it has {has}: give it one of {file_name().text}"
    taken = cls.name in METHODS and METHODS[cls.name] != name
    return f"it has {has}, which is the name of {METHODS[cls.name]}: choose another one" if taken else ""


def _signature_problem(cls: type[Method]) -> str:
    signature = inspect.signature(cls.unlearn)
    try:
        signature.bind(*["self", "history", "request", "server", "keys"])
    except TypeError:
        return f"its `unlearn{signature.replace(return_annotation=inspect.Signature.empty)}` must be `{_UNLEARN}`"
    return ""


def check_method(method: Method) -> Method:
    """The method, if what it says that it keeps can be kept."""
    keeps: object = method.keeps
    if not isinstance(keeps, set | frozenset) or not all(isinstance(kept, Kept) for kept in keeps):
        raise MethodError(f"method {method.name}: its `keeps` must be a set, such as frozenset({{Kept.MODELS}})")
    return method


def refuse_private_updates(method: Method, scenario: Scenario) -> None:
    """Refuse a method that reads single updates of a training which is private: its server never sees them so.

    A replay gives updates as clients trained them, neither shortened nor with noise.
    """
    read = sorted(kept.value for kept in method.keeps & _SENT)
    if not read or not isinstance(method, OwnTraining):  # first: an accountant takes seconds to plan a training
        return
    if method.training(scenario).federation.privacy is not None:
        words = f"it reads {' and '.join(read)}, and its training shortens updates and adds noise (federation.privacy)"
        raise MethodError(f"method {method.name}: {words}: keep something else, or train without privacy")
