"""Copies to a device."""

from __future__ import annotations

import pytest
import torch

from sifu.hardware.upload import upload


def test_on_the_cpu_nothing_is_copied() -> None:
    tensor = torch.arange(6).view(2, 3)
    assert upload(tensor, torch.device("cpu")) is tensor


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gets_the_same_numbers_also_of_a_view() -> None:
    """The view is changed right after: the copy must have been made before."""
    device = torch.device("cuda")
    table = torch.arange(12).view(3, 4)
    found = upload(table[:, 1], device)
    table.zero_()
    assert found.device.type == "cuda"
    assert found.tolist() == [1, 5, 9]
