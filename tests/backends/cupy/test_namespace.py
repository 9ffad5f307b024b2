"""The names and parameters of CuPy that the backend uses exist; views need no GPU."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portarray._dispatch import categories, native_functions
from portarray.backends import registry

names = pytest.importorskip("portarray_conformance.names")

cupy = pytest.importorskip("cupy", exc_type=ImportError)
backend = registry.load_backend("cupy")
functions = native_functions.NativeFunctions(backend, cupy.cuda.Device(0))
xp = functions.namespace  # the shared compositions too
FOLDER = Path(sys.modules[type(backend).__module__].__file__ or "").parent
FILES = sorted(FOLDER.rglob("*.py"))


def _dotted(node: ast.AST) -> str:
    """Return ``cupy.linalg.norm`` of an attribute that begins with a name, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        prefix = _dotted(node.value)
        return f"{prefix}.{node.attr}" if prefix else ""
    return ""


def _roots(tree: ast.Module) -> dict[str, Any]:
    """Return the names of a file that stand for CuPy or a part of it."""
    roots: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in ("cupy", "cupyx"):
                    roots[alias.name] = __import__(alias.name)
        elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "cupy":
            whole = importlib.import_module(str(node.module))
            for alias in node.names:
                roots[alias.name] = getattr(whole, alias.name)
    return roots


# What CuPy 14 has and the backend asks for before it uses it.
OPTIONAL = set() if hasattr(cupy.linalg, "eig") else {"eig", "eigvals"}


def _uses() -> Iterator[tuple[str, Any, list[str], ast.AST]]:
    """Yield each use of CuPy: location, root name, attribute path and node."""
    for file in FILES:
        tree = ast.parse(file.read_text("utf-8"))
        roots = _roots(tree)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Attribute, ast.Call)):
                target = node.func if isinstance(node, ast.Call) else node
                root, _, attributes = _dotted(target).partition(".")
                if root in roots and attributes and not OPTIONAL & set(attributes.split(".")):
                    location = f"{file.relative_to(FOLDER)}:{node.lineno}"
                    yield location, roots[root], attributes.split("."), node


def test_cupy_has_every_attribute_that_the_backend_uses() -> None:
    uses = list(_uses())
    assert len(uses) > 200
    missing = []
    for location, value, path, _ in uses:
        for part in path:
            if not hasattr(value, part):
                missing.append(f"{location}: {'.'.join(path)}")
                break
            value = getattr(value, part)
    assert missing == []


def test_calls_fit_the_signatures() -> None:
    wrong, checked = [], 0
    for location, function, path, node in _uses():
        if not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
            continue
        for part in path:
            function = getattr(function, part)
        try:
            signature = inspect.signature(function)
        except ValueError:  # ufuncs and compiled methods have none
            continue
        if inspect.isclass(function):
            continue
        checked += 1
        options = {keyword.arg: None for keyword in node.keywords if keyword.arg}
        try:
            signature.bind(*node.args, **options)
        except TypeError as error:
            wrong.append(f"{location}: {'.'.join(path)}: {error}")
    assert checked > 60
    assert wrong == []


def _method_parameters(name: str) -> list[str]:
    """Return the parameters of an array's method, which Cython writes into its first line."""
    line = (getattr(cupy.ndarray, name).__doc__ or "").splitlines()[0]
    head = line[line.index("(") :].partition(" -> ")[0]
    (function,) = ast.parse(f"def f{head}: ...").body
    assert isinstance(function, ast.FunctionDef)
    return [parameter.arg for parameter in function.args.args]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # As the backend counts them, by position.
        ("all", ["self", "axis", "out", "keepdims"]),
        ("any", ["self", "axis", "out", "keepdims"]),
        ("argmax", ["self", "axis", "out", "dtype", "keepdims"]),
        ("argmin", ["self", "axis", "out", "dtype", "keepdims"]),
        ("max", ["self", "axis", "out", "keepdims"]),
        ("min", ["self", "axis", "out", "keepdims"]),
        ("mean", ["self", "axis", "dtype", "out", "keepdims"]),
        ("prod", ["self", "axis", "dtype", "out", "keepdims"]),
        ("sum", ["self", "axis", "dtype", "out", "keepdims"]),
        ("var", ["self", "axis", "dtype", "out", "ddof", "keepdims"]),
        ("std", ["self", "axis", "dtype", "out", "ddof", "keepdims"]),
        ("astype", ["self", "dtype", "order", "casting", "subok", "copy"]),
        ("copy", ["self", "order"]),
        ("get", ["self", "stream", "order", "out", "blocking"]),
    ],
)
def test_methods_pass_on_their_parameters(name: str, parameters: list[str]) -> None:
    assert _method_parameters(name) == parameters


def test_no_function_falls_to_the_host() -> None:
    standard = [
        name
        for name in names.ALL_NAMES
        if not name.startswith(("array.", "info.", "dtype.", "__")) and name != "newaxis"
    ]
    dtypes = {dtype.name for dtype in functions.dtypes}
    standard = [name for name in standard if name not in dtypes | set(native_functions.CONSTANTS)]
    served = {name: categories.served(backend, name) for name in standard}
    lacking = {f"linalg.{name}" for name in OPTIONAL}
    assert {name for name, how in served.items() if how == "host"} <= lacking


