"""Every hint of an error works: a program that does what the hint says succeeds."""

from __future__ import annotations

import ast
import contextlib
import functools
import math
import os
import pathlib
import re
import subprocess
import sys
import traceback
from collections import namedtuple
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
pytest.importorskip("distributed", reason="the extra portarray[dask] is not installed")
pytest.importorskip("jax", reason="some programs use it")
pytest.importorskip("mlx.core", reason="some programs use it")
pytest.importorskip("pyopencl", reason="the extra portarray[opencl] is not installed")
pytest.importorskip("safetensors", reason="the extra portarray[files] is not installed")
pytest.importorskip("torch", reason="some programs use it")

import jax
import mlx.core as mx
import torch

import portarray
import portarray as pa
import portarray.clarray as cl
import portarray.dask as pd
import portarray.kernel_language as kl
from portarray._opencl.device import Device
from portarray.testing import virtual_devices

ROOT = Path(pa.__file__).parent
LINES = (Path(__file__).parent / "hints.txt").read_text("utf-8").splitlines()
EXPECTED = [line.split(" ==> ") for line in LINES if " ==> " in line]
# Hints that no program there provokes, each with a reason; other tests provoke many of them.
ELSEWHERE = {line.removeprefix("- ") for line in LINES if line.startswith("- ")}


def _text(node: ast.AST) -> str | None:
    """Return the text that an expression makes, with {} for what is computed."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(_text(part) or "{}" for part in values)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            operands = _text(left), _text(right)
            return "".join(text or "{}" for text in operands) if any(operands) else None
        case ast.IfExp(body=body, orelse=orelse):
            return _text(body) or _text(orelse)
    return None


def _hints_of(tree: ast.AST) -> Iterator[str]:
    match tree:  # texts that get their "Hint: " elsewhere
        case ast.Assign(targets=[ast.Name(id="hint" | "fix")], value=value):
            branches = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            hints = [text.removeprefix("\nHint: ") for text in map(_text, branches) if text]
            yield from hints
            return
    text = _text(tree)
    if text is not None and "Hint: " in text:
        yield text.partition("Hint: ")[2]
    elif text is None:
        for child in ast.iter_child_nodes(tree):
            if not isinstance(child, ast.Expr) or not isinstance(child.value, ast.Constant):
                yield from _hints_of(child)


@cache
def hints() -> dict[str, re.Pattern[str]]:
    """Return every hint in portarray's source, and what matches it, the longest first."""
    messages = {
        hint
        for path in ROOT.rglob("*.py")
        if "Hint: " in (source := path.read_text("utf-8"))
        for hint in _hints_of(ast.parse(source))
        if " " in hint.replace("{}", "").strip(" ,;")
    }
    return {
        text: re.compile(re.escape(text).replace(r"\{\}", "(.|\n)*"))
        for text in sorted(messages, key=len, reverse=True)
    }


@pa.kernel
def fill(y, value):  # type: ignore[no-untyped-def]
    y[kl.index()] = value


@pa.kernel
def add(y, x):  # type: ignore[no-untyped-def]
    y[kl.index()] += x[kl.index()]


@pa.kernel
def fill_box(y):  # type: ignore[no-untyped-def]
    y[kl.index()] = 1.0


@pa.kernel
def turn(y):  # type: ignore[no-untyped-def]
    kl.barrier()
    y[kl.index()] = 1.0


@pa.kernel
def count(counts, x):  # type: ignore[no-untyped-def]
    kl.atomic_add(counts, x[kl.index()], 1)


@pa.kernel
def scan(y):  # type: ignore[no-untyped-def]
    a = kl.private(2, y.dtype)
    a[0] = y[kl.index()]
    y[kl.index()] = a[0]


@pa.kernel(static=("table",))
def pick(y, table):  # type: ignore[no-untyped-def]
    y[kl.index()] = table[0]


def half(x):  # type: ignore[no-untyped-def]
    return x / 2


def middle(first, second):  # type: ignore[no-untyped-def]
    return (first + second) / 2


class Once:
    """Exports its array to the first consumer."""

    def __init__(self, x: pa.Array) -> None:
        self.capsule, self.__dlpack_device__ = x.__dlpack__(), x.__dlpack_device__

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule


def run(program: str, **variables: str) -> None:
    """Run a program in another process, where warnings are errors; raise what it ended with."""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise RuntimeError(done.stderr)


def new_names(stack: contextlib.ExitStack) -> dict[str, Any]:
    """Return the names of the programs; v and virtual() are on virtual devices."""

    def virtual(platform: str = "opencl", **options: Any) -> pa.Array:
        device = stack.enter_context(virtual_devices(platform, **options))[0]
        return pa.asarray([1.0, 2.0], device=device)

    arrays = {
        "x": pa.asarray([1.0, 2.0, 3.0]),
        "y": pa.asarray([3.0, 1.0, 2.0]),
        "i": pa.asarray([1, 2, 3]),
        "b": pa.asarray([True, False, True]),
        "c": pa.asarray([1j, 2.0, 3.0]),
        "m": pa.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        "s": 2.0 * pa.eye(3),
        "q": pa.ones((2, 4, 2)),
        "t": pa.asarray([1.0, 2.0, 3.0], device="torch"),
        "v": virtual(),
        "far": cl.ones(2, device=Device(cl.devices()[0].native, 77, discrete=True)),
    }
    modules = {"np": np, "pa": pa, "portarray": portarray, "cl": cl, "pd": pd, "kl": kl}
    others = {"torch": torch, "jax": jax, "mx": mx, "kernels": pa.kernels, "kla": kl.algorithms}
    python = {"functools": functools, "math": math, "namedtuple": namedtuple, "pathlib": pathlib}
    here = {
        "fill": fill,
        "fill_box": fill_box,
        "add": add,
        "turn": turn,
        "count": count,
        "scan": scan,
        "pick": pick,
        "half": half,
        "middle": middle,
        "Once": Once,
        "run": run,
    }
    settings = {"virtual": virtual, "path": "a.safetensors", "key": pa.random.key(0)}
    return arrays | modules | others | python | here | settings | {"__name__": "hints"}


def hint_of(program: str, names: dict[str, Any]) -> str:
    """Return the hint of the error that a program ends with."""
    with pytest.raises(Exception, match="Hint: ") as caught:
        exec(program, names)
    return str(caught.value).partition("Hint: ")[2]


def test_every_hint_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed, printed = [], set()
    for index, (wrong, right) in enumerate(EXPECTED):
        (tmp_path / str(index)).mkdir()
        monkeypatch.chdir(tmp_path / str(index))
        with contextlib.ExitStack() as stack, pa.device("numpy"):
            names = new_names(stack)
            try:
                hint = hint_of(wrong, names)
                printed.add(next((t for t, pattern in hints().items() if pattern.match(hint)), ""))
                printed.update(text for text in hints() if text in hint)
                names |= new_names(stack)
                exec(right, names)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
                failed.append(f"{wrong} ==> {right}: {traceback.format_exception_only(error)}")
    assert failed == []
    # A new hint needs a line in hints.txt.
    assert set(hints()) - printed - ELSEWHERE == set()
    assert ELSEWHERE - set(hints()) == set(), "texts that no error has any more"
    assert ELSEWHERE & printed == set(), "texts that a program above provokes"
