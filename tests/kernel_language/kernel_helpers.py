"""What several tests of the kernel language need."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import portarray as pa
import portarray.kernel_language as kl

NUMBERS = itertools.count()


@pa.kernel
def cubed(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = x[i] * x[i] * x[i]


@pa.kernel
def saxpy(y: Any, a: Any, x: Any) -> None:
    i = kl.index()
    y[i] = a * x[i] + y[i]


def require_launcher(device: str) -> pa.Device:
    """Return a device; skip the test if it does not run kernels."""
    target = pa.device(device)
    if isinstance(reason := target._backend.launcher(target.native), str):
        pytest.skip(reason)
    return target


def launches_in_place(device: str) -> bool:
    """Return whether a device's kernels change the arrays that they write."""
    target = require_launcher(device)
    return not target._backend.launcher(target.native).immutable


def module_of(text: str, path: Path) -> ModuleType:
    """Write the text of a module into a file, where its source is found, and import it."""
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loaded(text: str, folder: Path) -> Any:
    """Return the kernel ``drawn`` of a text, in a file of its own, as errors show its lines."""
    return module_of(text, folder / f"drawn_{next(NUMBERS)}.py").drawn
