"""The server: FedAvg, wrapped. A run trains, and answers the requests in `forget` that are not answered yet."""

from __future__ import annotations

from pathlib import Path

from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from digits import task
from sifu.flower import Certificate, Unlearning

app = ServerApp()


def evaluate(number: int, arrays: ArrayRecord) -> MetricRecord:
    """Accuracy over the images of all clients, for this example alone: a real server has none of them."""
    net = task.model()
    net.load_state_dict(arrays.to_torch_state_dict())
    shares = [task.accuracy(net, *task.data(client)) for client in range(task.CLIENTS)]
    return MetricRecord({"accuracy": sum(shares) / len(shares)})


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    inner = FedAvg(
        fraction_train=0.01,  # not a share of the clients, but always the same number
        min_train_nodes=int(config["per-round"]),
        fraction_evaluate=0.0,
        min_available_nodes=int(config["per-round"]) + int(config["spares"]),
    )
    certificate = Certificate(
        sigma=float(config["sigma"]), epsilon=float(config["epsilon"]), delta=float(config["delta"])
    )
    store, spares = Path(str(config["store"])), int(config["spares"])
    at_once = int(config["identity-at-once"])
    strategy = Unlearning(inner, certificate=certificate, store=store, spares=spares, identity_at_once=at_once)
    timeout = float(config["timeout"])
    if not strategy.answered and not strategy.open_request:
        start = ArrayRecord(task.model().state_dict())
        strategy.start(grid, start, num_rounds=int(config["rounds"]), timeout=timeout, evaluate_fn=evaluate)
        say(strategy, "trained")
    for clients in requests(str(config["forget"])):
        if clients not in strategy.answered:
            answer = strategy.forget(clients, grid=grid, num_rounds=int(config["recovery"]), timeout=timeout)
            print(answer, flush=True)
            say(strategy, "recovered")


def requests(text: str) -> list[tuple[str, ...]]:
    """ "client-3; client-4, client-5" is two requests."""
    parts = [[name.strip() for name in part.split(",") if name.strip()] for part in text.split(";")]
    return [tuple(sorted(part)) for part in parts if part]


def say(strategy: Unlearning, what: str) -> None:
    print(f"{what}: accuracy {evaluate(0, strategy.arrays)['accuracy']:.3f}", flush=True)
