"""The folder that outlives the process: programs, driver entries, what was found of drivers.

Nothing in it is needed: each reader makes anew what is missing or damaged, and where the folder
cannot be written clarray does without.
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
    """Return one of the folders below ``CLARRAY_CACHE_DIR``, else below the user's cache folder."""
    given = os.environ.get("CLARRAY_CACHE_DIR")
    if given:
        return Path(given) / name
    import platformdirs  # where it is used: most programs do without

    return platformdirs.user_cache_path("portarray") / "clarray" / name


def write(file: Path, content: bytes) -> bool:
    """Write a file whole or not at all, whatever is in its place; warn once where that fails.

    Returns
    -------
    bool
        Whether the file is there now.
    """
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
        f"clarray cannot keep anything in {folder} ({error}); every process builds its programs "
        f"anew. Set CLARRAY_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=3,
    )


def remove(file: Path) -> None:
    """Remove a file, if it is still there and may be removed."""
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)


def trim(folder: Path, limit: int) -> None:
    """Remove the least recently used files beyond so many bytes."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):  # another process removed it
                status = entry.stat()
                found.append((status.st_mtime, status.st_size, entry.path))
    over = sum(size for _, size, _ in found) - limit
    for _, size, path in sorted(found):
        if over <= 0:
            return
        remove(Path(path))
        over -= size
