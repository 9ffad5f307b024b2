"""``pa.kernel``: user kernels as they are called."""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from portarray._array import conversion, dispatch, results
from portarray._array.array import Array
from portarray._config import config
from portarray._devices.device import Device
from portarray._kernel_language import source, tree, types
from portarray._kernel_language.dialects import DIALECTS, Dialect
from portarray._kernel_language.frontend import read_kernel
from portarray._kernel_language.interpreter import Interpreted, interpret
from portarray._kernel_language.printer import Printed, print_kernel
from portarray._kernel_language.scope import Shared
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.work_items import Run, units_between
from portarray.backends.launching import Launch, Launcher, Layout, Program
from portarray.errors import DeviceMismatchError, KernelVerificationError

Range = tuple[int, ...]
_MAX_AXES = 3
_GROUP = 64
"""Work-items in a group of the interpreter, where a device runs no kernels."""
_LARGEST = 2**31
_SMALL = 1 << types.INDEX_BITS
_WIDEST = 2**63


@dataclass(slots=True)
class Prepared:
    """A kernel compiled for the types of some arguments on a device."""

    tree: tree.Function
    setting: Setting
    printed: Printed
    launch: Launch
    launcher: Launcher
    arrays: list[int]  # places of the arrays among the arguments
    written: list[int]  # places of those that are written
    values: Callable[[list[Any], Range, tuple[Any, ...]], list[Any]]
    ranges: dict[tuple[Range, Range | None], tuple[Range, Range]] = field(default_factory=dict)
    constants: list[tuple[Callable[[str], Any], str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Call:
    """What calls share whose arguments differ in the elements of arrays and in scalars alone."""

    natives: Callable[[tuple[Any, ...]], list[Any]]  # of the arguments
    returned: Callable[[tuple[Any, ...]], Any]  # of the arguments, those that are written
    written: list[int]  # places among the natives
    writable: Callable[[Any], Any]
    launch: Launch
    values: list[Any]
    scalars: list[tuple[int, int, type]]  # of values: place, place among the arguments, conversion
    rounded: Range
    items: Range
    constants: list[tuple[Callable[[str], Any], str, Any]]


_MOST_CALLS = 4096
"""Kinds of calls that a kernel remembers."""


class Kernel:
    """A function compiled for the device of the arrays that it is called with.

    Made by :func:`portarray.kernel`. Calls are asynchronous where the device is;
    :func:`portarray.synchronize` waits.
    """

    def __init__(self, function: FunctionType, static: Sequence[str] = ()) -> None:
        self._source = source.read(function)
        self.__name__ = function.__name__
        self._signature = inspect.signature(function)
        for one in self._signature.parameters.values():
            if one.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
                raise TypeError(f"{function.__name__}: kernels take plain parameters, not {one}")
            if one.default is not inspect.Parameter.empty:
                raise TypeError(f"{function.__name__}: parameters of kernels have no defaults")
        self._names = list(self._signature.parameters)
        if isinstance(static, str) or not all(isinstance(one, str) for one in _sequence(static)):
            raise TypeError(f"static is {static!r}; it is a sequence of names of parameters")
        unknown = [name for name in static if name not in self._names]
        if unknown:
            raise TypeError(f"static={unknown[0]!r} is no parameter of {function.__name__}")
        self._static = frozenset(static)
        self._is_static = [name in self._static for name in self._names]
        self._prepared: dict[Any, Prepared] = {}
        self._call_key = _call_key(self._is_static, self._key)
        self._calls: dict[Any, Call] = {}
        self._last: tuple[Any, Call | None] = (None, None)
        self._as_python: dict[Any, tuple[Interpreted, list[Any]]] = {}
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<kernel {self._source.function.__qualname__}{self._signature}>"

    def __call__(
        self,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        **named: Any,
    ) -> Any:
        """Run the kernel once for each place in the ndrange.

        Parameters
        ----------
        *args
            Arrays of one device, numbers, and static values.
        ndrange : int or sequence of int, optional
            How many work-items, by axis; by default the shape of the first parameter that the
            kernel writes.
        group : int or sequence of int, optional
            How many work-items share local memory and barriers, by axis.
        **named
            Arguments by their names.

        Returns
        -------
        Array, or tuple of Array
            The arrays that are written, in the order of the parameters. Where arrays are immutable
            (JAX, MLX) they are new; elsewhere they are those that were passed.

        Raises
        ------
        KernelSyntaxError
            If the function is not in the kernel language for arguments of these types.
        DeviceMismatchError
            If the arrays are on several devices.
        TypeError, ValueError
            If arguments, ndrange or group are wrong.
        """
        if named or len(args) != len(self._names):
            args = self._bound(args, named)
        # Most calls are like one before, and here is all that they need.
        shared = self._call_key(ndrange, group, *args)
        last, call = self._last
        if shared != last:
            call = self._calls.get(shared) if _hashable(shared) else None
            if call is not None:
                self._last = (shared, call)
        if (
            call is not None
            and not config._kernel_debug
            and (not call.constants or _current(call.constants))
        ):
            natives = call.natives(args)
            for n in call.written:
                if call.writable(natives[n]) is not natives[n]:
                    break
            else:
                values = call.values
                if call.scalars:
                    values = values.copy()
                    for n, place, convert in call.scalars:
                        values[n] = convert(args[place])
                new = call.launch(natives, values, call.rounded, call.items)
                changed = call.returned(args)
                if new is None:
                    return changed
                table = (changed[0] if type(changed) is tuple else changed)._table
                return self._returned([results.wrapped(one, table) for one in new])
        full, args, places, layouts = self._asked(args, {}, ndrange)
        device, axes, large = full[:3]
        if config._kernel_debug:
            return self._interpreted(full, args, places, group, None, in_place=True)
        prepared = self._prepared.get(full)
        if prepared is None or not _current(prepared.constants):
            prepared = self._prepared[full] = self._prepare(device, axes, large, args)
        return self._run(prepared, device, args, layouts, places, group, shared)

    # --- arguments --------------------------------------------------------------------------

    def _bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            return self._signature.bind(*args, **named).args
        except TypeError as error:
            raise TypeError(
                f"{self.__name__}{self._signature}: {error}; besides its parameters a kernel takes "
                f"ndrange= and group="
            ) from None

    def _key(self, x: Any, static: bool) -> Any:
        if static or isinstance(x, (tuple, str, np.dtype, type)):
            if not _hashable(x):
                raise TypeError(
                    f"{self.__name__}: a static argument must be hashable, such as a number, a "
                    f"dtype or a tuple, not {type(x).__name__}"
                )
            return ("static", _exact(x))
        if isinstance(x, (bool, np.bool_)):
            return bool
        if isinstance(x, (int, np.integer)):
            if not -_WIDEST <= int(x) < _WIDEST:
                raise OverflowError(f"{self.__name__} got {x}; integers have 64 bits in kernels")
            return -_SMALL < int(x) < _SMALL
        if isinstance(x, (float, np.floating)):
            return float
        hint = "; pa.asarray makes an array of it" if not isinstance(x, complex) else ""
        raise TypeError(
            f"{self.__name__} got {type(x).__module__}.{type(x).__qualname__}; a kernel takes "
            f"portarray's arrays, real numbers and static values{hint}"
        )

    def _parameters(self, device: Device, large: bool, args: tuple[Any, ...]) -> dict[str, Any]:
        bits = types.ALL_BITS if large else types.INDEX_BITS
        layout = device._backend.layout
        found: dict[str, Any] = {}
        node = self._source.node
        for name, x, static in zip(self._names, args, self._is_static, strict=True):
            if type(x) is Array and not static:
                if x.dtype.kind == "c":
                    raise TypeError(
                        f"{self.__name__} got {name} of {x.dtype}; kernels have no complex numbers "
                        f"yet: pass pa.real(x) and pa.imag(x)"
                    )
                shape, strides, _ = layout(x.native)
                strided = _is_strided(shape, strides)
                found[name] = types.Array(name, x.dtype, len(shape), strided=strided)
            elif static or isinstance(x, (tuple, str, np.dtype, type)):
                found[name] = _static(node, x)
            elif isinstance(x, (bool, np.bool_)):
                found[name] = tree.Variable(node, types.TRUTH, name)
            elif isinstance(x, (int, np.integer)):
                small = -_SMALL < int(x) < _SMALL
                type_ = types.weak_int(min(bits, 30) if small else types.ALL_BITS)
                found[name] = tree.Variable(node, type_, name)
            else:
                found[name] = tree.Variable(node, types.WEAK_FLOAT, name)
        return found

    # --- compiling --------------------------------------------------------------------------

    def _read(
        self, device: Device, axes: int, large: bool, args: tuple[Any, ...], launcher: Any,
        dialect: Dialect,
    ) -> tuple[tree.Function, Setting, Shared]:  # fmt: skip
        """Return the typed tree; the number of axes is found where no ndrange is given."""
        double = np.dtype(np.float64)
        dtypes = frozenset(dispatch.dtypes_of(device))
        if not dialect.double:
            dtypes -= {double}
        default = dispatch.default_dtype(device, "f")
        if default == double and double not in dtypes:
            default = np.dtype(np.float32)

        def setting(ndim: int) -> Setting:
            return Setting(
                default=default,
                dtypes=dtypes,
                ndim=max(ndim, 1),
                index_bits=types.ALL_BITS if large else types.INDEX_BITS,
                atomics64=getattr(launcher, "atomics64", True),
                device=str(device),
            )

        parameters = self._parameters(device, large, args)
        if axes < 0:
            first = self._first_written()
            by_name = dict(zip(self._names, args, strict=True))
            model = by_name.get(first) if first is not None else None
            axes = model.ndim if type(model) is Array else 1  # else reading tells what is wrong
        shared = Shared()
        found = read_kernel(self._source, parameters, setting(axes), shared)
        if not found.written:
            raise TypeError(
                f"{self.__name__} writes into none of its arguments, so that it has no effect"
            )
        return found, setting(axes), shared

    def _first_written(self) -> str | None:
        """Return the first parameter that is assigned to, as the text tells."""
        written = set()
        for one in ast.walk(self._source.node):
            if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
                if isinstance(one.value, ast.Name):
                    written.add(one.value.id)
            elif (
                isinstance(one, ast.Call)
                and one.args
                and isinstance(one.args[0], ast.Name)
                and "atomic" in ast.unparse(one.func)
            ):
                written.add(one.args[0].id)
        return next((name for name in self._names if name in written), None)

    def _prepare(self, device: Device, axes: int, large: bool, args: tuple[Any, ...]) -> Prepared:
        launcher = device._backend.launcher(device.native)
        if isinstance(launcher, str):
            raise NotImplementedError(f"{device} runs no user kernels: {launcher}")
        dialect = DIALECTS[launcher.dialect]
        found, setting, shared = self._read(device, axes, large, args, launcher, dialect)
        printed = print_kernel(found, setting, dialect, offsets=launcher.offsets)
        shared_bytes = sum(
            math.prod(one.shape or ()) * one.dtype.itemsize
            for one in tree.memories(found.body)
            if one.space == "local"
        )
        if shared_bytes > launcher.local_memory:
            raise ValueError(
                f"{self.__name__} has {shared_bytes} bytes of local memory; {device} has "
                f"{launcher.local_memory} for a group"
            )
        written = [one.name in found.written for one in printed.arrays]
        program = Program(
            printed.name,
            launcher.dialect,
            printed.text,
            tuple(one.dtype for one in printed.arrays),
            tuple(written),
            tuple(value.dtype for value in printed.values),
        )
        launch = launcher.build(program)
        places = [self._names.index(one.name) for one in printed.arrays]
        return Prepared(
            tree=found,
            setting=setting,
            printed=printed,
            launch=launch,
            launcher=launcher,
            arrays=places,
            written=[place for place, own in zip(places, written, strict=True) if own],
            values=_values(printed, self._names, places),
            constants=list(shared.constants.values()),
        )

    # --- running ----------------------------------------------------------------------------

    def _run(
        self,
        prepared: Prepared,
        device: Device,
        args: tuple[Any, ...],
        layouts: list[Any],
        ndrange: Sequence[int] | None,
        group: int | Sequence[int] | None,
        shared: Any,
    ) -> Any:
        natives = [args[place].native for place in prepared.arrays]
        launcher = prepared.launcher
        written = prepared.written
        for n, place in enumerate(prepared.arrays):
            if place in written:
                native = natives[n]
                other = launcher.writable(native)
                if other is not native:
                    natives[n] = other
                    layouts[n] = device._backend.layout(other)
                    shared = None
        if ndrange is None:
            sizes: Range = tuple(args[written[0]].shape)
            if 0 in sizes:
                return self._returned([args[place] for place in written])
        else:
            sizes = _checked(ndrange, "ndrange")
        asked = None if group is None else _checked(group, "group")
        ready = prepared.ranges.get((sizes, asked))
        if ready is None:
            ready = self._ranges(launcher, sizes, asked, barriers=prepared.tree.barriers)
            prepared.ranges[sizes, asked] = ready
        rounded, items = ready
        values = prepared.values(layouts, sizes or (1,), args)
        if shared is not None and _hashable(shared):
            self._remember(prepared, values, ready, shared)
        new = prepared.launch(natives, values, rounded, items)
        if new is None:
            changed = []
            for n, place in enumerate(prepared.arrays):
                if place in written:
                    x = args[place]
                    if natives[n] is not x.native:
                        x = results.wrapped(natives[n], x._table)
                    changed.append(x)
            return self._returned(changed)
        table = args[written[0]]._table
        return self._returned([results.wrapped(one, table) for one in new])

    def _remember(
        self, prepared: Prepared, values: list[Any], ready: tuple[Range, Range], shared: Any
    ) -> None:
        """Keep what later calls of the same kind need."""
        if len(self._calls) >= _MOST_CALLS:
            self._calls.clear()
        self._calls[shared] = Call(
            natives=_items([f"args[{place}]._native" for place in prepared.arrays], "[{}]"),
            returned=_items([f"args[{place}]" for place in prepared.written]),
            written=[n for n, place in enumerate(prepared.arrays) if place in prepared.written],
            writable=prepared.launcher.writable,
            launch=prepared.launch,
            values=values,
            scalars=[
                (n, self._names.index(one.name), _CONVERSIONS.get(one.dtype.kind, int))
                for n, one in enumerate(prepared.printed.values)
                if one.what == "argument"
            ],
            rounded=ready[0],
            items=ready[1],
            constants=prepared.constants,
        )

    @staticmethod
    def _returned(arrays: list[Array]) -> Any:
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _ranges(
        self, launcher: Launcher | str, sizes: Range, asked: Range | None, *, barriers: bool
    ) -> tuple[Range, Range]:
        """Return the rounded ndrange and the group, of at most three axes."""
        total = math.prod(sizes)
        if total >= _LARGEST:
            raise ValueError(
                f"ndrange {sizes} has {total} work-items; a launch has fewer than 2**31"
            )
        own = sizes or (1,)
        if asked is not None and len(asked) != len(own):
            raise ValueError(f"group {asked} and ndrange {own} must have as many axes")
        if len(own) > _MAX_AXES:
            if asked is not None and math.prod(asked[:-1]) > 1:
                raise ValueError(
                    f"group {asked}: groups of an ndrange of more than three axes lie along the "
                    f"last one"
                )
            own = (total,)
            asked = None if asked is None else (asked[-1],)
        if asked is None:
            if isinstance(launcher, str):  # for the interpreter
                asked = (*(1,) * (len(own) - 1), min(own[-1], _GROUP))
            else:
                asked = launcher.group(own)
            if barriers:
                asked = tuple(math.gcd(n, g) for n, g in zip(own, asked, strict=True))
        if not isinstance(launcher, str) and math.prod(asked) > launcher.max_group:
            raise ValueError(
                f"group {asked} has {math.prod(asked)} work-items; the device takes up to "
                f"{launcher.max_group}"
            )
        rounded = tuple(-(-n // g) * g for n, g in zip(own, asked, strict=True))
        if barriers and rounded != own:
            raise ValueError(
                f"ndrange {own} is no multiple of the group {asked}, as a kernel with barriers "
                f"needs it; round the ndrange up to {rounded}, and test the index in the kernel"
            )
        return rounded, asked

    # --- the interpreter --------------------------------------------------------------------

    def interpret(
        self,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        seed: int | None = None,
        **named: Any,
    ) -> Any:
        """Run the kernel in Python, one work-item after another, with NumPy's numbers.

        The numbers are those that a device computes, up to the rounding of functions such as
        ``exp``. Indices are checked; :mod:`pdb` and tracebacks show the kernel. Under
        ``pa.config(kernel_debug=True)`` more is checked, see
        :attr:`portarray.config.kernel_debug`.

        Parameters
        ----------
        *args
            As in a call, on any device; none is changed.
        ndrange, group : int or sequence of int, optional
            As in a call.
        seed : int, optional
            What the order of groups and of their work-items is drawn from: a kernel whose result
            depends on it has a race. By default they run in order.
        **named
            Arguments by their names.

        Returns
        -------
        Array, or tuple of Array
            New arrays, on the same device, instead of those that the kernel writes.

        Raises
        ------
        KernelDebugError
            If the kernel does what is wrong on any device.
        """
        full, args, places, _ = self._asked(args, named, ndrange)
        return self._interpreted(full, args, places, group, seed, in_place=False)

    def verify(
        self,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        tolerance: float = 16,
        **named: Any,
    ) -> dict[str, float]:
        """Compare what the device computes with what the interpreter does.

        Parameters
        ----------
        *args
            As in a call; none is changed.
        ndrange, group : int or sequence of int, optional
            As in a call.
        tolerance : float, optional
            The largest difference, in units of the last place: OpenCL allows ``pow`` 16.
        **named
            Arguments by their names.

        Returns
        -------
        dict of str to float
            The largest difference in each array that the kernel writes, in units of the last place;
            integers differ by their difference.

        Raises
        ------
        KernelVerificationError
            If a difference is larger.
        """
        full, args, places, _ = self._asked(args, named, ndrange)
        want = self._interpreted(full, args, places, group, None, in_place=False)
        copies: dict[int, Array] = {}
        passed = [
            copies.setdefault(id(x.native), x.copy()) if type(x) is Array else x for x in args
        ]
        with config(kernel_debug=False):
            got = self(*passed, ndrange=ndrange, group=group)
        pairs = zip(
            got if type(got) is tuple else (got,),
            want if type(want) is tuple else (want,),
            strict=True,
        )
        values = [units_between(np.asarray(x), np.asarray(y)) for x, y in pairs]
        names = [self._names[place] for place in self._written(full)]
        found = dict(zip(names, values, strict=True))
        if not max(values) <= tolerance:
            raise KernelVerificationError(self.__name__, str(full[0]), found, tolerance)
        return found

    def _asked(
        self, args: tuple[Any, ...], named: Mapping[str, Any], ndrange: int | Sequence[int] | None
    ) -> tuple[Any, tuple[Any, ...], Sequence[int] | None, list[Layout]]:
        """Return what a call is prepared for: device, axes, size and types.

        Then all arguments in order, the ndrange as a sequence, and the layouts of the arrays.
        """
        if named or len(args) != len(self._names):
            args = self._bound(args, named)
        device: Device | None = None
        key: list[Any] = []
        layouts: list[Layout] = []
        large = False
        for x, static in zip(args, self._is_static, strict=True):
            if type(x) is Array and not static:
                if device is not None and x.device is not device:
                    raise DeviceMismatchError(self.__name__, str(device), str(x.device))
                device = x.device
                shape, strides, offset = layout = device._backend.layout(x.native)
                layouts.append(layout)
                large = large or _extent(shape, strides, offset) >= _SMALL
                key.append((x.dtype, len(shape), _is_strided(shape, strides)))
            else:
                key.append(self._key(x, static))
        if device is None:
            raise TypeError(f"{self.__name__} got no arrays; it runs on the device of its arrays")
        places = (ndrange,) if isinstance(ndrange, int) else ndrange
        axes = -1 if places is None else len(places)
        return (device, axes, large, *key), args, places, layouts

    def _python(self, full: Any, args: tuple[Any, ...]) -> Interpreted:
        """Return the kernel as Python."""
        debug = config._kernel_debug
        made, constants = self._as_python.get((debug, *full), (None, []))
        if made is None or not _current(constants):
            device, axes, large = full[:3]
            launcher = device._backend.launcher(device.native)
            dialect = DIALECTS["opencl" if isinstance(launcher, str) else launcher.dialect]
            found, setting, shared = self._read(device, axes, large, args, launcher, dialect)
            sources = {
                id(one): source.read(function) for (function, *_), one in shared.helpers.items()
            }
            made = interpret(
                found, setting, lambda one: sources.get(id(one), self._source), checked=debug
            )
            self._as_python[(debug, *full)] = made, list(shared.constants.values())
        return made

    def _written(self, full: Any) -> list[int]:
        made, _ = self._as_python[config._kernel_debug, *full]
        return [
            n for n, name in enumerate(self._names) if _name_of(made, name) in made.tree.written
        ]

    def _interpreted(
        self,
        full: Any,
        args: tuple[Any, ...],
        ndrange: Sequence[int] | None,
        group: int | Sequence[int] | None,
        seed: int | None,
        *,
        in_place: bool,
    ) -> Any:
        made = self._python(full, args)
        device: Device = full[0]
        launcher = device._backend.launcher(device.native)
        written = self._written(full)
        sizes: Range = (
            tuple(args[written[0]].shape) if ndrange is None else _checked(ndrange, "ndrange")
        )
        asked = None if group is None else _checked(group, "group")
        copies: dict[int, np.ndarray[Any, Any]] = {}
        values: dict[str, Any] = {}
        for name, x in zip(self._names, args, strict=True):
            if type(x) is Array:
                same = id(x.native)
                if same not in copies:
                    copies[same] = np.array(np.asarray(x), order="C")
                values[name] = copies[same]
            elif name in made.convert:
                values[name] = made.convert[name](x)
        if 0 not in sizes:
            _, items = self._ranges(launcher, sizes, asked, barriers=made.tree.barriers)
            Run(made, values, sizes or (1,), items, seed=seed, debug=config._kernel_debug).run()
        out = []
        for place in written:
            x = args[place]
            new = conversion.asarray(copies[id(x.native)], device=device)
            if (
                in_place
                and not isinstance(launcher, str)
                and not launcher.immutable
                and launcher.writable(x.native) is x.native
            ):
                x[...] = new
                new = x
            out.append(new)
        return self._returned(out)

    # --- what it is made of -----------------------------------------------------------------

    def source(self, dialect: str, *args: Any, ndrange: Sequence[int] | None = None) -> str:
        """Return the program's text, with the lines of Python beside it.

        Parameters
        ----------
        dialect : {"opencl", "cuda", "hip", "metal"}
            The language.
        *args
            Arguments as in a call, whose types the program is for. By default those of the last
            program that was compiled.
        ndrange : sequence of int, optional
            As in a call.

        Returns
        -------
        str
            The text, with the prelude of the language.
        """
        if dialect not in DIALECTS:
            raise ValueError(f"{dialect!r} is no dialect; use one of {', '.join(DIALECTS)}")
        if args:
            device = next((x.device for x in args if type(x) is Array), None)
            if device is None:
                raise TypeError(f"{self.__name__} got no arrays")
            axes = -1 if ndrange is None else len(ndrange)
            found, setting, _ = self._read(device, axes, False, args, None, DIALECTS[dialect])
        elif self._prepared:
            last = list(self._prepared.values())[-1]
            found, setting = last.tree, last.setting
        else:
            raise ValueError(f"pass arguments: {self.__name__} has not been called yet")
        return print_kernel(found, setting, DIALECTS[dialect], offsets=False).text


def _name_of(made: Interpreted, name: str) -> str | None:
    given = made.tree.parameters.get(name)
    return given.name if isinstance(given, types.Array) else None


_CONVERSIONS: Mapping[str, type] = {"b": bool, "f": float}


@functools.cache
def _written_out(text: str) -> Callable[[tuple[Any, ...]], Any]:
    made: Callable[[tuple[Any, ...]], Any] = eval(f"lambda args: {text}")  # noqa: S307
    return made


def _items(parts: Sequence[str], several: str = "({})") -> Callable[[tuple[Any, ...]], Any]:
    """Return a function of arguments that returns parts of them."""
    alone = len(parts) == 1 and several == "({})"
    return _written_out(parts[0] if alone else several.format(", ".join(parts)))


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _exact(x: Any) -> Any:
    """Return what is equal for values of the same types alone: 1 is not True, and 0.0 not -0.0."""
    if type(x) is tuple:
        return (tuple, *map(_exact, x))
    return (float, x.hex()) if type(x) is float else (type(x), x)


def _call_key(
    is_static: Sequence[bool], other: Callable[[Any, bool], Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return a function of ndrange, group and arguments: what a program and its launch depend on.

    Arrays count by device, dtype and layout, scalars by their types.
    """
    parts = []
    for n, static in enumerate(is_static):
        text = f"other(x{n}, {static})"
        if not static:
            text = (
                f"(x{n}._table, x{n}._table.device._backend.layout(x{n}._native)) "
                f"if type(x{n}) is Array else float if type(x{n}) is float else {text}"
            )
        parts.append(f"({text})")
    names = ", ".join(["size", "group", *(f"x{n}" for n in range(len(parts)))])
    # With their types, as comparing sequences of some types fails.
    sizes = [f"None if {one} is None else (type({one}), {one})" for one in ("size", "group")]
    text = f"lambda {names}: ({', '.join([*sizes, *parts])})"
    made: Callable[..., tuple[Any, ...]] = eval(text, {"Array": Array, "other": other})  # noqa: S307
    return made


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, (tuple, list)) else (value,)


def _is_strided(shape: Range, strides: Range) -> bool:
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride != step and n > 1:
            return True
        step *= n
    return False


def _extent(shape: Range, strides: Range, offset: int) -> int:
    """Return how far elements are from the pointer, at most."""
    far = offset + 1
    for n, stride in zip(shape, strides, strict=True):
        far += n * abs(stride)
    return far


def _current(constants: list[tuple[Callable[[str], Any], str, Any]]) -> bool:
    """Tell whether the globals that a program was compiled with have these values still."""
    for lookup, name, value in constants:
        try:
            now = lookup(name)
        except source.Missing:
            return False
        if now is not value and (type(now) is not type(value) or now != value):
            return False
    return True


def _static(node: ast.AST, x: Any) -> Any:
    if isinstance(x, (bool, np.bool_)):
        return tree.Literal(node, types.TRUTH, bool(x))
    if isinstance(x, (int, np.integer)):
        return tree.Literal(node, types.of_python(int(x)), int(x))
    if isinstance(x, (float, np.floating)):
        return tree.Literal(node, types.WEAK_FLOAT, float(x))
    if isinstance(x, tuple) and x and all(isinstance(one, (bool, int, float)) for one in x):
        items = [tree.Literal(node, types.of_python(one), one) for one in x]
        return tree.Items(node, types.Tuple(tuple(i.type for i in items)), list(items))  # type: ignore[misc]
    return types.Constant(x)


def _checked(value: int | Sequence[int], name: str) -> Range:
    given = (value,) if isinstance(value, int) and not isinstance(value, bool) else value
    try:
        sizes = tuple(int.__index__(one) if type(one) is int else one.__index__() for one in given)  # type: ignore[union-attr, unused-ignore]
    except (TypeError, AttributeError):
        raise TypeError(f"{name} is {value!r}; it must be an integer or a tuple of them") from None
    if not sizes or any(n < 1 for n in sizes):
        raise ValueError(f"{name} is {value!r}; its sizes must be positive")
    if any(n >= _LARGEST for n in sizes):
        raise ValueError(f"{name} is {value!r}; sizes must be less than 2**31")
    return sizes


def _values(
    printed: Printed, names: list[str], places: list[int]
) -> Callable[[list[Any], Range, tuple[Any, ...]], list[Any]]:
    """Return what makes the values of a launch from layouts, ndrange and arguments."""
    order = {names[place]: n for n, place in enumerate(places)}
    parts = []
    for one in printed.values:
        if one.what == "argument":
            place = names.index(one.name)
            convert = _CONVERSIONS.get(one.dtype.kind, int).__name__
            parts.append(f"{convert}(args[{place}])")
        elif one.what == "ndrange":
            parts.append(f"ndrange[{one.axis}]")
        else:
            part = {"size": 0, "stride": 1, "offset": 2}[one.what]
            at = f"layouts[{order[one.name]}][{part}]"
            parts.append(at if one.what == "offset" else f"{at}[{one.axis}]")
    # One function without look-ups by name: this is made once, and called at each launch.
    made: Callable[[list[Any], Range, tuple[Any, ...]], list[Any]] = eval(  # noqa: S307
        f"lambda layouts, ndrange, args: [{', '.join(parts)}]"
    )
    return made
