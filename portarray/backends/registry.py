"""The registry of backends: built in, installed as plugins, and added by a program.

Only :func:`load_backend` imports an array library: a backend's ``__init__.py`` only declares it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import Any

from portarray.backends.base import Backend
from portarray.backends.types import PLATFORMS, BackendInfo

__all__ = [
    "add_backend",
    "find_info",
    "imported_backends",
    "load_backend",
    "loaded",
    "owner",
    "package_of",
    "plugin_errors",
    "remove_backend",
    "backend_infos",
    "defer",
    "when_loaded",
]

RESERVED = (*PLATFORMS, "auto", "gpu")
"""Words of device texts that are not allowed as library names."""

_HERE = "portarray.backends"
_NAME = re.compile(r"[a-z][a-z0-9_]*")

_packages: dict[str, str] = {}  # library to the package of its backend
_infos: dict[str, BackendInfo] = {}
_backends: dict[str, Backend] = {}  # by package; kept if a backend is removed and added again
_owners: dict[type, Backend] = {}  # by array class
_listeners: list[Callable[[Backend], None]] = []
_deferred: list[Callable[[], None]] = []
_errors: dict[str, str] = {}
_unloadable: dict[str, str] = {}  # by package: the import error
_built_in_names: frozenset[str] | None = None  # listed on first use
_plugins_asked = _plugins_read = False
_reading = threading.RLock()


def backend_infos() -> dict[str, BackendInfo]:
    """Return the declarations of all known backends by library."""
    for name in _built_in():
        _read_built_in(name)
    _read_plugins()
    return dict(_infos)


def find_info(library: str) -> BackendInfo | None:
    """Return one backend's declaration, or None.

    Entry points are read only for names that are not built in.
    """
    if library not in _infos:
        if library in _built_in():
            _read_built_in(library)
        else:
            _read_plugins()
    return _infos.get(library)


def package_of(library: str) -> str:
    """Return the import name of a known backend's package."""
    if find_info(library) is None:
        raise KeyError(library)
    return _packages[library]


def load_backend(library: str) -> Backend:
    """Import a backend's modules and with them its library.

    Raises
    ------
    KeyError
        No backend of that name is known.
    ImportError
        If the backend breaks the contract of :class:`portarray.backends.base.Backend`, or its
        import raises a BaseException such as SystemExit.
    Exception
        Any exception of the library's import; broken installations may raise anything.
    """
    package = package_of(library)
    backend = _backends.get(package)
    if backend is None:
        with _exits_become_errors(package):
            where = f"{package}.backend"
            kind: Any = getattr(importlib.import_module(where), "BACKEND", None)
            if not package.startswith(f"{_HERE}."):  # tests check portarray's own
                from portarray.backends import contract

                kind = contract.check(kind, where)
            category_package = f"{package}.namespace"
            new = kind(
                _infos[library],
                category_package if importlib.util.find_spec(category_package) else "",
            )
        backend = _backends.setdefault(package, new)  # another thread may have loaded it
        if backend is new:
            for listener in _listeners:
                listener(new)
    return backend


def when_loaded(listener: Callable[[Backend], None]) -> None:
    """Have a function called with each backend once it is loaded."""
    _listeners.append(listener)


def defer(register: Callable[[], None]) -> None:
    """Have a function called before entry points are read; it may call :func:`add_backend`."""
    _deferred.append(register)


