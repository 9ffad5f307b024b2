"""The cache folder on disk: programs, driver entries, verdicts on drivers.

Readers recreate files that are missing or damaged. If the folder is not writable, nothing is
cached.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from pathlib import Path

from portarray import _atomic_files

__all__ = ["cache_folder", "remove", "trim", "write"]

_warned: set[str] = set()


def cache_folder(name: str) -> Path:
    """Return a folder below ``CLARRAY_CACHE_DIR``, or below the user's cache folder if unset."""
    root = os.environ.get("CLARRAY_CACHE_DIR")
    if root:
        return Path(root) / name
    import platformdirs  # most programs do not need it

    return platformdirs.user_cache_path("portarray") / "clarray" / name


def write(file: Path, content: bytes) -> bool:
    """Write a file atomically and return whether that succeeded; warn once if not."""
    try:
        _atomic_files.write(file, content)
    except OSError as error:
        _warn(file.parent, error)
        return False
    return True


def _warn(folder: Path, error: OSError) -> None:
    root = str(cache_folder(""))
    if root in _warned:
        return
    _warned.add(root)
    warnings.warn(
        f"clarray cannot write to {folder} ({error}); every process builds its programs again\n"
        f"Hint: set CLARRAY_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=3,
    )


def remove(file: Path) -> None:
    """Remove a file if it exists and permissions allow it."""
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)


def trim(folder: Path, limit: int) -> None:
    """Remove the least recently used files beyond ``limit`` bytes."""
    files = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):  # another process removed it
                status = entry.stat()
                files.append((status.st_mtime, status.st_size, entry.path))
    over = sum(size for _, size, _ in files) - limit
    for _, size, path in sorted(files):
        if over <= 0:
            return
        remove(Path(path))
        over -= size
