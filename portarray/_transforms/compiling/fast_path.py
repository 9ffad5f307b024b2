"""The fast path of a program: one generated function that checks a call's arguments and runs it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from portarray import _codegen
from portarray._array import base
from portarray._array.array import Array
from portarray._array.results import reraise, wrapped
from portarray._config import config
from portarray._transforms.compiling.inplace import assign, check_changes
from portarray._transforms.compiling.signatures import STRINGS, VALUE_TYPES, frozen, repeats
from portarray._transforms.compiling.state import MISSING

if TYPE_CHECKING:
    from portarray._transforms.compiling.program import Program

__all__ = ["OTHER", "fast_path", "never"]

OTHER: Any = object()
"""Result of a fast path that was called with arguments of another signature."""

FEW = 4
"""Arrays up to which each pair is compared."""


def never(*_: Any) -> Any:
    """Be the fast path of a program that has none."""
    return OTHER


def fast_path(
    program: Program, args: Sequence[Any], named: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return a function of a call's arguments that runs a program, or returns :data:`OTHER`.

    It takes named arguments by position, in their order, after the caller has compared the names.
    Generated: loops over arguments and outputs would take half the time of a small program. The
    arguments are arrays, values such as numbers, and lists, tuples and dicts of them; with others,
    :func:`never` is returned.
    """
    arguments = _Arguments()
    parameters = [arguments.bind(x) for x in args]
    arguments.containers.append(None)
    parameters += [arguments.bind(x) for x in named.values()]
    state, explanation = program.state, program.explanation
    outputs = [output for output in program.outputs if output.source == "run"]
    wraps, results = _results(program, arguments)
    if None in parameters or None in results:
        return never
    names: dict[str, Any] = {
        **state.names(), **arguments.names, "Array": Array, "config": config,
        "new": base.new_uninitialized, "run": program.run, "reraise": reraise, "wrapped": wrapped,
        "build": program.build, "repeats": repeats, "OTHER": OTHER, "name": explanation.name,
        "devices": explanation.devices, "settings": config.values, "MISSING": MISSING,
        "STRINGS": STRINGS, "frozen": frozen,
    }  # fmt: skip
    checks = ["if config.values is not settings:", *arguments.lines, *arguments.sharing(program)]
    checks += [line for line, _ in state.checks]
    same = [f"x{n} is {state.variables[index]}" for n, index in program.aliases]
    if same:
        checks.append(f"if not ({' and '.join(same)}):")
    arrays = arguments.arrays
    if state.compares_identity and state.variables and arrays:
        ids = arguments.ids()
        held = ", ".join(f"id({variable})" for variable in state.variables)
        checks.append(f"if sum(x in {{{held}}} for x in ({ids},)) != {len(program.aliases)}:")
    inputs = [f"x{n}._native" for n in range(len(arrays))]
    inputs += [f"n{state.variables[index][1:]}" for index in program.used_state]
    for n, output in enumerate(outputs):
        names |= {f"o{n}": output.table, f"c{n}": output.table.array_type, f"copy{n}": output.copy}
    names |= {f"make{n}": output.make for n, output in enumerate(program.outputs)}
    names |= {"assign": assign, "check_changes": check_changes, "changed": program.changed}
    unpacked = "".join(f"r{n}, " for n in range(len(outputs)))
    unpacked += "".join(f"u{n}, " for n in program.changed)
    text = f"def call({', '.join(map(str, parameters))}):\n    try:\n"
    for line in checks:
        text += f"        {line}{' return OTHER' if line.endswith(':') else ''}\n"
    text += "    except MISSING:\n        return OTHER\n"
    checked = ""
    if program.changed:
        every = ", ".join(f"x{n}" for n in range(len(arrays)))
        checked = f"    check_changes(name, ({every},), changed, ({', '.join(inputs)},))\n"
    assigned = "".join(f"        assign(x{n}, u{n})\n" for n in program.changed)
    if unpacked:
        text += (
            f"{checked}    try:\n        {unpacked}= run({', '.join(inputs)})\n{assigned}"
            f"    except Exception as error:\n        reraise(error, name, *devices)\n"
        )
    text += f"{wraps}    return build(({''.join(f'{result}, ' for result in results)}))\n"
    return _codegen.define("call", text, names)


