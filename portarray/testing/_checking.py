"""``check_function``: compare a function on every device with NumPy."""

from __future__ import annotations

import functools
import linecache
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from portarray._api import data_type
from portarray._api.creation.values import asarray
from portarray._array import dispatch, dtypes
from portarray._array.array import Array
from portarray._array.host_access import Transfer, callers
from portarray._config import config
from portarray._devices import memory, selection
from portarray._devices.device import Device
from portarray._movement.to_device import to_device
from portarray.testing import _assertions, _choice, _guard

__all__ = ["CheckError", "CheckReport", "check_function"]

PORTARRAY = str(Path(__file__).parents[1])
NUMPY = str(Path(np.__file__).parent)


class CheckRow(NamedTuple):
    """The problems on one device with one dtype.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import check_function
    >>> report = check_function(pa.exp, [1.0, 2.0], devices="numpy", dtypes=["float32"])
    >>> report.rows
    (CheckRow(device='numpy:cpu', dtype='float32', problems=()),)
    """

    device: str
    dtype: str
    problems: tuple[str, ...]


class CheckReport(NamedTuple):
    """The report of :func:`check_function`.

    Parameters
    ----------
    function : str
        The function's name.
    rows : tuple of CheckRow
        The device, dtype and problems of each pair that ran.
    not_run : dict of str to str
        Libraries without a device here, with the reason.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import check_function
    >>> report = check_function(pa.exp, [1.0, 2.0], devices="numpy,virtual:metal")
    >>> print(report)
    exp: right on 3 devices and dtypes
    >>> [(row.device, row.dtype) for row in report.rows]  # Metal has no float64
    [('numpy:cpu', 'float32'), ('numpy:cpu', 'float64'), ('virtual:metal', 'float32')]
    """

    function: str
    rows: tuple[CheckRow, ...]
    not_run: dict[str, str]

    @property
    def failed(self) -> tuple[CheckRow, ...]:
        """The rows with problems."""
        return tuple(row for row in self.rows if row.problems)

    def __str__(self) -> str:
        if not self.failed:
            return f"{self.function}: right on {len(self.rows)} devices and dtypes"
        lines = [f"{self.function} fails on {len(self.failed)} of {len(self.rows)}:"]
        alike: dict[tuple[str, ...], list[str]] = {}
        for row in self.failed:
            alike.setdefault(row.problems, []).append(" ".join(row[:2]).strip())
        for problems, places in alike.items():
            lines.append(f"  {', '.join(places)}")
            lines += [f"    {line}" for problem in problems for line in problem.splitlines()]
        return "\n".join(lines)


class CheckError(AssertionError):
    """A function behaves differently on some device.

    Parameters
    ----------
    report : CheckReport
        The report.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import CheckError, check_function
    >>> def scaled(x):
    ...     return x / pa.asarray(2.0)  # a bug: created on the default device
    >>> try:
    ...     check_function(scaled, [1.0, 2.0], devices="virtual:cuda", dtypes=["float32"])
    ... except CheckError as error:
    ...     print(str(error).partition(";")[0])
    scaled fails on 1 of 1:
      virtual:cuda float32
        DeviceMismatchError: divide: arrays are on virtual:cuda:0 and numpy:cpu:0
          ...: return x / pa.asarray(2.0)  # a bug: created on the default device
    """

    def __init__(self, report: CheckReport) -> None:
        self.report = report
        super().__init__(str(report))


for _public in (CheckError, CheckReport, CheckRow):
    _public.__module__ = "portarray.testing"  # where users find them, and pickle looks


def check_function(
    function: Callable[..., Any],
    /,
    *inputs: Any,
    devices: str | Iterable[Device] | None = None,
    dtypes: Collection[str] = _choice.FLOATS,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float = 0.0,
    check_dtype: bool = True,
    transfers: Collection[str] = (),
    strict_devices: bool = True,
) -> CheckReport:
    """Check that a function behaves on every device as with NumPy.

    On each device and for each dtype it checks that the function returns the values of the
    reference; that results are on the device, with the dtype of floating-point inputs or else
    NumPy's dtype; that it copies nothing to the host, does not modify its inputs and creates
    nothing on the default device, which is another one; and that it refuses inputs on two devices.

    Parameters
    ----------
    function : callable
        Takes and returns arrays, also in tuples, lists and dicts.
    *inputs : array-like or object
        NumPy arrays, portarray arrays and lists are converted to arrays on each device, and
        floating-point ones to each dtype. Other inputs are passed unchanged.
    devices : str or iterable of Device, optional
        Devices, or a text as for the plugin's option ``--devices``. Default: NumPy, every CPU
        library, and the virtual devices cuda, metal and tpu.
    dtypes : collection of str
        Floating-point dtypes; each device skips those it does not have.
    reference : callable, optional
        Takes the inputs as NumPy arrays of float64. Default: the function itself, with float64 on
        NumPy's device.
    rtol, atol : float
        Tolerances; by default ``rtol`` is four times the root of the dtype's epsilon.
    check_dtype : bool
        Whether to check the results' dtypes.
    transfers : collection of str
        Kinds of copies to the host to allow, such as ``"bool"`` in ``if xp.any(x):``,
        ``"float"``, ``"numpy.asarray"`` or ``"host fallback"``.
    strict_devices : bool
        Whether functions of ``x.__array_namespace__()`` create on the default device too, as in
        most libraries. False accepts code that leaves the device to portarray.

    Returns
    -------
    CheckReport
        The report.

    Raises
    ------
    CheckError
        If there are problems; it lists them with devices and source lines.

    Examples
    --------
    >>> from portarray.testing import check_function
    >>> def scaled(x):
    ...     xp = x.__array_namespace__()
    ...     return x / xp.max(xp.abs(x))
    >>> print(check_function(scaled, [1.0, -2.0], devices="numpy"))
    scaled: right on 2 devices and dtypes
    """
    __tracebackhide__ = True
    values = [_as_values(x) for x in inputs]
    checked = _Checked(function, values, reference, rtol, atol, check_dtype, frozenset(transfers))
    with ExitStack() as stack, config(strict_devices=strict_devices):
        if devices is None or isinstance(devices, str):
            chosen = _choice.choose(devices or _choice.DEFAULT, stack)
        else:
            chosen = _choice.Chosen(tuple(map(selection.device, devices)), {})
        rows = list(checked.rows(chosen.devices, dtypes))
    report = CheckReport(_name(function), tuple(rows), chosen.not_run)
    if report.failed:
        raise CheckError(report)
    return report


