"""The table of kernels runs, compares equal results and judges figures; times are not tested."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import portarray as pa
from portarray.backends import registry

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    pytest.importorskip("array_api_compat")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("kernel_table")
    monkeypatch.setattr(module, "TURN", 0.0)
    torch = module.optional("torch")
    threads = None if torch is None else torch.get_num_threads()
    yield module
    if torch is not None:
        torch.set_num_threads(threads)


@pytest.fixture
def rows(table: ModuleType) -> ModuleType:
    return importlib.import_module("kernel_rows")


@pytest.fixture
def kernels(table: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = importlib.import_module("kernels")
    # What it sets is for the process, before libraries are imported.
    monkeypatch.setattr(module, "prepare", lambda threads: None)
    return module


def tuned() -> Iterator[tuple[str, str, Any]]:
    """Yield library, kernel and row of every tuned version whose library is installed."""
    for library in registry.backend_infos():
        name = f"{registry.package_of(library)}.tuned"
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue  # the backend has none, or its library is not installed
        except ImportError:
            continue  # its library does not load here
        for kernel, candidates in module.TUNED.items():
            for candidate in candidates:
                yield library, kernel, candidate


def test_tuned_versions_name_the_row_in_which_they_win(rows: ModuleType) -> None:
    rows_by_name = {row.name: row for row in rows.rows()}
    wrong = []
    for library, kernel, candidate in tuned():
        row = rows_by_name.get(candidate.wins)
        # What leads rope_tables are positions, which are no floats.
        dtypes = {"float32"} if kernel == "rope_tables" else candidate.dtypes
        if row is None or row.kernel != kernel or row.dtype not in dtypes:
            wrong.append(f"{library} {kernel} {candidate.name}: {candidate.wins!r}")
    assert wrong == []


def test_names_of_rows_are_distinct_and_say_the_kernel(rows: ModuleType) -> None:
    every = rows.rows()
    assert len({row.name for row in every}) == len(every)
    assert {row.kernel for row in every} == set(rows.GROWTH)
    assert [row.name for row in every if row.name.split()[0] != row.kernel] == []
    assert {"attention 9x1024x64 causal", "linear decode 1536x576 float16"} <= {
        row.name for row in every
    }


def variant(row: Any) -> tuple[str, ...]:
    """Return kernel, phase and variant of a row: its words without sizes."""
    return (row.kernel, *(word for word in row.name.split()[1:] if word.isalpha()))


def small(rows: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return every row at small sizes."""
    sizes = {
        "ROW_COUNT": 5,
        "HIDDEN": (16, 24),
        "HEADS": ((3, 16), (4, 8)),
        "GROUPED": ((6, 2, 16), (4, 2, 8)),
        "LENGTHS": (4, 6, 12),
        "INTERMEDIATE": 20,
        "VOCABULARY": 32,
        "CACHE": 8,
        "FILLED": 5,
    }
    for name, value in sizes.items():
        monkeypatch.setattr(rows, name, value)
    selection: list[Any] = []
    for row in (row for row in rows.rows() if row.dtype == "float32"):
        # One of each kernel and variant: JAX compiles every shape.
        if all(variant(row) != variant(chosen) for chosen in selection):
            selection.append(row)
    return selection