class _Arguments:
    """The checks of the arguments: their classes, lengths, keys, dtypes and shapes."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.containers: list[str | None] = []
        """Variables, and None for the dict of the named arguments, which each call makes."""
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}

    def bind(self, x: Any) -> str | None:
        """Check a tree; return its variable, or None for what a fast path does not take."""
        kind = x.__class__
        if kind is Array:
            return self._array(x)
        if kind in VALUE_TYPES:
            return self._value(x)
        if kind not in (list, tuple, dict) or (
            kind is dict and not STRINGS.issuperset(map(type, x))
        ):
            return None
        n = len(self.containers)
        variable, items = f"a{n}", f"a{n}"
        self.containers.append(variable)
        test = f"{variable}.__class__ is not {kind.__name__} or len({variable}) != {len(x)}"
        if kind is dict:
            self.names[f"q{n}"] = [*x]
            test += f" or [*{variable}] != q{n} or not STRINGS.issuperset(map(type, {variable}))"
            items, x = f"{variable}.values()", x.values()
        self.lines.append(f"if {test}:")
        unpacking = len(self.lines)
        children = [self.bind(child) for child in x]
        if None in children:
            return None
        if children:
            self.lines.insert(unpacking, f"{', '.join(map(str, children))}, = {items}")
        return variable

    def _array(self, x: Array) -> str:
        n = len(self.arrays)
        self.arrays.append(x)
        self.names |= {f"t{n}": x._dispatch, f"s{n}": x._native.shape}
        self.lines.append(
            f"if x{n}.__class__ is not Array or x{n}._dispatch is not t{n} "
            f"or x{n}._native.shape != s{n}:"
        )
        if x._dispatch.known_type is None:  # results depend on the library's settings
            configuration = x._dispatch.device._backend.configuration
            self.names |= {f"g{n}": configuration, f"h{n}": configuration()}
            self.lines.append(f"if g{n}() != h{n}:")
        return f"x{n}"

    def _value(self, x: Any) -> str:
        variable = f"w{len(self.lines)}"
        key, frozen_key = f"{variable}_value", f"{variable}_key"
        self.names |= {key: x, frozen_key: frozen(x)}
        self.lines.append(f"if {variable} is not {key} and frozen({variable}) != {frozen_key}:")
        return variable

    def ids(self) -> str:
        """Return the ids of the arrays, as text."""
        return ", ".join(f"id(x{n})" for n in range(len(self.arrays)))

    def sharing(self, program: Program) -> list[str]:
        """Return the checks of which arguments are one object."""
        lines = []
        first = repeats(self.arrays)
        if len(set(first)) == len(first) > FEW:
            lines.append(f"if len({{{self.ids()}}}) != {len(first)}:")
        elif len(first) > FEW:
            variables = ", ".join(f"x{n}" for n in range(len(first)))
            lines.append(f"if repeats([{variables}]) != {first}:")
        else:
            for m, n in itertools.combinations(range(len(first)), 2):
                differs = "is not" if self.arrays[m] is self.arrays[n] else "is"
                lines.append(f"if x{n} {differs} x{m}:")
        if program.state.compares_identity and len(self.containers) > 2:
            # The first two are those of all arguments, and always different objects.
            shared = tuple([index - 2 for index in program.shared_containers[2:]])
            lines.append(f"if repeats([{', '.join(map(str, self.containers))}]) != {shared}:")
        return lines


def _results(program: Program, arguments: _Arguments) -> tuple[str, list[str | None]]:
    """Return the lines that wrap a program's results, and the variables of the outputs."""
    wraps, results = "", list[str | None]()
    count = itertools.count()
    containers = [None, None, *arguments.containers]
    for index, output in enumerate(program.outputs):
        if output.source == "run":
            n = next(count)
            results.append(f"y{n}")
            if output.copy is not None:
                wraps += f"    y{n} = wrapped(copy{n}(r{n}), o{n})\n"
                continue
            wraps += (
                f"    if r{n}.__class__ is c{n}:\n        y{n} = new()\n"
                f"        y{n}._native = r{n}\n        y{n}._dispatch = o{n}\n"
                f"    else:\n        y{n} = wrapped(r{n}, o{n})\n"
            )
        elif output.make is not None:
            results.append(f"m{index}")
            wraps += f"    m{index} = make{index}()\n"
        elif output.source == "argument":
            results.append(f"x{output.index}")
        elif output.source == "state":
            results.append(program.state.variables[output.index])
        elif output.source == "container":
            results.append(containers[output.index] if output.index < len(containers) else None)
        else:
            results.append(results[output.index] if output.source == "leaf" else None)
    return wraps, results
