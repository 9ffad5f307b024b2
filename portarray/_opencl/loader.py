"""Which drivers OpenCL's loader is told of.

The loader reads a folder of ``.icd`` files, each with the name of a driver's library, when it is
asked for platforms first. ``OCL_ICD_VENDORS`` names another folder than the system's, which is how
drivers from wheels are found without root: Intel's wheel brings an entry, but with the path of the
machine that packed it. So a folder is made that holds the wheels' drivers and the system's.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.metadata
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from portarray import _atomic_files
from portarray._opencl.folders import cache_folder, remove, write

__all__ = ["prepare", "wrong_entries"]

SYSTEM = Path("/etc/OpenCL/vendors")
VARIABLES = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES")

WHEELS = {
    "intel-opencl-rt": ("libintelocl.so",),
    "pocl-binary-distribution": ("libpocl",),
}
"""Distributions that bring a driver, and how the names of its library begin."""

EMULATOR = "libintelocl_emu"
"""Intel's FPGA emulator: for programs that are to run on FPGAs, and no device to compute on."""

UNUSED = 30 * 24 * 3600.0
"""Seconds after which a folder of entries that no process used goes."""

_lock = threading.Lock()
_prepared: list[Path] = []


def prepare() -> None:
    """Make the loader see the wheels' drivers beside the system's, unless the user decided.

    Has an effect on loaders that nobody asked for platforms so far.
    """
    with _lock:
        if _prepared or any(name in os.environ for name in VARIABLES):
            return
        if not sys.platform.startswith("linux"):
            return  # Windows lists drivers in its registry; macOS has its own alone
        entries = _entries()
        folder = _folder(entries)
        _prepared.append(folder)
        os.environ["OCL_ICD_VENDORS"] = str(folder)
        first = next(iter(entries.values()), "")
        if os.path.isabs(first):
            # Loaders that know this variable list what it names before a folder's entries, which
            # come in any order. It matters to libraries beside clarray that take the first CPU:
            # dpnp needs Intel's driver, and ends the process on PoCL.
            os.environ["OCL_ICD_FILENAMES"] = first


def wrong_entries() -> dict[str, str]:
    """Return entries that the loader is told of and cannot use, each with what is wrong."""
    given = "" if _prepared else os.environ.get("OCL_ICD_FILENAMES", "")
    found = {
        f"OCL_ICD_FILENAMES={name}": "there is no such file"
        for name in given.split(os.pathsep)
        if os.path.isabs(name) and not os.path.exists(name)
    }
    folders = [SYSTEM, Path(sys.prefix) / "etc/OpenCL/vendors"]
    if not _prepared and "OCL_ICD_VENDORS" in os.environ:
        folders = [Path(os.environ["OCL_ICD_VENDORS"])]
        if not folders[0].exists():
            found[f"OCL_ICD_VENDORS={folders[0]}"] = "there is no such folder"
    for folder in folders:
        for entry in sorted(folder.glob("*.icd")):
            library = _library(entry)
            if not _exists(library) and not _replaced(library):
                found[str(entry)] = f"it names {library or 'nothing'}, which is not there"
    return found


def _entries() -> dict[str, str]:
    """Return the libraries of drivers by the name of their entry."""
    found: dict[str, str] = {}
    for wheel, starts in WHEELS.items():
        for path in _of_wheel(wheel, starts):
            found[f"{len(found):02}-{wheel}.icd"] = str(path)
    names = {Path(library).name.partition(".so")[0] for library in found.values()}
    for folder in (Path(sys.prefix) / "etc/OpenCL/vendors", SYSTEM):
        for entry in sorted(folder.glob("*.icd")):
            library = _library(entry)
            name = Path(library).name.partition(".so")[0]
            # Two copies of one driver in a process disturb each other: the wheel's stands.
            if name in names or name.startswith(EMULATOR) or not _exists(library):
                continue
            found[f"{len(found):02}-{entry.name}"] = library
    return found


def _of_wheel(wheel: str, starts: tuple[str, ...]) -> list[Path]:
    try:
        files = importlib.metadata.files(wheel) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    # An installer may have put them elsewhere than the list says.
    named = [Path(str(file.locate())).resolve() for file in files if file.name.startswith(starts)]
    named += [Path(sys.prefix) / "lib" / name for name in starts if name.endswith(".so")]
    there = [path for path in named if path.is_file() and path.name.endswith(".so")]
    return there[:1]


def _library(file: Path) -> str:
    try:
        return _atomic_files.read(file).decode("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _exists(library: str) -> bool:
    # A name without folder is for the system's linker to find.
    return bool(library) and (not os.path.isabs(library) or os.path.exists(library))


def _replaced(library: str) -> bool:
    """Tell whether a missing library is one whose wheel is looked into here."""
    name = Path(library).name
    return name.startswith((EMULATOR, *(start for every in WHEELS.values() for start in every)))


def _folder(entries: dict[str, str]) -> Path:
    """Return a folder with exactly these entries.

    It is named by what is in it, so that environments with other drivers have theirs, and
    processes that start at once write the same.
    """
    text = "\n".join(f"{name} {library}" for name, library in entries.items())
    parent = cache_folder("drivers")
    folder = parent / hashlib.sha256(text.encode()).hexdigest()[:16]
    if all(_holds(folder / name, library) for name, library in entries.items()):
        for file in folder.glob("*.icd"):
            if file.name not in entries:
                remove(file)
        _clear(parent, folder)
        return folder
    own = Path(tempfile.mkdtemp(prefix="clarray-drivers-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    for name, library in entries.items():
        (own / name).write_text(f"{library}\n", "utf-8")
    return own


def _holds(file: Path, library: str) -> bool:
    return _library(file) == library or write(file, f"{library}\n".encode())


def _clear(parent: Path, own: Path) -> None:
    """Remove the folders that no process used for long."""
    try:
        os.utime(own)
        old = [
            folder
            for folder in parent.iterdir()
            if folder != own and folder.stat().st_mtime < time.time() - UNUSED
        ]
    except OSError:  # another process clears as well
        return
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
