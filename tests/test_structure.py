"""Rules of the design for the source, checked on syntax trees.

Layers of imports, uses of native arrays, and public and documented names.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import portarray as pa
from portarray._array import base, dispatch
from portarray.backends import registry

SOURCE = Path(pa.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"

# Layers from the bottom up: each may import those named here at run time, and no others.
MAY_IMPORT: dict[str, set[str]] = {
    # Leaves.
    "errors": set(),
    "typing": set(),
    "_version": set(),
    "_codegen": set(),
    "_hashing": set(),
    "_result_types": set(),
    "_dlpack": set(),
    "_host_memory": set(),
    "_html": set(),
    "_atomic_files": set(),
    "_compile_notice": set(),
    "_decorated": set(),
    "_installation": set(),
    "_namespace": set(),
    "_name_hints": set(),
    "_dtypes": set(),
    "_opencl": {"_atomic_files", "_codegen", "_compile_notice", "_host_memory"},
    # The array libraries, and what they share.
    "backends": set(),
    "backends.types": set(),
    "backends.base": {"backends.types"},
    "backends.contract": {"backends.base"},
    "backends.registry": {"backends.types", "backends.base", "backends.contract"},
    "backends.common": {"_dtypes", "_host_memory", "backends.types"},
    "backends.composed": {"_dtypes", "_result_types", "backends.types"},
    "_launchers": {
        "_atomic_files",
        "_codegen",
        "_installation",
        "_opencl",
        "backends.common",
        "errors",
    },
    "backends.BACKEND": {
        *("backends.types", "backends.base", "backends.common", "backends.composed"),
        *("_config", "_dlpack", "_dtypes", "_launchers", "_result_types", "errors"),
    },
    "backends.clarray": {"_opencl", "clarray"},
    "backends.dpnp": {"_opencl"},
    "clarray": {"_dlpack", "_installation", "_opencl", "_result_types"},
    # From native functions to those of portarray's arrays.
    "_dispatch": {
        *(
            "_config",
            "_dtypes",
            "_namespace",
            "errors",
            "backends.base",
            "backends.registry",
            "backends.types",
        ),
    },
    "_config": {"_devices"},
    "_devices": {
        *("errors", "_version", "_host_memory", "_atomic_files", "_html", "_installation"),
        *("_dispatch", "backends.base", "backends.common", "backends.registry", "backends.types"),
    },
    "_trees": set(),
    "_trees.node_types": set(),
    "_trees.tree_map": {"_devices", "_trees.node_types"},
    "_trees.array_trees": {"_array", "_trees.node_types"},
    "_movement": set(),
    "_movement.progress": {"_installation"},
    "_movement.routes": {"_devices", "_html"},
    "_movement.matrix": {"_devices", "_movement.routes"},
    "_array": {
        *("_codegen", "_config", "_devices", "_dispatch", "_dlpack", "_dtypes", "_html"),
        *("_movement.array_moves", "_movement.routes", "_name_hints"),
        *("_trees.node_types", "backends.common", "backends.registry", "backends.types"),
        "errors",
    },
    "_api": {
        *("_array", "_devices", "_dispatch", "_name_hints", "_result_types", "backends.registry"),
        *("backends.types", "errors"),
    },
    "_movement.array_moves": {"_array", "_movement.routes"},
    "_movement.prefetch": {"_movement.to_device"},
    "_movement.to_device": {
        *("_array", "_config", "_devices", "_movement.array_moves", "_movement.progress"),
        *("_movement.routes", "_trees.node_types", "_trees.tree_map"),
        "backends.registry",
    },
    "_saving": {"_array", "_atomic_files", "_devices", "_installation"},
    "linalg": {"_api", "_name_hints", "errors"},
    "fft": {"_api", "_name_hints"},
    "special": {"_api", "_name_hints"},
    "_verification": set(),
    "_verification.bounds": {"_verification.reference"},
    "_verification.cases": {"_array", "_verification.packed_reference"},
    "_verification.packed_reference": set(),
    "_verification.reference": set(),
    "_verification.comparison": {
        *("_api", "_array", "_devices", "_saving"),
        *("_verification.bounds", "_verification.cases", "_verification.reference"),
    },
    "_verification.kernels": {
        *("_array", "_config", "_devices", "_verification.cases", "_verification.comparison"),
        "kernels",
    },
    "_verification.functions": {"_array", "_namespace", "_trees.array_trees", "errors"},
    "kernels": {
        *("_api", "_array", "_config", "_kernel_language", "_movement.to_device"),
        *("_name_hints", "_trees.node_types", "_verification.kernels", "backends.composed"),
        *("backends.types", "kernel_language"),
    },
    "random": {
        *("_api", "_array", "_config", "_kernel_language", "_name_hints", "errors"),
        "kernel_language",
    },
    "tasks": {"_name_hints", "errors", "_devices", "_array", "_api", "backends.registry"},
    "cubed": {""},
    "kernel_language": {"_namespace", "_array", "_codegen", "_kernel_language", "errors", "typing"},
    "_kernel_language": {
        *("_array", "_codegen", "_config", "_decorated", "_devices", "_dtypes", "_hashing"),
        *("_launchers",),
        "errors",
    },
    "_transforms": {
        *(
            "_array",
            "_codegen",
            "_compile_notice",
            "_config",
            "_decorated",
            "_hashing",
            "_devices",
            "_dispatch",
        ),
        *(
            "_kernel_language",
            "_launchers",
            "_movement.array_moves",
            "_namespace",
            "_trees.array_trees",
        ),
        *("_trees.node_types", "_verification.functions", "backends.base"),
        *("backends.types", "errors", "kernel_language"),
    },
    "": {
        *("_api", "_array", "_config", "_devices", "_einops", "_kernel_language"),
        *("_movement.prefetch", "_movement.routes", "_movement.to_device", "_name_hints"),
        "_namespace",
        *("_numpy_functions", "_saving", "_transforms", "_verification.functions"),
        *("_version", "backends.registry", "errors", "fft", "kernels", "linalg"),
        *("random", "special", "tasks", "testing"),
    },
    "testing": {
        *("", "_api", "_array", "_config", "_devices", "_dispatch", "_dlpack", "_launchers"),
        *("_movement.to_device", "_transforms", "_version", "errors", "typing"),
        *("_installation", "backends.base", "backends.registry", "backends.types"),
    },
    "dask": {"", "_array", "_devices", "_html", "errors", "random", "tasks"},
    "_einops": {"_namespace"},
    "_numpy_functions": {"_array", "_name_hints", "_namespace", "errors"},
    "_cli": {
        *("", "_api", "_config", "_devices", "_kernel_language", "_movement.matrix"),
        *("_movement.progress", "_movement.routes", "_opencl"),
        *("_verification.comparison", "_verification.kernels", "_version"),
        *("_installation", "backends.registry", "errors", "testing"),
    },
    "__main__": {"_cli"},
}
NATIVE_ARRAYS = {
    "_array",
    "_movement.array_moves",
    "_movement.matrix",
    "_movement.routes",
    "_movement.to_device",
    "_saving",
    "_kernel_language",
    "_transforms",
    "testing",
}  # where an array's native part may be read

# Distributions that only some parts need, and the parts that may import each.
HOMES_OF = {
    "dask": {"dask"},
    "distributed": {"dask"},
    "tlz": {"dask"},
    "click": {"_cli"},
    "matplotlib": {"_cli"},
    "rich": {"_cli", "_movement.progress"},
    "opt_einsum": {"_numpy_functions"},
    "optree": {"_trees.node_types"},
    "safetensors": {"_saving"},
}
# Imported where they are used, never with the module: most programs do without.
LAZY = {
    "matplotlib",
    "ml_dtypes",
    "opt_einsum",
    "optree",
    "platformdirs",
    "rich",
    "safetensors",
    "tomllib",
}
# But for what all of a part's programs need.
AT_ONCE = {("_cli", "rich")}


# Modules that import others by name, and which: the commands, and what a backend declares.
BY_NAME = {
    "portarray._cli.group": r"portarray\._cli\.(?!group$).*",
    "portarray._dispatch.categories": r"portarray\.backends\.(\w+\.namespace|composed)(\..*)?",
    "portarray.backends.registry": r"portarray\.backends\.\w+(\.backend)?",
}
# Packages that load their own parts on first access.
LAZY_PACKAGES = {"portarray.dask", "portarray.kernel_language", "portarray.testing"}
# Imports of other distributions by name, whose modules have no type information.
OTHERS_BY_NAME = {"portarray.backends.numpy.tuned.blas", "portarray.dask.linalg.tiles"}


@dataclass(frozen=True)
class Import:
    """One import statement's module."""

    name: str
    line: int
    when: str  # "module", "function" or "types"


