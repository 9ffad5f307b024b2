"""A cache of built programs on disk.

A file's name is a digest of everything that its program depends on, including the driver. The file
begins with a digest of its content: damaged files count as missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from pathlib import Path

import pyopencl as cl

from portarray import _atomic_files
from portarray._opencl.folders import cache_folder, remove, trim, write
from portarray._opencl.processor import processor

FORMAT = b"clarray program 1\n"
"""The first line of files; a new number invalidates old files."""

MAX_BYTES = 256 << 20
"""Bytes of all files; the least recently used are removed first."""

CHECK_INTERVAL = 64
"""Files written between two checks of the size."""

_BUILT_ONCE = b"wanted once"
"""Stored instead of a program that was built once, where binaries are expensive."""


def digest(binary: bytes) -> bytes:
    """Return the digest stored before a program."""
    return hashlib.sha256(binary).digest()


def binary_of(content: bytes) -> bytes | None:
    """Return the program in a file's content; None if it is damaged."""
    start = len(FORMAT) + hashlib.sha256().digest_size
    binary = content[start:]
    return binary if content[:start] == FORMAT + digest(binary) else None


class ProgramCache:
    """The built programs of one device on disk."""

    def __init__(self, native: cl.Device, max_bytes: int = MAX_BYTES) -> None:
        platform = native.platform
        self._native = native
        # PoCL compiles a program again to return its binary, so only programs that a second process
        # needs are stored.
        self._on_demand = "Portable Computing Language" in platform.name
        self._max_bytes = max_bytes
        self._stored = 0
        self._lock = threading.Lock()
        self._device = "\0".join(
            (
                *(platform.name, platform.version),
                *(native.name, native.version, native.driver_version),
                processor(),
            )
        )

    def file(self, text: str, options: str) -> Path:
        """Return the file of a program."""
        key = hashlib.sha256(FORMAT)
        for field in (self._device, options, text):
            key.update(field.encode() + b"\0")
        return cache_folder("programs") / f"{key.hexdigest()}.bin"

    def has(self, file: Path) -> bool:
        """Return whether a file contains a program."""
        try:
            return binary_of(_atomic_files.read(file)) not in (None, _BUILT_ONCE)
        except OSError:
            return False

    def load(self, context: cl.Context, file: Path, options: str) -> cl._cl._Program | None:
        """Return the program in a file; None if it must be built."""
        try:
            content = _atomic_files.read(file)
        except OSError:
            return None
        binary = binary_of(content)
        if binary is None:
            remove(file)
            return None
        if binary == _BUILT_ONCE:
            return None
        try:
            program = cl._cl._Program(context, [self._native], [binary])
            program._build(options.encode())
        except cl.Error:  # another build of the driver wrote it
            remove(file)
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return program

    def store(self, file: Path, program: cl._cl._Program) -> None:
        """Store a program that was built from source."""
        if self._on_demand and not file.exists():
            write(file, FORMAT + digest(_BUILT_ONCE) + _BUILT_ONCE)
            return
        try:
            binaries = program.get_info(cl.program_info.BINARIES)
        except cl.Error:  # the driver returns no binaries
            return
        if not isinstance(binaries, list) or len(binaries) != 1 or not binaries[0]:
            return
        binary = bytes(binaries[0])
        if write(file, FORMAT + digest(binary) + binary):
            with self._lock:
                check_size = self._stored % CHECK_INTERVAL == 0
                self._stored += 1
            if check_size:
                trim(file.parent, self._max_bytes)
