"""What the author of a settings class can get wrong: each is one sentence that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from sifu.config.fields import at_least, build, setting, settings
from sifu.errors import ConfigError, SifuError
from sifu.unlearning.method import Assumptions, Method

if TYPE_CHECKING:
    from torch import Tensor


def plain_default() -> Any:
    class Foo(Method):
        every: int = 2

    return Foo


def no_type() -> Any:
    class Foo(Method):
        every = setting("a round in how many", default=2)

    return Foo


def a_list() -> Any:
    class Foo(Method):
        every: tuple[int, ...] = setting("a round in how many", default=[2])

    return Foo


def typed_name() -> Any:
    class Foo(Method):
        name: str = "foo"  # type: ignore[misc]

    return Foo


def typed_assumptions() -> Any:
    class Foo(Method):
        assumptions: Assumptions = Assumptions()  # type: ignore[misc]

    return Foo


def own_init() -> Any:
    class Foo(Method):
        def __init__(self) -> None: ...

    return Foo


def own_post_init() -> Any:
    @settings
    class Foo:
        def __post_init__(self) -> None: ...

    return Foo


def no_meaning() -> Any:
    class Foo(Method):
        every: int = setting(2)  # type: ignore[arg-type]

    return Foo


def no_condition() -> Any:
    class Foo(Method):
        every: int = setting("a round in how many", 1)  # type: ignore[arg-type]

    return Foo


WRONG: list[tuple[Callable[[], Any], str]] = [
    (plain_default, "Foo has a type but no meaning for `every`: write a setting as `every: int = setting"),
    (no_type, "the settings of Foo: 'every' is a field but has no type annotation; write a setting as"),
    (a_list, "the settings of Foo: mutable default .* write a setting as"),
    (typed_name, "no meaning for `name`: it is no setting, so write `name = ...` without a type"),
    (typed_assumptions, "no meaning for `assumptions`: it is no setting, so write `assumptions = ...` without"),
    (own_init, r"Foo has its own __init__, which settings need: write `refuse\(self\)` instead"),
    (own_post_init, r"Foo has its own __post_init__, which settings need: write `refuse\(self\)` instead"),
    (no_meaning, r"setting\(2, ...\): write its meaning, then what is allowed"),
    (no_condition, "write its meaning, then what is allowed, such as"),
]


@pytest.mark.parametrize(("make", "words"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_a_wrong_class_is_one_sentence(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(SifuError, match=words):
        make()


class NoSettings(Method):
    name = "no_settings"


class OddTypes(Method):
    name = "odd_types"
    some: list[int] = setting("a type that no YAML value is checked for", default=())


class Hidden(Method):
    name = "hidden"
    some: Tensor = setting("a type that only type checkers import", default=())


class WrongDefault(Method):
    name = "wrong_default"
    every: int = setting("a round in how many", at_least(1), default="2")


@pytest.mark.parametrize(
    ("cls", "data", "words"),
    [
        (NoSettings, {"factor": 0.5}, "x.factor: 0.5 is refused; allowed: nothing, as no_settings has no settings"),
        (OddTypes, {"some": [1]}, "the type of the setting x.some is list; allowed: int, float, bool, str, tuple"),
        (Hidden, {}, "a type of Hidden is unknown when it is used: name 'Tensor' is not defined; import it at the top"),
        (WrongDefault, {}, "x.every: '2' is refused; allowed: 1 or more"),
    ],
)
def test_a_class_that_cannot_be_built(cls: type, data: dict[str, Any], words: str) -> None:
    with pytest.raises(SifuError) as caught:
        build(cls, data, "x")
    assert words in str(caught.value)


def test_a_long_value_is_cut_off() -> None:
    with pytest.raises(ConfigError) as caught:
        build(NoSettings, {"factor": list(range(1000))}, "x")
    assert len(str(caught.value)) < 250
