"""Settings: frozen dataclasses with documented fields, which refuse invalid values.

    @settings
    class Watermark:
        pixels: int = setting("pixels set to the maximum", at_least(1), default=10)

    build(Watermark, {"pixels": 0}, path="scenarios.mnist.watermark")
    # ConfigError: scenarios.mnist.watermark.pixels: 0 is refused; allowed: 1 or more

If the type of a field is a union of settings classes, the key `kind` chooses the class with that `kind`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Any, TypeVar, dataclass_transform

from sifu.config.allowed import ORDINARY, Allowed
from sifu.config.allowed import above as above  # settings import them from here
from sifu.config.allowed import at_least as at_least
from sifu.config.allowed import between as between
from sifu.config.allowed import file_name as file_name
from sifu.config.allowed import from_to as from_to
from sifu.config.allowed import inner_folder as inner_folder
from sifu.config.allowed import inside as inside
from sifu.config.allowed import one_of as one_of
from sifu.config.allowed import shown_name as shown_name
from sifu.errors import ConfigError, SifuError, did_you_mean

T = TypeVar("T")


def setting(meaning: str, allowed: Allowed | None = None, *, default: Any = MISSING) -> Any:
    """A field of a settings class: its meaning (with unit), its allowed values, its default."""
    _refuse_misplaced(meaning, allowed)
    return dataclasses.field(default=default, metadata={"meaning": meaning, "allowed": allowed})


def _refuse_misplaced(meaning: object, allowed: object) -> None:
    if not isinstance(meaning, str) or not isinstance(allowed, Allowed | None):
        example = 'setting("what it means", at_least(1), default=2)'
        raise SifuError(f"setting({meaning!r}, ...): write its meaning, then what is allowed, such as {example}")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(setting,))
def settings(cls: type[T]) -> type[T]:
    """Make `cls` a frozen dataclass that checks every field, then calls its own `refuse()` if it has one."""

    if "__dataclass_params__" in vars(cls):  # it is one already: doing it twice would lose what the fields mean
        return cls
    for name in ("__init__", "__post_init__"):
        if name in vars(cls):
            raise SifuError(f"{cls.__name__} has its own {name}, which settings need: write `refuse(self)` instead")

    def __post_init__(self: Any) -> None:
        for field in dataclasses.fields(self):
            _check(field, getattr(self, field.name))
        if hasattr(self, "refuse"):
            self.refuse()

    cls.__post_init__ = __post_init__  # type: ignore[attr-defined]
    try:
        made = dataclass(frozen=True, kw_only=True)(cls)
    except (TypeError, ValueError) as error:  # a field without a type, a default that is a list
        raise SifuError(f"the settings of {cls.__name__}: {error}; {_FIELD}") from None
    refuse_plain_fields(made)
    return made


_FIELD = 'write a setting as `every: int = setting("what it means", at_least(1), default=2)` (sifu/config/fields.py)'


def refuse_plain_fields(cls: type) -> None:
    """Refuse a field that was not made by `setting`: nobody could know what it means."""
    for field in dataclasses.fields(cls):
        if "meaning" not in field.metadata:
            inherited = any(hasattr(base, field.name) for base in cls.__mro__[1:])
            advice = f"it is no setting, so write `{field.name} = ...` without a type" if inherited else _FIELD
            raise SifuError(f"{cls.__name__} has a type but no meaning for `{field.name}`: {advice}")


def _check(field: dataclasses.Field[Any], value: Any) -> None:
    allowed = field.metadata.get("allowed") or ORDINARY
    if value is None:
        return
    for item in value if isinstance(value, tuple) else (value,):
        try:
            passes = allowed.test(item)
        except TypeError:  # a default of the wrong type: what a user writes is converted before
            passes = False
        if not passes:
            raise ConfigError(field.name, item, allowed.text, allowed.hint(item))
        if not ORDINARY.test(item):
            raise ConfigError(field.name, item, ORDINARY.text)


def refuse_repeated(made: Any) -> None:
    """Refuse a list of names or numbers that has one of them twice."""
    for field in dataclasses.fields(made):
        value = getattr(made, field.name)
        plain = [item for item in value if isinstance(item, str | int | float)] if isinstance(value, tuple) else []
        for item, count in Counter(plain).items():
            if count > 1:
                raise ConfigError(field.name, item, "each value once")


def build(cls: type[T], data: object, path: str) -> T:
    """A settings object from plain YAML data; `path` is the place of the data, for error messages."""
    if not isinstance(data, Mapping):
        raise ConfigError(path, data, "a mapping with the keys " + ", ".join(_names(cls)))
    hints = _hints(typing.cast(Any, cls))
    refuse_unknown(cls, data, path)
    values = {name: _convert(hints[name], value, _inner(path, name)) for name, value in data.items() if name != "kind"}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if field.name not in values and field.default is MISSING:
            raise ConfigError(_inner(path, field.name), None, f"it must be given ({field.metadata['meaning']})")
    try:
        return cls(**values)
    except ConfigError as error:
        raise error.inside(path) from None


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    """The types of a class's fields; making them of text takes longer than all else here."""
    try:
        return typing.get_type_hints(cls)
    except NameError as error:
        raise SifuError(f"a type of {cls.__name__} is unknown when it is used: {error}; import it at the top") from None


