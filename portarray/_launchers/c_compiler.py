"""Programs that the machine's C compiler makes, kept in memory and on disk.

A file is named by a digest of everything that its program depends on, the compiler and the
processor included; a second file beside it has a digest of its content: damaged ones count as
missing.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import cffi

from portarray import _atomic_files
from portarray._launchers.launcher import COMPILER, DISK, MEMORY
from portarray._opencl.folders import cache_folder, trim, write
from portarray._opencl.processor import processor

__all__ = ["BuildError", "Programs", "compiler", "ffi"]

_FLAGS = (
    *("-x", "c", "-std=c11", "-O3", "-fPIC", "-shared", "-w", "-fvisibility=hidden"),
    # Rounded after each operation, as everywhere; what is left out has no effect on results.
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    # One memory may have elements of two dtypes, and need not be aligned to more than these.
    *("-fno-strict-aliasing", "--param=vect-max-peeling-for-alignment=0"),
)
_OPTIONS = (
    ("-march=native", "-fopenmp"),
    ("-mcpu=native", "-fopenmp"),
    ("-march=native",),
    ("-mcpu=native",),
    (),
)
"""Options that not all compilers have; the first that works is used."""

_PROBE = """__attribute__((visibility("default"))) void pa_plain(int* x) {
    #pragma omp parallel
    __atomic_fetch_add(x, 1, __ATOMIC_RELAXED);
}
"""
"""A program that is right."""

_LIMIT = 256 << 20
"""Bytes of all files together; the least recently used are removed first."""

ffi = cffi.FFI()
_declared: set[int] = set()


class BuildError(Exception):
    """The compiler refuses a program; the message is its log."""


def compiler() -> tuple[str, ...] | str:
    """Return the command of the C compiler, or why there is none; ``CC`` names it."""
    command = os.environ.get("CC", "").strip()
    for name in [command] if command else ["cc", "gcc", "clang"]:
        first, *more = shlex.split(name)
        if path := shutil.which(first):
            return path, *more
    return f"CC={command} is not found" if command else f"CC={command} was not found"


class Programs:
    """The programs of one compiler."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._option_index = 0
        self._lock = threading.RLock()
        # For as long as the process: a library must not go before the threads that ran it.
        self._loaded: dict[str, Any] = {}
        real = Path(command[0]).resolve()
        status = real.stat()
        parts = (*command, str(real), str(status.st_mtime_ns), str(status.st_size), *_FLAGS)
        self._key_prefix = "\0".join((*parts, str(_OPTIONS), processor()))

    def origin(self, text: str) -> str:
        """Return where a program is."""
        key = self._key(text)
        if key in self._loaded:
            return MEMORY
        return COMPILER if _content(_file(key)) is None else DISK

    def function(self, text: str, arrays: int) -> Any:
        """Return the function ``pa_run_N`` of a program whose kernel has N arrays.

        Raises
        ------
        BuildError
            If the compiler refuses the program.
        """
        key = self._key(text)
        with self._lock:
            function = self._loaded.get(key)
            if function is None:
                function = self._loaded[key] = self._library(text, key)
            name = f"pa_run_{arrays}"
            if arrays not in _declared:
                ffi.cdef(f"int32_t {name}({', '.join(['const char *', *['void *'] * arrays])});")
                _declared.add(arrays)
            return getattr(function, name)

    def _key(self, text: str) -> str:
        return hashlib.sha256(f"{self._key_prefix}\0{text}".encode()).hexdigest()

    def _library(self, text: str, key: str) -> Any:
        file = _file(key)
        if _content(file) is not None:
            with suppress(OSError):  # of another system, or where nothing may be run
                library = ffi.dlopen(str(file))
                for path in (file, _digest_file(file)):
                    with suppress(OSError):
                        os.utime(path)
                return library
        library, content = self._built(text)
        if write(file, content):
            write(_digest_file(file), _digest(content))
            trim(file.parent, _LIMIT)
        return library

    def _built(self, text: str) -> tuple[Any, bytes]:
        """Return a new program, as it is loaded and as it is kept."""
        while True:
            built = self._tried(text)
            if not isinstance(built, str):
                return built
            last = self._option_index == len(_OPTIONS) - 1
            if last or not isinstance(self._tried(_PROBE), str):  # the program is wrong
                raise BuildError(built)
            self._option_index += 1

    def _tried(self, text: str) -> tuple[Any, bytes] | str:
        """Compile and load a program with the options that are next; return why that fails."""
        # The library stays when its file is gone.
        with tempfile.TemporaryDirectory(prefix="portarray-", ignore_cleanup_errors=True) as folder:
            program = Path(folder) / "program.so"
            command = [
                *self._command,
                *_FLAGS,
                *_OPTIONS[self._option_index],
                "-",
                "-o",
                str(program),
                "-lm",
            ]
            done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
            if done.returncode:
                log = done.stderr.decode(errors="replace")
                return log or f"the compiler exited with status {done.returncode}"
            try:
                return ffi.dlopen(str(program)), program.read_bytes()
            except OSError as error:  # without OpenMP's library, for one
                return str(error)


def _file(key: str) -> Path:
    return cache_folder("programs_in_c") / f"{key}.so"


def _digest_file(file: Path) -> Path:
    return file.with_suffix(".digest")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _content(file: Path) -> bytes | None:
    """Return what is in a program's file, None if it is not there or damaged."""
    try:
        content = _atomic_files.read(file)
        digest = _atomic_files.read(_digest_file(file))
    except OSError:
        return None
    return content if digest == _digest(content) else None
