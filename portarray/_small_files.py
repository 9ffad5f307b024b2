"""Small files that outlive the process: preferences, markers, verdicts, built programs.

What lies in their place may be anything by the time it is read: damaged, a folder, a pipe.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["read", "write"]


def read(file: Path) -> bytes:
    """Return the content of a regular file.

    Raises
    ------
    OSError
        If it cannot be read or is no regular file: reading a pipe would wait for who writes to it.
    """
    # A pipe that nobody writes to is opened at once with O_NONBLOCK, which Windows has not.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(file, flags), "rb") as content:
        if not stat.S_ISREG(os.fstat(content.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(file))
        return content.read()


def write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, in the place of whatever is there, a folder too.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as target:
            target.write(content)
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        # Readers see the old file or the new one; of two writers the later stands.
        os.replace(name, file)
    except BaseException:  # an interrupt too
        with suppress(OSError):
            os.unlink(name)
        raise
