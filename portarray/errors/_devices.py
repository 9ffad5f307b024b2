"""Errors of choosing a device, of what it supports, and of work on the host instead of it."""

from __future__ import annotations

from collections.abc import Mapping

from portarray.errors._base import PortarrayError, PortarrayWarning, with_hint


class UnknownDeviceError(PortarrayError, ValueError):
    """Text that does not name a library, platform or index.

    Parameters
    ----------
    text : str
        The requested device.
    rule : str
        The rule that the text breaks.
    nearest : sequence of str
        Similar valid texts.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.device("nump")
    Traceback (most recent call last):
        ...
    portarray.errors.UnknownDeviceError: device: unknown device 'nump': ...
    Hint: use 'numpy'
    """

    def __init__(self, text: str, rule: str, nearest: tuple[str, ...] = ()) -> None:
        self.text = text
        self.rule = rule
        self.nearest = tuple(nearest)
        hint = f"use {' or '.join(map(repr, nearest))}" if nearest else ""
        super().__init__(with_hint(f"device: unknown device {text!r}: {rule}", hint))


class DeviceNotFunctionalError(PortarrayError, RuntimeError):
    """A known device that does not work on this machine.

    Parameters
    ----------
    requested : str
        The requested device.
    reasons : mapping of str to str
        The reason why each candidate was rejected.
    fix : str
        The hint.

    Examples
    --------
    >>> import portarray as pa
    >>> try:
    ...     pa.device("numpy:cpu:7")
    ... except pa.DeviceNotFunctionalError as error:
    ...     print(error.reasons)
    {'numpy:cpu:7': 'numpy sees 1 device, with index 0 on cpu here'}
    """

    def __init__(self, requested: str, reasons: Mapping[str, str], fix: str = "") -> None:
        self.requested = requested
        self.reasons = dict(reasons)
        self.fix = fix
        by_reason: dict[str, list[str]] = {}  # the platforms of one library often share a reason
        for name, reason in self.reasons.items():
            by_reason.setdefault(reason, []).append(name)
        lines = [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]
        if len(lines) == 1:
            ((reason, names),) = by_reason.items()
            redundant = len(names) > 1 and all(name.startswith(f"{requested}:") for name in names)
            detail = f": {reason}" if redundant or names == [requested] else f": {lines[0]}"
        else:
            detail = "".join(f"\n  {line}" for line in lines)
            detail = f"; every candidate was rejected:{detail}" if detail else ""
        super().__init__(with_hint(f"device: {requested!r} is not functional{detail}", fix))


class DeviceMismatchError(PortarrayError, ValueError):
    """Arrays on different devices in one call.

    Parameters
    ----------
    function : str
        The called function.
    first, second : str
        Text of the two devices.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda") as (gpu,):
    ...     pa.ones(2, device="numpy") + pa.ones(2, device=gpu)
    Traceback (most recent call last):
        ...
    portarray.errors.DeviceMismatchError: add: arrays are on numpy:cpu:0 and virtual:cuda:0
    Hint: move one of them, for example with x.to_device('numpy:cpu:0'); ...
    """

    def __init__(self, function: str, first: str, second: str) -> None:
        self.function = function
        self.first = first
        self.second = second
        super().__init__(
            f"{function}: arrays are on {first} and {second}\n"
            f"Hint: move one of them, for example with x.to_device({first!r}); to "
            f"create one beside x, use x.__array_namespace__() or device=x.device"
        )


class DTypeNotSupportedError(PortarrayError, TypeError):
    """A dtype that the device does not support.

    Parameters
    ----------
    dtype : str
        The requested dtype.
    device : str
        Text of the device.
    nearest : str
        The nearest supported dtype of the same kind, or an empty string.
    moving : bool
        Whether data was being moved, so that ``narrow=True`` is a fix.
    setting : str
        The library's setting that enables the dtype, or an empty string.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> x = pa.asarray([1.0, 2.0], dtype="float64", device="numpy")
    >>> with virtual_devices("metal") as (metal,):
    ...     try:
    ...         y = x.to_device(metal)
    ...     except TypeError as error:
    ...         y = x.astype(error.nearest).to_device(metal)
    ...     print(y.dtype)
    float32
    """

    def __init__(
        self,
        dtype: str,
        device: str,
        nearest: str = "",
        *,
        moving: bool = False,
        setting: str = "",
    ) -> None:
        self.dtype = dtype
        self.device = device
        self.nearest = nearest
        self.moving = moving
        self.setting = setting
        hints = []
        if moving and nearest:
            hints.append(f"convert to {nearest} before moving, or pass narrow=True")
        elif nearest:
            hints.append(f"use {nearest}, the nearest supported dtype")
        if setting:
            hints.append(f"to enable {dtype}: {setting}")
        super().__init__(with_hint(f"{device} does not support {dtype}", "; ".join(hints)))


class PreferenceError(PortarrayError, ValueError):
    """A device preference that cannot be read, met or saved.

    Examples
    --------
    >>> import contextlib
    >>> import pathlib
    >>> import tempfile
    >>> import portarray as pa
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     characters = pathlib.Path("portarray.toml").write_text("device = cuda")  # no quotes
    ...     pa.set_preference("numpy", scope="project")
    Traceback (most recent call last):
        ...
    portarray.errors.PreferenceError: ...portarray.toml is not valid TOML: ...
    """


