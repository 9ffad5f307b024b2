import os
import sys
import time
from typing import Any

from over_numpy import Library, NativeDevice

LIBRARY = Library("faulty", "opencl", 1, "gpu")
globals().update(LIBRARY.devices())


def note(step: str) -> str:
    """Write down that a step was tried; return what is to go wrong with it."""
    with open(os.environ["FAULTY_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{step}\n")
    broken, _, how = os.environ.get("FAULTY", "").partition(":")
    return how if broken == step else ""


def misbehave(how: str) -> None:
    """Raise, hang or end the process."""
    if how == "raise":
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


def count(platform: str) -> int:
    misbehave(note("count"))
    return 1


def native_device(platform: str, index: int) -> Any:
    how = note("compute")
    misbehave(how)
    return NativeDevice("faulty", 1 if how == "wrong" else index)