def test_compared_kernels_give_the_same_results(
    table: ModuleType,
    rows: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kernels_run: set[str] = set()
    for row in small(rows, monkeypatch):
        arrays = row.arrays()
        # JAX compiles every row anew: it runs one of each kernel.
        devices = [d for d in pa.devices() if d.library != "jax" or row.kernel not in kernels_run]
        kernels_run.add(row.kernel)
        brought = [table.candidates(row, arrays, device) for device in devices]
        assert all(table.OURS in candidate.actions for candidate in brought)
        table.check(row, brought)
    assert capsys.readouterr().err == ""


def test_short_run(
    kernels: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "kernels.json"
    command = ["kernels.py", "--row", "silu 1x", "softmax 512x576", "--dtype", "float32"]
    monkeypatch.setattr(sys, "argv", [*command, "--repeats", "1", "--json", str(file)])
    kernels.main()
    printed = capsys.readouterr().out
    report = json.loads(file.read_text("utf-8"))
    devices = [str(device) for device in pa.devices()]
    measured = [(row["row"], row["device"]) for row in report["rows"]]
    assert measured == [
        (name, device) for name in ("softmax 512x576", "silu 1x1536") for device in devices
    ]
    for row in report["rows"]:
        said = pa.kernels.explain("softmax", pa.ones((2, 4), device=row["device"], dtype="float32"))
        if row["kernel"] == "softmax":
            assert (row["version"], row["function"]) == (said.version, said.function)
        assert (row["to_generic"] is None) == (row["version"] == "generic")
        assert row["function"] in printed
        if row["device"].startswith(("torch:", "jax:", "mlx:")):
            assert row["to_hand"] > 0
            assert row["hand"]
    for target in report["targets"]:
        assert target["promise"] in printed
    page, both = tmp_path / "kernels.md", tmp_path / "both.json"
    command = ["kernels.py", "--read", str(file), str(file), "--table", str(page)]
    monkeypatch.setattr(sys, "argv", [*command, "--json", str(both)])
    kernels.main()
    assert capsys.readouterr().out == printed
    assert json.loads(both.read_text("utf-8")) == report
    head, _, *body = page.read_text("utf-8").splitlines()
    assert head == f"| kernel | {' | '.join(f'`{device}`' for device in devices)} |"
    assert [cells.split(" | ")[0] for cells in body] == ["| softmax 512x576", "| silu 1x1536"]
    assert all(cells.count("|") == len(devices) + 2 for cells in body)


@pytest.mark.parametrize(
    ("library", "kernel", "figures", "promise", "holds"),
    [
        ("torch", "relu", {"to_hand": 1.04}, "at most 1.05 of the time by hand", True),
        ("torch", "relu", {"to_hand": 1.07}, "at most 1.05 of the time by hand", False),
        ("torch", "relu", {"to_hand": 1.07, "noise": 0.03}, "at most 1.05 of", True),
        ("torch", "relu", {"to_hand": 1.30, "noise": 0.30}, "at most 1.05 of", False),
        ("jax", "silu", {"to_hand": 1.09}, "at most 1.1 of the time by hand", True),
        ("mlx", "silu", {"to_hand": 1.11}, "at most 1.1 of the time by hand", False),
        ("clarray", "silu", {"to_torch": 1.0}, "at most 1.0 of PyTorch's time", True),
        ("clarray", "rope", {"to_torch": 1.2}, "at most 1.0 of PyTorch's time", False),
        ("clarray", "attention", {"to_torch": 1.4}, "at most 1.5 of PyTorch's time", True),
        ("numpy", "attention", {"to_generic": 0.45}, "at least 2.0 times as fast", True),
        ("numpy", "attention", {"to_generic": 0.55}, "at least 2.0 times as fast", False),
    ],
)
def test_targets_are_judged(
    table: ModuleType,
    library: str,
    kernel: str,
    figures: dict[str, float],
    promise: str,
    holds: bool,
) -> None:
    defaults: dict[str, Any] = {"to_generic": None, "to_hand": None, "to_torch": None, "noise": 0.0}
    report = importlib.import_module("kernel_report")
    line = report.Line(
        row=f"{kernel} 9x4096x64",
        kernel=kernel,
        dtype="float32",
        device=f"{library}:cpu:0",
        version="tuned",
        function="f",
        seconds=1.0,
        spread=0.0,
        hand="",
        bandwidth=1.0,
        promised=True,
        **{**defaults, **figures},
    )
    (target,) = report.targets([line])
    assert target.promise.startswith(promise)
    assert target.holds is holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--repeats", "0"], "--repeats: must be at least 1, got 0"),
        (["--threads", "-1"], "--threads: must be at least 1, got -1"),
        (["--kernel", "sotfmax"], "--kernel: unknown sotfmax; known: softmax"),
        (["--row", "softmax 7x7"], "no row has this kernel, dtype and name"),
        (["--device", "numpi"], "unknown device 'numpi'"),
        (["--read", "nothing.json"], "--read: "),
    ],
)
def test_bad_options_are_refused(
    kernels: ModuleType,
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["kernels.py", *options])
    with pytest.raises(SystemExit):
        kernels.main()
    assert message in capsys.readouterr().err


def test_growing_sizes_and_the_list(
    kernels: ModuleType,
    rows: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["kernels.py", "--list", "--dtype", "float32"])
    kernels.main()
    listed = capsys.readouterr().out.splitlines()
    assert listed == [row.name for row in rows.rows() if row.dtype == "float32"]
    monkeypatch.setitem(rows.GROWTH, "matmul", (2, 4))
    command = ["kernels.py", "--growth", "--kernel", "matmul", "--device", "numpy"]
    monkeypatch.setattr(sys, "argv", [*command, "--repeats", "1"])
    kernels.main()
    printed = capsys.readouterr().out
    assert "matmul 2x2x2" in printed
    assert "matmul 4x4x4" in printed
