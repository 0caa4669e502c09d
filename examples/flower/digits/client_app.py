"""A client: an ordinary Flower client, and one line that says who it is."""

from __future__ import annotations

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from sifu.flower import identify

app = ClientApp()


def number(context: Context) -> int:
    """The client's number; in simulation Flower gives it, else `--node-config "partition-id=3"`."""
    return int(context.node_config["partition-id"])


identify(app, lambda context: (f"client-{number(context)}", 180 if number(context) < 7 else 179))


@app.train()
def train(message: Message, context: Context) -> Message:
    from digits import task  # here: a client that only says who it is needs no torch

    net = task.model()
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    images, labels = task.data(number(context))
    loss = task.train(net, images, labels)
    metrics = MetricRecord({"num-examples": len(labels), "loss": loss})
    return Message(RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics}), reply_to=message)
