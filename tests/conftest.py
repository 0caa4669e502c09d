"""One tiny federation for all tests, the way to the real datasets, and what a refusal looks like."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: two processes share the cores, and waiting threads spin

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import settings

if not torch.cuda.is_available():  # before Triton is imported: it then runs kernels step by step on the CPU
    os.environ["TRITON_INTERPRET"] = "1"

from sifu.catalog.datasets import DATASETS
from sifu.catalog.models import MODELS
from sifu.config.federation import Federation
from sifu.core.types import Clients
from sifu.federation.engine import Engine
from sifu.hardware.workers import Workers
from sifu.models.flat import build_model

settings.register_profile("suite", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("all", deadline=None, derandomize=True, max_examples=100)  # make test-all asks for it
settings.load_profile("suite")

REPO = Path(__file__).parent.parent
_ROOT = os.environ.get("SIFU_DATA_ROOT")
if _ROOT:  # tests change folders: a relative path would lose its way
    os.environ["SIFU_DATA_ROOT"] = str(Path(_ROOT).resolve())


LONGEST = (
    "test_whole.py",
    "test_smoke.py",
    "test_claims.py",
    "test_replication_pages.py",
    "test_methods.py",
    "test_command.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the two processes none shall wait at the end for the other's longest file."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of the real datasets; without it a test skips, or fails where SIFU_REQUIRE_DATA is set (CI)."""
    root = Path(os.environ.get("SIFU_DATA_ROOT", "data"))
    if not (root / "MNIST").exists():
        message = f"needs the datasets: no MNIST under {root} (set SIFU_DATA_ROOT)"
        if os.environ.get("SIFU_REQUIRE_DATA"):
            pytest.fail(message)
        pytest.skip(message)
    return root


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first process which needs it fills, for all processes of the session."""
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = base / name, base / f"{name}.done"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a process that failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


# MNIST, or the first dataset whose images a model takes: a new model is tested by being registered
DATASET_OF = {
    name: next(dataset for dataset in ("mnist", *DATASETS) if model.shape in (None, DATASETS[dataset].shape))
    for name, model in MODELS.items()
}


def tiny_federation(**changes: object) -> Federation:
    """Two of the clients a round, three steps on four examples."""
    usual = {"clients_per_round": 2, "local_steps": 3, "batch_size": 4, "client_lr": 0.05}
    return Federation(**(usual | changes))  # type: ignore[arg-type]


def tiny_clients(
    model: str = "logistic",
    seeds: int = 2,
    sizes: tuple[int, ...] = (8, 5, 3, 8),
    dtype: torch.dtype = torch.float32,
) -> Clients:
    """Random images; client c holds `sizes[c]` of them, the largest fills the row."""
    spec = DATASETS[DATASET_OF[model]]
    generator = torch.Generator().manual_seed(1)
    places = (seeds, len(sizes), max(sizes))
    return Clients(
        torch.randn(*places, *spec.shape, generator=generator).to(dtype),
        torch.randint(spec.num_classes, places, generator=generator),
        torch.tensor(sizes).expand(seeds, -1).clone(),
    )


def tiny_engine(model: str = "logistic", clients: Clients | None = None, **changes: object) -> Engine:
    clients = clients if clients is not None else tiny_clients(model)
    return Engine(build_model(model, DATASETS[DATASET_OF[model]]), clients, tiny_federation(**changes), Workers(2))


def one_sentence(capsys: pytest.CaptureFixture[str]) -> str:
    """What a command said that was refused: nothing else is printed."""
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]