@pytest.mark.parametrize("dtype", list(backend.dtypes("cuda", 0)))
def test_direct_functions_take_their_operands_by_position(dtype: np.dtype[Any]) -> None:
    for name in names.ALL_NAMES:
        function = functions.plain(name, dtype)
        if isinstance(function, cupy.ElementwiseKernel):
            arguments = 1 if function.nin == 1 else 2
            assert function.nin == arguments, name
            assert function.nout == 1, name
        elif isinstance(function, cupy.ufunc):
            assert function.nout == 1, name


def test_views(ghost: Any) -> None:
    x = ghost((2, 3, 4))
    assert xp.getitem(x, (1, slice(None, None, -1), None)).strides == (-32, 0, 8)
    assert xp.getitem(x, ()).shape == (2, 3, 4)
    assert xp.getitem(x, (1, 2, 3)).shape == ()
    assert xp.matrix_transpose(x).shape == (2, 4, 3)
    assert xp.permute_dims(x, (2, 0, 1)).shape == (4, 2, 3)
    assert xp.moveaxis(x, 0, -1).shape == (3, 4, 2)
    assert xp.expand_dims(x, axis=(0, -1)).shape == (1, 2, 3, 4, 1)
    assert xp.squeeze(ghost((1, 3, 1)), axis=(0, 2)).shape == (3,)
    assert xp.flip(x, axis=1).strides == (96, -32, 8)
    assert xp.broadcast_to(x, (5, 2, 3, 4)).strides == (0, 96, 32, 8)
    assert [part.shape for part in xp.broadcast_arrays(x, ghost((1, 4)))] == [(2, 3, 4)] * 2
    assert [part.shape for part in xp.unstack(x, axis=1)] == [(2, 4)] * 3
    assert xp.linalg.diagonal(x, offset=1).shape == (2, 3)
    assert xp.real(ghost((3,), "complex64")).strides == (8,)
    assert xp.imag(ghost((3,), "complex64")).data.ptr == ghost((3,), "complex64").data.ptr + 4
    assert xp.real(x) is x
    view = xp.reshape(x, (6, 4), copy=False)
    assert (view.shape, view.data.ptr) == ((6, 4), x.data.ptr)


def test_bad_input_is_refused_before_anything_runs(ghost: Any) -> None:
    x, scalar = ghost((2, 3)), ghost(())
    for call in (
        lambda: xp.matmul(x, scalar),
        lambda: xp.nonzero(scalar),
        lambda: xp.sort(scalar),
        lambda: xp.argsort(scalar),
        lambda: xp.tril(ghost((3,))),
        lambda: xp.matrix_transpose(ghost((3,))),
        lambda: xp.take(x, ghost((2,), "int64")),
        lambda: xp.cumulative_sum(x),
        lambda: xp.sum(x, axis=(0, 0)),
        lambda: xp.squeeze(x, axis=0),
        lambda: xp.unstack(scalar),
        lambda: xp.roll(x, (1, 2), axis=(0,)),
        lambda: xp.tensordot(x, x, axes=1),
        lambda: xp.vecdot(x, ghost((2, 1))),
        lambda: xp.searchsorted(x, 1.0, side="middle"),
        lambda: xp.meshgrid(x, x),
        lambda: xp.arange(0, 3, 0),
        lambda: xp.linalg.inv(x),
        lambda: xp.linalg.cholesky(ghost((3,))),
        lambda: xp.linalg.solve(x, x),
        lambda: xp.linalg.solve(ghost((2, 2)), ghost((3,))),
        lambda: xp.linalg.cross(x, ghost((2, 2))),
        lambda: xp.linalg.outer(x, x),
        lambda: xp.fft.fftn(x, s=(2,), axes=(0, 1)),
        lambda: xp.asarray(x, dtype=np.dtype("float32"), copy=False),
        lambda: xp.asarray(1.0, copy=False, device=cupy.cuda.Device(0)),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(IndexError):
        xp.sum(x, axis=2)
    with pytest.raises(OverflowError):
        xp.arange(0, 300, dtype=np.dtype("uint8"))
    with pytest.raises(OverflowError):
        xp.clip(ghost((3,), "uint8"), 300, None)
    with pytest.raises(TypeError):
        xp.asarray(["a"], device=cupy.cuda.Device(0))
    with pytest.raises(TypeError):
        xp.floor_divide(1.0, 2.0)


def test_scalars_take_the_dtype_of_the_array(ghost: Any) -> None:
    from portarray.backends.cupy.namespace import scalars

    x = ghost((3,), "float32")
    assert scalars.dtype_of(x, 1e300) == scalars.dtype_of(1e300, x) == np.float32
    assert scalars.fixed(1e300, x.dtype) == np.inf
    assert scalars.fixed(x, x.dtype) is x


def test_scalar_operands_get_a_dtype(ghost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from portarray.backends.cupy.namespace import scalars

    x = ghost((3,), "float32")
    rows = {"add": {"f": lambda first, second: (first, second)}}
    monkeypatch.setattr(scalars, "SCALARS_YIELD", False)  # as CuPy 13
    add = scalars.taking_scalars(rows)["add"]["f"]
    first, second = add(x, 2)
    assert first is x
    assert (second.dtype, second) == (x.dtype, 2)
    assert add(2, x)[0].dtype == x.dtype
    assert add(x, x) == (x, x)
    monkeypatch.setattr(scalars, "SCALARS_YIELD", True)
    assert scalars.taking_scalars(rows) is rows
