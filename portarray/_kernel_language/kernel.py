"""``pa.kernel``: user kernels as they are called."""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
import warnings
from collections.abc import Collection, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from portarray import _codegen
from portarray._array import base, results
from portarray._array.array import Array
from portarray._array.base import GUARDS, before_write
from portarray._config import config
from portarray._decorated import Decorated
from portarray._devices.notices import users_level
from portarray._hashing import hashable
from portarray._kernel_language import arguments, launch_cache
from portarray._kernel_language.arguments import CallSpec
from portarray._kernel_language.definition import Definition, define
from portarray._kernel_language.derivatives.cache import AdjointCache, Entry, all_floats
from portarray._kernel_language.dialects import DIALECTS
from portarray._kernel_language.host_copies import on_host
from portarray._kernel_language.intrinsics import LANGUAGE
from portarray._kernel_language.launch_cache import (
    BoundLaunch,
    Call,
    call_key,
    call_of,
    put,
)
from portarray._kernel_language.oracle import Oracle
from portarray._kernel_language.plans import LaunchPlan, plan
from portarray._kernel_language.preparing import Prepared, draft, launched_in_parts, prepare, read
from portarray._kernel_language.printer import print_kernel
from portarray._kernel_language.ranges import launch_parts, launch_ranges
from portarray._kernel_language.types import DOUBLES
from portarray._kernel_language.work_items import units_between
from portarray.errors import KernelVerificationError, PortarrayWarning, TracedArrayError


def _defined(kind: type[KernelFunction], definition: Definition) -> KernelFunction:
    """Return a kernel of a definition, whose source need not be available here."""
    kernel = object.__new__(kind)
    kernel._define(definition)
    return kernel


