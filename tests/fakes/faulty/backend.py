import os
import sys
import time
from typing import Any

import numpy as np
from over_numpy import FakeArray, Library, NativeDevice, OverNumpy

LIBRARY = Library("faulty", "opencl", 1, "gpu")


def note(step: str) -> str:
    """Record that a step was tried; return how it should fail."""
    with open(os.environ["FAULTY_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{step}\n")
    broken, _, how = os.environ.get("FAULTY", "").partition(":")
    return how if broken == step else ""


def misbehave(how: str) -> None:
    """Raise, hang or end the process."""
    if how == "raise":
        raise RuntimeError("the driver\nsaid no")
    if how == "chatter":
        sys.stdout.write("driver 7.0 loaded\nwarning: no firmware\n")
        raise RuntimeError("the driver\nsaid no")
    if how == "hang":
        time.sleep(600)
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(3)
    # Ends the process that asks for the device itself, and no child that tries it first.
    if how == "abort-outside-children" and not sys.argv[0].endswith("probe.py"):
        os.abort()


misbehave(note("load"))


class Faulty(OverNumpy):
    _library = LIBRARY
    standard = LIBRARY.standard()

    def count(self, platform: str) -> int:
        misbehave(note("count"))
        return 1

    def native_device(self, platform: str, index: int) -> NativeDevice:
        how = note("compute")
        misbehave(how)
        return NativeDevice("faulty", {"wrong": 1, "dtype": 2}.get(how, index))

    def to_host(self, x: FakeArray, *, copy: bool | None) -> np.ndarray[Any, Any]:
        host = super().to_host(x, copy=True)
        return {1: host + 1, 2: host.astype("float64")}.get(x.device.index, host)


BACKEND = Faulty
