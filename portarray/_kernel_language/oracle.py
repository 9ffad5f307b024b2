"""Runs kernels in the interpreter, with the arguments of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portarray._array import conversion
from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language import types
from portarray._kernel_language.arguments import Asked
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.dialects import DIALECTS
from portarray._kernel_language.interpreter import Interpreted, interpret
from portarray._kernel_language.preparing import current, read
from portarray._kernel_language.ranges import Range, checked, launch_ranges
from portarray._kernel_language.work_items import Run


class Oracle:
    """A kernel as Python, made for the types of calls and kept."""

    def __init__(self, definition: Definition) -> None:
        self._own = definition
        self.made: dict[Any, tuple[Interpreted, list[Any]]] = {}

    def program(self, asked: Asked) -> Interpreted:
        """Return the kernel as Python."""
        debug = config._kernel_debug
        made, constants = self.made.get((debug, asked.key), (None, []))
        if made is None or not current(constants):
            launcher = asked.device._backend.launcher(asked.device.native)
            dialect = DIALECTS["opencl" if isinstance(launcher, str) else launcher.dialect]
            found, setting, shared = read(self._own, asked, launcher, dialect)
            made = interpret(
                found, setting, lambda one: one.source or self._own.source, checked=debug
            )
            self.made[debug, asked.key] = made, list(shared.constants.values())
        return made

    def written(self, asked: Asked) -> list[int]:
        """Return the places of the arguments that the kernel writes."""
        program = self.program(asked).tree
        found = [program.parameters.get(name) for name in self._own.names]
        return [
            n
            for n, one in enumerate(found)
            if isinstance(one, types.Array) and one.name in program.written
        ]

    def run(
        self,
        asked: Asked,
        group: int | Sequence[int] | None,
        seed: int | None = None,
        *,
        in_place: bool,
    ) -> list[Array]:
        """Return the arrays that the kernel writes: new ones, or those that were passed."""
        made = self.program(asked)
        device, args = asked.device, asked.args
        launcher = device._backend.launcher(device.native)
        written = self.written(asked)
        sizes: Range = (
            tuple(args[written[0]].shape)
            if asked.ndrange is None
            else checked(asked.ndrange, "ndrange")
        )
        wanted = None if group is None else checked(group, "group")
        copies: dict[int, np.ndarray[Any, Any]] = {}
        values: dict[str, Any] = {}
        for name, x in zip(self._own.names, args, strict=True):
            if type(x) is Array:
                same = id(x.native)
                if same not in copies:
                    copies[same] = np.array(on_host(x), order="C")
                values[name] = copies[same]
            elif name in made.convert:
                values[name] = made.convert[name](x)
        if 0 not in sizes:
            _, items = launch_ranges(launcher, sizes, wanted, barriers=made.tree.barriers)
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
        return out


def on_host(x: Array) -> np.ndarray[Any, Any]:
    """Return an array's values, for reading only, also where NumPy cannot read its memory."""
    return x.device._backend.read_host(x.native, x.device.native)
