"""Traits of virtual devices, and presets that real backends declare."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from portarray._dispatch import categories
from portarray.backends import registry
from portarray.backends.types import BackendInfo, Kind, PlatformFacts
from portarray.testing.virtual import INFO

__all__ = ["NAMES", "Traits", "preset", "presets"]

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
"""The dtypes that virtual devices may have."""

WIDE = {"float64": ("float64", "complex128"), "int64": ("int64", "uint64")}


@dataclass(frozen=True)
class Traits:
    """The properties of a virtual device.

    Parameters
    ----------
    library : str
        The library that the device emulates.
    float64 : bool
        Whether it has float64 and complex128.
    int64 : bool
        Whether it has int64 and uint64.
    immutable : bool
        Whether native arrays are immutable.
    assignment : bool
        Whether ``x[key] = value`` is allowed on a :class:`portarray.Array`, which replaces an
        immutable native array by a new one.
    host_readable : bool
        Whether device memory is host memory.
    current : bool
        Whether one of several devices created together is current, and functions refuse arrays on
        the others.
    late : bool
        Whether errors that depend on values are raised on synchronization.
    memory : int or None
        Bytes of memory; None is unlimited.
    dynamic_shapes : bool
        Whether result shapes may depend on values.
    launches : int or None
        Maximum number of calls.
    host_functions : frozenset of str
        Functions of the standard that are computed on the host.
    dlpack : int
        DLPack's device type.
    kind : {"gpu", "accelerator"}
        The kind of device.

    Examples
    --------
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("tpu", memory=10**9) as (tpu,):
    ...     traits = tpu.native.traits
    >>> traits.library, traits.immutable, traits.memory
    ('jax', True, 1000000000)
    >>> sorted(traits.lacks)
    ['complex128', 'float64', 'int64', 'uint64']
    """

    library: str
    float64: bool = True
    int64: bool = True
    immutable: bool = False
    assignment: bool = True
    host_readable: bool = False
    current: bool = False
    late: bool = False
    memory: int | None = None
    dynamic_shapes: bool = True
    launches: int | None = None
    host_functions: frozenset[str] = frozenset()
    dlpack: int = 1
    kind: Kind = "gpu"
    lacks: frozenset[str] = field(init=False, repr=False, default=frozenset())

    def __post_init__(self) -> None:
        lacks = {
            name for trait, names in WIDE.items() if not getattr(self, trait) for name in names
        }
        object.__setattr__(self, "lacks", frozenset(lacks))
        for name, unit in (("memory", "bytes"), ("launches", "calls")):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise ValueError(f"{name}={value!r} is not a number of {unit} or None")

    def dtypes(self) -> dict[np.dtype[Any], np.dtype[Any]]:
        """Return the dtypes that the device has."""
        return {np.dtype(name): np.dtype(name) for name in NAMES if name not in self.lacks}


def presets() -> tuple[str, ...]:
    """Return the platforms that virtual devices can emulate.

    Examples
    --------
    >>> from portarray.testing import presets, virtual_devices
    >>> presets()
    ('cuda', 'rocm', 'metal', 'oneapi', 'opencl', 'tpu')
    >>> with virtual_devices(*presets()) as devices:
    ...     print(len(devices))
    6
    """
    return tuple(INFO.ranks)


def preset(platform: str, **changes: Any) -> Traits:
    """Return the traits of a platform, declared by the preferred library for it.

    Raises
    ------
    ValueError
        If the platform is unknown.
    TypeError
        If a change is not a trait, or has the wrong type.
    """
    if platform not in INFO.ranks:
        raise ValueError(
            f"{platform!r} is not a virtual platform; supported: {', '.join(INFO.ranks)}"
        )
    info, facts = _declared(platform)
    traits = Traits(
        library=info.library,
        **{trait: not set(names) & set(facts.lacks) for trait, names in WIDE.items()},
        immutable=facts.immutable,
        host_readable=facts.on_host,
        current=facts.current,
        dlpack=facts.dlpack,
        host_functions=frozenset(facts.host_functions),
        kind=facts.kind,
    )
    for name, value in changes.items():
        if name == "host_functions":
            changes[name] = frozenset(map(_function, value))
        elif name not in ("memory", "launches") and not isinstance(value, bool):
            raise TypeError(f"{name}={value!r} is not a bool")
    return replace(traits, **changes)


def _function(name: str) -> str:
    """Return a name of a function of the standard; raise for other names."""
    served = registry.load_backend("numpy")
    if categories.own_function(served, name, None) is None:
        raise ValueError(
            f"host_functions: {name!r} is not a function of the standard such as 'sort'"
        )
    return name


def _declared(platform: str) -> tuple[BackendInfo, PlatformFacts]:
    """Return the preferred library of a platform and its declared facts."""
    infos = [info for info in registry.backend_infos().values() if platform in info.facts]
    first = min(infos, key=lambda info: info.ranks[platform])
    return first, first.facts[platform]
