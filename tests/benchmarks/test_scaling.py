"""The simulation of tiled programs, on graphs with known times."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    if not FOLDER.is_dir():
        pytest.skip("the benchmarks are not beside the tests")
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("scaling_model")


def machine(model: Any, **changes: float) -> Any:
    """Return a machine on which each task of tiles of 10 x 10 takes a second, and moves nothing."""
    rates = {kind: work * 1000 for kind, work in model.WORK.items()}
    values = {"latency": 0.0, "bandwidth": 1e30, "dispatch": 0.0, "overhead": 0.0, **changes}
    return model.Machine(rates=rates, **values)


def test_dask_arrays_move_what_the_formulas_say(model: Any) -> None:
    pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
    for name in model.MOVES:
        by_formula, counted = model.moved(name, 4, 2)
        assert by_formula <= counted <= by_formula + 2


def test_times_with_a_closed_form(model: Any) -> None:
    n = 6
    tasks = n * (n + 1) * (n + 2) // 6

    def seconds(name: str, devices: int, **changes: float) -> float:
        return float(model.row(name, n, devices, 10, machine(model, **changes))["seconds"])

    assert seconds("cholesky", 1) == pytest.approx(tasks)
    assert seconds("matmul", 1) == pytest.approx(n**3)
    # A device for each tile: the chain of potrf, trsm and gemm, and the last potrf.
    assert seconds("cholesky", n * n) == pytest.approx(3 * (n - 1) + 1)
    assert seconds("matmul", n * n) == pytest.approx(n)
    assert seconds("cholesky", 4, dispatch=5.0) >= 5 * tasks
    assert seconds("matmul", 1, overhead=1.0) == pytest.approx(2 * n**3)


def test_no_run_is_shorter_than_its_parts(model: Any) -> None:
    """No simulated run is shorter than the lower bounds of its parts."""
    for name in model.PROGRAMS:
        for devices in (1, 2, 4, 9):
            simulated = machine(model, latency=0.1, bandwidth=8000.0, dispatch=0.01, overhead=0.02)
            row = model.row(name, 9, devices, 10, simulated)
            for part in ("work", "scheduler"):
                assert row["seconds"] >= row["paper"][part]
            assert 0 < row["busy"] <= 1
            if devices == 1:
                assert row["moves"] == 0


def test_tiles_are_sent_once_to_each_device(model: Any) -> None:
    row = model.row("matmul", 4, 4, 10, machine(model))
    assert row["moves"] == 2 * 4 * 4  # each tile of both to the other device of its row or column
    assert model.grid(12) == (3, 4)
    assert model.grid(7) == (1, 7)