# Folders whose modules are layers of their own.
FINE_LAYERS = {"_movement", "_trees", "_verification", "backends"}


def part_of(module: str) -> str:
    """Return the layer of a module: ``portarray.backends.torch.devices`` to ``backends.torch``."""
    parts = module.split(".")[1:]
    return ".".join(parts[: 2 if parts[:1] and parts[0] in FINE_LAYERS else 1])


def module_of(path: Path) -> str:
    parts = ["portarray", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
BACKENDS = sorted(
    library
    for library in registry.backend_infos()
    if registry.package_of(library).startswith("portarray.backends.")
)


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text("utf-8"))


def imports(module: str) -> Iterator[Import]:
    """Yield the imports of a module, including its package for relative imports."""

    def walk(node: ast.AST, when: str) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, child.lineno, when) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{module}:{child.lineno}: write imports in full"
                for alias in child.names:
                    full = f"{child.module}.{alias.name}"
                    name = full if full in MODULES else str(child.module)
                    yield Import(name, child.lineno, when)
            elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                yield from walk(ast.Module(child.body, []), "types")
                yield from walk(ast.Module(child.orelse, []), when)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from walk(child, "function" if when == "module" else when)
            else:
                yield from walk(child, when)

    return walk(tree_of(module), "module")


def imports_by_name(module: str) -> Iterator[Import]:
    """Yield the modules that a module may import by their names."""
    if module in BY_NAME:
        names = (name for name in MODULES if re.fullmatch(BY_NAME[module], name))
        yield from (Import(name, 1, "by name") for name in names)


