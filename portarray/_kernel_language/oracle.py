"""Runs kernels in the interpreter, with the arguments of calls."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from portarray._array import conversion
from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language import remembered, types
from portarray._kernel_language.arguments import Asked
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.dialects import DIALECTS
from portarray._kernel_language.host_copies import copies
from portarray._kernel_language.interpreter import Interpreted, interpret
from portarray._kernel_language.preparing import current, read
from portarray._kernel_language.ranges import launch_ranges
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
            kept = made, list(shared.constants.values())
            remembered.remember(self.made, (debug, asked.key), kept, remembered.MOST_PROGRAMS)
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

    def same_arrays(self, asked: Asked) -> list[list[int]]:
        """Return the places of arrays, the same ones together; an error where others overlap."""
        launcher = asked.device._backend.launcher(asked.device.native)
        written = self.written(asked)
        found: dict[int, list[int]] = {}
        copied = copies(asked, launcher, written)
        for place, x in copied.items():
            found.setdefault(id(x), []).append(place)
        for one, other in itertools.combinations(found.values(), 2):
            changed = not {*one, *other}.isdisjoint(written)
            if changed and np.shares_memory(copied[one[0]], copied[other[0]]):
                names = " and ".join(sorted(self._own.names[place[0]] for place in (one, other)))
                raise ValueError(
                    f"{self._own.name}: {names} overlap in memory, and copies of them do not, "
                    f"which verify runs the kernel on; pass copies"
                )
        return list(found.values())

    def run(self, asked: Asked, seed: int | None = None, *, in_place: bool) -> list[Array]:
        """Return the arrays that the kernel writes: new ones, or those that were passed."""
        made = self.program(asked)
        device, args = asked.device, asked.args
        launcher = device._backend.launcher(device.native)
        written = self.written(asked)
        sizes = asked.sizes(written)
        copied = copies(asked, launcher, written)
        values: dict[str, Any] = {}
        for place, (name, x) in enumerate(zip(self._own.names, args, strict=True)):
            if place in copied:
                values[name] = copied[place]
            elif name in made.convert:
                values[name] = made.convert[name](x)
        if 0 not in sizes:
            _, items = launch_ranges(launcher, sizes, asked.group, barriers=made.tree.barriers)
            Run(made, values, sizes or (1,), items, seed=seed, debug=config._kernel_debug).run()
        out = []
        for place in written:
            x = args[place]
            new = conversion.asarray(np.asarray(copied[place], order="C"), device=device)
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