def _as_values(x: Any) -> Any:
    """Return arrays and lists as NumPy arrays, other inputs unchanged."""
    if type(x) is Array:
        return np.asarray(to_device(x, "numpy"))
    return np.asarray(x) if isinstance(x, list) else x


def _name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", repr(function))


class _Checked:
    """A function with its inputs and options."""

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: list[Any],
        reference: Callable[..., Any] | None,
        rtol: float | None,
        atol: float,
        check_dtype: bool,
        transfers: frozenset[str],
    ) -> None:
        self._function = function
        self._inputs = inputs
        self._reference = reference
        self._rtol, self._atol = rtol, atol
        self._check_dtype = check_dtype
        self._transfers = transfers
        self._floating = any(_kind(x) in "fc" for x in inputs if isinstance(x, np.ndarray))

    def rows(self, devices: Collection[Device], dtypes: Collection[str]) -> Iterator[CheckRow]:
        """Yield a row for each device and dtype."""
        for device in devices:
            names = _choice.dtypes_of(device, dtypes) if self._floating else [""]
            for position, name in enumerate(names):
                problems = [*self._problems(device, name)]
                if position == 0 and not problems:
                    problems += self._mixed(device, name)
                yield CheckRow(_choice.test_id(device), name, tuple(dict.fromkeys(problems)))

    def _arrays(self, device: Device, name: str) -> list[Any]:
        """Return the inputs on a device, floating-point ones in a dtype."""
        return [self._array(x, device, name) if isinstance(x, np.ndarray) else x
                for x in self._inputs]  # fmt: skip

    def _array(self, x: np.ndarray[Any, Any], device: Device, name: str) -> Array:
        kind = _kind(x)
        dtype = x.dtype
        if kind in "fc":
            dtype = dtypes.canonical(_COMPLEX.get(name, name) if kind == "c" else name)
        has = dispatch.dtypes_of(device)
        if dtype not in has:  # 64-bit integers, or the complex counterpart of a dtype
            dtype = dispatch.default_dtype(device, kind)
        return asarray(x.astype(dtype), device=device)

    @functools.cached_property
    def _expected(self) -> dict[str, Any]:
        """The results in double precision, by path in the output."""
        if self._reference is not None:
            wide = {"f": np.float64, "c": np.complex128}
            inputs = [
                x.astype(wide.get(_kind(x), x.dtype)) if isinstance(x, np.ndarray) else x
                for x in self._inputs
            ]
            return dict(_leaves(self._reference(*inputs)))
        return self._on_numpy("float64")

    @functools.cache  # noqa: B019  (lives as long as one check)
    def _on_numpy(self, name: str) -> dict[str, Any]:
        with selection.cpu_device() as cpu:
            return dict(_leaves(self._function(*self._arrays(cpu, name))))

    def _problems(self, device: Device, name: str) -> Iterator[str]:
        """Yield the problems on a device with a dtype."""
        transfers: list[str] = []

        def listener(transfer: Transfer) -> None:
            if transfer.to_host and transfer.kind not in self._transfers:
                transfers.append(_guard.description(transfer, next(callers(), None)))

        inputs = self._arrays(device, name)
        try:
            with _default_device(device), _guard.listening(listener), config(host_fallback="allow"):
                result = self._function(*inputs)
                memory.synchronize(device)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is what is reported)
            yield from transfers
            yield _error_text(error)
            return
        yield from transfers
        yield from self._compared(dict(_leaves(result)), device, name)
        for position, (x, original) in enumerate(
            zip(inputs, self._arrays(device, name), strict=True)
        ):
            if type(x) is Array and not _same(x, original):
                yield f"input {position} was modified"

    def _compared(self, results: dict[str, Any], device: Device, name: str) -> Iterator[str]:
        """Yield the differences from the expected results."""
        expected = self._expected
        if list(results) != list(expected):
            yield f"returns {_shape(results)}, but {_shape(expected)} with NumPy"
            return
        likewise = self._on_numpy(name) if self._check_dtype else {}
        for path, x in results.items():
            label = f"result{path}"
            if type(x) is not Array:
                if hasattr(x, "__array__") or type(expected[path]) is Array:
                    cls = f"{type(x).__module__}.{type(x).__qualname__}"
                    yield f"{label} is {cls}, not an array on {device}"
                elif not self._near(x, expected[path]):
                    yield f"{label} is {x!r}, but {expected[path]!r} with NumPy"
                continue
            if x.device is not device:
                yield f"{label} is on {x.device}, not on {device}"
            if self._check_dtype:
                yield from self._dtype(label, x, likewise[path], device, name)
            yield from self._values(label, x, expected[path])

    def _near(self, x: Any, expected: Any) -> bool:
        """Compare outputs that are not arrays: numbers approximately, others exactly."""
        if isinstance(x, (float, complex)) and isinstance(expected, (float, complex)):
            return bool(np.isclose(x, expected, rtol=self._rtol or 1e-3))
        return bool(x == expected)

    def _dtype(self, label: str, x: Array, alike: Any, device: Device, name: str) -> Iterator[str]:
        kind = dtypes.kind_of(x.dtype)
        if name and kind in "fc":
            expected = dtypes.canonical(_COMPLEX.get(name, name) if kind == "c" else name)
        elif type(alike) is not Array:
            return
        else:
            expected = alike.dtype
        if expected not in dispatch.dtypes_of(device):
            expected = dispatch.default_dtype(device, dtypes.kind_of(expected))
        if x.dtype != expected:
            yield f"{label} is {x.dtype}, expected {expected}"

    def _values(self, label: str, x: Array, expected: Any) -> Iterator[str]:
        with _guard.allowed():
            here = asarray(to_device(x, "numpy"))
            wide = np.asarray(asarray(expected, device="numpy")).astype(here.dtype)
            try:
                _assertions.assert_close(
                    here,
                    asarray(wide, device="numpy"),
                    check_dtype=False,
                    rtol=self._rtol,
                    atol=self._atol,
                )
            except AssertionError as error:
                yield f"{label} differs from NumPy's:{_indented(str(error))}"

    def _mixed(self, device: Device, name: str) -> Iterator[str]:
        """Yield a problem if inputs on two devices are not refused."""
        arrays = self._arrays(device, name)
        places = [n for n, x in enumerate(arrays) if type(x) is Array]
        second_device = _other_device(device)
        if len(places) < 2 or second_device is None:
            return
        arrays[places[-1]] = self._arrays(second_device, _floats(second_device, name))[places[-1]]
        refusal: Exception | None = None
        try:
            with _default_device(device), config(host_fallback="allow"):
                self._function(*arrays)
        except Exception as error:  # noqa: BLE001  (in whatever words)
            refusal = error
        if refusal is None:
            yield f"inputs on {device} and {second_device} are not refused: data moves implicitly"


