"""NumPy functions on one device's arrays, with the cases of the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from part import Outcome, run_cases

import portarray as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "numpy_functions"))

from comparing import LINES, compare  # type: ignore[import-not-found]


def checked(line: str, device: str) -> Outcome:
    """Run a line of code; return the status and what is wrong."""
    try:
        reason = compare(line, device)
    except pa.errors.DTypeNotSupportedError as error:
        return ("not run" if "64" in line else "failed"), str(error)
    except Exception as error:  # noqa: BLE001  (drivers may raise anything; it is reported)
        return "failed", f"{type(error).__name__}: {error}"
    return ("not run", reason) if reason else ("passed", "")


def declared(text: str) -> Outcome:
    """Compare a device with its backend's declared facts, which virtual devices use."""
    device = pa.device(text)
    backend = device._backend
    facts = backend.info.facts.get(device.platform)
    if facts is None or device.kind == "cpu":
        return "not run", f"virtual devices do not imitate {device.library} there"
    names = {dtype.name for dtype in backend.dtypes(device.platform, device.index)}
    standard = {dtype.name for dtype in pa.__array_namespace_info__().dtypes(device="cpu").values()}
    by_name: dict[str, tuple[object, object]] = {
        "kind": (device.kind, facts.kind),
        "host memory": (backend.on_host(device.native), facts.on_host),
        "immutable": (backend.immutable, facts.immutable),
        "lacks": (standard - names, set(facts.lacks)),
    }
    if not facts.on_host:
        array = pa.zeros(1, dtype=np.float32, device=device)
        by_name["DLPack type"] = (array.__dlpack_device__()[0], facts.dlpack)
    wrong = [
        f"{name} is {actual} and not {declared}"
        for name, (actual, declared) in by_name.items()
        if actual != declared
    ]
    return ("failed", "; ".join(wrong)) if wrong else ("passed", "")


def cases(device: str) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield the declared facts, then every line of the tests."""
    yield "as virtual devices", partial(declared, device)
    for line in LINES:
        yield line, partial(checked, line, device)


if __name__ == "__main__":
    run_cases(__doc__, cases)
