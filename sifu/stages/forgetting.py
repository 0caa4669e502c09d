"""forgetting: margins of many models -> are they told from retrained ones, and do they remember whose data they had."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sifu.errors import StoreError
from sifu.forgetting.margin import client_margins
from sifu.forgetting.twins import NOTHING, Share, TwinTest, share_forgotten, twin_test
from sifu.forgetting.u_lira import ULira, pair, u_lira
from sifu.plan.code_hash import code_hash
from sifu.plan.freshness import relevant_settings, stage_modules
from sifu.stages.call import StageCall
from sifu.stages.distances import distance_rows
from sifu.stages.rows import ORIGINAL, frame
from sifu.store.margins import MarginFiles, ModelMargins
from sifu.store.oracle_schemas import DISTANCES, FORGETTING, POINTS, WITH_CLIENT, WITH_TWIN, original_of
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import provenance

Rows = list[dict[str, Any]]
TOGETHER = -1  # in place of a client: all of them
_DEVIATIONS, _CERTAIN = 3.0, 0.5  # of the null; of the share forgotten
_SCRATCH = "scratch"


def command(call: StageCall) -> None:
    """`python -m sifu forgetting`."""
    folders = [call.folder(stage="oracles").with_name(block) for block in call.options.blocks]
    with call.timed() as folder:
        run_forgetting(call.options.scenario, folders, folder, _stamp(call, folders))


def _stamp(call: StageCall, folders: list[Path]) -> Any:
    device = ", ".join(sorted({read_stamp(one / "margins.parquet")["device"] for one in folders}))
    code = code_hash(*stage_modules("forgetting", call.scenario))
    return provenance("forgetting", relevant_settings("forgetting", call.scenario), code, device)


def run_forgetting(name: str, folders: list[Path], folder: Path, stamp: Any) -> None:
    """Writes forgetting and distances of a scenario to `folder`, from the margins of all blocks of models."""
    tables = [read_table(one / "points.parquet", POINTS) for one in folders]
    if any(not table.equals(tables[0]) for table in tables):
        raise StoreError(f"the blocks of {name} are about other examples: run oracles again")
    files = MarginFiles([one / "margins.parquet" for one in folders])
    questions = Questions(name, files, tables[0])
    write_table(folder / "distances.parquet", DISTANCES, frame(DISTANCES, questions.distances()), stamp)
    write_table(folder / "forgetting.parquet", FORGETTING, frame(FORGETTING, questions.rows()), stamp)


class Differences(NamedTuple):
    """Margins on each client minus those on its twin, and last the mean over clients, in both worlds."""

    with_client: NDArray[np.float64]  # [N, C + 1]; of one column [N]
    with_twin: NDArray[np.float64]  # [M, C + 1]


class Questions:
    """What the margins of a scenario answer."""

    def __init__(self, name: str, files: MarginFiles, points: pd.DataFrame) -> None:
        self.name, self.files, self.points = name, files, points
        self.models = cache(files.models)  # scratch and the original are asked for often

    @property
    def cells(self) -> list[tuple[str, int]]:
        """Variants and requests that have models in both worlds."""
        keys = self.files.keys[["variant", "request"]].drop_duplicates()
        return [(str(variant), int(request)) for variant, request in keys.itertuples(index=False)]

    def rows(self) -> Rows:
        return [row for variant, request in self.cells for row in self._cell(variant, request)]

    def distances(self) -> Rows:
        """How far each variant is from scratch, on the clients to forget, on the others, and on the test set."""
        rows = []
        for variant, request in self.cells:
            unlearned, oracles = self.models(variant, request, WITH_CLIENT), self.models(_SCRATCH, request, WITH_TWIN)
            key = {"scenario": self.name, "variant": variant, "request": request}
            rows += [key | row for row in distance_rows(unlearned, oracles, self.points, request)]
        return rows

    def _cell(self, variant: str, request: int) -> Rows:
        """A row a client of the request, and one of all of them together."""
        clients = self._clients(request)
        own, original = (self._differences(one, request) for one in (variant, self._original(variant)))
        retrain, both = self._retrain(variant, request, clients)
        remaining = self._remaining(variant, request)
        test, before = twin_test(*own), twin_test(*original)
        key = {"scenario": self.name, "variant": variant, "request": request, "models": min(test.models)}
        rows = []
        for place, client in enumerate([*clients, TOGETHER]):
            share = self._share(variant, request, _column(own, place), _column(original, place))
            row = key | {"client": client} | _retrain_columns(retrain, both, place)
            row |= _twin_columns(test, before, share, place)
            row["placebo_auc"] = _placebo(original.with_twin[:, place])
            rows.append(row | {"remaining_auc": remaining if client == TOGETHER else None})
        return rows

    def _clients(self, request: int) -> list[int]:
        points = self.points
        return sorted(set(points.loc[(points["owner"] == "twin") & (points["left_at"] == request), "client"]))

    def _original(self, variant: str) -> str:
        """The model before the requests that a variant started from."""
        return original_of(variant) if original_of(variant) in set(self.files.keys["variant"]) else ORIGINAL

    def _owned(self, owner: str) -> NDArray[np.int64]:
        """Whose each point is, of the points of one kind of owner; -1: another kind's. [P]"""
        return self.points["client"].where(self.points["owner"] == owner, TOGETHER).to_numpy()

    def _differences(self, variant: str, request: int) -> Differences:
        """Of each client, and last of all of them together."""
        clients, worlds = self._clients(request), []
        for world in (WITH_CLIENT, WITH_TWIN):
            margins = self.models(variant, request, world).margins
            own, twins = (client_margins(margins, self._owned(owner), clients) for owner in ("client", "twin"))
            worlds.append(_with_mean(own - twins))
        return Differences(*worlds)

    def _retrain(self, variant: str, request: int, clients: list[int]) -> tuple[ULira, ULira]:
        """Unlearned models against scratch's with other draws; and pairs with the model before, of the same draws."""
        unlearned, oracles = self.models(variant, request, WITH_CLIENT), self.models(_SCRATCH, request, WITH_TWIN)
        before = self.models(self._original(variant), request, WITH_CLIENT)
        same = self.models(_SCRATCH, request, WITH_CLIENT)
        stats = [self._with_all(one, clients) for one in (unlearned, oracles, before, same)]
        pairs = (pair(stats[2], stats[0]), pair(stats[2], stats[3]))
        alone = u_lira(stats[0], stats[1], unlearned.seeds, oracles.seeds)
        return alone, u_lira(*pairs, unlearned.seeds, same.seeds)

    def _with_all(self, models: ModelMargins, clients: list[int]) -> NDArray[np.float64]:
        """Mean margins on each client's data, and last over all of them. [N, C + 1]"""
        return _with_mean(client_margins(models.margins, self._owned("client"), clients))

    def _remaining(self, variant: str, request: int) -> float:
        """AUC of U-LiRA on the remaining clients, each attacked alone: the mean over them."""
        points = self.points[self.points["owner"] == "client"]
        remain = sorted(set(points.loc[(points["left_at"] == 0) | (points["left_at"] > request), "client"]))
        worlds = self.models(variant, request, WITH_CLIENT), self.models(_SCRATCH, request, WITH_TWIN)
        first, second = (client_margins(one.margins, self._owned("client"), remain) for one in worlds)
        return float(u_lira(first, second, worlds[0].seeds, worlds[1].seeds).auc.mean())

    def _share(self, variant: str, request: int, own: Differences, original: Differences) -> Share:
        """The share forgotten, of one client or of all together."""
        worlds = (self.models(variant, request, world) for world in (WITH_CLIENT, WITH_TWIN))
        first, second = (one.seeds for one in worlds)
        return share_forgotten(own, original, (first, second))