_COMPLEX = {"float32": "complex64", "float64": "complex128"}


def _kind(x: np.ndarray[Any, Any]) -> str:
    return dtypes.kind_of(x.dtype)


def _floats(device: Device, name: str) -> str:
    names = _choice.dtypes_of(device, (name, "real floating")) if name else [""]
    return names[0]


def _other_device(device: Device) -> Device | None:
    """Return another functional device, or None."""
    cpu = selection.cpu_device()
    return next(_choice.others(), None) if device is cpu else cpu


def _default_device(device: Device) -> Device:
    """Return the default device during a call on this one."""
    return _other_device(device) or device


def _same(x: Array, original: Array) -> bool:
    with _guard.allowed():
        a, b = np.asarray(to_device(x, "numpy")), np.asarray(to_device(original, "numpy"))
    floating = data_type.isdtype(x.dtype, ("real floating", "complex floating"))
    return np.array_equal(a, b, equal_nan=floating)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of tuples, lists and dicts with their paths."""
    if isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}[{key!r}]")
    else:
        yield path, value


def _shape(results: dict[str, Any]) -> str:
    return ", ".join(f"result{path}" for path in results) or "nothing"


def _error_text(error: Exception) -> str:
    """Return an error with the innermost source line outside portarray and NumPy."""
    frames = traceback.extract_tb(error.__traceback__)
    user_frames = [frame for frame in frames if not frame.filename.startswith((PORTARRAY, NUMPY))]
    where = ""
    if user_frames:
        frame = user_frames[-1]
        line = linecache.getline(frame.filename, frame.lineno or 0).strip()
        where = f"\n  {frame.filename}:{frame.lineno}: {line}"
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}{where}"


def _indented(text: str) -> str:
    return "".join(f"\n  {line}" for line in text.strip().splitlines() if line.strip())
