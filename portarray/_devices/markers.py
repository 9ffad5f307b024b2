"""Notes in a file that a dangerous step is under way, so that a crash in it happens only once.

A driver that hangs or kills its process leaves no exception behind. So before a step that may do so
a *marker* is written, named for the step and this process, and taken away after it. A marker of
a process that is gone tells the next one that the step killed it; that one tries in a child process
first and keeps the child's *verdict*:

- a reason: the step is refused, here and in later processes, until the step's key changes (it
  holds the library's and the driver's version) or :func:`forget`;
- nothing: the child came through. The step is tried here once more; should that kill the process
  as well, the step is refused.

Where the folder cannot be written, steps simply run without markers.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["forget", "guarded", "state_folder"]

STALE = 900.0
"""Seconds after which a marker counts as a crash although a process has its number."""

AGAIN = "`portarray devices --reprobe` tries again"


def state_folder() -> Path:
    """Return the folder of the markers: ``PORTARRAY_STATE_DIR``, else the user's state folder."""
    given = os.environ.get("PORTARRAY_STATE_DIR")
    if given:
        return Path(given) / "probes"
    import platformdirs  # only devices other than CPUs need it

    return platformdirs.user_state_path("portarray") / "probes"


def forget(library: str | None = None) -> None:
    """Take away every marker and verdict, or those of one library."""
    for file in _files("" if library is None else f"{library}-"):
        _remove(file)


@contextlib.contextmanager
def guarded(key: str, try_in_child: Callable[[], str]) -> Iterator[str]:
    """Guard a step that may kill or hang its process.

    Parameters
    ----------
    key : str
        Names the step; begins with the library and a hyphen, and holds the versions with which
        a verdict may change.
    try_in_child : callable
        Does the step in a child process and returns why it failed, or an empty string.

    Yields
    ------
    str
        Why the step must not be done here, or an empty string.
    """
    # Host names keep the machines apart that share a home folder.
    stem = re.sub(r"[^A-Za-z0-9_.+-]+", "_", f"{key}-on-{_host()}")
    verdict_file = state_folder() / f"{stem}.verdict"
    refusal = _judge(stem, verdict_file, try_in_child)
    if refusal:
        yield refusal
        return
    marker = state_folder() / f"{stem}@{os.getpid()}"
    _write(marker, "")
    try:
        yield ""
    except KeyboardInterrupt:
        raise  # perhaps it hung: the marker stays, and the next try is a child process's
    except BaseException:
        _clear(marker, verdict_file)
        raise
    _clear(marker, verdict_file)


def _clear(marker: Path, verdict_file: Path) -> None:
    """Note that a step did not kill this process; so did the child that tried it before."""
    _remove(marker)
    _remove(verdict_file)


def _judge(stem: str, verdict_file: Path, try_in_child: Callable[[], str]) -> str:
    """Return why a step is refused, after trying it in a child where it crashed before."""
    verdict = _read(verdict_file)
    if verdict:
        return f"{verdict} (found earlier; {AGAIN})"
    dead = [file for file in _files(f"{stem}@") if _is_dead(file)]
    if not dead:
        return ""
    if verdict is None:
        verdict = try_in_child()
    else:
        verdict = "it ended its process twice, although it worked in a child process"
    _write(verdict_file, verdict)
    for file in dead:
        _remove(file)
    return verdict and f"{verdict} ({AGAIN})"


def _host() -> str:
    import platform  # only devices other than CPUs need it

    return platform.node()


def _is_dead(marker: Path) -> bool:
    """Tell whether the process that wrote a marker is gone, or hangs for very long."""
    try:
        age = time.time() - marker.stat().st_mtime
        pid = int(marker.name.rpartition("@")[2])
    except (OSError, ValueError):
        return False  # cleared in this moment, or not ours
    # A marker with our own number is an earlier process's: in containers numbers repeat.
    return age > STALE or pid == os.getpid() or not _runs(pid)


def _runs(pid: int) -> bool:
    """Tell whether a process of that number runs."""
    if sys.platform == "win32":
        # Signal 0 would be a Ctrl-C there: ask for a handle instead.
        import ctypes

        kernel = ctypes.WinDLL("kernel32")
        handle = kernel.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
        if handle:
            kernel.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's
    return True


def _files(prefix: str) -> list[Path]:
    """Return the state files whose names begin so."""
    try:
        return sorted(f for f in state_folder().iterdir() if f.name.startswith(prefix))
    except OSError:
        return []


# A state folder that is missing, full or read-only must not keep anybody from computing: without
# it the first crash is simply not remembered.


def _write(file: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return None


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)
