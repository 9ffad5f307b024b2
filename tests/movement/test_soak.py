"""Random moves in a row and from several threads: a short form of ``benchmarks/soak.py``."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import portarray as pa

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("soak")


@pytest.fixture
def random_walks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("random_walks")


def test_moves_in_a_row_and_from_threads(
    soak: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Short runs compare values only, since first calls use more memory than the limit."""
    if len(pa.devices()) == 1:
        pytest.skip("there is one device, so nothing to move between")
    file = tmp_path / "soak.json"
    monkeypatch.setattr(soak, "GROWTH", 4.0)  # after one warm-up growth is as good as none
    moves = ["--moves", "400", "--threads", "8", "--seed", "3", "--rounds", "2", "--stall", "0"]
    monkeypatch.setattr(sys, "argv", ["soak.py", "--no-rehearsal", *moves, "--json", str(file)])
    status = soak.main()
    printed = capsys.readouterr().out
    assert status == 0, printed
    report = json.loads(file.read_text())
    row, threads, again, _ = report["phases"]
    assert row["moves"] == threads["moves"] == 400
    assert row["wrong"] == threads["wrong"] == 0
    assert row["routes"] != again["routes"]  # each round has moves of its own
    # Whatever was moved is gone, and of few moves nothing else stays.
    measurable = {
        str(candidate) for candidate in pa.devices() if pa.memory(candidate).used is not None
    }
    assert threads["used_after"].keys() == threads["used_before"].keys() == measurable
    # Every device is come to, and most moves are made.
    assert len({route.split()[-1] for route in row["routes"]}) == len(
        {device.library for device in pa.devices()}
    )
    assert sum(row["routes"].values()) > 300
    assert row["resident_before"] > 0


def test_the_soak_finds_what_is_wrong(random_walks: ModuleType) -> None:
    """The soak finds a changed value, a call that raises, and a missing copy."""
    host = pa.device("numpy")

    def walked(move: object, moves: int = 60) -> list[str]:
        walk = random_walks.Walk(5, [host])
        walk._ways = (("planted", move),)
        walk.run(moves)
        errors: list[str] = walk.tally.errors
        assert walk.tally.wrong >= len(errors)
        return errors

    def changed(x: pa.Array, device: pa.Device, copy: bool | None) -> pa.Array:
        values = np.array(x)
        if values.size:
            values.reshape(-1).view(np.uint8)[-1] ^= 1
        return pa.asarray(values, device=device)

    def raising(x: pa.Array, device: pa.Device, copy: bool | None) -> pa.Array:
        raise RuntimeError("planted")

    def sharing(x: pa.Array, device: pa.Device, copy: bool | None) -> pa.Array:
        return pa.asarray(np.asarray(x), device=device)

    assert any("values differ" in text for text in walked(changed))
    assert all("RuntimeError: planted" in text for text in walked(raising))
    assert any("the copy changed" in text for text in walked(sharing, 400))
    assert walked(lambda x, device, copy: x.to_device(device, copy=copy)) == []


@pytest.mark.parametrize(
    ("values", "expected", "equal"),
    [
        ([1.0, np.nan], [1.0, np.nan], True),
        ([1.0, np.nan], [np.nan, 1.0], False),
        ([0.0], [-0.0], False),
        ([1.0], [1], False),
        ([1 + 0j], [complex(1, -0.0)], False),
    ],
)
def test_same_looks_at_bits(
    values: list[complex], expected: list[complex], equal: bool, random_walks: ModuleType
) -> None:
    assert random_walks.same(np.asarray(values), np.asarray(expected)) is equal


PLANTED = {
    "leaking": "kept.append(np.ones(4096)); return x.to_device(device, copy=copy)",
    "hanging": "time.sleep(30); return x.to_device(device, copy=copy)",
    "clinging": "ctypes.PyDLL(None).usleep(30_000_000); return x",
}


def soaked(fault: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the soak as a program in which every move is made with a planted fault."""
    program = f"""
import ctypes, sys, time
import numpy as np
import soak, random_walks

kept = []

def planted(x, device, copy):
    {PLANTED[fault]}

random_walks.WAYS = (("planted", planted),)
soak.share_one_heap()
sys.exit(soak.main())
"""
    moves = ("--moves", "200", "--threads", "2", "--device", "numpy")
    return subprocess.run(
        [sys.executable, "-c", program, "--no-rehearsal", *moves, *options],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_soak_finds_a_leak() -> None:
    done = soaked("leaking", "--rounds", "2")
    assert done.returncode == 1, done.stdout + done.stderr
    assert " 0 wrong" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("fault", ["hanging", "clinging"])
def test_the_soak_ends_what_hangs(fault: str) -> None:
    """The soak ends moves that hang, with and without the interpreter lock."""
    done = soaked(fault, "--stall", "3")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Timeout" in done.stderr
    assert "in planted" in done.stderr
    assert "in run" in done.stderr


def test_moved_arrays_are_usable_in_any_thread(device: str, random_walks: ModuleType) -> None:
    """Arrays moved by one thread are read, moved and used by another."""
    where = pa.device(device)
    moved: dict[str, tuple[pa.Array, np.ndarray[Any, Any]]] = {}
    errors: list[str] = []

    def move() -> None:
        for dtype in random_walks.held(where):
            for shape in ((2, 3), (0, 3), ()):
                values = np.ones(shape, dtype)
                x = pa.asarray(values, device=device, copy=True)
                moved[f"{dtype}{shape}"] = x, values
                moved[f"copied {dtype}{shape}"] = x.to_device(device, copy=True), values
        host = np.broadcast_to(np.arange(3, dtype=np.float32)[::-1], (2, 3))
        moved["view"] = pa.asarray(host, device="numpy").to_device(device), host

    def use() -> None:
        for name, (x, values) in moved.items():
            if not random_walks.same(random_walks.read(x), values):
                errors.append(f"{name} differs")
            if not random_walks.same(random_walks.read(pa.flip(x)), np.flip(values)):
                errors.append(f"{name} flipped differs")

    for work in (move, use):
        thread = threading.Thread(target=caught, args=(work, errors))
        thread.start()
        thread.join()
    assert errors == []


def caught(work: Callable[[], None], errors: list[str]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001  (the test looks at it)
        errors.append(repr(error))
