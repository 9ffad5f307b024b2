"""What is shown at a terminal while a compiler works for seconds."""

from __future__ import annotations

import contextlib
import io
import threading
from pathlib import Path

import pytest

import portarray as pa
from portarray import _compile_notice
from portarray._compile_notice import compile_notice


class Terminal(io.StringIO):
    """A terminal; ``shown`` is set when a line is complete."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = threading.Event()

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.shown.set()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(_compile_notice, "_spent", {})
    monkeypatch.setattr(_compile_notice, "DELAY", 0.0)
    return terminal


def compiling(terminal: io.StringIO | None) -> contextlib.ExitStack:
    """Return the block in which a driver compiles. pytest replaces the standard error before."""
    stack = contextlib.ExitStack()
    stack.enter_context(contextlib.redirect_stderr(terminal))
    stack.enter_context(compile_notice("the driver compiles"))
    return stack


def test_a_message_is_shown_once(terminal: Terminal) -> None:
    with compiling(terminal):
        assert terminal.shown.wait(60)
    with compiling(terminal):
        pass
    assert terminal.getvalue() == "portarray: the driver compiles\n"


def test_short_compilations_are_added_up(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_compile_notice, "DELAY", 1e6)
    for _ in range(3):
        with compiling(terminal):
            assert not terminal.shown.wait(0.01)
    (spent,) = _compile_notice._spent.values()
    monkeypatch.setattr(_compile_notice, "DELAY", 1e6 + spent)
    monkeypatch.setitem(_compile_notice._spent, "the driver compiles", 1e6 + spent)
    with compiling(terminal):
        assert terminal.shown.wait(10)
    assert spent >= 0.03


def test_logs_do_not_show_it(terminal: Terminal) -> None:
    log = io.StringIO()
    with compiling(log):
        assert not threading.Event().wait(0.05)
    assert log.getvalue() == ""
    with compiling(None):  # as without a console on Windows
        pass


def test_a_failed_compilation_ends_it(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compile_notice, "DELAY", 1e6)
    with pytest.raises(ZeroDivisionError), compiling(terminal):
        raise ZeroDivisionError
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(60)
            assert not thread.is_alive()


def test_compilers_are_covered(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs of OpenCL, and functions that a library compiles."""
    pytest.importorskip("pyopencl", reason="the extra portarray[opencl] is not installed")
    pytest.importorskip("mlx.core", reason="a library with a compiler")
    from portarray._opencl.programs import Programs
    from portarray._opencl.registry import devices

    monkeypatch.setattr(_compile_notice, "DELAY", 1e6)
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path))
    with contextlib.redirect_stderr(terminal):
        Programs(devices()[0]).native("kernel void f(global int* x) { x[0] = 1; }", "f")
        pa.compile(lambda x: pa.sin(x) + 1)(pa.ones(3, device="mlx:cpu:0"))
    messages = list(_compile_notice._spent)
    assert any(
        message.startswith("the driver compiles programs for clarray:0")
        and str(tmp_path) in message
        for message in messages
    )
    assert "MLX's compiler compiles <lambda> for mlx:cpu:0; later calls reuse it" in messages
