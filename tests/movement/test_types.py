"""Types of moved values, which mypy checks in this file with the package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, assert_type

import portarray as pa


def test_arrays_and_plans() -> None:
    x = pa.ones(2, device="numpy")
    assert type(assert_type(pa.to_device(x, "numpy"), pa.Array)) is pa.Array
    assert type(assert_type(x.to_device("numpy", narrow=True), pa.Array)) is pa.Array
    assert type(assert_type(pa.from_dlpack(x.native), pa.Array)) is pa.Array
    plan = assert_type(pa.transfer_plan(x, "numpy"), pa.TransferPlan)
    assert type(assert_type(plan.copies, int)) is int
    assert type(assert_type(plan.why, str)) is str
    assert type(assert_type(pa.memory("numpy").total, int | None)) is int


def test_trees_and_files(tmp_path: Path) -> None:
    x = pa.ones(2, device="numpy")
    # The arrays in a tree may become another library's, so that its type is not the given one's.
    tree = assert_type(pa.to_device({"x": x}, "numpy", native=True), Any)
    assert tree["x"] is x.native
    assert assert_type(pa.to_device(x, "numpy", native=True), Any) is x.native
    if find_spec("safetensors") is not None:
        path = tmp_path / "x.safetensors"
        pa.save(path, x, metadata={"of": "mypy"})
        assert type(assert_type(pa.load(path), Any)) is pa.Array
        both = assert_type(pa.load(path, return_metadata=True), tuple[Any, dict[str, str]])
        assert both[1] == {"of": "mypy"}