@contextmanager
def _exits_become_errors(package: str) -> Iterator[None]:
    """Turn SystemExit and the like into ImportError; KeyboardInterrupt passes."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ImportError(f"{package} raised {type(error).__name__}: {error}") from error


def imported_backends() -> Iterator[Backend]:
    """Yield the backends whose library is imported; no other can own a native object.

    Backends that cannot be imported are skipped here; asking for their devices raises the reason.
    """
    for library, info in backend_infos().items():
        if info.module not in sys.modules or info.pending:
            continue
        package = _packages.get(library)
        if package is None:  # another thread has removed it
            continue
        if package in _unloadable and package not in _backends:
            continue
        try:
            backend = load_backend(library)
        except Exception as error:  # noqa: BLE001 - a broken backend may raise anything
            _unloadable[package] = f"{type(error).__name__}: {error}"
            continue
        yield backend


def owner(x: object) -> Backend | None:
    """Return the backend that owns a native array; None for other objects."""
    cached = _owners.get(type(x))
    if cached is not None:
        return cached
    for backend in imported_backends():
        if backend.owns(x):
            if type(x) is backend.array_type:
                _owners[backend.array_type] = backend
            return backend
    return None


def loaded(library: str) -> Backend | None:
    """Return the backend of a library if it is already loaded, else None."""
    return _backends.get(package_of(library))


def plugin_errors() -> dict[str, str]:
    """Return the reasons why plugins cannot be used, by name."""
    _read_plugins()
    return dict(_errors)


def add_backend(package: str) -> BackendInfo:
    """Register a package as a backend, like an installed plugin.

    Parameters
    ----------
    package : str
        Import name of the package.

    Returns
    -------
    BackendInfo
        Its declaration.

    Raises
    ------
    ValueError
        If the declaration breaks a rule, or its library has another backend already.
    ImportError
        If the package cannot be imported.
    """
    info = _declaration(package)
    existing = package_of(info.library) if find_info(info.library) is not None else package
    if existing != package:
        raise ValueError(f"library {info.library!r} already has a backend: {existing}")
    _packages[info.library], _infos[info.library] = package, info
    _owners.clear()
    return info


def remove_backend(library: str) -> None:
    """Unregister a backend of :func:`add_backend`."""
    _packages.pop(library, None)
    _infos.pop(library, None)
    _owners.clear()


def _built_in() -> frozenset[str]:
    global _built_in_names
    if _built_in_names is None:
        folder = os.path.dirname(__file__)
        try:
            names = os.listdir(folder)
        except NotADirectoryError:  # in an archive
            import pkgutil

            modules = pkgutil.iter_modules(importlib.import_module(_HERE).__path__)
            _built_in_names = frozenset(module.name for module in modules if module.ispkg)
        else:
            _built_in_names = frozenset(
                name for name in names if os.path.isfile(f"{folder}/{name}/__init__.py")
            )
    return _built_in_names


def _read_built_in(name: str) -> None:
    if name in _infos:
        return
    package = f"{_HERE}.{name}"
    # Not every package here is a backend.
    info = getattr(importlib.import_module(package), "INFO", None)
    if info is not None:
        _packages[name], _infos[name] = package, info


def _declaration(package: str) -> BackendInfo:
    """Import a backend's package and check what it declares."""
    with _exits_become_errors(package):
        info = getattr(importlib.import_module(package), "INFO", None)
    if not isinstance(info, BackendInfo):
        raise ValueError(
            f"{package} does not have INFO = portarray.backends.types.BackendInfo(...)"
        )
    if not _NAME.fullmatch(info.library) or info.library in RESERVED:
        raise ValueError(
            f"{package}: invalid library name {info.library!r}; use lower-case letters, digits and "
            f"underscores, and none of {', '.join(RESERVED)}"
        )
    text_fields = (info.title, info.module, info.oldest, info.pending, *info.distributions)
    if not (
        all(isinstance(text, str) for text in (*text_fields, *info.install, *info.install.values()))
        and all(isinstance(rank, int) for rank in info.ranks.values())
    ):
        raise TypeError(
            f"{package} declares {info}; ranks must be integers and all other fields text"
        )
    unknown = [platform for platform in info.ranks if platform not in PLATFORMS]
    if unknown or not info.ranks:
        raise ValueError(
            f"{package} declares the platforms {list(info.ranks)}; "
            f"use at least one of {', '.join(PLATFORMS)}, and no others"
        )
    return info


def _read_plugins() -> None:
    """Read the entry points once; other threads wait."""
    global _plugins_asked, _plugins_read
    if _plugins_read:
        return
    with _reading:
        if not _plugins_asked:  # a plugin may call this while it is imported
            _plugins_asked = True
            _read_entry_points()
            _plugins_read = True


def _may_have_entry_points() -> bool:
    """Return whether an installed distribution may have an entry point for a backend.

    ``importlib.metadata`` takes 20 ms to be imported and to read all of them. Where distributions
    are not in folders, it is asked.
    """
    for finder in sys.meta_path:
        if finder is not PathFinder and hasattr(finder, "find_distributions"):
            return True
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except NotADirectoryError:  # an archive
            return True
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info", "EGG-INFO")):
                try:
                    if _HERE.encode() in _content(os.path.join(folder, name, "entry_points.txt")):
                        return True
                except OSError:  # it has none
                    continue
    return False


def _content(path: str) -> bytes:
    """Return the bytes of a file; :func:`open` would take three times as long for small ones."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return os.read(file, os.fstat(file).st_size)
    finally:
        os.close(file)


def _read_entry_points() -> None:
    """Register the plugins of the entry points; errors of broken ones are recorded."""
    for register in _deferred:
        register()
    if not _may_have_entry_points():
        return
    # Lazy: takes milliseconds, and most programs use built-in backends only.
    from importlib.metadata import entry_points

    for entry in entry_points(group=_HERE):
        if entry.name in _built_in() or entry.name in _infos:
            _errors[entry.name] = f"{entry.value}: the library {entry.name!r} already has a backend"
            continue
        try:
            info = _declaration(entry.value)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; its reason is kept
            _errors[entry.name] = f"{entry.value}: {type(error).__name__}: {error}"
            continue
        if info.library != entry.name:
            _errors[entry.name] = (
                f"{entry.value}: the entry point is named {entry.name!r} and its INFO.library is "
                f"{info.library!r}; they must be equal"
            )
            continue
        _packages[entry.name], _infos[entry.name] = entry.value, info
