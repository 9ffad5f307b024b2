"""Runs kernels in the interpreter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from portarray._array import conversion
from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language import launch_cache
from portarray._kernel_language.arguments import CallSpec
from portarray._kernel_language.captures import Captures
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.host_copies import copies
from portarray._kernel_language.interpreter import Interpreted, interpret
from portarray._kernel_language.preparing import read_on_any_device, written_arguments
from portarray._kernel_language.ranges import launch_ranges
from portarray._kernel_language.work_items import Run


class Oracle:
    """A kernel as Python, cached by the types of calls."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self.programs: dict[Any, tuple[Interpreted, Captures]] = {}

    def program(self, spec: CallSpec) -> Interpreted:
        debug = config._kernel_debug
        program, captures = self.programs.get((debug, spec.key), (None, None))
        if program is None or captures is None or not captures.are_current():
            function, setting, captures = read_on_any_device(self._definition, spec)
            program = interpret(
                function,
                setting,
                lambda part: part.source or self._definition.source,
                checked=debug,
            )
            entry = program, captures
            launch_cache.put(self.programs, (debug, spec.key), entry, launch_cache.MOST_PROGRAMS)
        return program

    def written(self, spec: CallSpec) -> list[int]:
        """Return the positions of the arguments that the kernel writes."""
        return written_arguments(self._definition, self.program(spec).tree)

    def same_arrays(self, spec: CallSpec) -> list[list[int]]:
        """Group the positions of equal arrays; raise ValueError if others overlap."""
        launcher = spec.device._backend.launcher(spec.device.native)
        written = self.written(spec)
        groups: dict[int, list[int]] = {}
        copied = copies(spec, launcher, written)
        for position, x in copied.items():
            groups.setdefault(id(x), []).append(position)
        for first, second in itertools.combinations(groups.values(), 2):
            changed = not {*first, *second}.isdisjoint(written)
            if changed and np.shares_memory(copied[first[0]], copied[second[0]]):
                names = " and ".join(
                    sorted(self._definition.names[position[0]] for position in (first, second))
                )
                raise ValueError(
                    f"{self._definition.name}: {names} overlap in memory; verify runs the "
                    f"kernel on copies, which do not\nHint: pass copies"
                )
        return list(groups.values())

    def run(self, spec: CallSpec, seed: int | None = None, *, in_place: bool) -> list[Array]:
        """Return the written arrays: new ones, or those that were passed."""
        program = self.program(spec)
        device, args = spec.device, spec.args
        launcher = device._backend.launcher(device.native)
        written = self.written(spec)
        sizes = spec.sizes(written)
        copied = copies(spec, launcher, written)
        values: dict[str, Any] = {}
        for position, (name, x) in enumerate(zip(self._definition.names, args, strict=True)):
            if position in copied:
                values[name] = copied[position]
            elif name in program.convert:
                values[name] = program.convert[name](x)
        if 0 not in sizes:
            _, items = launch_ranges(launcher, sizes, spec.group, barriers=program.tree.barriers)
            Run(program, values, sizes or (1,), items, seed=seed, debug=config._kernel_debug).run()
        out = []
        for position in written:
            x = args[position]
            new = conversion.asarray(np.asarray(copied[position], order="C"), device=device)
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