def _with_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A column a client, and last their mean. [N, C] -> [N, C + 1]"""
    return np.concatenate([values, values.mean(1, keepdims=True)], axis=1)


def _column(differences: Differences, place: int) -> Differences:
    return Differences(*(world[:, place] for world in differences))


def _placebo(with_twin: NDArray[np.float64]) -> float:
    """Twin against twin: every other model [N] of the twins' world against the rest."""
    first, second = with_twin[::2, None], with_twin[None, 1::2]
    return float(np.mean(first > second) + np.mean(first == second) / 2)


def _retrain_columns(alone: ULira, both: ULira, place: int) -> dict[str, Any]:
    row = {"retrain_auc": float(alone.auc[place]), "retrain_null": alone.null_deviation}
    for (_, counted), name in zip(alone.low_rates(place).items(), ("1", "01"), strict=True):
        row |= {f"retrain_hits_{name}": counted.hits, f"retrain_alarms_{name}": counted.alarms}
    return row | {"pair_auc": float(both.auc[place])}


def _twin_columns(test: TwinTest, before: TwinTest, share: Share, place: int) -> dict[str, Any]:
    value, first, shift = (float(values[place]) for values in (test.auc, before.auc, test.shift))
    known = share.note != NOTHING
    numbers = {"share": share.value, "share_low": share.low, "share_high": share.high}
    return (
        {"twins_auc": value, "twins_null": test.null_deviation, "twins_shift": shift, "original_auc": first}
        | {name: number if known else None for name, number in numbers.items()}
        | {"forgotten": verdict(value, test.null_deviation, share)}
    )


def verdict(value: float, deviation: float, share: Share) -> str:
    """Whether clients were forgotten, by an AUC of twins, its null and the share that is gone."""
    if share.note == NOTHING:
        return NOTHING
    if abs(value - 0.5) > _DEVIATIONS * deviation:
        return "no"
    return "yes" if share.low >= _CERTAIN else "cannot tell"
