"""submission.json: whose numbers these are, under which rules they were made, and the digest of every file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sifu.config.allowed import file_name
from sifu.errors import StoreError, cut
from sifu.submission.archive import MANIFEST

FORMAT = 1
_LARGEST = 2**22  # bytes


@dataclass(frozen=True)
class Submission:
    """What a submission says of itself. Everything in it is compared with something else."""

    format: int
    suite: str  # version of the package
    rules_version: str
    name: str  # of the variant
    variant: dict[str, Any]  # as in variants.yaml
    module: str  # of the method
    code_hash: str  # of that module and of all that it imports
    files: dict[str, str]  # name -> SHA-256
    scenarios: dict[str, Any] = field(default_factory=dict)  # their settings
    blocks: list[Any] = field(default_factory=list)  # commit, device, time of each table
    link: str = ""  # where the method is described

    def text(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def read_manifest(folder: Path) -> Submission:
    """The manifest of an unpacked submission; its types are checked, and nothing else."""
    path = folder / MANIFEST
    if path.stat().st_size > _LARGEST:
        raise StoreError(f"{MANIFEST} has more than {_LARGEST} bytes")
    try:
        plain = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{MANIFEST} is not JSON: {cut(str(error), 200)}") from None
    return _built(plain)


def _built(plain: Any) -> Submission:
    wanted: dict[str, type] = {
        **dict.fromkeys(("suite", "rules_version", "name", "module", "code_hash", "link"), str),
        **dict.fromkeys(("variant", "files", "scenarios"), dict),
        "format": int,
        "blocks": list,
    }
    if not isinstance(plain, dict) or set(plain) != set(wanted):
        raise StoreError(f"{MANIFEST} does not have the keys {', '.join(sorted(wanted))}")
    wrong = [key for key, kind in wanted.items() if type(plain[key]) is not kind]
    wrong += [] if all(isinstance(digest, str) for digest in plain["files"].values()) else ["files"]
    if wrong:
        raise StoreError(f"{MANIFEST}: {', '.join(wrong)} is of another type than `python -m sifu submit` writes")
    if plain["format"] != FORMAT:
        raise StoreError(f"{MANIFEST} has the format {plain['format']}, expected {FORMAT}")
    if not file_name().test(plain["name"]):
        raise StoreError(f"{MANIFEST}: name: {cut(repr(plain['name']), 120)} is refused; allowed: {file_name().text}")
    return Submission(**plain)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
