"""Outcomes of each expression on chunks of a device.

``python tests/dask/dask_outcomes.py numpy torch mlx jax dpnp clarray`` writes docs/data/dask.json.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask_expressions import EXPRESSIONS

import portarray as pa
import portarray.dask as pd
from portarray.testing import virtual_devices

PAGE = Path(__file__).parents[2] / "docs" / "data" / "dask.json"


def values() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    x = rng.uniform(0.05, 1.0, (8, 6)).astype(np.float32)
    s = (x.T @ x + 6 * np.eye(6)).astype(np.float32)
    return [x, s, x[:, 0] * 0.9 + 0.05, (x * 5).astype(np.int32)]


CHUNKS = [(4, 3), (3, 3), (4,), (4, 3)]


def outcome(row: Callable[..., Any], devices: str | Sequence[str]) -> str:
    """Return "" if an expression stays on its devices and is right, or the problem."""
    arrays = values()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(
            da.compute(row(*map(da.from_array, arrays, CHUNKS)), scheduler="sync")[0]
        )
        try:
            result = row(
                *(pd.from_array(x, c, devices) for x, c in zip(arrays, CHUNKS, strict=True))
            )
            if isinstance(result, list):
                result = da.stack(result)
            blocks = [b.compute(scheduler="sync") for b in result.to_delayed().flat]
        except Exception as error:  # noqa: BLE001  (this is what is told)
            return f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
        foreign = {type(b).__name__ for b in blocks if not isinstance(b, pa.Array)}
        if foreign:
            return f"SILENT: {', '.join(foreign)}"
        expected_devices = list(pd.explain(result).blocks.values())
        if isinstance(devices, str):
            expected_devices = [str(pa.device(devices))] * len(blocks)
        if [str(b.device) for b in blocks] != expected_devices:
            return "another device"
        try:
            collected = result.compute(scheduler="sync").to_device("numpy").native
        except Exception as error:  # noqa: BLE001
            return f"collect: {type(error).__name__}: {str(error).splitlines()[0][:150]}"
        if collected.shape != expected.shape or not np.allclose(collected, expected, 2e-4, 2e-5):
            return f"DIFFERS {collected.shape} {expected.shape}"
        return "" if isinstance(result._meta, pa.Array) else "*"


MIXES: dict[str, list[str | tuple[str, int]]] = {
    "two CUDA devices": [("cuda", 2)],
    "four CUDA devices": [("cuda", 4)],
    "a CUDA and a Metal device": [("cuda", 1), ("metal", 1)],
    "NumPy, PyTorch and clarray": ["numpy", "torch", "clarray"],
}
"""Lists of devices on which blocks take turns: a platform's virtual devices, or libraries."""


@contextmanager
def mixed(mix: str) -> Iterator[list[str]]:
    """Make the devices of a list for a block; libraries that do not work here are left out."""
    with ExitStack() as stack:
        devices: list[str] = []
        for entry in MIXES[mix]:
            if isinstance(entry, tuple):
                virtual = stack.enter_context(virtual_devices(entry[0], count=entry[1]))
                devices += map(str, virtual)
            elif pa.functional(entry):
                devices.append(str(pa.device(entry)))
        yield devices


def refused(
    devices: str | Sequence[str], names: Sequence[str] = tuple(EXPRESSIONS)
) -> dict[str, str]:
    """Return the expressions that are refused on devices, and the names of their errors."""
    with dask.config.set(scheduler="sync"):  # also where a client is there
        outcomes = {name: outcome(EXPRESSIONS[name], devices) for name in names}
    return {
        name: text.partition(":")[0] for name, text in outcomes.items() if text not in ("", "*")
    }


if __name__ == "__main__":
    rows = {device: refused(device) for device in sys.argv[1:]}
    names = [name for name in EXPRESSIONS if any(name in refusals for refusals in rows.values())]
    # A device of the tests; JAX without x64, and GPUs without float64, are such devices.
    with virtual_devices("tpu", immutable=False) as (device,):
        without = refused(str(device))
    mixes = {}
    for mix in MIXES:
        with mixed(mix) as several:
            mixes[mix] = refused(several)
    page = {
        "version": version("dask"),
        "tried": len(EXPRESSIONS),
        "refused": {
            name: {device: refusals[name] for device, refusals in rows.items() if name in refusals}
            for name in names
        },
        "devices": list(rows),
        "without_64_bit": without,
        "mixes": mixes,
    }
    PAGE.write_text(json.dumps(page, indent=1) + "\n", "utf-8")
