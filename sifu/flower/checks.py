"""What cannot be unlearned from is refused, each with one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sifu.certificate.rules import rules_of
from sifu.config.certificate import Certificate
from sifu.errors import ConfigError, SifuError

_NO_MEAN = {  # strategies of Flower whose new model is not the mean of the clients'
    "FedAdagrad": "adapts the server's steps",
    "FedAdam": "adapts the server's steps",
    "FedYogi": "adapts the server's steps",
    "FedOpt": "adapts the server's steps",
    "FedAvgM": "has a momentum at the server",
    "FedMedian": "takes a median",
    "FedTrimmedAvg": "leaves out extreme values",
    "Krum": "chooses clients by what they sent",
    "MultiKrum": "chooses clients by what they sent",
    "Bulyan": "chooses clients by what they sent",
    "QFedAvg": "weights clients by their loss",
    "FedXgbBagging": "has no weights to average",
    "FedXgbCyclic": "has no weights to average",
    "DifferentialPrivacyServerSideFixedClipping": "adds noise in every round",
    "DifferentialPrivacyServerSideAdaptiveClipping": "adds noise in every round",
    "DifferentialPrivacyClientSideFixedClipping": "adds noise in every round",
    "DifferentialPrivacyClientSideAdaptiveClipping": "adds noise in every round",
}
_CLOSE = 1e-4  # of an average to the mean of the replies, relative to the largest weight: float16 rounds less


def refuse_strategy(strategy: object) -> None:
    """Refuse an inner strategy that is known not to average, or not to see what each client sends."""
    names = [cls.__name__ for cls in type(strategy).__mro__]
    if any("secagg" in f"{cls.__module__}.{cls.__name__}".lower() for cls in type(strategy).__mro__):
        raise SifuError(
            f"{names[0]} is secure aggregation, which hides what each client sent: a sensitivity cannot be counted"
        )
    for name in names:
        if name in _NO_MEAN:
            raise SifuError(f"{names[0]} {_NO_MEAN[name]}: only strategies that average, such as FedAvg, can unlearn")
    if not hasattr(strategy, "configure_train"):
        raise SifuError(f"{names[0]} is no strategy of flwr.serverapp.strategy, such as FedAvg")


def clients_needed(strategy: object) -> int:
    """How many clients an inner strategy waits for."""
    names = ["min_train_nodes", "min_available_nodes"]
    if getattr(strategy, "fraction_evaluate", 0.0):
        names.append("min_evaluate_nodes")
    return max(int(getattr(strategy, name, 0)) for name in names)


def refuse_secure_aggregation(records: Mapping[str, object]) -> None:
    """Refuse a message with records of Flower's secure aggregation."""
    if any("secagg" in name.lower() for name in records):
        raise SifuError("a client uses secure aggregation, which hides what it sent: a sensitivity cannot be counted")


def refuse_certificate(certificate: Certificate, local_steps: int | None) -> None:
    """Refuse counts that a federation cannot make."""
    if not isinstance(certificate, Certificate):
        raise ConfigError("certificate", certificate, "a sifu.flower.Certificate, such as Certificate(sigma=0.05)")
    if certificate.preset == "released":  # also with other switches: its delta is 1 / number of clients
        raise ConfigError("certificate.preset", "released", "published, strict or empty_seats: it promises too much")
    if rules_of(certificate).branches == "reset":
        raise ConfigError("certificate.branches", "reset", "accumulate: Psi that restarts at zero promises too much")
    if certificate.contraction != 1 and local_steps is None:
        raise ConfigError(
            "local_steps", None, "the local steps K of a round, as the certificate's contraction is not 1"
        )


def refuse_arrays(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a model with anything but floating-point numbers: noise cannot hide a count."""
    if not arrays:
        raise SifuError("the initial model has no arrays")
    for name, part in arrays.items():
        if not np.issubdtype(part.dtype, np.floating):
            raise SifuError(
                f"array {name} of the model holds {part.dtype} numbers, which noise cannot hide: "
                "leave such buffers out (for BatchNorm: track_running_stats=False, or GroupNorm)"
            )


def refuse_other_shapes(arrays: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], whose: str) -> None:
    """Refuse a model that is not of the shape of another."""
    found, wanted = ({name: part.shape for name, part in model.items()} for model in (arrays, expected))
    if found != wanted:
        raise SifuError(f"{whose} has arrays {_shapes(found)}, not {_shapes(wanted)} as the store")


def _shapes(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())


def refuse_no_mean(strategy: object, after: np.ndarray, local: Sequence[np.ndarray], weights: Sequence[float]) -> None:
    """Refuse an aggregate [P] that is not the weighted mean of the models `local` [P]."""
    mean = np.zeros(after.shape)
    for model, weight in zip(local, weights, strict=True):
        mean += model.astype(np.float64) * (weight / sum(weights))
    largest = max(1e-30, *(float(np.abs(model).max(initial=0.0)) for model in local))
    if float(np.abs(after.astype(np.float64) - mean).max(initial=0.0)) > _CLOSE * largest:
        raise SifuError(
            f"{type(strategy).__name__} does not average what clients send: only strategies that do can unlearn"
        )
