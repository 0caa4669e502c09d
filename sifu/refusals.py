"""Scenarios that are refused: settings that are fine alone and impossible together."""

from __future__ import annotations

from sifu.data import DATASETS
from sifu.errors import ConfigError
from sifu.models import MODELS
from sifu.scenario import ClassRequests, Natural, OneClass, RandomRequests, Scenario, request_lists


def refuse_scenario(scenario: Scenario) -> None:
    """Raise a ConfigError that names the key, its value and what would be allowed."""
    _refuse_sizes(scenario)
    _refuse_model(scenario)
    _refuse_partition(scenario)
    _refuse_requests(scenario)
    percents = [share * 100 for share in scenario.budgets]
    if any(abs(p - round(p)) > 1e-6 for p in percents) or len({round(p) for p in percents}) < len(percents):
        raise ConfigError("budgets", list(scenario.budgets), "different shares in whole per cents, such as 0.25")


def _refuse_sizes(scenario: Scenario) -> None:
    federation, partition = scenario.federation, scenario.partition
    if federation.clients_per_round > partition.num_clients:
        raise ConfigError(
            "federation.clients_per_round",
            federation.clients_per_round,
            f"1 to partition.num_clients ({partition.num_clients})",
        )
    if federation.batch_size > partition.examples:
        raise ConfigError(
            "federation.batch_size",
            federation.batch_size,
            f"1 to the fewest examples a client can have ({partition.examples})",
        )


def _refuse_model(scenario: Scenario) -> None:
    spec = DATASETS[scenario.dataset.name]
    wanted = MODELS[scenario.model].shape
    if wanted is not None and wanted != spec.shape:
        fitting = [name for name, model in MODELS.items() if model.shape in (None, spec.shape)]
        raise ConfigError("model", scenario.model, f"{' | '.join(fitting)} (for images of {spec.shape})")
    if scenario.watermark and scenario.watermark.pixels > spec.shape[1] * spec.shape[2]:
        raise ConfigError("watermark.pixels", scenario.watermark.pixels, f"1 to {spec.shape[1] * spec.shape[2]}")
    if scenario.backdoor and scenario.backdoor.pixels > spec.shape[1] * spec.shape[2]:
        raise ConfigError("backdoor.pixels", scenario.backdoor.pixels, f"1 to {spec.shape[1] * spec.shape[2]}")
    if scenario.backdoor and scenario.watermark:
        raise ConfigError("backdoor", "set", "null beside a watermark: a mark and a trigger would hide each other")
    source = scenario.dataset.source
    if source != "auto" and source not in spec.sources:
        raise ConfigError("dataset.source", source, f"auto | {' | '.join(spec.sources)} (for {scenario.dataset.name})")


def _refuse_partition(scenario: Scenario) -> None:
    if isinstance(scenario.partition, Natural) and DATASETS[scenario.dataset.name].groups is None:
        named = [name for name, spec in DATASETS.items() if spec.groups]
        if scenario.dataset.source != "parquet":  # a Parquet file may bring its own column `client`
            raise ConfigError(
                "partition.kind", "natural", f"only with a dataset that knows its persons: {' | '.join(named)}"
            )


def _refuse_requests(scenario: Scenario) -> None:
    requests, num_clients = scenario.requests, scenario.partition.num_clients
    if isinstance(requests, ClassRequests):
        _refuse_classes(requests, scenario)
    lists = request_lists(scenario)
    if lists is None:
        assert isinstance(requests, RandomRequests)
        leaving = requests.num_requests * requests.size
        if leaving >= num_clients:
            raise ConfigError(
                "requests.size", requests.size, f"someone must remain: {leaving} of {num_clients} clients would leave"
            )
        return
    seen: set[int] = set()
    key = "classes" if isinstance(requests, ClassRequests) else "clients"
    for number, clients in enumerate(lists):
        _refuse_request(f"requests.{key}[{number}]", clients, seen, num_clients)
        seen.update(clients)
    if len(seen) >= num_clients:
        raise ConfigError("requests", requests.kind, f"someone must remain: all {num_clients} clients would leave")


def _refuse_classes(requests: ClassRequests, scenario: Scenario) -> None:
    if not isinstance(scenario.partition, OneClass):
        raise ConfigError("requests.kind", requests.kind, "listed | random (one_class needs partition.kind one_class)")
    for number, label in enumerate(requests.classes):
        if label >= scenario.num_classes or label in requests.classes[:number]:
            raise ConfigError(
                f"requests.classes[{number}]",
                label,
                f"each of the classes 0 to {scenario.num_classes - 1} at most once",
            )


def _refuse_request(key: str, clients: tuple[int, ...], seen: set[int], num_clients: int) -> None:
    if not clients:
        raise ConfigError(key, list(clients), "at least one client")
    for client in clients:
        if not 0 <= client < num_clients:
            raise ConfigError(key, client, f"clients 0 to {num_clients - 1}")
        if client in seen or clients.count(client) > 1:
            raise ConfigError(key, client, "each client at most once over all requests")
