"""What a function reads that is not an argument: variables of its scope, attributes, defaults.

:func:`read_state` follows a function through its closure, its defaults, the global names in its
code, the functions it refers to, and the attributes of objects. Arrays become inputs of the
compiled program; each call takes them from where they were when the function was traced. All else
is compared with what it was: functions, classes and modules by identity, values by type and value,
containers and objects by structure.
"""

from __future__ import annotations

import functools
import itertools
import sys
import types
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from portarray._array.array import Array
from portarray._transforms.compiling.mentions import Mentions, is_library, mentions
from portarray._transforms.compiling.objects import (
    CONTAINERS,
    FUNCTIONS,
    UNREADABLE,
    UNREADABLE_MODULES,
    VIEWS,
    WRAPPERS,
    is_buffer,
    is_data,
    is_library_class,
    is_library_module,
    is_opaque,
    is_special,
    is_users,
    module_of,
    value_reader,
)
from portarray._transforms.compiling.signatures import frozen, is_value
from portarray._transforms.compiling.state import UNSET, State, host_values, is_empty, is_unset
from portarray._transforms.tracer import Tracer
from portarray._trees.node_types import OWN, node_type, slots_of
from portarray.errors import TracedArrayError

__all__ = ["check_constant", "read_state"]

Function = Callable[..., Any]


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