def allowed(part: str) -> set[str]:
    """Return the parts that a part may import; every backend has the same rule."""
    library = part.removeprefix("backends.")
    if library not in BACKENDS or library == part:
        return MAY_IMPORT[part]
    return MAY_IMPORT["backends.BACKEND"] | MAY_IMPORT.get(part, set())


def location(module: str, line: int) -> str:
    return f"portarray/{MODULES[module].relative_to(SOURCE).as_posix()}:{line}"


def test_imports_go_down_the_layers() -> None:
    upward = []
    for module in MODULES:
        part = part_of(module)
        for imported in imports(module):
            if imported.name.partition(".")[0] != "portarray" or imported.when == "types":
                continue
            target = part_of(imported.name)
            if target != part and target not in allowed(part):
                may = ", ".join(sorted(allowed(part))) or "nothing"
                where = location(module, imported.line)
                upward.append(f"{where} imports {target or 'portarray'}, may import {may}")
    assert upward == []


def test_few_modules_import_others_by_name() -> None:
    callers = {
        module
        for module in MODULES
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
    }
    assert callers == {*BY_NAME, *LAZY_PACKAGES, *OTHERS_BY_NAME}


def test_no_modules_import_each_other() -> None:
    """No circle among the modules, imports in functions included; those for types do not count.

    ``import a.b.c`` runs the files of ``a`` and ``a.b`` too, but what is needed is ``a.b.c``: an
    import leads to the module it names, and to a package only where names are taken from it.
    """
    edges = {
        module: {
            imported.name: imported
            for imported in sorted(
                [*imports(module), *imports_by_name(module)], key=lambda imported: -imported.line
            )  # the first is kept
            if imported.name in MODULES and imported.name != module and imported.when != "types"
        }
        for module in MODULES
    }
    reached = {module: reachable(module, edges) for module in MODULES}
    circles = {
        tuple(sorted(candidate for candidate in reached[module] if module in reached[candidate]))
        for module in MODULES
    } - {()}
    lines = []
    for index, circle in enumerate(sorted(circles, key=lambda circle: (len(circle), circle)), 1):
        lines.append(f"circle {index}, {len(circle)} modules:")
        lines += [
            f"    {location(module, imported.line)} imports {name}"
            + (" in a function" if imported.when == "function" else "")
            for module in circle
            for name, imported in sorted(edges[module].items())
            if name in circle
        ]
    assert not lines, "modules import each other:\n" + "\n".join(lines)


