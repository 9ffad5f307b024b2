"""The progress bar of trees: when it appears, its text, and its removal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray._installation import pip_install
from portarray._movement import progress

needs_rich = pytest.mark.skipif(find_spec("rich") is None, reason="the bar is drawn by rich")

PROGRAM = """
import sys, time
import numpy as np, portarray as pa
from portarray._movement import progress

class Slow:
    "A producer that takes its time."
    def __init__(self, values, seconds, error=None):
        self.values, self.seconds, self.error = values, seconds, error
    nbytes = property(lambda self: self.values.nbytes)
    def __dlpack_device__(self):
        return self.values.__dlpack_device__()
    def __dlpack__(self, **options):
        time.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return self.values.__dlpack__(**options)

progress.DELAY = float(sys.argv[1])
error = LookupError("no more") if sys.argv[2] == "fails" else None
tree = [Slow(np.zeros(2**18), 0.15) for _ in range(4)] + [Slow(np.zeros(2**18), 0.15, error)]
setting = {"argument": {"progress": True}, "config": {}, "off": {}}[sys.argv[3]]
with pa.config(progress=sys.argv[3] == "config"):
    try:
        pa.to_device(tree, "numpy", **setting)
    except LookupError as caught:
        assert caught.__notes__ == ["at tree[4]"], caught.__notes__
        print("failed")
    else:
        print("moved")
print("rich" in sys.modules)
"""


def run(delay: float, ends: str, setting: str, *, terminal: bool = True) -> tuple[list[str], str]:
    """Run the program; return its output, and its standard error on a terminal."""
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(delay), ends, setting]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    if not terminal:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, check=True, timeout=120
        )
        return done.stdout.split(), done.stderr
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            command, env=env, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, text=True
        ) as child:
            os.close(theirs)
            drawn = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # Linux's end of a terminal
                    break
                if not piece:
                    break
                drawn += piece
            assert child.stdout is not None
            lines = child.stdout.read().split()
    finally:
        os.close(ours)
    assert child.returncode == 0, drawn.decode()
    return lines, drawn.decode()


@needs_rich
@pytest.mark.parametrize(
    ("ends", "setting"), [("well", "argument"), ("well", "config"), ("fails", "argument")]
)
def test_a_bar_appears_and_goes(ends: str, setting: str) -> None:
    lines, drawn = run(0.2, ends, setting)
    assert lines == ["moved" if ends == "well" else "failed", "True"]
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn)
    assert "to numpy:cpu:0" in text
    assert "/10.0 MiB" in text
    # The last that the terminal gets: the line is erased, and the cursor is back.
    assert "\x1b[?25l" in drawn
    assert drawn.rindex("\x1b[?25h") > drawn.rindex("to numpy:cpu:0")
    assert drawn.rindex("\x1b[2K") > drawn.rindex("to numpy:cpu:0")


@needs_rich
@pytest.mark.parametrize(("delay", "setting"), [(300.0, "argument"), (0.2, "off")])
def test_fast_moves_and_disabled_progress_show_no_bar(delay: float, setting: str) -> None:
    lines, drawn = run(delay, "well", setting)
    assert lines == ["moved", "False"]  # rich is not even imported
    assert drawn == ""
    assert progress.DELAY == 1.0


@needs_rich
def test_nothing_is_drawn_where_there_is_no_terminal() -> None:
    lines, written = run(0.2, "well", "argument", terminal=False)
    assert lines == ["moved", "True"]
    assert written == ""


@needs_rich
def test_nbytes_that_is_a_method_is_ignored() -> None:
    class NbytesMethod:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **options: Any) -> Any:
            return np.ones(2).__dlpack__(**options)

        def nbytes(self) -> int:
            return 16

    moved = pa.to_device([NbytesMethod(), np.ones(2)], "numpy", native=False, progress=True)
    assert [float(pa.sum(x)) for x in moved] == [2.0, 2.0]


def test_without_rich_nothing_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    class Source:
        is_read = False

        def __dlpack_device__(self) -> tuple[int, int]:
            Source.is_read = True
            return 1, 0

        def __dlpack__(self, **options: Any) -> Any:
            return np.ones(2).__dlpack__(**options)

    monkeypatch.setitem(sys.modules, "rich", None)  # as Python has it where an import fails
    with pytest.raises(
        ModuleNotFoundError, match=re.escape(pip_install("portarray[cli]"))
    ) as caught:
        pa.to_device([Source()], "numpy", progress=True)
    assert caught.value.name == "rich"
    with pa.config(progress=True), pytest.raises(ModuleNotFoundError):
        pa.to_device([Source()], "numpy")
    assert not Source.is_read
    with pa.config(progress=True):
        pa.to_device([Source()], "numpy", progress=False)
    assert Source.is_read