def check_constant(x: Any, name: str) -> None:
    """Raise if an object that a compiled function returns has traced arrays."""
    walk = _Walk(x, frozenset(), frozenset(), name, everything=True)
    if any(y._native.__class__ is Tracer for y in walk.state.arrays):
        raise TracedArrayError(
            f"{name}: the result contains {type(x).__name__}, in which pa.compile does not see "
            f"arrays\nHint: return a list, a dict or a dataclass, or register the class with optree"
        )


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
        self._module = module_of(function)
        self._classes: set[int] = set()
        self._stored = stored
        self.visit(function, self.state.constant(function), name, is_fixed=True)

    def visit(self, x: Any, text: str, path: str, *, is_fixed: bool = False) -> None:
        """Write the checks for a value; a fixed one cannot be replaced, but may change."""
        if isinstance(x, UNREADABLE) or type(x).__module__.startswith(UNREADABLE_MODULES):
            raise TypeError(
                f"{self.state.name}: {path} is {type(x).__name__}, whose state pa.compile cannot "
                f"read\nHint: pass its values to the function as arguments"
            )
        variable = self._variables.get(id(x))
        if variable is not None and not is_value(x):
            if variable != text:
                self._check(f"{text} is not {variable}", path)
        elif isinstance(x, (*FUNCTIONS, type, types.ModuleType)):
            constant = text if is_fixed else self.state.constant(x)
            if not is_fixed:
                self._check(f"{text} is not {constant}", path)
            self._add_variable(x, constant)
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
            if not is_library_class(type(x)) and id(x) not in self._variables:  # of an Enum
                constant = self.state.constant(x)
                self._add_variable(x, constant)
                self._attributes(x, constant, path)
        else:
            variable = f"v{next(self._count)}"
            self.state.checks.append((f"{variable} = {text}", path))
            self._add_variable(x, variable)
            self._object(x, variable, path)

    def _add_variable(self, x: Any, variable: str) -> None:
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
        if is_data(x):
            self._check(f"not same({variable}, {self.state.constant(frozen(x))})", path)
        elif isinstance(x, weakref.ref):
            self.visit(x(), f"{variable}()", f"{path}()")
        elif isinstance(x, VIEWS):
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
            if (value := x.get(UNSET)) is UNSET:
                self._check(f"{variable}.get(unset) is not unset", path)
            else:
                self.visit(value, f"{variable}.get(unset)", path)
        elif isinstance(x, types.MappingProxyType):
            self._items(x, variable, path)
        elif hasattr(kind, "__array__") or hasattr(kind, "__dlpack__") or is_buffer(x):
            self._foreign_array(x, variable, path)
        elif kind in OWN:
            self._own_node(x, variable, path)
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
            values = host_values(x)
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

    def _own_node(self, x: Any, variable: str, path: str) -> None:
        """Compare the arrays of an object by identity; as constants they are not copied."""
        self._check(f"{variable} is not {self.state.constant(x)}", path)
        for name in OWN[type(x)]:
            child = getattr(x, name)
            if type(child) is Array:
                self._check(f"{variable}.{name} is not {self.state.constant(child)}", path)
                self.state.uncopied.append(child._native)

    # --- objects -----------------------------------------------------------------------------

    def _attributes(self, x: Any, variable: str, path: str) -> bool:
        """Write the checks of an object's attributes and items; return whether it has any."""
        kind = type(x)
        is_read_whole = self._everything or node_type(x) is not None or is_library_class(kind)
        is_readable = isinstance(x, CONTAINERS)
        if (read := value_reader(kind)) is not None:
            is_readable = True
            value = self.state.constant(frozen(read(x)))
            self._check(f"not same({self.state.constant(read)}({variable}), {value})", path)
        attributes = getattr(x, "__dict__", None)
        if isinstance(attributes, dict) and not is_opaque(kind):
            is_readable = True
            dictionary = f"v{next(self._count)}"
            self.state.checks.append((f"{dictionary} = {variable}.__dict__", path))
            self._check_keys(attributes, dictionary, path)
            for key, child in attributes.items():
                if is_read_whole or key in self._names:
                    self.visit(child, f"{dictionary}[{key!r}]", f"{path}.{key}")
        for member in () if is_opaque(kind) else slots_of(kind):
            is_readable = True
            name = member.__name__
            slot = self.state.constant(member)
            if is_unset(member, x):
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
        is_builtin = is_proxy or type(x) in CONTAINERS  # else the class may define __getitem__
        if all(type(key) is str for key in x):
            self._check_keys(x, variable, path)
            get = f"{variable}[{{!r}}]" if is_builtin else f"dict.__getitem__({variable}, {{!r}})"
            for key, child in list(x.items()):
                self.visit(child, get.format(key), f"{path}[{key!r}]")
            return
        keys = list(x)
        values = list(x.values()) if is_proxy else list(dict.values(x))
        self._elements(keys, f"[*{variable}]", f"a key of {path}")
        get = f"[*{variable}.values()]" if is_builtin else f"[*dict.values({variable})]"
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
            if is_library_module(x):
                return
            dictionary, names = self.state.constant(x.__dict__), self._names | {"__getattr__"}
            missing = self.state.constant(names.difference(x.__dict__))
            self._check(
                f"len({dictionary}) != {len(x.__dict__)} "
                f"and not {missing}.isdisjoint({dictionary})",
                path,
            )
            for name in sorted(names.intersection(x.__dict__)):
                self.visit(x.__dict__[name], f"{dictionary}[{name!r}]", f"{path}.{name}")
        elif isinstance(x, (types.BuiltinFunctionType, types.MethodWrapperType)):
            owner = x.__self__
            if not isinstance(owner, (type, types.ModuleType)):
                self.visit(owner, f"{constant}.__self__", path)

    def _function(self, x: types.FunctionType, constant: str, path: str) -> None:
        module = x.__globals__.get("__name__", "")  # not __module__, which decorators copy
        of_library = is_library(x.__code__.co_filename) and module != self._module
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            text = self.state.constant(cell)
            if is_empty(cell):
                self._check(f"not is_empty({text})", name)
            elif not of_library or is_users(cell.cell_contents):
                self.visit(cell.cell_contents, f"{text}.cell_contents", name)
        if of_library and module.partition(".")[0] == "portarray":
            return  # whose defaults and attributes nobody changes
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
            self._add_variable(variables, dictionary)
        for name in sorted(names.variables):
            if name in variables:
                self.visit(variables[name], f"{dictionary}[{name!r}]", name)
            else:  # a function of Python's, or of no value yet
                self._check(f"{name!r} in {dictionary}", name)
        for name in sorted(names.modules):
            module = sys.modules.get(name)
            if module is None:
                self.state.missing_modules.add(name)
            elif type(module) is not types.ModuleType or not is_library_module(module):
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
        variables = [(x, self._variables[id(x)]) for x in self._alive]
        state.objects = {id(x): (x, text) for x, text in variables if text.startswith("v")}
        if state.compares_identity and len(state.objects) > 1:
            ids = ", ".join(f"id({text})" for _, text in state.objects.values())
            self._check(f"len({{{ids}}}) != {len(state.objects)}", "an object")
        return state

    def _class(self, x: type) -> None:
        user_classes = [base for base in x.__mro__ if not is_library_class(base)]
        if len(user_classes) > 1 and id(x) not in self._classes:
            mro = self.state.constant(x.__mro__)
            self._check(f"{self.state.constant(x)}.__mro__ is not {mro}", x.__name__)
        metaclass: type = type(x)
        for base in (*user_classes, *metaclass.__mro__):
            if not is_library_class(base) and id(base) not in self._classes:
                self._classes.add(id(base))
                self._class_entries(base)

    def _class_entries(self, x: type) -> None:
        entries = dict(x.__dict__)
        text = f"{self.state.constant(x)}.__dict__"
        missing = self.state.constant(self._names.difference(entries))
        previous = self.state.constant(frozenset(entries))
        self._check(
            f"len({text}) != {len(entries)} and has_new({text}, {missing}, {previous})", x.__name__
        )
        for name, entry in entries.items():
            path, is_named = f"{x.__name__}.{name}", name in self._names
            child, access = entry, f"{text}[{name!r}]"
            if isinstance(entry, tuple(WRAPPERS)) and is_named:
                self._check(f"{access} is not {self.state.constant(entry)}", path)
            if isinstance(entry, functools.partialmethod) and is_named:
                self.visit(entry.args, f"{access}.args", path)
                self.visit(entry.keywords, f"{access}.keywords", path)
            for wrapper, attribute in WRAPPERS.items():
                if isinstance(child, wrapper):
                    child, access = getattr(child, attribute), f"{access}.{attribute}"
            if isinstance(child, types.FunctionType):
                if is_named or is_special(name):
                    self.visit(child, access, path)
            elif is_named and not is_special(name) and not isinstance(child, FUNCTIONS):
                self.visit(child, access, path)
