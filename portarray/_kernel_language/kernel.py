"""``pa.kernel``: user kernels as they are called."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from portarray._array import results
from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language import arguments, remembered
from portarray._kernel_language.arguments import Asked, hashable
from portarray._kernel_language.definition import define
from portarray._kernel_language.dialects import DIALECTS
from portarray._kernel_language.host_copies import on_host
from portarray._kernel_language.oracle import Oracle
from portarray._kernel_language.plans import LaunchPlan, plan
from portarray._kernel_language.preparing import Prepared, current, draft, prepare, read
from portarray._kernel_language.printer import print_kernel
from portarray._kernel_language.ranges import launch_ranges
from portarray._kernel_language.remembered import Call, call_key, call_of, remember
from portarray._kernel_language.work_items import units_between
from portarray.errors import KernelVerificationError, TracedArrayError


class Kernel:
    """A function compiled for the device of the arrays that it is called with.

    Made by :func:`portarray.kernel`. Calls are asynchronous where the device is;
    :func:`portarray.synchronize` waits.
    """

    def __init__(
        self, function: FunctionType, static: Sequence[str] = (), *, fixed: bool = False
    ) -> None:
        self._own = own = define(function, static, fixed=fixed)
        self.__name__ = own.name
        self._names = own.names
        self._prepared: dict[Any, Prepared] = {}
        self._call_key = call_key(own.is_static, functools.partial(arguments.key, own))
        self._calls: dict[Any, Call] = {}
        self._last: tuple[Any, Call | None] = (None, None)
        self._oracle = Oracle(own)
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<kernel {self._own.source.function.__qualname__}{self._own.signature}>"

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
            args = self._own.bound(args, named)
        # Most calls are like one before, and here is all that they need.
        try:
            shared = self._call_key(ndrange, group, *args)
        except TracedArrayError:
            shared = None  # what is asked for says it of kernels
        last, call = self._last
        if shared != last:
            call = self._calls.get(shared) if hashable(shared) else None
            if call is not None:
                self._last = (shared, call)
        if (
            call is not None
            and not config._kernel_debug
            and (not call.constants or current(call.constants))
        ):
            done = call.run(*args)
            if done is not None:
                new, changed = done
                if new is None:
                    return changed
                table = (changed[0] if type(changed) is tuple else changed)._table
                return _returned([results.wrapped(one, table) for one in new])
        asked = arguments.asked(self._own, args, {}, ndrange, group)
        if config._kernel_debug:
            return _returned(self._oracle.run(asked, in_place=True))
        prepared = self._prepared.get(asked.key)
        if prepared is None or not current(prepared.draft.constants):
            prepared = prepare(self._own, asked)
            remember(self._prepared, asked.key, prepared, remembered.MOST_PROGRAMS)
        return self._run(prepared, asked, shared)

    def _run(self, prepared: Prepared, asked: Asked, shared: Any) -> Any:
        args, layouts, made = asked.args, asked.layouts, prepared.draft
        natives = [args[place].native for place in made.arrays]
        launcher = made.launcher
        written = made.written
        for n, place in enumerate(made.arrays):
            if place in written:
                native = natives[n]
                other = launcher.writable(native)
                if other is not native:
                    natives[n] = other
                    layouts[n] = asked.device._backend.layout(other)
                    shared = None
        sizes = asked.sizes(written)
        if 0 in sizes:
            return _returned([args[place] for place in written])
        rounded, items = launch_ranges(launcher, sizes, asked.group, barriers=made.tree.barriers)
        values = prepared.values(layouts, sizes or (1,), args)
        if shared is not None and hashable(shared):
            call = call_of(prepared, self._own.names, values, rounded, items)
            remember(self._calls, shared, call, remembered.MOST_CALLS)
        new = prepared.launch(natives, values, rounded, items)
        if new is None:
            changed = []
            for n, place in enumerate(made.arrays):
                if place in written:
                    x = args[place]
                    if natives[n] is not x.native:
                        x = results.wrapped(natives[n], x._table)
                    changed.append(x)
            return _returned(changed)
        table = args[written[0]]._table
        return _returned([results.wrapped(one, table) for one in new])

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
        asked = arguments.asked(self._own, args, named, ndrange, group)
        return _returned(self._oracle.run(asked, seed, in_place=False))

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
        asked = arguments.asked(self._own, args, named, ndrange, group)
        want = self._oracle.run(asked, in_place=False)
        passed = list(asked.args)
        for places in self._oracle.same_arrays(asked):
            copy = passed[places[0]].copy()
            for place in places:
                passed[place] = copy
        with config(kernel_debug=False):
            got = self(*passed, ndrange=ndrange, group=group)
        pairs = zip(got if type(got) is tuple else (got,), want, strict=True)
        values = [units_between(on_host(x), on_host(y)) for x, y in pairs]
        names = [self._own.names[place] for place in self._oracle.written(asked)]
        found = dict(zip(names, values, strict=True))
        if not max(values) <= tolerance:
            raise KernelVerificationError(self.__name__, str(asked.device), found, tolerance)
        return found

    # --- what it is made of -----------------------------------------------------------------

    def explain(
        self,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        **named: Any,
    ) -> LaunchPlan:
        """Say what a call would do; nothing is compiled or launched.

        Parameters
        ----------
        *args
            As in a call; none is changed.
        ndrange, group : int or sequence of int, optional
            As in a call.
        **named
            Arguments by their names.

        Returns
        -------
        LaunchPlan
            Device, language, where the program comes from, groups, the width of indices, local
            memory, the type of each parameter, what is copied and why, and the constants of the
            program. ``print`` shows it.

        Raises
        ------
        KernelSyntaxError, DeviceMismatchError, TypeError, ValueError
            Where the call would.

        Examples
        --------
        >>> import portarray as pa
        >>> import portarray.kernel_language as kl
        >>> @pa.kernel
        ... def twice(y, x):
        ...     y[kl.index()] = 2 * x[kl.index()]
        >>> x = pa.ones(3)
        >>> plan = twice.explain(pa.zeros(3), x)
        >>> plan.ndrange
        (3,)
        """
        asked = arguments.asked(self._own, args, named, ndrange, group)
        prepared = self._prepared.get(asked.key)
        ready = prepared is not None and current(prepared.draft.constants)
        made = prepared.draft if prepared is not None and ready else draft(self._own, asked)
        return plan(self._own, asked, made, prepared=ready)

    def source(
        self,
        dialect: str,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        **named: Any,
    ) -> str:
        """Return the program's text, with the lines of Python beside it.

        Parameters
        ----------
        dialect : {"opencl", "cuda", "hip", "metal", "c"}
            The language.
        *args
            Arguments as in a call, whose types the program is for. By default those of the last
            program that was compiled; not for Metal, which has no float64.
        ndrange, group : int or sequence of int, optional
            As in a call.
        **named
            Arguments by their names.

        Returns
        -------
        str
            The text, with the prelude of the language.
        """
        if dialect not in DIALECTS:
            raise ValueError(f"{dialect!r} is no dialect; use one of {', '.join(DIALECTS)}")
        if args or named:
            asked = arguments.asked(self._own, args, named, ndrange, group)
            _check_double(self._names, asked, dialect)
            found, setting, _ = read(self._own, asked, None, DIALECTS[dialect])
        elif not DIALECTS[dialect].double:
            raise ValueError(
                f"pass arguments: {dialect} has no float64, and numbers of the last program may be"
            )
        elif self._prepared:
            last = list(self._prepared.values())[-1].draft
            found, setting = last.tree, last.setting
        else:
            raise ValueError(f"pass arguments: {self.__name__} has not been called yet")
        return print_kernel(found, setting, DIALECTS[dialect], offsets=False).text


def _check_double(names: Sequence[str], asked: Asked, dialect: str) -> None:
    """Refuse arrays of float64 for a language that has none."""
    if DIALECTS[dialect].double:
        return
    for name, x in zip(names, asked.args, strict=True):
        if type(x) is Array and x.dtype == "float64":
            raise ValueError(f"{name} is float64, which {dialect} has not: pass one of float32")


def _returned(arrays: list[Array]) -> Any:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)