def reachable(start: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the modules that a module imports, directly or not."""
    result: set[str] = set()
    ahead = [start]
    while ahead:
        new = set(edges[ahead.pop()]) - result
        result |= new
        ahead += new
    return result


def test_backends_know_nothing_of_the_array() -> None:
    wrong = []
    for module in MODULES:
        if not module.startswith("portarray.backends."):
            continue
        wrong += [
            f"{location(module, imported.line)} imports {imported.name}"
            for imported in imports(module)  # for types too
            if imported.name.partition(".")[0] == "portarray"
            and not imported.name.startswith(
                (
                    *("portarray.backends", "portarray.clarray", "portarray._launchers"),
                    "portarray._dtypes",
                    *("portarray._opencl", "portarray._host_memory", "portarray._dlpack"),
                    *("portarray.kernels.generic", "portarray.errors", "portarray._config"),
                    *("portarray._atomic_files", "portarray._result_types"),
                )
            )
        ]
        wrong += [
            f"{location(module, node.lineno)} names {node.value!r}"
            for node in ast.walk(tree_of(module))
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith(("portarray._", "portarray.typing"))
        ]
    assert wrong == []


@pytest.mark.parametrize("library", BACKENDS)
def test_a_backend_describes_itself_without_its_library(library: str) -> None:
    module = registry.package_of(library)
    assert {imported.name for imported in imports(module)} - {"__future__"} == {
        "portarray.backends.types"
    }


def test_libraries_are_imported_in_their_own_backends() -> None:
    parts_by_library = {
        registry.backend_infos()[library].module: {f"backends.{library}"} for library in BACKENDS
    }
    del parts_by_library["numpy"]
    parts_by_library["pyopencl"] = {"_opencl", "clarray"}
    wrong = []
    for module in MODULES:
        # clarray is imported by its backend alone, so what it imports costs nobody else.
        in_backend = module.startswith("portarray.backends.") or part_of(module) in (
            *("clarray", "_opencl"),
        )
        for imported in imports(module):
            library = imported.name.partition(".")[0]
            part = part_of(module)
            homes = parts_by_library.get(library, HOMES_OF.get(library, {part}))
            if part not in homes:
                wrong.append(
                    f"{location(module, imported.line)}: {library} is for {', '.join(homes)}"
                )
            if library == "array_api_compat" and not in_backend:
                wrong.append(f"{location(module, imported.line)}: {library} is for the backends")
            lazy = library in LAZY and (part, library) not in AT_ONCE
            if lazy and imported.when == "module" and not in_backend:
                wrong.append(
                    f"{location(module, imported.line)}: import {library} where it is used"
                )
    assert wrong == []


def test_native_arrays_are_touched_in_two_places() -> None:
    wrong = []
    for module in MODULES:
        part = part_of(module)
        # Devices have a native part too: portarray's, and clarray's, which knows no other arrays.
        of_devices = part in ("_devices", "backends.clarray", "_launchers")
        closed = {"_native"} if of_devices else {"_native", "native"}
        wrong += [
            f"{location(module, node.lineno)} reads .{node.attr}"
            for node in ast.walk(tree_of(module))
            if part not in {*NATIVE_ARRAYS, "clarray", "_opencl"}
            and isinstance(node, ast.Attribute)
            and node.attr in closed
        ]
    assert wrong == []


def test_no_library_is_checked_by_name() -> None:
    wrong = []
    for module in MODULES:
        backend = module.split(".")[2] if module.startswith("portarray.backends.") else ""
        wrong += [
            f"{location(module, part.lineno)} compares with {part.value!r}: let the backend answer"
            for node in ast.walk(tree_of(module))
            if isinstance(node, ast.Compare | ast.MatchValue)
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and part.value in set(BACKENDS) - {backend}
        ]
    assert wrong == []


def test_no_error_is_swallowed() -> None:
    swallowed = []
    for module in MODULES:
        for node in ast.walk(tree_of(module)):
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = "" if node.type is None else ast.unparse(node.type)
            if caught and not re.search(r"\b(Base)?Exception\b", caught):
                continue
            inside = [part for statement in node.body for part in ast.walk(statement)]
            raised = any(isinstance(part, ast.Raise) for part in inside)
            reported = any(isinstance(part, ast.Name) and part.id == node.name for part in inside)
            if not caught or not (raised or reported):
                swallowed.append(f"{location(module, node.lineno)}: except {caught}")
    assert swallowed == []


def test_only_codegen_evaluates_generated_code() -> None:
    calls = [
        f"{location(module, node.lineno)} calls {node.func.id}: use portarray._codegen"
        for module in MODULES
        if module != "portarray._codegen"
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("eval", "exec", "compile")
    ]
    assert calls == []


# --- names --------------------------------------------------------------------------------------

NAMESPACES: dict[str, Any] = {
    "": pa,
    "linalg.": pa.linalg,
    "fft.": pa.fft,
    "kernels.": pa.kernels,
    "random.": pa.random,
    "special.": pa.special,
    "tasks.": pa.tasks,
    "testing.": importlib.import_module("portarray.testing"),
}
DEFINED_HERE = {
    "",
    "kernels.",
    "random.",
    "special.",
    "tasks.",
    "testing.",
}  # namespaces that have more than the standard's names


def standard(prefix: str) -> set[str]:
    """Return the standard's names of a namespace."""
    names = pytest.importorskip("portarray_conformance.names")
    prefixes = ("array.", "info.", "dtype.")
    if not prefix:
        functions = {
            name for name in names.ALL_NAMES if not name.startswith((*prefixes, "linalg.", "fft."))
        }
        return functions | {"linalg", "fft"}
    return {name.removeprefix(prefix) for name in names.ALL_NAMES if name.startswith(prefix)}


@pytest.mark.parametrize("prefix", NAMESPACES)
def test_public_names_are_those_of_the_standard(prefix: str) -> None:
    namespace = NAMESPACES[prefix]
    public = set(namespace.__all__)
    assert len(public) == len(namespace.__all__), "a name is listed twice"
    assert [name for name in public if not hasattr(namespace, name)] == []
    assert standard(prefix) - public == set()
    if prefix not in DEFINED_HERE:
        errors = {"LinAlgError"} if prefix == "linalg." else set()  # as in NumPy and SciPy
        assert public - standard(prefix) == errors


def test_public_names_are_listed() -> None:
    # pytest puts names that are no identifiers into modules that come with a plugin.
    public = {name for name in vars(pa) if name.isidentifier() and not name.startswith("_")}
    unlisted = public - set(pa.__all__)
    # Modules of the package that are public in their own right.
    modules = {
        *("backends", "clarray", "cubed", "dask", "errors", "kernel_language", "testing"),
        "typing",
    }
    assert unlisted <= modules


def documented(*, data: bool = True) -> list[str]:
    """Return the names in the API reference, with or without data."""
    listed: list[str] = []
    for page in sorted((DOCS / "api").glob("*.md")):
        module = "portarray"
        inside = False
        for line in page.read_text("utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            elif data and line.startswith(".. py:data:: "):
                listed.append(f"{module}.{line.split()[-1]}")
            elif line.startswith(".. autosummary::"):
                inside = True
            elif inside and re.fullmatch(r" {3}[A-Za-z_][\w.]*", line):
                listed.append(f"{module}.{line.strip()}")
            elif line.strip() and not line.startswith("   "):
                inside = False
    return listed


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation's source is not beside the tests")
def test_every_public_name_is_in_the_reference_once() -> None:
    # clarray is a library of its own: its page lists what it has beyond the standard's names.
    # portarray.dask needs Dask: tests/dask holds it.
    # The page on types has sections: what is not there the site's own search would not find.
    apart = ("portarray.clarray.", "portarray.dask.", "portarray.typing.")
    listed = [name for name in documented() if not name.startswith(apart)]
    public = [
        f"portarray.{prefix}{name}"
        for prefix, namespace in NAMESPACES.items()
        for name in namespace.__all__
        if prefix + name not in ("linalg", "fft", "kernels", "random", "special", "tasks")
        and prefix + name != "linalg.LinAlgError"  # which stands among the errors
    ]
    assert sorted(listed) == sorted(public)


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation's source is not beside the tests")
def test_every_documented_name_has_an_example() -> None:
    for needed in ("dask", "pyopencl"):
        pytest.importorskip(needed, reason=f"some pages of docs/api show what needs {needed}")
    without = []
    for name in documented(data=False):
        module, attributes = "portarray", name.split(".")[1:]
        value: object = pa
        for attribute in attributes:  # modules that are imported when they are asked for, too
            value = getattr(value, attribute, None) or importlib.import_module(
                f"{module}.{attribute}"
            )
            module = f"{module}.{attribute}"
        if ">>> " not in (value.__doc__ or ""):
            without.append(name)
    assert without == []


def test_functions_describe_their_parameters() -> None:
    """Docstrings describe all parameters, which ruff and numpydoc do not check."""
    wrong = []
    for prefix, namespace in NAMESPACES.items():
        for name in namespace.__all__:
            function = getattr(namespace, name)
            if not inspect.isfunction(function) or name.startswith("__"):
                continue
            doc = inspect.getdoc(function) or ""
            described = re.findall(
                r"^(?:\*{0,2}\w+(?:, )?)+(?= :)", _section(doc, "Parameters"), re.M
            )
            names = [part.lstrip("*") for entry in described for part in entry.split(", ")]
            if names != list(inspect.signature(function).parameters):
                wrong.append(f"{prefix}{name} describes {names}")
    assert wrong == []


def test_the_layout_of_tables_for_cython_is_that_of_their_slots() -> None:
    layout = (SOURCE / "_array" / "base.pxd").read_text("utf-8")
    table, array = re.findall(r"PyObject_HEAD(.*?)}", layout, re.DOTALL)
    assert re.findall(r"\*(\w+)", table) == sorted(dispatch.DispatchTable.__slots__)
    assert re.findall(r"\*(\w+)", array) == sorted(base.ArrayBase.__slots__)[1:]


def _section(doc: str, title: str) -> str:
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, re.M | re.S)
    return match.group(1) if match else ""