def _inner(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _names(cls: type) -> list[str]:
    tag = ["kind"] if hasattr(cls, "kind") else []
    return tag + [field.name for field in dataclasses.fields(cls)]


def refuse_unknown(cls: type, data: Mapping[Any, Any], path: str) -> None:
    """Refuse a key that the class does not have, and suggest a similar one."""
    names = _names(cls)
    for key in data:
        if key not in names:
            some = "only the keys " + ", ".join(names)
            none = f"nothing, as {getattr(cls, 'name', cls.__name__)} has no settings"
            raise ConfigError(_inner(path, str(key)), data[key], some if names else none, did_you_mean(key, names))


def _convert(hint: Any, value: object, path: str) -> Any:
    """`value` as the type `hint`, or a refusal that names `path`."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if type(None) not in options:
        return _convert_value(options, value, path)
    if value is None:
        return None
    try:
        return _convert_value(tuple(option for option in options if option is not type(None)), value, path)
    except ConfigError as error:
        if error.key != path:  # something inside of it
            raise
        raise ConfigError(path, value, f"{error.allowed}, or null", error.hint) from None


def _convert_value(options: tuple[Any, ...], value: object, path: str) -> Any:
    if len(options) > 1 and any(typing.get_origin(option) is tuple for option in options):  # one, or a list of such
        is_list = isinstance(value, list | tuple)
        options = tuple(option for option in options if (typing.get_origin(option) is tuple) == is_list)
    if all(dataclasses.is_dataclass(option) for option in options):
        return build(_choose(options, value, path), value, path)
    return _convert_plain(options[0], value, path)


def _choose(options: tuple[Any, ...], value: object, path: str) -> type:
    """The settings class that the key `kind` names; a single option needs no `kind`."""
    if len(options) == 1:
        return options[0]
    kinds = {option.kind: option for option in options}
    kind = value.get("kind") if isinstance(value, Mapping) else value
    if not isinstance(kind, str) or kind not in kinds:
        raise ConfigError(f"{path}.kind", kind, " | ".join(kinds), did_you_mean(kind, kinds))
    return kinds[kind]


def _convert_plain(hint: Any, value: object, path: str) -> Any:
    if typing.get_origin(hint) is dict:
        if not isinstance(value, Mapping):
            raise ConfigError(path, value, "a mapping")
        return dict(value)
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(path, value, _type_text(hint))
        item = typing.get_args(hint)[0]
        return tuple(_convert(item, part, f"{path}[{i}]") for i, part in enumerate(value))
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) < 1e300:  # also refuses nan
            raise ConfigError(path, value, "a finite number")
        return float(value)
    if hint not in _TYPE_TEXTS:
        possible = "int, float, bool, str, tuple[int, ...], dict[str, Any], or a class with @settings"
        raise SifuError(f"the type of the setting {path} is {getattr(hint, '__name__', hint)}; allowed: {possible}")
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(path, value, _type_text(hint))
    return value


_TYPE_TEXTS = {
    int: "a whole number",
    float: "a number (YAML wants a point: 1.0e-4)",
    bool: "true or false",
    str: "a name",
}


def _type_text(hint: Any) -> str:
    if isinstance(hint, types.UnionType):
        return " or ".join("null" if arg is type(None) else _type_text(arg) for arg in typing.get_args(hint))
    if typing.get_origin(hint) is dict:
        return "a mapping"
    if typing.get_origin(hint) is tuple:
        return f"a list, each item {_type_text(typing.get_args(hint)[0])}"
    return _TYPE_TEXTS.get(hint) or f"a mapping ({getattr(hint, 'kind', hint.__name__)})"


def to_plain(value: Any) -> Any:
    """The inverse of `build`: plain data for JSON and YAML."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        tag = {"kind": value.kind} if hasattr(value, "kind") else {}
        return tag | {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value
