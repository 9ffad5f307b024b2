"""The estimate of a model's memory, and the choice of a device with it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import portarray as pa

GOLDEN: dict[str, Any] = {
    "hidden": 4096,
    "intermediate": 14336,
    "layers": 32,
    "vocab": 32000,
    "heads": 32,
    "kv_heads": 8,
    "context": 4096,
    "bytes_per_value": 4,
}


def estimate(**changed: Any) -> pa.kernels.InferenceMemory:
    return pa.kernels.estimate_inference_memory(**{**GOLDEN, **changed})


def test_the_golden_figure_and_its_parts() -> None:
    result = estimate()
    assert result.total == 30_040_932_352
    assert result.embedding == 4 * 2 * 32000 * 4096
    assert result.layer == 4 * 218_112_000
    assert result.final_norm == 4 * 4096
    assert result.kv_cache == 4 * 2 * 32 * 4096 * 8 * 128
    assert result.workspace == 4 * 16 * 4096
    assert result.weights == result.embedding + 32 * result.layer + result.final_norm
    assert result.total == result.weights + result.kv_cache + result.workspace


def test_the_weights_are_those_of_a_model() -> None:
    hidden, intermediate, layers, vocab, heads, kv_heads = 24, 64, 3, 50, 6, 2
    keys = kv_heads * hidden // heads
    layer = [(hidden, hidden)] * 2 + [(keys, hidden)] * 2 + [(hidden,)] * 2
    layer += [(intermediate, hidden)] * 2 + [(hidden, intermediate)]
    shapes = [(vocab, hidden), (vocab, hidden), (hidden,)] + layers * layer
    result = estimate(
        hidden=hidden,
        intermediate=intermediate,
        layers=layers,
        vocab=vocab,
        heads=heads,
        kv_heads=kv_heads,
        bytes_per_value=2,
    )
    assert result.weights == sum(np.zeros(shape, np.float16).nbytes for shape in shapes)
    assert result.as_dict()["weights"] == result.weights


def test_options() -> None:
    assert estimate(bytes_per_value=2).total * 2 == estimate().total
    assert estimate(tied_embedding=True).embedding * 2 == estimate().embedding
    assert estimate(kv_heads=None) == estimate(kv_heads=32)
    assert estimate(head_dim=128) == estimate()
    odd = estimate(hidden=5120, heads=32, head_dim=96)
    assert odd.layer == 4 * (5120 * 2 * (32 + 8) * 96 + 3 * 5120 * 14336 + 2 * 5120)
    assert odd.kv_cache == 4 * 2 * 32 * 4096 * 8 * 96
    assert estimate(context=np.int64(4096)) == estimate()
    # What is large stays exact.
    assert estimate(context=10**15).kv_cache == 10**15 * estimate().kv_cache // 4096


def test_its_text_lists_every_part() -> None:
    text = str(estimate())
    assert "30,040,932,352 bytes (27.98 GiB)" in text
    for part in ("embedding and head", "32 layers of 872,448,000", "KV cache", "workspace"):
        assert part in text


def test_the_estimate_is_a_number_of_bytes() -> None:
    result = estimate()
    assert operator.index(result) == result.total
    assert pa.device("auto", memory=estimate(layers=1, vocab=10, context=1)) in pa.devices()
    large = estimate(context=10**12)
    with pytest.raises(pa.errors.DeviceNotFunctionalError, match=f"{large.total:,} bytes"):
        pa.device("auto", memory=large)


def test_each_device_is_held_against_it(device: str) -> None:
    small = estimate(hidden=64, intermediate=64, layers=1, vocab=10, heads=2, kv_heads=1, context=1)
    assert pa.device(device, memory=small) is pa.device(device)
    if pa.memory(device).free is None:
        pytest.skip("this device does not tell its free memory")
    with pytest.raises(pa.errors.DeviceNotFunctionalError, match="are needed"):
        pa.device(device, memory=estimate(context=10**12))


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"hidden": 4096.0}, TypeError, "hidden=4096.0 (float) must be an int"),
        ({"context": "4096"}, TypeError, "context='4096' (str) must be an int"),
        ({"layers": True}, TypeError, "layers=True must be an int"),
        ({"vocab": 0}, ValueError, "vocab=0 must be at least 1"),
        ({"bytes_per_value": -4}, ValueError, "bytes_per_value=-4 must be at least 1"),
        ({"heads": 30}, ValueError, "hidden=4096 is not a multiple of heads=30"),
        ({"head_dim": 0}, ValueError, "head_dim=0 must be at least 1"),
        ({"kv_heads": 5}, ValueError, "heads=32 is not a multiple of kv_heads=5"),
        ({"kv_heads": 64}, ValueError, "heads=32 is not a multiple of kv_heads=64"),
    ],
)
def test_bad_input(changed: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        estimate(**changed)
    assert str(caught.value).startswith(f"estimate_inference_memory: {said}")


def test_positions_are_no_argument() -> None:
    with pytest.raises(TypeError):
        pa.kernels.estimate_inference_memory(4096, 14336, 32, 32000, 32, 8, 4096)  # type: ignore[call-arg]
