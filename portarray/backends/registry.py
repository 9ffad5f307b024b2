"""Which backends there are: built in, installed as plugins, and added by a program.

Nothing here imports an array library: a backend's ``__init__.py`` declares it, and only
:func:`load_backend` imports the rest.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
]

RESERVED = (*PLATFORMS, "auto", "gpu")
"""Words of device texts that cannot name a library."""

_HERE = "portarray.backends"
_NAME = re.compile(r"[a-z][a-z0-9_]*")

_packages: dict[str, str] = {}  # library to the package of its backend, as far as known
_infos: dict[str, BackendInfo] = {}
_backends: dict[
    str, Backend
] = {}  # by package: a backend that is added again stays the same object
_owners: dict[
    type, Backend
] = {}  # by array class, of the backends that were asked about such arrays
_errors: dict[str, str] = {}
_unloadable: dict[str, str] = {}  # by package: why its backend could not be imported
_built_in_names: frozenset[str] | None = None  # read from the folder on first use
_plugins_asked = _plugins_read = False
_reading = threading.RLock()


def backend_infos() -> dict[str, BackendInfo]:
    """Return every known backend by its library: built in, plugins, added ones."""
    for name in _built_in():
        _read_built_in(name)
    _read_plugins()
    return dict(_infos)


def find_info(library: str) -> BackendInfo | None:
    """Return one backend's declaration, or None.

    Plugins are looked up only where the name is not built in.
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
    """Import a backend's files and with them its library.

    Raises
    ------
    KeyError
        No backend of that name is known.
    ImportError
        If the backend does not keep the contract of :class:`portarray.backends.base.Backend`, or
        raises what is no Exception.
    Exception
        Whatever the import of the library raises: broken installations raise all kinds.
    """
    package = package_of(library)
    backend = _backends.get(package)
    if backend is None:
        with _exits_become_errors(package):
            from portarray.backends import contract  # `import portarray` loads no backend

            where = f"{package}.backend"
            kind = contract.check(getattr(importlib.import_module(where), "BACKEND", None), where)
            chapters = f"{package}.namespace"
            new = kind(_infos[library], chapters if importlib.util.find_spec(chapters) else "")
        backend = _backends.setdefault(package, new)  # another thread may have been faster
    return backend


@contextmanager
def _exits_become_errors(package: str) -> Iterator[None]:
    """Raise ImportError where a package's code raises SystemExit and the like; interrupts pass."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ImportError(f"{package} raised {type(error).__name__}: {error}") from error


def imported_backends() -> Iterator[Backend]:
    """Yield the backends whose library is imported: only those can own an object of a library.

    A backend that cannot be imported owns nothing, and every other one goes on; whoever asks for
    its devices is told why.
    """
    for library, info in backend_infos().items():
        if info.module not in sys.modules or info.pending:
            continue
        package = _packages[library]
        if package in _unloadable and package not in _backends:
            continue
        try:
            backend = load_backend(library)
        except Exception as error:  # noqa: BLE001 - a broken backend may raise anything
            _unloadable[package] = f"{type(error).__name__}: {error}"
            continue
        yield backend


def owner(x: object) -> Backend | None:
    """Return the backend of the library that an array is of; None for what is no array."""
    known = _owners.get(type(x))
    if known is not None:
        return known
    for backend in imported_backends():
        if backend.owns(x):
            if type(x) is backend.array_type:
                _owners[backend.array_type] = backend
            return backend
    return None


def loaded(library: str) -> Backend | None:
    """Return the backend of a known library where its files were imported already, else None."""
    return _backends.get(package_of(library))


def plugin_errors() -> dict[str, str]:
    """Return each plugin that cannot be used, by its name, with the reason."""
    _read_plugins()
    return dict(_errors)


def add_backend(package: str) -> BackendInfo:
    """Make a package with a backend's files known, as an installed plugin would be.

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
    known = package_of(info.library) if find_info(info.library) is not None else package
    if known != package:
        raise ValueError(f"library {info.library!r} has a backend already: {known}")
    _packages[info.library], _infos[info.library] = package, info
    _owners.clear()
    return info


def remove_backend(library: str) -> None:
    """Forget a backend that :func:`add_backend` made known."""
    _packages.pop(library, None)
    _infos.pop(library, None)
    _owners.clear()


def _built_in() -> frozenset[str]:
    global _built_in_names
    if _built_in_names is None:
        import pkgutil  # not needed by `import portarray`

        folder = importlib.import_module(_HERE).__path__
        _built_in_names = frozenset(m.name for m in pkgutil.iter_modules(folder) if m.ispkg)
    return _built_in_names


def _read_built_in(name: str) -> None:
    if name in _infos:
        return
    package = f"{_HERE}.{name}"
    # Not every folder beside the backends is a backend.
    info = getattr(importlib.import_module(package), "INFO", None)
    if info is not None:
        _packages[name], _infos[name] = package, info


def _declaration(package: str) -> BackendInfo:
    """Import a backend's package and check what it declares."""
    with _exits_become_errors(package):
        info = getattr(importlib.import_module(package), "INFO", None)
    if not isinstance(info, BackendInfo):
        raise ValueError(f"{package} has no INFO = portarray.backends.types.BackendInfo(...)")
    if not _NAME.fullmatch(info.library) or info.library in RESERVED:
        raise ValueError(
            f"{package} calls its library {info.library!r}; a library's name is lower case "
            f"letters, digits and underscores, and none of {', '.join(RESERVED)}"
        )
    texts = (info.title, info.module, info.oldest, info.pending, *info.distributions)
    if not (
        all(isinstance(text, str) for text in (*texts, *info.install, *info.install.values()))
        and all(isinstance(rank, int) for rank in info.ranks.values())
    ):
        raise TypeError(f"{package} declares {info}; ranks are integers and all else is text")
    unknown = [platform for platform in info.ranks if platform not in PLATFORMS]
    if unknown or not info.ranks:
        raise ValueError(
            f"{package} declares the platforms {list(info.ranks)}; "
            f"use at least one of {', '.join(PLATFORMS)}, and no others"
        )
    return info


def _read_plugins() -> None:
    """Read the entry points once; other threads wait until all are known."""
    global _plugins_asked, _plugins_read
    if _plugins_read:
        return
    with _reading:
        if not _plugins_asked:  # a plugin that is being imported may ask for others
            _plugins_asked = True
            _read_entry_points()
            _plugins_read = True


def _read_entry_points() -> None:
    """Note what the entry points declare; a broken one is noted too and harms nothing."""
    # Imported here: it costs milliseconds, and most programs name built-in libraries only.
    from importlib.metadata import entry_points

    for entry in entry_points(group=_HERE):
        if entry.name in _built_in() or entry.name in _infos:
            _errors[entry.name] = f"{entry.value}: the library {entry.name!r} has a backend already"
            continue
        try:
            info = _declaration(entry.value)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; its reason is kept
            _errors[entry.name] = f"{entry.value}: {type(error).__name__}: {error}"
            continue
        if info.library != entry.name:
            _errors[entry.name] = (
                f"{entry.value}: the entry point is named {entry.name!r}, "
                f"its INFO.library {info.library!r}; they must be the same"
            )
            continue
        _packages[entry.name], _infos[entry.name] = entry.value, info
