"""What a function reads that is not an argument: variables of its scope, attributes, defaults.

:func:`read_state` follows a function through its closure, its defaults, the global names in its
code, the functions it refers to, and the attributes of objects. Arrays become inputs of the
compiled program; each call takes them from where they were when the function was traced. All else
is compared with what it was: functions, classes and modules by identity, values by type and value,
containers and objects by structure.

The comparison is generated code, because most calls make it and find nothing new.
"""

from __future__ import annotations

import functools
import itertools
import random
import sys
import threading
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portarray import _codegen
from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._devices.selection import current
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.compiling.mentions import Mentions, is_library, mentions, stores
from portarray._transforms.compiling.signatures import BY_TEXT, frozen, is_value
from portarray._transforms.tracing import Tracer
from portarray._trees.node_types import node_type, slots_of
from portarray.errors import TracedArrayError

__all__ = ["State", "check_constant", "read_state", "traced_state"]

Function = Callable[..., Any]

MISSING = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Errors of reading what is no longer there."""


@dataclass
class State:
    """What a function reads that is not an argument, and how to read it again.

    ``checks`` are pairs of a line of Python and the path of what it reads; a line without a colon
    assigns a variable, another is a condition that something has changed.
    """

    name: str
    checks: list[tuple[str, str]] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    variables: list[str] = field(default_factory=list)  # of the arrays
    paths: list[str] = field(default_factory=list)  # of the arrays
    arrays: list[Array] = field(default_factory=list)  # only while the function is traced
    codes: list[types.CodeType] = field(default_factory=list)
    missing_modules: set[str] = field(default_factory=set)  # that the function imports
    objects: dict[int, tuple[Any, str]] = field(default_factory=dict)  # only while traced, by id
    compares_identity: bool = False

    def constant(self, value: Any) -> str:
        """Return a name for a value in generated code."""
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def names(self) -> dict[str, Any]:
        """Return what the lines of the checks refer to."""
        return {**_HELPERS, **self.constants}

    def check_default(self, device: Device | None) -> None:
        """Have each call compare the default device."""
        changed = f"if current() is not {self.constant(device)}:"
        self.checks.append((changed, "the default device"))

    def check_values(self, index: int) -> None:
        """Have each call compare the values of an array, which were read during tracing."""
        variable, x = self.variables[index], self.arrays[index]
        same = self.constant(functools.partial(_has_values, _values(x)))
        self.checks.append((f"if not {same}({variable}):", self.paths[index]))

    def reader(self, count: int) -> Function:
        """Return a function of the objects of a call.

        It returns a list of the arrays, or the path of something that has changed.
        """
        lines = []
        for text, path in self.checks:
            lines.append(f"{text} return {path!r}" if text.endswith(":") else text)
        body = "".join(f"    {line}\n" for line in lines)
        objects = ", ".join(f"o{n}" for n in range(count))
        source = f"def read({objects}):\n{body}    return [{', '.join(self.variables)}]\n"
        read = _codegen.define("read", source, self.names())
        paths = [path for _, path in self.checks]

        def reading(*objects: Any) -> Any:
            try:
                return read(*objects)
            except MISSING as error:
                trace = error.__traceback__
                line = 0 if trace is None or trace.tb_next is None else trace.tb_next.tb_lineno - 2
                return paths[line] if 0 <= line < len(paths) else self.name

        return reading

    def has_imported(self) -> bool:
        """Return whether the function has imported a module that is not followed yet."""
        modules = [sys.modules.get(name) for name in self.missing_modules]
        return any(isinstance(x, types.ModuleType) and not _is_library_module(x) for x in modules)

    def check_identity(self, x: Any) -> bool:
        """Have each call compare an object that is returned; return whether the state has it."""
        if id(x) not in self.objects:
            return False
        _, variable = self.objects[id(x)]
        self.checks.append((f"if {variable} is not {self.constant(x)}:", type(x).__name__))
        return True

    def refuse_change(self, path: str) -> TracedArrayError:
        """Return the error for something that the function changed while it was traced."""
        last = path.rpartition(".")[2].partition("[")[0]
        lines = [(code.co_filename, line) for code in self.codes for line in stores(code, last)]
        where = f", at line {lines[0][1]} of {lines[0][0]}" if lines else ""
        return TracedArrayError(
            f"{self.name}: the function changes {path}{where}, which a compiled function would do "
            f"only once\nHint: return the new value and assign it outside the function"
        )


def _values(x: Array) -> Any:
    device = x.device
    return frozen(device._backend.read_host(x._native, device.native))


def _has_values(values: Any, x: Array) -> bool:
    return bool(_values(x) == values)


def _is(x: Any, snapshot: Any) -> bool:
    """Return whether an immutable value or a container of them has not changed."""
    return bool(frozen(x) == snapshot)


def _is_unset(member: Any, x: Any) -> bool:
    try:
        member.__get__(x)
    except AttributeError:
        return True
    return False


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _host_values(x: Any) -> Any:
    return type(x), frozen(np.asarray(x))


def _has_new(entries: Any, names: frozenset[str], before: frozenset[str]) -> bool:
    """Return whether a class has new entries of some names, or new special methods."""
    return not names.isdisjoint(entries) or any(
        _is_special(name) and isinstance(entries[name], types.FunctionType)
        for name in entries.keys() - before
    )


_UNSET = object()

_HELPERS = {
    "Array": Array, "Tracer": Tracer, "same": _is, "is_unset": _is_unset, "is_empty": _is_empty,
    "host_values": _host_values, "has_new": _has_new, "modules": sys.modules,
    "deque": deque, "current": current, "unset": _UNSET,
}  # fmt: skip


def check_constant(x: Any, name: str) -> None:
    """Raise if an object that a compiled function returns has traced arrays."""
    walk = _Walk(x, frozenset(), frozenset(), name, everything=True)
    if any(y._native.__class__ is Tracer for y in walk.state.arrays):
        raise TracedArrayError(
            f"{name}: the result contains {type(x).__name__}, in which pa.compile does not see "
            f"arrays\nHint: return a list, a dict or a dataclass, or register the class with optree"
        )


# --- walking ---------------------------------------------------------------------------------


def read_state(function: Function, objects: Sequence[Any], trees: Any, name: str) -> State:
    """Return what a function reads that is not an argument, or is not in its signature.

    ``objects`` are those among the arguments, and ``trees`` all arguments, whose classes count.
    """
    names, stored, everything = frozenset[str](), frozenset[str](), False
    while True:
        try:
            walk = _Walk(function, names, stored, name, everything=everything)
            for n, x in enumerate(objects):
                walk.visit(x, f"o{n}", getattr(x, "__name__", type(x).__name__))
            walk.visit_classes(trees)
        except RecursionError:
            raise TypeError(
                f"{name}: what the function reads is nested too deep for pa.compile\n"
                f"Hint: pass the part that it needs as an argument"
            ) from None
        if walk.attributes <= names and walk.is_dynamic == everything:
            return walk.finished()
        names, stored = names | walk.attributes, stored | walk.stored
        everything = walk.is_dynamic


_FUNCTIONS: tuple[type, ...] = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.MethodWrapperType,
)  # fmt: skip
_ITERABLES: tuple[Iterable[Any], ...] = (
    [], (), {}, {}.values(), {}.items(), set(), "", range(0),
)  # fmt: skip
_UNREADABLE: tuple[type, ...] = (
    types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, random.Random,
    itertools.count, itertools.cycle, itertools.chain,
    itertools.islice, itertools.repeat, enumerate, zip, map, filter,
    *(type(iter(x)) for x in _ITERABLES), *weakref.ProxyTypes,
)  # fmt: skip
_UNREADABLE_MODULES = ("numpy.random", "queue", "_queue")
_CONTAINERS = (dict, OrderedDict, defaultdict, list, tuple, deque)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_PLAIN_VALUES: dict[type, Function] = {
    int: int.__pos__, float: float.__pos__, complex: complex.__pos__, str: str.__str__,
    bytes: lambda x: b"".join((x,)),
}  # fmt: skip
"""The values of objects whose classes extend these."""


class _Walk:
    """A walk through what a function refers to, which writes the checks of the state."""

    def __init__(
        self,
        function: Function,
        names: frozenset[str],
        stored: frozenset[str],
        name: str,
        *,
        everything: bool,
    ) -> None:
        self.state = State(name)
        self.attributes: set[str] = set()
        self.stored: set[str] = set()
        self.is_dynamic = False
        self._names = names
        self._everything = everything
        self._variables: dict[int, str] = {}
        self._alive: list[Any] = []  # so that ids are not used again
        self._count = itertools.count()
        self._own = _module_of(function)
        self._classes: set[int] = set()
        self._stored = stored
        self.visit(function, self.state.constant(function), name, is_fixed=True)

    def visit(self, x: Any, text: str, path: str, *, is_fixed: bool = False) -> None:
        """Write the checks for a value; a fixed one cannot be replaced, but may change."""
        if isinstance(x, _UNREADABLE) or type(x).__module__.startswith(_UNREADABLE_MODULES):
            raise TypeError(
                f"{self.state.name}: {path} is {type(x).__name__}, whose state pa.compile cannot "
                f"read\nHint: pass its values to the function as arguments"
            )
        variable = self._variables.get(id(x))
        if variable is not None and not is_value(x):
            if variable != text:
                self._check(f"{text} is not {variable}", path)
        elif isinstance(x, (*_FUNCTIONS, type, types.ModuleType)):
            constant = text if is_fixed else self.state.constant(x)
            if not is_fixed:
                self._check(f"{text} is not {constant}", path)
            self._remember(x, constant)
            self._follow(x, constant, path)
        elif is_value(x):
            if not is_fixed:
                constant = self.state.constant(x)
                snapshot = self.state.constant(frozen(x))
                variable = f"v{next(self._count)}"
                self.state.checks.append((f"{variable} = {text}", path))
                self._check(
                    f"{variable} is not {constant} and not same({variable}, {snapshot})", path
                )
            if not _is_library_class(type(x)) and id(x) not in self._variables:  # of an Enum
                constant = self.state.constant(x)
                self._remember(x, constant)
                self._attributes(x, constant, path)
        else:
            variable = f"v{next(self._count)}"
            self.state.checks.append((f"{variable} = {text}", path))
            self._remember(x, variable)
            self._object(x, variable, path)

    def _remember(self, x: Any, variable: str) -> None:
        self._variables[id(x)] = variable
        self._alive.append(x)

    def _check(self, changed: str, path: str) -> None:
        self.state.checks.append((f"if {changed}:", path))

    def _object(self, x: Any, variable: str, path: str) -> None:
        kind = type(x)
        if kind is Array:
            self._array(x, variable, path)
            return
        self._check(f"{variable}.__class__ is not {self.state.constant(kind)}", path)
        if _is_data(x):
            self._check(f"not same({variable}, {self.state.constant(frozen(x))})", path)
        elif isinstance(x, weakref.ref):
            self.visit(x(), f"{variable}()", f"{path}()")
        elif isinstance(x, _VIEWS):
            view: Any = x
            self.visit(view.mapping, f"{variable}.mapping", path)
        elif isinstance(x, types.MethodType):
            self.visit(x.__func__, f"{variable}.__func__", path)
            self.visit(x.__self__, f"{variable}.__self__", path.rpartition(".")[0] or path)
        elif isinstance(x, functools.partial):
            for name in ("func", "args", "keywords"):
                self.visit(getattr(x, name), f"{variable}.{name}", f"{path}.{name}")
        elif isinstance(x, functools._lru_cache_wrapper):
            self.visit(x.__wrapped__, f"{variable}.__wrapped__", path)
        elif isinstance(x, ContextVar):
            if (value := x.get(_UNSET)) is _UNSET:
                self._check(f"{variable}.get(unset) is not unset", path)
            else:
                self.visit(value, f"{variable}.get(unset)", path)
        elif isinstance(x, types.MappingProxyType):
            self._items(x, variable, path)
        elif hasattr(kind, "__array__") or hasattr(kind, "__dlpack__") or _is_buffer(x):
            self._foreign_array(x, variable, path)
        elif kind.__module__.partition(".")[0] == "portarray":
            self._own_object(x, variable, path)
        elif not self._attributes(x, variable, path):
            self._check(f"{variable} is not {self.state.constant(x)}", path)

    def _array(self, x: Array, variable: str, path: str) -> None:
        if x._native.__class__ is Tracer and x._native.trace.ended:  # its use is refused
            self._check(f"{variable} is not {self.state.constant(x)}", path)
            return
        table, native = self.state.constant(x._dispatch), f"n{variable[1:]}"
        self.state.checks.append((f"{native} = {variable}._native", path))
        shape = self.state.constant(x._native.shape)
        self._check(
            f"{variable}._dispatch is not {table} "
            f"or {native}.shape != {shape} or {native}.__class__ is Tracer",
            path,
        )
        if x._dispatch.known_type is None:  # results depend on the library's settings
            configuration = x._dispatch.device._backend.configuration
            setting = self.state.constant(configuration())
            self._check(f"{self.state.constant(configuration)}() != {setting}", path)
        self.state.variables.append(variable)
        self.state.paths.append(path)
        self.state.arrays.append(x)

    def _foreign_array(self, x: Any, variable: str, path: str) -> None:
        try:
            values = _host_values(x)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):  # not readable
            self._check(f"{variable} is not {self.state.constant(x)}", path)
            return
        self._check(f"host_values({variable}) != {self.state.constant(values)}", path)
        self._attributes(x, variable, path)

    def _own_object(self, x: Any, variable: str, path: str) -> None:
        """Follow the functions in an object of portarray, such as a compiled function."""
        self._check(f"{variable} is not {self.state.constant(x)}", path)
        for name, child in getattr(x, "__dict__", {}).items():
            if isinstance(child, (types.FunctionType, types.MethodType, functools.partial)) or (
                callable(child) and name in ("_function", "_forward", "_backward")
            ):
                self.visit(
                    child, f"{variable}.__dict__[{name!r}]", getattr(child, "__name__", path)
                )

    # --- objects -----------------------------------------------------------------------------

    def _attributes(self, x: Any, variable: str, path: str) -> bool:
        """Write the checks of an object's attributes and items; return whether it has any."""
        kind = type(x)
        is_read_whole = self._everything or node_type(x) is not None or _is_library_class(kind)
        is_readable = isinstance(x, _CONTAINERS)
        if (value_of := _value_of(kind)) is not None:
            is_readable = True
            value = self.state.constant(frozen(value_of(x)))
            self._check(f"not same({self.state.constant(value_of)}({variable}), {value})", path)
        attributes = getattr(x, "__dict__", None)
        if isinstance(attributes, dict) and not _is_opaque(kind):
            is_readable = True
            dictionary = f"v{next(self._count)}"
            self.state.checks.append((f"{dictionary} = {variable}.__dict__", path))
            self._check_keys(attributes, dictionary, path)
            for key, child in attributes.items():
                if is_read_whole or key in self._names:
                    self.visit(child, f"{dictionary}[{key!r}]", f"{path}.{key}")
        for member in () if _is_opaque(kind) else slots_of(kind):
            is_readable = True
            name = member.__name__
            slot = self.state.constant(member)
            if _is_unset(member, x):
                self._check(f"not is_unset({slot}, {variable})", f"{path}.{name}")
            elif is_read_whole or name in self._names:
                self.visit(member.__get__(x), f"{slot}.__get__({variable})", f"{path}.{name}")
        if isinstance(x, dict):
            self._items(x, variable, path)
        elif isinstance(x, (list, tuple, deque)):
            self._check(f"len({variable}) != {len(x)}", path)
            if kind not in (list, tuple):  # whose class may define __getitem__
                base = next(base for base in (list, tuple, deque) if isinstance(x, base))
                items = f"v{next(self._count)}"
                self.state.checks.append(
                    (f"{items} = [*{base.__name__}.__iter__({variable})]", path)
                )
                if isinstance(x, deque):
                    self._check(f"{variable}.maxlen != {x.maxlen}", path)
                variable = items
            for n, child in enumerate(x):
                self.visit(child, f"{variable}[{n}]", f"{path}[{n}]")
        elif isinstance(x, (set, frozenset)):
            is_readable = True
            self._elements(list(x), f"[*{variable}]", f"an element of {path}")
        if is_readable:
            self._class(kind)
        return is_readable

    def _check_keys(self, x: Any, variable: str, path: str) -> None:
        """Write the check of the keys of a dict, in order."""
        self._check(f"[*{variable}] != {self.state.constant(list(x))}", path)

    def _items(self, x: Any, variable: str, path: str) -> None:
        if isinstance(x, defaultdict):
            self.visit(x.default_factory, f"{variable}.default_factory", f"{path}.default_factory")
        is_proxy = isinstance(x, types.MappingProxyType)
        own = is_proxy or type(x) in _CONTAINERS  # else the class may define __getitem__
        if all(type(key) is str for key in x):
            self._check_keys(x, variable, path)
            get = f"{variable}[{{!r}}]" if own else f"dict.__getitem__({variable}, {{!r}})"
            for key, child in list(x.items()):
                self.visit(child, get.format(key), f"{path}[{key!r}]")
            return
        keys = list(x)
        values = list(x.values()) if is_proxy else list(dict.values(x))
        self._elements(keys, f"[*{variable}]", f"a key of {path}")
        get = f"[*{variable}.values()]" if own else f"[*dict.values({variable})]"
        self._elements(values, get, f"a value of {path}")

    def _elements(self, elements: list[Any], text: str, path: str) -> None:
        """Write the checks of values that generated code lists."""
        listed = f"v{next(self._count)}"
        self.state.checks.append((f"{listed} = {text}", path))
        self._check(f"len({listed}) != {len(elements)}", path)
        for n, x in enumerate(elements):
            self.visit(x, f"{listed}[{n}]", path)

    # --- code --------------------------------------------------------------------------------

    def _follow(self, x: Any, constant: str, path: str) -> None:
        """Follow a function, a class or a module."""
        if isinstance(x, types.FunctionType):
            self._function(x, constant, path)
        elif isinstance(x, type):
            self._class(x)
        elif isinstance(x, types.ModuleType):
            if _is_library_module(x):
                return
            dictionary, names = self.state.constant(x.__dict__), self._names | {"__getattr__"}
            absent = self.state.constant(names.difference(x.__dict__))
            self._check(
                f"len({dictionary}) != {len(x.__dict__)} and not {absent}.isdisjoint({dictionary})",
                path,
            )
            for name in sorted(names.intersection(x.__dict__)):
                self.visit(x.__dict__[name], f"{dictionary}[{name!r}]", f"{path}.{name}")
        elif isinstance(x, (types.BuiltinFunctionType, types.MethodWrapperType)):
            owner = x.__self__
            if not isinstance(owner, (type, types.ModuleType)):
                self.visit(owner, f"{constant}.__self__", path)

    def _function(self, x: types.FunctionType, constant: str, path: str) -> None:
        of_library = is_library(x.__code__.co_filename) and x.__module__ != self._own
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            text = self.state.constant(cell)
            if _is_empty(cell):
                self._check(f"not is_empty({text})", name)
            elif not of_library or _is_users(cell.cell_contents):
                self.visit(cell.cell_contents, f"{text}.cell_contents", name)
        if x.__defaults__:
            defaults = self.state.constant(x.__defaults__)
            self._check(f"{constant}.__defaults__ is not {defaults}", path)
            for n, default in enumerate(x.__defaults__):
                name = x.__code__.co_varnames[x.__code__.co_argcount - len(x.__defaults__) + n]
                self.visit(default, f"{defaults}[{n}]", name, is_fixed=True)
        for name, default in (x.__kwdefaults__ or {}).items():
            self.visit(default, f"{constant}.__kwdefaults__[{name!r}]", name)
        for name, attribute in x.__dict__.items():
            if name in self._names or name in ("__wrapped__", "registry"):
                self.visit(attribute, f"{constant}.__dict__[{name!r}]", f"{path}.{name}")
        if of_library:
            return
        self._check(f"{constant}.__code__ is not {self.state.constant(x.__code__)}", path)
        for name in sorted(self._stored.difference(x.__dict__)):
            self._check(f"{name!r} in {constant}.__dict__", f"{path}.{name}")
        self.state.codes.append(x.__code__)
        self._mentions(mentions(x.__code__), x.__globals__)

    def _mentions(self, names: Mentions, variables: dict[str, Any]) -> None:
        self.attributes |= names.attributes
        self.stored |= names.stored
        self.state.compares_identity |= names.compares_identity
        self.is_dynamic = self.is_dynamic or names.is_dynamic
        dictionary = self._variables.get(id(variables))
        if dictionary is None:
            dictionary = self.state.constant(variables)
            self._remember(variables, dictionary)
        for name in sorted(names.variables):
            if name in variables:
                self.visit(variables[name], f"{dictionary}[{name!r}]", name)
            else:  # a function of Python's, or of no value yet
                self._check(f"{name!r} in {dictionary}", name)
        for name in sorted(names.modules):
            module = sys.modules.get(name)
            if module is None:
                self.state.missing_modules.add(name)
            elif type(module) is not types.ModuleType or not _is_library_module(module):
                self.visit(module, f"modules.get({name!r})", name)

    def visit_classes(self, tree: Any) -> None:
        """Follow the classes of the nodes of a tree."""
        if type(tree) is Array or is_value(tree) or (node := node_type(tree)) is None:
            return
        self._class(type(tree))
        for child in node.flatten(tree)[0]:
            self.visit_classes(child)

    def finished(self) -> State:
        """Return the state, in which different objects have to stay different ones."""
        state = self.state
        found = [(x, self._variables[id(x)]) for x in self._alive]
        state.objects = {id(x): (x, text) for x, text in found if text.startswith("v")}
        if state.compares_identity and len(state.objects) > 1:
            ids = ", ".join(f"id({text})" for _, text in state.objects.values())
            self._check(f"len({{{ids}}}) != {len(state.objects)}", "an object")
        return state

    def _class(self, x: type) -> None:
        own = [base for base in x.__mro__ if not _is_library_class(base)]
        if len(own) > 1 and id(x) not in self._classes:
            mro = self.state.constant(x.__mro__)
            self._check(f"{self.state.constant(x)}.__mro__ is not {mro}", x.__name__)
        metaclass: type = type(x)
        for base in (*own, *metaclass.__mro__):
            if not _is_library_class(base) and id(base) not in self._classes:
                self._classes.add(id(base))
                self._class_entries(base)

    def _class_entries(self, x: type) -> None:
        entries = dict(x.__dict__)
        text = f"{self.state.constant(x)}.__dict__"
        absent = self.state.constant(self._names.difference(entries))
        before = self.state.constant(frozenset(entries))
        self._check(
            f"len({text}) != {len(entries)} and has_new({text}, {absent}, {before})", x.__name__
        )
        for name, entry in entries.items():
            path, is_named = f"{x.__name__}.{name}", name in self._names
            child, access = entry, f"{text}[{name!r}]"
            if isinstance(entry, tuple(_WRAPPERS)) and is_named:
                self._check(f"{access} is not {self.state.constant(entry)}", path)
            if isinstance(entry, functools.partialmethod) and is_named:
                self.visit(entry.args, f"{access}.args", path)
                self.visit(entry.keywords, f"{access}.keywords", path)
            for wrapper, attribute in _WRAPPERS.items():
                if isinstance(child, wrapper):
                    child, access = getattr(child, attribute), f"{access}.{attribute}"
            if isinstance(child, types.FunctionType):
                if is_named or _is_special(name):
                    self.visit(child, access, path)
            elif is_named and not _is_special(name) and not isinstance(child, _FUNCTIONS):
                self.visit(child, access, path)


