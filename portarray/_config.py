"""``pa.config``: the few settings of a process."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, get_args

__all__ = ["Config", "config"]

BlockMoves = Literal["error", "warn", "allow"]
HostAccess = Literal["error", "warn", "allow"]
HostFallback = Literal["error", "warn", "allow"]


class _Kept(Enum):
    """Default of :class:`Config`'s parameters: leave the setting unchanged."""

    KEPT = "as it is"

    def __repr__(self) -> str:
        return "<as it is>"


_KEPT = _Kept.KEPT


class Config:
    """Settings of this process; read as attributes, changed by calling.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.config.host_fallback
    'warn'
    >>> with pa.config(host_fallback="allow"):
    ...     pa.config.host_fallback
    'allow'
    """

    __slots__ = (
        "_block_moves",
        "_check_linalg",
        "_host_access",
        "_host_fallback",
        "_kernel_debug",
        "_progress",
        "_strict_devices",
        "_strict_names",
        "_tuned_kernels",
        "_unpickle_device",
        "values",
    )

    def __init__(self) -> None:
        self._block_moves: BlockMoves = "allow"
        self._check_linalg = True
        self._host_access: HostAccess = "allow"
        self._host_fallback: HostFallback = "warn"
        self._unpickle_device: str | None = "cpu"
        self._kernel_debug = False
        self._progress = False
        self._strict_devices = False
        self._strict_names = False
        self._tuned_kernels = True
        self._set({})

    @property
    def block_moves(self) -> BlockMoves:
        """What happens if a task of a Dask array needs blocks that are on several devices.

        ``"allow"`` (the default) moves them to one of the devices, ``"warn"`` also warns with the
        count and the bytes, ``"error"`` raises :class:`portarray.errors.DeviceMismatchError`. It
        applies to arrays that are created, and graphs that are computed, while it is set. Arrays
        that were made on different devices are never combined. See
        :func:`portarray.dask.explain`.
        """
        return self._block_moves

    @property
    def check_linalg(self) -> bool:
        """Whether to check for singular and indefinite matrices where that waits for the device.

        True, the default, raises :class:`portarray.errors.LinAlgError` on every device (not while a
        library traces a function). False saves the wait: libraries that do not check return
        infinities and NaN.
        """
        return self._check_linalg

    @property
    def host_access(self) -> HostAccess:
        """What happens where values are read into host memory and the call does not say so.

        ``"allow"`` (the default) lets ``numpy.asarray(x)``, DLPack exports to the CPU and other
        libraries' ufuncs read arrays in host memory, and NumPy's functions read NumPy arrays beside
        them. ``"warn"`` warns once for each line of the program, with a
        :class:`portarray.errors.HostAccessWarning` that states what to use instead, for example
        ``pa.linalg.cholesky`` for SciPy's. ``"error"`` refuses all that on every device, as on a
        GPU, with :class:`portarray.errors.HostAccessError`, which names the line. What asks for
        values stays allowed: ``float(x)`` and its like, ``x.item()``, ``x.tolist()``, printing,
        pickling, :func:`portarray.save`, and ``x.to_device("numpy").native`` for a NumPy array.
        """
        return self._host_access

    @property
    def host_fallback(self) -> HostFallback:
        """What a host fallback does on a device whose memory is not host memory.

        ``"warn"`` (the default) warns once for each function and device, ``"error"`` raises
        :class:`portarray.errors.HostFallbackError`, ``"allow"`` does neither.
        """
        return self._host_fallback

    @property
    def kernel_debug(self) -> bool:
        """Whether user kernels are interpreted and checked when they are called.

        True runs the kernels of :func:`portarray.kernel` in Python, one work-item after another:
        indices outside an array, division of integers by zero, memory that is read before it has a
        value, races and divergent barriers raise :class:`portarray.errors.KernelDebugError` at the
        kernel's line, ``kl.print`` prints, and debuggers step through the kernel.
        """
        return self._kernel_debug

    @property
    def unpickle_device(self) -> str | None:
        """Device of unpickled arrays whose own device does not function or lacks the dtype.

        The text of a device, ``"cpu"`` by default, used with a
        :class:`portarray.errors.DeviceSelectionWarning`; None raises
        :class:`portarray.errors.DeviceNotFunctionalError`, or
        :class:`portarray.errors.DTypeNotSupportedError`, instead.
        """
        return self._unpickle_device

    @property
    def progress(self) -> bool:
        """Whether moving a tree shows a progress bar once it takes over a second."""
        return self._progress

    @property
    def strict_devices(self) -> bool:
        """Whether library code has to name the devices of what it creates.

        False, the default, creates beside ``x`` what the functions of ``x.__array_namespace__()``
        create without ``device=``. True gives it the default device, as most other libraries do:
        for tests of code that shall work with these too.
        """
        return self._strict_devices

    @property
    def strict_names(self) -> bool:
        """Whether functions and methods beyond the standard raise AttributeError.

        True refuses what is listed in the docs under *Beyond the standard*, such as ``pa.pad`` and
        ``x.ravel()``: for tests of code that shall work with any library of the standard.
        """
        return self._strict_names

    @property
    def tuned_kernels(self) -> bool:
        """Whether kernels use the tuned versions of a library.

        False uses the generic versions of all :mod:`portarray.kernels`: to find out whether a tuned
        one is wrong, or how much it gains.
        """
        return self._tuned_kernels

    def __call__(
        self,
        *,
        block_moves: BlockMoves | _Kept = _KEPT,
        check_linalg: bool | _Kept = _KEPT,
        host_access: HostAccess | _Kept = _KEPT,
        host_fallback: HostFallback | _Kept = _KEPT,
        kernel_debug: bool | _Kept = _KEPT,
        unpickle_device: str | _Kept | None = _KEPT,
        progress: bool | _Kept = _KEPT,
        strict_devices: bool | _Kept = _KEPT,
        strict_names: bool | _Kept = _KEPT,
        tuned_kernels: bool | _Kept = _KEPT,
    ) -> Restore:
        """Change settings; used in ``with``, the result restores them at the end.

        Parameters
        ----------
        block_moves : {"error", "warn", "allow"}, optional
            See :attr:`block_moves`.
        check_linalg : bool, optional
            See :attr:`check_linalg`.
        host_access : {"error", "warn", "allow"}, optional
            See :attr:`host_access`.
        host_fallback : {"error", "warn", "allow"}, optional
            See :attr:`host_fallback`.
        kernel_debug : bool, optional
            See :attr:`kernel_debug`.
        unpickle_device : str or None, optional
            See :attr:`unpickle_device`.
        progress : bool, optional
            See :attr:`progress`.
        strict_devices : bool, optional
            See :attr:`strict_devices`.
        strict_names : bool, optional
            See :attr:`strict_names`.
        tuned_kernels : bool, optional
            See :attr:`tuned_kernels`.

        Returns
        -------
        Restore
            A context manager that puts the earlier values of these settings back.

        Raises
        ------
        ValueError
            If a setting has no such value; then none is changed.
        TypeError
            If a value is of the wrong type; then no setting is changed.
        UnknownDeviceError
            If ``unpickle_device`` does not name a device; then no setting is changed.
        """
        changes: dict[str, Any] = {}
        for name, choice, choices in (
            ("block_moves", block_moves, get_args(BlockMoves)),
            ("host_access", host_access, get_args(HostAccess)),
            ("host_fallback", host_fallback, get_args(HostFallback)),
        ):
            if choice is not _KEPT:
                if choice not in choices:
                    raise ValueError(
                        f"config: {name} must be one of {', '.join(choices)}, not {choice!r}"
                    )
                changes[f"_{name}"] = choice
        if unpickle_device is not _KEPT:
            changes["_unpickle_device"] = _device_text(unpickle_device)
        for name, value in (
            ("check_linalg", check_linalg),
            ("kernel_debug", kernel_debug),
            ("progress", progress),
            ("strict_devices", strict_devices),
            ("strict_names", strict_names),
            ("tuned_kernels", tuned_kernels),
        ):
            if value is not _KEPT:
                if not isinstance(value, bool):
                    raise TypeError(f"config: {name} must be True or False, not {value!r}")
                changes[f"_{name}"] = value
        previous = {name: getattr(self, name) for name in changes}
        self._set(changes)
        return Restore(self, previous)

    def _set(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        # The same tuple for the same settings, so that compiled functions compare identities.
        current = tuple([getattr(self, name) for name in self.__slots__[:-1]])
        self.values: tuple[Any, ...] = _tuples.setdefault(current, current)

    def __repr__(self) -> str:
        return (
            f"<portarray.config block_moves={self._block_moves!r} "
            f"check_linalg={self._check_linalg!r} "
            f"host_access={self._host_access!r} "
            f"host_fallback={self._host_fallback!r} kernel_debug={self._kernel_debug!r} "
            f"unpickle_device={self._unpickle_device!r} "
            f"progress={self._progress!r} strict_devices={self._strict_devices!r} "
            f"strict_names={self._strict_names!r} tuned_kernels={self._tuned_kernels!r}>"
        )


def _device_text(value: str | None) -> str | None:
    """Check that a text names a device, functional or not; None passes."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(
            f"config: unpickle_device must be a device's text such as 'cpu', or None, not {value!r}"
        )
    from portarray._devices import device  # lazy: settings are the lowest layer

    if value not in device.WORDS:
        device.parse(value)
    return value


class Restore:
    """Puts the earlier values back on leaving a ``with`` block."""

    __slots__ = ("_config", "_previous")

    def __init__(self, config: Config, previous: dict[str, Any]) -> None:
        self._config = config
        self._previous = previous

    def __enter__(self) -> Config:
        return self._config

    def __exit__(self, *exc_info: object) -> None:
        self._config._set(self._previous)


_tuples: dict[tuple[Any, ...], tuple[Any, ...]] = {}

config = Config()
"""The settings of this process."""