class OutOfMemoryError(PortarrayError, MemoryError):
    """A device does not have enough memory; the same error for every library.

    Existing arrays are intact. Temporaries of the failed call are already released.

    Parameters
    ----------
    device : str
        Text of the device.
    requested, free, total : int or None
        Bytes requested, free and in total. ``requested`` is the size of the failed allocation if
        the library reports it, else of the array to be created or moved; None for allocations of
        a driver or of Python. ``free`` and ``total`` are None if unknown.
    call : str
        In the backward pass of a gradient, the call whose derivative is too large, with the types
        of its arguments and its line in the program, as far as it can be found. Else empty.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", memory=1000) as (gpu,):
    ...     try:
    ...         x = pa.ones(1000, device=gpu)
    ...     except MemoryError as error:
    ...         print(error.requested, error.free)
    8000 1000
    """

    def __init__(
        self,
        device: str,
        *,
        requested: int | None = None,
        free: int | None = None,
        total: int | None = None,
        call: str = "",
    ) -> None:
        self.device = device
        self.requested = requested
        self.free = free
        self.total = total
        self.call = call
        super().__init__(self._message())

    def name_call(self, call: str) -> None:
        """Add the call whose derivative needed the memory."""
        self.call = call
        self.args = (self._message(),)

    def _message(self) -> str:
        device, requested, total = self.device, self.requested, self.total
        parts = [
            f"{label} {value:,} bytes"
            for label, value in (("requested", requested), ("free", self.free), ("total", total))
            if value is not None
        ]
        figures = f" ({', '.join(parts)})" if parts else ""
        hint = "work in smaller pieces, or use a device with more memory"
        if requested is None or total is None or requested <= total:  # freeing memory can help
            hint = f"delete arrays you no longer need and call pa.reclaim({device!r}), {hint}"
        where = self.call and f" in the derivative of {self.call}"
        return with_hint(f"{device}: out of memory{figures}{where}", hint)


class DeviceSelectionWarning(PortarrayWarning):
    """A preference could not be met, or a device was skipped; the message gives the reason.

    Examples
    --------
    >>> import contextlib
    >>> import tempfile
    >>> import warnings
    >>> import portarray as pa
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         pa.set_preference("numpy:cpu:7", scope="project")
    >>> print(str(caught[-1].message).partition("now ")[2])
    prefers 'numpy:cpu:7', which does not work here: numpy:cpu:7: numpy sees 1 device...
    """


class HostAccessError(PortarrayError, TypeError):
    """Values were implicitly read into host memory while ``pa.config`` forbids that.

    Parameters
    ----------
    function : str
        The function that reads them, such as ``"numpy.asarray"``.
    device : str
        Text of the array's device.
    line : str
        File, line and source of the caller; empty if unknown.
    rule : str, default: "config.host_access is 'error'"
        The setting that forbids it.
    to_host : bool, default: True
        Whether an array is read from the host; False for a NumPy array in a call with an array.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> x = pa.ones(2, device="numpy")
    >>> with pa.config(host_access="error"):
    ...     np.asarray(x)
    Traceback (most recent call last):
        ...
    portarray.errors.HostAccessError: numpy.asarray: reads an array on numpy:cpu:0 from the ...
    >>> with pa.config(host_access="error"):
    ...     x.to_device("numpy").native  # the explicit way
    array([1., 1.])
    """

    def __init__(
        self,
        function: str,
        device: str,
        line: str = "",
        rule: str = "config.host_access is 'error'",
        *,
        to_host: bool = True,
    ) -> None:
        self.function = function
        self.rule = rule
        self.device = device
        self.line = line
        self.to_host = to_host
        where = f"\n  {line}" if line else ""
        action, fix = (
            (
                f"reads an array on {device} from the host",
                "copy it to the host explicitly: x.to_device('numpy').native",
            )
            if to_host
            else (
                f"reads a NumPy array with an array on {device}",
                f"move it explicitly: pa.asarray(values, device={device!r})",
            )
        )
        super().__init__(f"{function}: {action}, and {rule}{where}\nHint: {fix}")


class HostFallbackError(PortarrayError, RuntimeError):
    """A function that runs on the host was called while ``pa.config`` forbids host fallbacks.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("opencl") as (device,), pa.config(host_fallback="error"):
    ...     pa.sort(pa.ones(2, device=device))
    Traceback (most recent call last):
        ...
    portarray.errors.HostFallbackError: sort: runs on the host for virtual:opencl:0, ...
    """

    def __init__(self, function: str, device: str) -> None:
        self.function = function
        self.device = device
        super().__init__(
            f"{function}: runs on the host for {device}, and config.host_fallback is 'error'\n"
            f"Hint: allow it with pa.config(host_fallback='allow'), or move the array first"
        )


class HostAccessWarning(PortarrayWarning):
    """A library read an array into host memory, which a GPU rejects; the message states the fix.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import portarray as pa
    >>> x = pa.ones(2, device="numpy")
    >>> with pa.config(host_access="warn"), warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     y = np.asarray(x)  # warns once for each line of the program
    >>> print(caught[0].message)
    numpy.asarray...: reads an array on numpy:cpu:0 from the host
    Hint: copy it to the host explicitly: x.to_device('numpy').native
    """


class HostFallbackWarning(PortarrayWarning):
    """A function was computed on the host for a device whose memory is not host memory.

    Examples
    --------
    >>> import warnings
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("opencl") as (device,):
    ...     x = pa.asarray([2.0, 1.0], device=device)
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         y = pa.sort(x)  # warns once for each function and device
    ...     with pa.config(host_fallback="allow"):
    ...         y = pa.sort(x)  # does not warn
    >>> print(caught[0].message)
    sort: runs on the host, because virtual:opencl:0 does not have it
    Hint: ...
    """
