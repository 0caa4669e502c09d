"""Numbers that people typed into a page."""

from __future__ import annotations

import re

from sifu.docs.generated_parts import without

_NOT_TEXT = (
    r"^```.*?^```$",  # blocks of code
    r"`[^`]*`",  # code in a line
    r"\]\([^)]*\)",  # where links lead
    r"<!--.*?-->",
)
_NO_MEASUREMENT = (
    r"\b(19|20)\d\d\b",  # years
    r"\b([Ee]quation|[Ss]ection|[Tt]able|[Ff]igure|[Aa]ppendix) [A-Z]?[\d.]+",  # places in papers
    r"CIFAR-100?|H200|IEEE 754|float32|TF32|python3",  # names
    r"(?<![\d.])-?[01](?![\d%]|[.,]\d)",  # nothing, one, before everything
    r"\b2 ?(K|dt)\b|\bseed 2\b",  # factors and labels
    r"^\d\. ",  # lists
    r"under 300 lines|about 10 lines",  # rules of the house
)


def typed_numbers(page: str) -> list[str]:
    """Every number of a page that is neither generated, nor code, nor a name, each with the words around it."""
    text = without(page)
    for pattern in _NOT_TEXT:
        text = re.sub(pattern, "", text, flags=re.DOTALL | re.MULTILINE)
    for pattern in _NO_MEASUREMENT:
        text = re.sub(pattern, "", text, flags=re.MULTILINE)
    return re.findall(r".{0,30}\d[\d.,%]*.{0,30}", text)