class KernelFunction(Decorated):
    """A function compiled for the device of the arrays that it is called with.

    Made by :func:`portarray.kernel`. Calls are asynchronous where the device is;
    :func:`portarray.synchronize` waits.
    """

    _fills = False
    """Whether it writes each element of its first parameter, and does not read it."""

    def __init__(
        self, function: FunctionType, static: Sequence[str] = (), *, differentiable: bool = False
    ) -> None:
        self._define(define(function, static, differentiable=differentiable))
        if differentiable:
            from portarray._kernel_language.derivatives import checks as derivative_checks

            derivative_checks.check_definition(self._definition)

    def _define(self, definition: Definition) -> None:
        functools.update_wrapper(self, definition.source.function)
        self._definition = definition
        self.__name__ = definition.name
        self._names = definition.names
        self._prepared: dict[Any, Prepared] = {}
        self._call_key = call_key(
            definition.is_static, functools.partial(arguments.key, definition)
        )
        self._calls: dict[Any, Call] = {}
        self._last: tuple[Any, Call | None] = (None, None)
        self._oracle = Oracle(definition)
        self._adjoints = AdjointCache(definition)
        self._batches: dict[frozenset[str], KernelFunction] = {}

    def _batched(self, names: frozenset[str]) -> KernelFunction:
        """Return a kernel with one more axis in front, of the ndrange and of some arrays."""
        if names not in self._batches:
            batches = (*self._definition.batches, names)
            definition = dataclasses.replace(self._definition, batches=batches)
            self._batches[names] = _defined(KernelFunction, definition)
        return self._batches[names]

    def __reduce__(self) -> Any:
        return _defined, (type(self), self._definition)

    def __repr__(self) -> str:
        return (
            f"<kernel {self._definition.source.function.__qualname__}{self._definition.signature}>"
        )

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
            If the function is not valid in the kernel language for these argument types.
        DeviceMismatchError
            If the arrays are on several devices.
        TypeError, ValueError
            If arguments, ndrange or group are wrong.
        """
        if named or len(args) != len(self._names):
            args = self._definition.bound(args, named)
        changes = base.scope_changes
        try:
            # Most calls repeat an earlier one and take this fast path.
            try:
                shared = self._call_key(ndrange, group, *args)
            except TracedArrayError:
                trace = arguments.innermost_trace(args)
                if trace is not None:
                    return trace.call_kernel(self, args, ndrange, group)
                shared = None
            last, call = self._last
            if shared != last:
                call = self._calls.get(shared) if hashable(shared) else None
                if call is not None:
                    self._last = (shared, call)
            if (
                call is not None
                and not config._kernel_debug
                and (call.captures.check() or call.captures.are_current())
            ):
                if GUARDS:
                    for position in call.written:
                        before_write(args[position])
                done = call.run(*args)
                if done is not None:
                    new, changed = done
                    if new is None:
                        return changed
                    table = (changed[0] if type(changed) is tuple else changed)._dispatch
                    return _returned([results.wrapped(native, table) for native in new])
            return self._first(args, ndrange, group, shared)
        except (AttributeError, TypeError, TracedArrayError):
            if base.scope_changes == changes:
                raise
        # Another thread began or ended the tracing of a function that reads one of the arrays.
        return self(*args, ndrange=ndrange, group=group)

    def _first(self, args: tuple[Any, ...], ndrange: Any, group: Any, shared: Any) -> Any:
        """Run a call that repeats no earlier one; ``shared`` is its key, None for no key."""
        spec = arguments.call_spec(self._definition, args, {}, ndrange, group)
        if self._definition.differentiable:
            self._adjoint(spec)
        if config._kernel_debug:
            return _returned(self._oracle.run(spec, in_place=True))
        prepared = self._prepared.get(spec.key)
        if prepared is None or not prepared.draft.captures.are_current():
            prepared = prepare(self._definition, spec)
            put(self._prepared, spec.key, prepared, launch_cache.MOST_PROGRAMS)
        return self._run(prepared, spec, shared)

    def _bound(
        self, checked: Collection[int], args: Sequence[Any], ndrange: Any, group: Any
    ) -> BoundLaunch | None:
        """Return the launch of an earlier call, for other arrays; None if it is not cached.

        It compares the layouts of the arrays at the positions ``checked``.
        """
        shared = self._call_key(ndrange, group, *args)
        call = self._calls.get(shared) if hashable(shared) else None
        return None if call is None else call.bind(checked, *args)

    def _run(self, prepared: Prepared, spec: CallSpec, shared: Any) -> Any:
        args, layouts, draft = spec.args, spec.layouts, prepared.draft
        natives = [args[position].native for position in draft.arrays]
        launcher = draft.launcher
        written = draft.written
        for n, position in enumerate(draft.arrays):
            if position in written:
                native = natives[n]
                writable = launcher.writable(native)
                if writable is not native:
                    natives[n] = writable
                    layouts[n] = spec.device._backend.layout(writable)
                    shared = None
        sizes = spec.sizes(written)
        if prepared.one_each and spec.ndrange is None:
            self._check_ndrange(prepared, args, sizes)
        if 0 in sizes:
            return _returned([args[position] for position in written])
        if GUARDS:
            for position in written:
                before_write(args[position])
        rounded, items = launch_ranges(launcher, sizes, spec.group, barriers=draft.tree.barriers)
        parts = launch_parts(launcher, sizes, rounded, items)
        launch = launched_in_parts(prepared, parts)
        values = prepared.values(layouts, sizes or (1,), args)
        if shared is not None and hashable(shared):
            layout_key = spec.device._backend.layout_key
            call = call_of(
                prepared, launch, self._definition.names, values, rounded, items,
                [layout_key(x) for x in natives], layout_key,
            )  # fmt: skip
            put(self._calls, shared, call, launch_cache.MOST_CALLS)
        new = launch(natives, values, rounded, items)
        if new is None:
            changed = []
            for n, position in enumerate(draft.arrays):
                if position in written:
                    x = args[position]
                    if natives[n] is not x.native:
                        x = results.wrapped(natives[n], x._dispatch)
                    changed.append(x)
            return _returned(changed)
        table = args[written[0]]._dispatch
        return _returned([results.wrapped(result, table) for result in new])

    def _check_ndrange(self, prepared: Prepared, args: Sequence[Any], sizes: Sequence[int]) -> None:
        """Warn of a scatter whose ndrange is its target's shape, though it reads a longer array."""
        names, draft = self._definition.names, prepared.draft
        for position in set(draft.arrays).difference(draft.written):
            shape, name, target = args[position].shape, names[position], names[draft.written[0]]
            if name not in prepared.one_each or len(shape) != len(sizes):
                continue
            if math.prod(shape) > math.prod(sizes):
                warnings.warn(
                    f"{self._definition.name}: ndrange is {tuple(sizes)}, the shape of {target}; "
                    f"{name} of shape {shape} has more elements\nHint: pass ndrange={name}.shape, "
                    f"or ndrange={target}.shape if the others are not meant",
                    PortarrayWarning,
                    stacklevel=users_level(),
                )
                return

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
            Seed of a random order of groups and work-items: a kernel whose result depends on it has
            a race. By default they run in order.
        **named
            Arguments by their names.

        Returns
        -------
        Array, or tuple of Array
            New arrays, on the same device, instead of those that the kernel writes.

        Raises
        ------
        KernelDebugError
            If the kernel makes an error that is an error on every device.
        """
        spec = arguments.call_spec(self._definition, args, named, ndrange, group)
        return _returned(self._oracle.run(spec, seed, in_place=False))

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
        spec = arguments.call_spec(self._definition, args, named, ndrange, group)
        want = self._oracle.run(spec, in_place=False)
        passed = list(spec.args)
        for positions in self._oracle.same_arrays(spec):
            copy = passed[positions[0]].copy()
            for position in positions:
                passed[position] = copy
        with config(kernel_debug=False):
            got = self(*passed, ndrange=ndrange, group=group)
        pairs = zip(got if type(got) is tuple else (got,), want, strict=True)
        values = [units_between(on_host(x), on_host(y)) for x, y in pairs]
        names = [self._definition.names[position] for position in self._oracle.written(spec)]
        differences = dict(zip(names, values, strict=True))
        if not max(values) <= tolerance:
            raise KernelVerificationError(self.__name__, str(spec.device), differences, tolerance)
        return differences

    def explain(
        self,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        **named: Any,
    ) -> LaunchPlan:
        """Return what a call would do, without compiling or launching.

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
        spec = arguments.call_spec(self._definition, args, named, ndrange, group)
        prepared = self._prepared.get(spec.key)
        ready = prepared is not None and prepared.draft.captures.are_current()
        program = (
            prepared.draft if prepared is not None and ready else draft(self._definition, spec)
        )
        explained = plan(self._definition, spec, program, prepared=ready)
        if self._definition.differentiable:
            explained = dataclasses.replace(explained, adjoint=self._adjoint(spec).adjoint.text)
        return explained

    def source(
        self,
        dialect: str,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        **named: Any,
    ) -> str:
        """Return the source of the program, with line numbers of the Python as comments.

        Parameters
        ----------
        dialect : {"opencl", "cuda", "hip", "metal", "c"}
            The language.
        *args
            Arguments as in a call, whose types the program is for. By default those of the last
            program that was compiled; not for Metal, which does not support float64.
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
            raise ValueError(
                f"source: unsupported dialect {dialect!r}; supported: {', '.join(DIALECTS)}"
            )
        if args or named:
            spec = arguments.call_spec(self._definition, args, named, ndrange, group)
            _check_double(self._names, spec, dialect)
            function, setting, _ = read(self._definition, spec, None, DIALECTS[dialect])
        elif not DIALECTS[dialect].double:
            raise ValueError(
                f"source: {dialect} does not support float64, which the last program may use"
                f"\nHint: pass arguments"
            )
        elif self._prepared:
            last = list(self._prepared.values())[-1].draft
            function, setting = last.tree, last.setting
        else:
            raise ValueError(
                f"source: {self.__name__} has not been called yet\nHint: pass arguments"
            )
        return print_kernel(function, setting, DIALECTS[dialect], offsets=False).text

    def adjoint_source(
        self,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        **named: Any,
    ) -> str:
        """Return the kernel that computes the derivative of a call, in the kernel language.

        It takes cotangents, named ``d_`` and the array's name, and those of the kernel's arguments
        that it needs. Those of the arrays that the kernel writes are given; to those of arrays that
        it reads, which begin with zeros, it adds.

        Parameters
        ----------
        *args
            As in a call; none is changed. The derivative is that with respect to all arrays of
            floating-point dtypes.
        ndrange, group : int or sequence of int, optional
            As in a call.
        **named
            Arguments by their names.

        Returns
        -------
        str
            The text, with ``import math`` and ``import numpy as np`` presumed.

        Raises
        ------
        NoGradientError
            If a statement does not have a derivative.

        Examples
        --------
        >>> import portarray as pa
        >>> import portarray.kernel_language as kl
        >>> @pa.kernel
        ... def twice(y, x):
        ...     y[kl.index()] = 2 * x[kl.index()]
        >>> x = pa.ones(3)
        >>> print(twice.adjoint_source(pa.zeros(3), x).splitlines()[-1].strip())
        d_x[kl.index()] = d_x[kl.index()] + d_t * 2
        """
        spec = arguments.call_spec(self._definition, args, named, ndrange, group)
        return self._adjoint(spec).adjoint.text

    def verify_adjoint(
        self,
        *args: Any,
        ndrange: int | Sequence[int] | None = None,
        group: int | Sequence[int] | None = None,
        tolerance: float = 1e-5,
        **named: Any,
    ) -> dict[str, float]:
        """Compare the derivative of a call with central differences.

        Both are computed by the interpreter in float64, in a random direction.

        Parameters
        ----------
        *args
            As in a call; none is changed.
        ndrange, group : int or sequence of int, optional
            As in a call.
        tolerance : float, optional
            The largest difference, relative to the derivative.
        **named
            Arguments by their names.

        Returns
        -------
        dict of str to float
            The relative difference by array; without those along which the kernel jumps.

        Raises
        ------
        NoGradientError
            If a statement does not have a derivative.
        KernelVerificationError
            If a difference is larger.
        """
        from portarray._kernel_language.derivatives import checks as derivative_checks

        spec = arguments.call_spec(self._definition, args, named, ndrange, group)
        differences = derivative_checks.differences(
            self._definition, self._adjoints, spec, self.interpret,
            lambda entry, *args, **ranges: self._adjoint_kernel(entry).interpret(*args, **ranges),
        )  # fmt: skip
        if not max(differences.values(), default=0.0) <= tolerance:
            raise KernelVerificationError(
                self.__name__, "the adjoint", differences, tolerance, "central differences"
            )
        return differences

    def _adjoint(self, spec: CallSpec) -> Entry:
        return self._adjoints.of(spec, all_floats(self._definition, spec))

    def _adjoint_kernel(self, entry: Entry) -> KernelFunction:
        """Return the kernel of an adjoint, made on first use."""
        if entry.kernel is None:
            language = sys.modules[LANGUAGE]  # which the kernel has imported
            names = {"kl": language, "math": math, "np": np, "__name__": "portarray.adjoint"}
            adjoint = entry.adjoint
            function = _codegen.define(adjoint.name, adjoint.text, names, entry.filename)
            entry.kernel = KernelFunction(function)
        kernel: KernelFunction = entry.kernel
        return kernel


def _check_double(names: Sequence[str], spec: CallSpec, dialect: str) -> None:
    """Refuse arrays in double precision if the language does not support it."""
    if DIALECTS[dialect].double:
        return
    for name, x in zip(names, spec.args, strict=True):
        if type(x) is Array and x.dtype in DOUBLES:
            single = "float32" if x.dtype == "float64" else "complex64"
            raise ValueError(
                f"source: {name} is {x.dtype}, which {dialect} does not support"
                f"\nHint: pass a {single} array"
            )


def _returned(arrays: list[Array]) -> Any:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)
