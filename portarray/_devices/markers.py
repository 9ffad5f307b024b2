"""Marker files for steps that may crash or hang the process, so that each crashes only once.

A driver may hang or kill its process without an exception. Before such a step a *marker* file is
written, named for the step and this process, and removed afterwards. A marker of a dead process
tells the next one that the step killed it; that one first tries in a child process and stores the
child's *verdict*:

- a reason: the step is refused, here and in later processes, until the step's key changes (it
  holds the library's and the driver's version) or :func:`forget`;
- empty: the child succeeded. The step is tried here once more; if that kills the process as well,
the step is refused.

If the folder is not writable, steps run without markers.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from portarray import _atomic_files

__all__ = ["forget", "guarded", "state_folder"]

STALE = 900.0
"""Seconds after which a marker counts as a crash even if a process with its pid runs."""

AGAIN = "`portarray devices --reprobe` tries again"


def state_folder() -> Path:
    """Return the folder of the markers: ``PORTARRAY_STATE_DIR``, else the user's state folder."""
    override = os.environ.get("PORTARRAY_STATE_DIR")
    if override:
        return Path(override) / "probes"
    import platformdirs  # only devices other than CPUs need it

    return platformdirs.user_state_path("portarray") / "probes"


def forget(library: str | None = None) -> None:
    """Remove all markers and verdicts, or those of one library."""
    for file in _files("" if library is None else f"{library}-"):
        _remove(file)


@contextlib.contextmanager
def guarded(key: str, try_in_child: Callable[[], str]) -> Iterator[str]:
    """Guard a step that may kill or hang its process.

    Parameters
    ----------
    key : str
        Names the step; begins with the library and a hyphen, and includes the versions that
        invalidate a verdict.
    try_in_child : callable
        Runs the step in a child process and returns why it failed, or an empty string.

    Yields
    ------
    str
        Why the step must not be done here, or an empty string.
    """
    # The host name separates machines that share a home folder.
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
        raise  # it may have hung: the marker stays, so the next try is in a child
    except BaseException:
        _clear(marker, verdict_file)
        raise
    _clear(marker, verdict_file)


def _clear(marker: Path, verdict_file: Path) -> None:
    """Remove the marker, and the empty verdict of an earlier child, after a step."""
    _remove(marker)
    _remove(verdict_file)


def _judge(stem: str, verdict_file: Path, try_in_child: Callable[[], str]) -> str:
    """Return why a step is refused; one that crashed before is tried in a child process."""
    verdict = _read(verdict_file)
    if verdict:
        return f"{verdict} (found earlier; {AGAIN})"
    dead = [file for file in _files(f"{stem}@") if _is_dead(file)]
    if not dead:
        return ""
    if verdict is None:
        verdict = try_in_child()
    else:
        verdict = "it killed its process twice, although it worked in a child process"
    _write(verdict_file, verdict)
    for file in dead:
        _remove(file)
    return verdict and f"{verdict} ({AGAIN})"


def _host() -> str:
    import platform  # only devices other than CPUs need it

    return platform.node()


def _is_dead(marker: Path) -> bool:
    """Return whether the process that wrote a marker is dead, or hung."""
    try:
        age = time.time() - marker.stat().st_mtime
        pid = int(marker.name.rpartition("@")[2])
    except (OSError, ValueError):
        return False  # removed meanwhile, or not a marker
    # A marker with our pid is from an earlier process: in containers pids repeat.
    return age > STALE or pid == os.getpid() or not _runs(pid)


def _runs(pid: int) -> bool:
    """Return whether a process with that pid runs."""
    if sys.platform == "win32":
        # Signal 0 is CTRL_C_EVENT there: open a handle instead.
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
    """Return the state files with a prefix."""
    try:
        return sorted(f for f in state_folder().iterdir() if f.name.startswith(prefix))
    except OSError:
        return []


# Errors are ignored: with a missing, full or read-only state folder crashes are not recorded.


def _write(file: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        _atomic_files.write(file, f"{text}\n".encode())


def _read(file: Path) -> str | None:
    """Return a verdict; None where there is none, or no whole one: they end with a line's end."""
    try:
        text = _atomic_files.read(file).decode()
    except (OSError, UnicodeDecodeError):
        return None
    return text[:-1] if text.endswith("\n") else None


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)
