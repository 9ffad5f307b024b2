"""Threads that first use dpnp at the same time do not deadlock."""

from __future__ import annotations

import subprocess
import sys

import pytest

import portarray as pa

PROGRAM = """
import sys
import portarray as pa
pa.device("dpnp")
from portarray.backends.dpnp import warmup

calls = []

def watch(frame, event, argument):
    if event == "call":
        calls.append((name, frame.f_code.co_name))

looked_at = 0
for module in warmup.extensions():
    name = module.__name__
    with open(module.__file__, "rb") as file:
        needs = b"pybind11" in file.read()
    found = warmup.typed(module)
    assert (found is not None) == needs, name
    if needs:
        looked_at += 1
        function, required = found
        try:
            sys.setprofile(watch)
            function(*[None] * required)
        except TypeError:
            pass
        finally:
            sys.setprofile(None)
print(looked_at, calls)
"""


@pytest.mark.skipif(not pa.functional("dpnp"), reason="dpnp has no device here")
def test_extensions_were_used_before_threads_use_them() -> None:
    """Their first use runs Python code, during which threads may switch."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    looked_at, _, calls = done.stdout.strip().partition(" ")
    assert int(looked_at) > 10
    assert calls == "[]"