_WRAPPERS = {
    property: "fget", classmethod: "__func__", staticmethod: "__func__",
    functools.cached_property: "func", functools.partialmethod: "func",
}  # fmt: skip


def _module_of(function: Any) -> str | None:
    """Return the module of a function, of a method's class or of an object's class."""
    if isinstance(function, functools.partial):
        return _module_of(function.func)
    name = getattr(function, "__module__", None)
    return name if isinstance(name, str) else None


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _value_of(cls: type) -> Function | None:
    """Return what reads the value of objects of a class that extends one of values."""
    for base in cls.__mro__:
        if base in _PLAIN_VALUES:
            return _PLAIN_VALUES[base]
        if base.__module__ in BY_TEXT:
            return base.__repr__
    return None


def _is_buffer(x: Any) -> bool:
    """Return whether an object of Python's own has its elements in memory, such as array.array."""
    return isinstance(x, memoryview) or type(x).__module__ == "array"


def _is_library_class(cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    return cls.__module__ == "builtins" or module is None or _is_library_module(module)


def _is_library_module(module: types.ModuleType) -> bool:
    file = module.__dict__.get("__file__")  # not one that its __getattr__ returns
    if file is None:  # __main__, Python's own written in C, or one made while the program runs
        return module.__name__.partition(".")[0] in _OF_PYTHON
    return module.__name__ != "__main__" and is_library(file)


_OF_PYTHON = sys.stdlib_module_names - {"__main__"}


_READABLE = ("_weakrefset", "argparse", "collections", "types", "weakref")
"""Modules of Python whose objects have attributes of the user's."""


def _is_opaque(cls: type) -> bool:
    """Return whether an object of a class is compared by identity: Python's own, such as locks."""
    package = cls.__module__.partition(".")[0]
    if cls is threading.local:
        return False
    return package in sys.stdlib_module_names and package not in _READABLE


def _is_users(x: Any) -> bool:
    """Return whether a variable of a library's function may be the user's, not a cache of it."""
    if type(x) is Array or is_value(x) or isinstance(x, (tuple, types.FunctionType)):
        return True
    return callable(x) or not _is_library_class(type(x))


def _is_data(x: Any, depth: int = 8) -> bool:
    """Return whether a container holds nothing but immutable values."""
    if type(x) is bytearray:
        return True
    if depth == 0 or type(x) not in (list, tuple, dict, set, frozenset):
        return False
    if type(x) is dict and not all(map(_is_plain, x)):
        return False
    children = x.values() if type(x) is dict else x
    return all(_is_plain(child) or _is_data(child, depth - 1) for child in children)


def _is_plain(x: Any) -> bool:
    """Return whether a value has neither attributes nor methods of the user's, as those of Enum."""
    return is_value(x) and _is_library_class(type(x))


# --- tracing ---------------------------------------------------------------------------------


@contextmanager
def traced_state(state: State, capture: Capture) -> Iterator[None]:
    """Have the arrays of a state be traced ones in a ``with`` block.

    The arrays themselves change, not copies: objects and functions refer to them.
    """
    before = [(x, x._dispatch, x._native) for x in state.arrays]
    tracers = []
    try:
        for x, _, _ in before:
            traced = capture.argument(x, is_state=True)
            tracers.append(traced._native)
            x._dispatch = traced._dispatch
            x._native = traced._native
        yield
        for (x, _, _), tracer, path in zip(before, tracers, state.paths, strict=True):
            if tracer.is_stale or (x._native is not tracer and x._native.__class__ is Tracer):
                raise state.refuse_change(path)
    finally:
        for x, table, native in before:
            if x._native.__class__ is Tracer:  # not assigned to by another thread
                x._native = native
            x._dispatch = table
