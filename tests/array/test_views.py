"""Which results share memory with their operand: the table of docs/where_devices_differ.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa

PAGE = Path(__file__).parents[2] / "docs" / "where_devices_differ.md"
COLUMNS = (("numpy", "cupy", "clarray"), ("torch",), ("dpnp",), ("jax", "mlx"))
VIEW = ("view", "view", "view", "copy")
REVERSED = ("view", "error", "view", "copy")
BROADCAST = ("error", "error", "error", "copy")
PARTS = ("view", "view", "copy", "copy")
COPY, SAME = ("copy",) * 4, ("the same array",) * 4

Function = Callable[[Any], Any]
FUNCTIONS: list[tuple[str, tuple[str, ...], dict[str, Function]]] = [
    (
        "`x[1:3]`, `x[0]`, `x[::2]`, `x[...]`, `x[:, None]`",
        VIEW,
        {
            "slice": lambda x: x[1:3], "integer": lambda x: x[0], "step": lambda x: x[::2],
            "ellipsis": lambda x: x[...], "None": lambda x: x[:, None],
        },
    ),
    (
        "`x[::-1]` and other negative steps, `flip`",
        REVERSED,
        {"first": lambda x: x[::-1], "second": lambda x: x[1:, ::-2], "flip": pa.flip},
    ),
    (
        "`x[indices]`, `x[mask]`, `take`",
        COPY,
        {
            "indices": lambda x: x[pa.asarray([0, 1], device=x.device)],
            "mask": lambda x: x[x > 3],
            "take": lambda x: pa.take(x, pa.asarray([0, 1], device=x.device), axis=0),
        },
    ),
    (
        "`x.T`, `x.mT`, `permute_dims`, `moveaxis`, `expand_dims`, `squeeze`, `unstack`",
        VIEW,
        {
            "T": lambda x: x.T, "mT": lambda x: x.mT, "moveaxis": lambda x: pa.moveaxis(x, 0, 1),
            "permute_dims": lambda x: pa.permute_dims(x, (1, 0)),
            "expand_dims": lambda x: pa.expand_dims(x, axis=0),
            "squeeze": lambda x: pa.squeeze(x[:, None], axis=1),
            "unstack": lambda x: pa.unstack(x)[1],
        },
    ),
    ("`linalg.diagonal`", VIEW, {"diagonal": pa.linalg.diagonal}),
    ("`reshape` of rows in memory order", VIEW, {"reshape": lambda x: pa.reshape(x, (-1,))}),
    ("`reshape` of other layouts, such as `x.T`", COPY, {"T": lambda x: pa.reshape(x.T, (-1,))}),
    (
        "`broadcast_to`, `broadcast_arrays`, to another shape",
        BROADCAST,
        {
            "to": lambda x: pa.broadcast_to(x, (2, 4, 4)),
            "row": lambda x: pa.broadcast_to(x[:1], (4, 4)),
            "arrays": lambda x: pa.broadcast_arrays(x, pa.zeros((2, 4, 4), device=x.device))[0],
        },
    ),
    ("`real`, `imag` of complex arrays", PARTS, {"real": pa.real, "imag": pa.imag}),
    (
        "`asarray(x)`, `astype(x, x.dtype, copy=False)`, `x.to_device(x.device)`",
        SAME,
        {
            "asarray": pa.asarray, "copy=None": lambda x: pa.asarray(x, copy=None),
            "astype": lambda x: pa.astype(x, x.dtype, copy=False),
            "to_device": lambda x: x.to_device(x.device),
        },
    ),
    (
        "all others, even if nothing changes: `conj`, `positive`, `roll`, `tril`, `tile`, `concat`",
        COPY,
        {
            "conj": pa.conj, "positive": pa.positive, "roll": lambda x: pa.roll(x, 0),
            "tril": lambda x: pa.tril(x, k=9), "tile": lambda x: pa.tile(x, (1, 1)),
            "concat": lambda x: pa.concat([x]), "copy": lambda x: pa.asarray(x, copy=True),
        },
    ),
]  # fmt: skip


def create(device: str, row: str) -> pa.Array:
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    if "complex" in row:
        values = (values + 1j * values).astype(np.complex64)
    return pa.asarray(values, device=device, copy=True)


def host(x: pa.Array) -> Any:
    return np.array(x.to_device("numpy"))


def measured(function: Function, device: str, row: str) -> str:
    """Return what a write into a result does to the operand."""
    x = create(device, row)
    result = function(x)
    if result is x:
        return "the same array"
    original = host(x)
    try:
        result[0] = 77.0
    except ValueError:
        assert np.array_equal(host(x), original)
        result.copy()[0] = 77.0
        return "error"
    assert (host(result)[0] == 77).all()
    return "copy" if np.array_equal(host(x), original) else "view"


@pytest.mark.parametrize("row", [name for name, _, _ in FUNCTIONS])
def test_writes_reach_the_operand_or_raise_as_the_page_states(row: str, device: str) -> None:
    column = [n for n, names in enumerate(COLUMNS) if device.partition(":")[0] in names]
    if not column:
        pytest.skip(f"the page has no column for {device}")
    [(_, expected, functions)] = [entry for entry in FUNCTIONS if entry[0] == row]
    for name, function in functions.items():
        assert (name, measured(function, device, row)) == (name, expected[column[0]])


def test_the_page_has_the_table() -> None:
    if not PAGE.is_file():
        pytest.skip("the documentation's source is not beside the tests")
    text = PAGE.read_text("utf-8")
    for row, expected, _ in FUNCTIONS:
        assert f"| {row} | {' | '.join(expected)} |\n" in text


@pytest.mark.parametrize("write", ["assignment", "operator"])
def test_reversed_copies_can_be_written_once_the_original_is_gone(write: str, device: str) -> None:
    x = create(device, "")
    x = x[::-1]  # nothing else refers to the memory
    part = x[1:, :]
    if write == "operator":
        part += 1
    else:
        part[...] = part + 1
    expected = np.arange(16, dtype=np.float32).reshape(4, 4)[::-1][1:] + 1
    assert np.array_equal(host(part), expected)
    y = pa.flip(create(device, "")).copy()
    y[0, 0] = 1.0
    assert float(y[0, 0]) == 1.0
