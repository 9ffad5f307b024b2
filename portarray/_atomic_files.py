"""Files that are replaced atomically: the whole new content or the whole old one.

``read`` and ``write`` serve small files that outlive the process: preferences, markers, verdicts,
compiled programs. By the time they are read they may be damaged, a folder or a pipe. ``replaced``
serves files of users: it keeps their owner and mode, and flushes them to the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read", "replaced", "write"]


def read(file: str | Path) -> bytes:
    """Return the content of a regular file.

    Raises
    ------
    OSError
        If it cannot be read or is not a regular file: reading a pipe would wait for its writer.
    """
    # O_NONBLOCK, which Windows lacks, opens a pipe without a writer at once.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(file, flags), "rb") as content:
        if not stat.S_ISREG(os.fstat(content.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(file))
        return content.read()


def write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, in the place of whatever is there, a folder too.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    import shutil  # lazy: these take milliseconds, and most processes only read
    import tempfile

    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as target:
            target.write(content)
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        # Readers see the old file or the new one; of two writers, the later wins.
        os.replace(name, file)
    except BaseException:  # an interrupt too
        with suppress(OSError):
            os.unlink(name)
        raise


@contextmanager
def replaced(path: str) -> Iterator[str]:
    """Yield the name of a temporary file that replaces another unless the block raises.

    It is in the same folder, where a rename is atomic, and is flushed to the disk before it:
    whatever happens meanwhile, the path leads to a whole file.
    """
    target = os.path.realpath(path)  # a symbolic link is kept
    folder = os.path.dirname(target)
    earlier = _to_be_replaced(path, target)
    if earlier is None and not os.path.basename(path):  # "models/"
        raise IsADirectoryError(
            errno.EISDIR, "the path is the name of a folder, not of a file", path
        )
    temporary = os.path.join(folder, f".portarray-{os.urandom(8).hex()}.tmp")
    try:
        # With the mode that any new file gets.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, "the folder does not exist; create it first", path
        ) from None
    except OSError as error:  # it names the temporary file
        why = f"{error.strerror}: a file next to it could not be created"
        raise OSError(error.errno, why, path) from error
    try:
        model = earlier or os.stat(temporary)
        yield temporary  # safetensors replaces it by a file with mode 0600
        try:
            _fsync(temporary, os.O_RDWR)
            _copy_owner_and_mode(temporary, model)  # after which it may not be ours to open
            os.replace(temporary, target)
        except OSError as error:
            raise OSError(
                error.errno, f"{error.strerror}; the file was not written", path
            ) from error
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    # The folder too, where the system lets it be opened. The file is in its place already.
    with suppress(OSError):
        _fsync(folder, os.O_RDONLY)


def _to_be_replaced(path: str, target: str) -> os.stat_result | None:
    """Return the status of the file to replace, None where there is none."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "the path is a folder, not a file", path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "the path is not a regular file", path)
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        # A rename would replace it all the same, which writing into it would not.
        raise PermissionError(errno.EACCES, "the file is not writable", path)
    return status


def _copy_owner_and_mode(path: str, model: os.stat_result) -> None:
    """Give a file the owner and the mode of another, as writing into that one would leave them."""
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only root gives files away
            os.chown(path, model.st_uid, model.st_gid)
    os.chmod(path, stat.S_IMODE(model.st_mode))


def _fsync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
