"""Files that are replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def replaced(path: str) -> Iterator[str]:
    """Give a new file's name; it takes the place of another when the block ends without an error.

    It lies in the same folder, since only there it can be renamed in one step, and gets its data
    onto the disk before: whatever happens meanwhile, the name leads to a whole file.
    """
    target = os.path.realpath(path)  # links stay links
    folder = os.path.dirname(target)
    earlier = _to_be_replaced(path, target)
    if earlier is None and not os.path.basename(path):  # "models/"
        raise IsADirectoryError(errno.EISDIR, "that is a folder's name; name a file in it", path)
    temporary = os.path.join(folder, f".portarray-{os.urandom(8).hex()}.tmp")
    try:
        # Its mode is what any new file gets.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, "there is no such folder to save in; make it first", path
        ) from None
    except OSError as error:  # which names a file that nobody asked for
        why = f"{error.strerror}: no file can be made beside it"
        raise OSError(error.errno, why, path) from error
    try:
        model = earlier or os.stat(temporary)
        yield temporary  # the library puts a file of its own, for its user alone, in that place
        try:
            _onto_disk(temporary, os.O_RDWR)
            _like(temporary, model)  # after which we may not be allowed to open it
            os.replace(temporary, target)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; it was not written", path) from error
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    # The new name too, where the system lets folders be opened for that. The file is in its place.
    with suppress(OSError):
        _onto_disk(folder, os.O_RDONLY)


def _to_be_replaced(path: str, target: str) -> os.stat_result | None:
    """Return what is known of a file that may be written, None where there is none."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder cannot be saved to; name a file", path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "only a regular file can be saved to, and this is none", path)
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        # A file may be renamed onto it all the same, which writing into it would not do.
        raise PermissionError(errno.EACCES, "the file may not be written", path)
    return found


def _like(path: str, model: os.stat_result) -> None:
    """Give a file the owner and the mode of another, as writing into that one would leave them."""
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only root gives files away
            os.chown(path, model.st_uid, model.st_gid)
    os.chmod(path, stat.S_IMODE(model.st_mode))


def _onto_disk(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
