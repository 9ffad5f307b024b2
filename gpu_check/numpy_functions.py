"""NumPy's functions on one device's arrays beside the same on NumPy's: the cases of the tests."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from part import BEGAN, Writer, arguments

import portarray as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "numpy_functions"))

from comparing import LINES, compare  # type: ignore[import-not-found]


def checked(line: str, device: str) -> tuple[str, str]:
    """Return how a line ended, and what was wrong."""
    try:
        reason = compare(line, device)
    except Exception as error:  # noqa: BLE001 - whatever is wrong is told
        return "failed", f"{type(error).__name__}: {error}"
    return ("not run", reason) if reason else ("passed", "")


def declared(text: str) -> tuple[str, str]:
    """Compare a card with what its library declares of it, which virtual devices are made from."""
    device = pa.device(text)
    backend = device._backend
    facts = backend.info.facts.get(device.platform)
    if facts is None or device.kind == "cpu":
        return "not run", f"virtual devices are not made from {device.library} there"
    names = {dtype.name for dtype in backend.dtypes(device.platform, device.index)}
    standard = {dtype.name for dtype in pa.__array_namespace_info__().dtypes(device="cpu").values()}
    found: dict[str, tuple[object, object]] = {
        "kind": (device.kind, facts.kind),
        "host memory": (backend.on_host(device.native), facts.on_host),
        "immutable": (backend.immutable, facts.immutable),
        "lacks": (standard - names, set(facts.lacks)),
    }
    if not facts.on_host:
        one = pa.zeros(1, dtype=np.float32, device=device)
        found["DLPack type"] = (one.__dlpack_device__()[0], facts.dlpack)
    wrong = [
        f"{name} is {is_} and not {said}" for name, (is_, said) in found.items() if is_ != said
    ]
    return ("failed", "; ".join(wrong)) if wrong else ("passed", "")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device")


if __name__ == "__main__":
    given = arguments(__doc__, _options)
    with Writer(given.out) as out:
        status, message = declared(given.device)
        out({"case": "as virtual devices", "status": status, "examples": 1, "message": message})
        for line in LINES:
            if time.monotonic() > BEGAN + given.seconds:
                break
            status, message = checked(line, given.device)
            out({"case": line, "status": status, "examples": 1, "message": message})
