"""forgetting: margins of many models -> are they told from retrained ones, and do they remember whose data they had."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from sifu.errors import StoreError
from sifu.forgetting.sample import TooFewModels
from sifu.plan.code_hash import code_hash
from sifu.plan.freshness import relevant_settings, stage_modules
from sifu.stages.call import StageCall
from sifu.stages.distances import Compared, distance_rows
from sifu.stages.power import power_rows
from sifu.stages.rows import ORIGINAL, frame
from sifu.stages.two_questions import SCRATCH, TwoQuestions
from sifu.store.forgetting_schemas import DISTANCES, FORGETTING, POWER
from sifu.store.margins import MarginFiles
from sifu.store.oracle_schemas import CLIENT_MARGINS, POINTS, WITH_CLIENT, WITH_TWIN, original_of
from sifu.store.parquet import read_stamp, read_table, write_table
from sifu.store.provenance import Provenance, provenance

Rows = list[dict[str, Any]]


def command(call: StageCall) -> None:
    """`python -m sifu forgetting`."""
    folders = [call.folder(stage="oracles").with_name(block) for block in call.options.blocks]
    with call.timed() as folder:
        run_forgetting(call.options.scenario, folders, folder, _stamp(call, folders))


def _stamp(call: StageCall, folders: list[Path]) -> Provenance:
    """The models' device is the table's. Notes: how many models each block of oracles has, as margins are not kept."""
    stamps = {one.name: read_stamp(one / "margins.parquet") for one in folders}
    device = ", ".join(sorted({stamp["device"] for stamp in stamps.values()}))
    models = {name: json.loads(stamp["notes"])["models"] for name, stamp in stamps.items()}
    code = code_hash(*stage_modules("forgetting", call.scenario))
    return provenance("forgetting", relevant_settings("forgetting", call.scenario), code, device, oracles=models)


def run_forgetting(name: str, folders: list[Path], folder: Path, stamp: Provenance) -> None:
    """Writes the four tables of a scenario to `folder`, from the margins of all blocks of models."""
    tables = [read_table(one / "points.parquet", POINTS) for one in folders]
    if any(not _alike(table, tables[0]) for table in tables):
        raise StoreError(f"the blocks of {name} are about other examples: run oracles again")
    files, far, answers, power = MarginFiles([one / "margins.parquet" for one in folders]), [], [], []
    means: list[pd.DataFrame] = []
    if len(files.keys) and files.num_points != len(tables[0]):
        raise StoreError(f"the models of {name} are about {files.num_points} points, its blocks name {len(tables[0])}")
    for cell in cells(files, tables[0]):
        key: dict[str, Any] = {"scenario": name, "variant": cell.variant, "request": cell.request}
        far += [key | row for row in _distances(cell)]
        answers += [key | row for row in _answers(cell, name)]
        means += [_client_margins(cell, world).assign(**key) for world in (WITH_CLIENT, WITH_TWIN)]
        if cell.variant == SCRATCH:
            power += [{"scenario": name, "request": cell.request} | row for row in power_rows(cell)]
    write_table(folder / "distances.parquet", DISTANCES, frame(DISTANCES, far), stamp)
    write_table(folder / "power.parquet", POWER, frame(POWER, power), stamp)
    columns = [column.name for column in CLIENT_MARGINS.columns]
    every = pd.concat(means)[columns] if means else pd.DataFrame(columns=columns)
    write_table(folder / "client_margins.parquet", CLIENT_MARGINS, every, stamp)
    write_table(folder / "forgetting.parquet", FORGETTING, frame(FORGETTING, answers), stamp)


def _alike(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two blocks are about the same examples; earlier ones do not name the images."""
    unknown = one["row"].isna().all() or other["row"].isna().all()
    same = one.drop(columns="row").equals(other.drop(columns="row"))
    return same and bool(unknown or one["row"].equals(other["row"]))


def cells(files: MarginFiles, points: pd.DataFrame) -> list[TwoQuestions]:
    """Every variant after every request that there are models of, request by request: they share scratch's models."""
    named = files.keys[["variant", "request"]].drop_duplicates().sort_values(["request", "variant"])
    keys = named.itertuples(index=False)
    known, found = set(files.keys["variant"]), []
    for variant, request in keys:
        original = original_of(variant) if original_of(variant) in known else ORIGINAL
        found.append(TwoQuestions(files, points, str(variant), original, int(request)))
    return found


def _answers(cell: TwoQuestions, name: str) -> Rows:
    """The rows of a cell; with too few models one without numbers, and a sentence says so."""
    try:
        return cell.rows()
    except TooFewModels as reason:
        print(f"{name}, {cell.variant}, request {cell.request}: {reason}", file=sys.stderr)
        return [cell.without_numbers()]


def _client_margins(cell: TwoQuestions, world: str) -> pd.DataFrame:
    """A row a model of a world and client of the request."""
    seeds, (own, twin) = cell.seeds(world), cell.on_clients_and_twins(world)  # [N], [N, C] each
    index = pd.MultiIndex.from_product([seeds, cell.clients], names=["seed", "client"])
    return pd.DataFrame({"own": own.ravel(), "twin": twin.ravel()}, index).reset_index().assign(world=world)


def _distances(cell: TwoQuestions) -> Rows:
    """How far a variant is from scratch, on the clients to forget, on the others, and on the test set."""
    unlearned, others = (cell.models(name, WITH_CLIENT) for name in (cell.variant, SCRATCH))
    return distance_rows(Compared(unlearned, cell.models(SCRATCH, WITH_TWIN), others), cell.points, cell.request)
