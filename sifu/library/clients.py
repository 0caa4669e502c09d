"""From arrays, one for each client, to the tensors that the engine trains on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sifu.core.types import Clients
from sifu.data.test_set import cut_test_set
from sifu.errors import ConfigError, DataError
from sifu.library.arrays import Array, ImageFormat, class_labels, refuse_labels, refuse_no_list

Examples = tuple[Tensor, Tensor]  # images [n, ...] as the model sees them, labels [n]


@dataclass(frozen=True, eq=False)
class GivenClients:
    """The data of all clients, checked and scaled."""

    images: ImageFormat
    examples: list[Examples]  # a client each
    test: Examples | None
    num_classes: int
    server: Examples | None = None  # its own

    @staticmethod
    def of(
        images: Sequence[Array],
        labels: Sequence[Array],
        test: tuple[Array, Array] | None,
        num_classes: int | None,
        made: ImageFormat,
        server: tuple[Array, Array] | None = None,
    ) -> GivenClients:
        """Lists with an array for each client, a test set, and what the server holds itself.

        `num_classes` None: one more than the largest label.
        """
        examples = []
        for client, (own_images, own_labels) in enumerate(zip(images, labels, strict=True)):
            prepared = made.prepare(own_images, f"the images of client {client}")
            examples.append((prepared, class_labels(own_labels, len(prepared), f"the labels of client {client}")))
        held_out, own = _pair(test, "test", made), _pair(server, "server", made)
        others = {"the test labels": held_out, "the server labels": own}
        return GivenClients(made, examples, held_out, _count_classes(examples, others, num_classes), own)

    @property
    def sizes(self) -> list[int]:
        """How many examples each client has."""
        return [len(labels) for _, labels in self.examples]

    def stacked(self, num_seeds: int, device: torch.device) -> Clients:
        """The data padded to the largest client, the same for every seed."""
        longest, shape = max(self.sizes), self.images.shape
        images = torch.zeros(len(self.sizes), longest, *shape)
        labels = torch.zeros(len(self.sizes), longest, dtype=torch.int64)
        for client, (own_images, own_labels) in enumerate(self.examples):
            images[client, : len(own_labels)] = own_images
            labels[client, : len(own_labels)] = own_labels
        shared = images.to(device).expand(num_seeds, *images.shape)  # a view: all seeds have the same images
        if device.type != "cpu":  # kernels number the images of all seeds, and would copy such a view in every round
            shared = shared.contiguous()
        size = torch.tensor(self.sizes)
        return Clients(shared, *(part.to(device).repeat(num_seeds, *[1] * part.dim()) for part in (labels, size)))

    def stacked_test(self, device: torch.device) -> Clients | None:
        """The test set as the evaluation takes it."""
        return None if self.test is None else cut_test_set(*self.test).to(device)

    def stacked_server(self, num_seeds: int, device: torch.device) -> Clients | None:
        """What the server holds itself, as of one client, the same for every seed."""
        if self.server is None:
            return None
        images, labels = (part.to(device)[None, None].repeat(num_seeds, 1, *[1] * part.dim()) for part in self.server)
        return Clients(images, labels, torch.full((num_seeds, 1), len(self.server[1]), device=device))


def refuse_lists(images: Sequence[Array], labels: Sequence[Array]) -> None:
    """Refuse anything but two lists of the same length, with an array for each of at least two clients."""
    refuse_no_list(images, "images")
    refuse_no_list(labels, "labels")
    if len(images) != len(labels):
        raise DataError(f"images has {len(images)} clients, labels has {len(labels)}: give an array for each in both")
    if len(images) < 2:
        raise DataError(f"a federation needs at least two clients, not {len(images)}")


def _pair(given: tuple[Array, Array] | None, name: str, made: ImageFormat) -> Examples | None:
    if given is None:
        return None
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise DataError(f"{name} must be a pair: images and labels")
    images = made.prepare(given[0], f"the {name} images")
    return images, class_labels(given[1], len(images), f"the {name} labels")


def _count_classes(examples: Sequence[Examples], others: dict[str, Examples | None], given: int | None) -> int:
    """The number of classes: `given`, or one more than the largest label. Labels out of range are refused."""
    parts = {f"the labels of client {client}": labels for client, (_, labels) in enumerate(examples)}
    parts |= {name: other[1] for name, other in others.items() if other is not None}
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 2):
        raise ConfigError("num_classes", given, "a whole number, 2 or more")
    count = max(2, 1 + max(int(labels.max()) for labels in parts.values())) if given is None else given
    for name, labels in parts.items():
        refuse_labels(labels, count, name)
    return count
