"""Entries of OpenCL's loader (ICD): which drivers it finds.

The loader reads a folder of ``.icd`` files, each naming a driver's library, when platforms are
first requested. ``OCL_ICD_VENDORS`` replaces the system's folder, so drivers from wheels are found
without root. Intel's wheel contains an entry, but with a path of the machine that built it.
:func:`prepare` therefore creates a folder with the drivers of wheels and of the system.
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

WHEELS = {"intel-opencl-rt": ("libintelocl.so",), "pocl-binary-distribution": ("libpocl",)}
"""Distributions that contain a driver -> prefixes of its library's name."""

EMULATOR = "libintelocl_emu"
"""Intel's FPGA emulator: for developing programs that will run on FPGAs."""

MAX_UNUSED = 30 * 24 * 3600.0
"""Seconds after which an unused folder of entries is removed."""

_lock = threading.Lock()
_prepared: list[Path] = []


def prepare() -> None:
    """Make the loader find drivers of wheels and of the system, unless the user set variables.

    Has no effect on a loader that was asked for platforms before.
    """
    with _lock:
        if _prepared or any(name in os.environ for name in VARIABLES):
            return
        if not sys.platform.startswith("linux"):
            return  # Windows lists drivers in its registry; macOS has only its own
        entries = _entries()
        folder = _folder(entries)
        _prepared.append(folder)
        os.environ["OCL_ICD_VENDORS"] = str(folder)
        first = next(iter(entries.values()), "")
        if os.path.isabs(first):
            # Loaders that support this variable list its driver before the folder's entries, whose
            # order is undefined. dpnp takes the first CPU: it needs Intel's driver, and ends the
            # process on PoCL.
            os.environ["OCL_ICD_FILENAMES"] = first


def wrong_entries() -> dict[str, str]:
    """Return the loader's entries that cannot be used, each with the reason."""
    filenames = "" if _prepared else os.environ.get("OCL_ICD_FILENAMES", "")
    problems = {
        f"OCL_ICD_FILENAMES={name}": "there is no such file"
        for name in filenames.split(os.pathsep)
        if os.path.isabs(name) and not os.path.exists(name)
    }
    folders = [SYSTEM, Path(sys.prefix) / "etc/OpenCL/vendors"]
    if not _prepared and "OCL_ICD_VENDORS" in os.environ:
        folders = [Path(os.environ["OCL_ICD_VENDORS"])]
        if not folders[0].exists():
            problems[f"OCL_ICD_VENDORS={folders[0]}"] = "there is no such folder"
    for folder in folders:
        for entry in sorted(folder.glob("*.icd")):
            library = _library(entry)
            if not _exists(library) and not _has_wheel(library):
                problems[str(entry)] = f"it names {library or 'nothing'}, which does not exist"
    return problems


def _entries() -> dict[str, str]:
    """Return the libraries of drivers by the file name of their entry."""
    libraries: dict[str, str] = {}
    for wheel, prefixes in WHEELS.items():
        for path in _of_wheel(wheel, prefixes):
            libraries[f"{len(libraries):02}-{wheel}.icd"] = str(path)
    names = {Path(library).name.partition(".so")[0] for library in libraries.values()}
    for folder in (Path(sys.prefix) / "etc/OpenCL/vendors", SYSTEM):
        for entry in sorted(folder.glob("*.icd")):
            library = _library(entry)
            name = Path(library).name.partition(".so")[0]
            # Two copies of a driver in a process interfere with each other: the wheel's is used.
            if name in names or name.startswith(EMULATOR) or not _exists(library):
                continue
            libraries[f"{len(libraries):02}-{entry.name}"] = library
    return libraries


def _of_wheel(wheel: str, prefixes: tuple[str, ...]) -> list[Path]:
    try:
        files = importlib.metadata.files(wheel) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    # An installer may have put them elsewhere than the list states.
    paths = [Path(str(file.locate())).resolve() for file in files if file.name.startswith(prefixes)]
    paths += [Path(sys.prefix) / "lib" / name for name in prefixes if name.endswith(".so")]
    return [path for path in paths if path.is_file() and path.name.endswith(".so")][:1]


def _library(file: Path) -> str:
    try:
        return _atomic_files.read(file).decode("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _exists(library: str) -> bool:
    # The system's linker finds a name without a folder.
    return bool(library) and (not os.path.isabs(library) or os.path.exists(library))


def _has_wheel(library: str) -> bool:
    """Return whether a missing library is found through its wheel, or is not needed."""
    prefixes = (prefix for prefixes in WHEELS.values() for prefix in prefixes)
    return Path(library).name.startswith((EMULATOR, *prefixes))


def _folder(entries: dict[str, str]) -> Path:
    """Return a folder with exactly these entries.

    A digest of the entries is its name: environments with different drivers have different folders,
    and processes that start together write the same files.
    """
    text = "\n".join(f"{name} {library}" for name, library in entries.items())
    parent = cache_folder("drivers")
    folder = parent / hashlib.sha256(text.encode()).hexdigest()[:16]
    if all(_write_entry(folder / name, library) for name, library in entries.items()):
        for file in folder.glob("*.icd"):
            if file.name not in entries:
                remove(file)
        _remove_unused(parent, folder)
        return folder
    temporary = Path(tempfile.mkdtemp(prefix="clarray-drivers-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    for name, library in entries.items():
        (temporary / name).write_text(f"{library}\n", "utf-8")
    return temporary


def _write_entry(file: Path, library: str) -> bool:
    return _library(file) == library or write(file, f"{library}\n".encode())


def _remove_unused(parent: Path, current: Path) -> None:
    """Remove the other folders that no process used recently."""
    try:
        os.utime(current)
        unused = [
            folder
            for folder in parent.iterdir()
            if folder != current and folder.stat().st_mtime < time.time() - MAX_UNUSED
        ]
    except OSError:  # another process removes them too
        return
    for folder in unused:
        shutil.rmtree(folder, ignore_errors=True)
