"""NumPy's functions on portarray arrays: the table is complete, and results are NumPy's."""

from __future__ import annotations

import ast
import os
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import overrides

import portarray as pa
from portarray import _name_hints
from portarray._numpy_functions import table, ufuncs

sys.path.insert(0, str(Path(__file__).parent))

from comparing import LINES, agree, compare, evaluated, inputs

ALL_ROWS = "PORTARRAY_TEST_ALL_ROWS" in os.environ
COMPILING = ("jax",)


@pytest.mark.drawn_devices(2)
@pytest.mark.parametrize("line", LINES)
def test_results_are_numpys(line: str, device: str) -> None:
    if device.startswith(COMPILING) and LINES.index(line) % 6 and not ALL_ROWS:
        pytest.skip("compiles each function; PORTARRAY_TEST_ALL_ROWS runs all")
    reason = compare(line, device)
    if reason:
        pytest.skip(reason)


def names(line: str) -> set[str]:
    """Return the functions that a line calls."""
    return set(re.findall(r"np\.((?:[a-z_]+\.)*[a-z_0-9]+)", line))


CALLED = set().union(*map(names, LINES))


def test_every_served_function_is_called_here() -> None:
    there = {
        name
        for name, row in table.SERVED.items()
        if table.function_named(name) is not None and row.category != "Files"  # see tests/interop
    }
    assert there - CALLED == set()
    assert set(ufuncs.STANDARD | ufuncs.COMPOSED.keys()) - CALLED - {"clip"} == set()


def test_every_function_is_served_or_refused() -> None:
    x = pa.asarray([1.0, 2.0])
    for function in overrides.get_overridable_numpy_array_functions():
        name = table.name_of(function)
        if name in table.SERVED:
            assert table.SERVED[name].function is not None
        else:
            with pytest.raises(TypeError, match=re.escape(f"numpy.{name}: ")):
                x.__array_function__(function, (pa.Array,), (x,), {})


def test_every_ufunc_is_served_or_refused() -> None:
    x = pa.asarray([1.0, 2.0], device="numpy")
    public = {
        f for f in overrides.get_overridable_numpy_ufuncs() if getattr(np, f.__name__, 0) is f
    }
    for function in public:
        assert ufuncs.is_numpys(function)
        if function.__name__ not in ufuncs.STANDARD | ufuncs.COMPOSED.keys():
            with pytest.raises(TypeError, match=f"numpy.{function.__name__}: does not accept"):
                function(*[x] * function.nin)


def test_parameters_are_numpys() -> None:
    """A served function takes NumPy's parameters under their names, in their order."""
    import inspect

    for name, row in table.SERVED.items():
        function = table.function_named(name)
        if function is None or row.gathers:
            continue
        try:
            parameters = inspect.signature(function).parameters
        except ValueError:  # some of NumPy's compiled functions have none
            continue
        positional = [
            key
            for key, parameter in parameters.items()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        assert [key for key in row.order if key in positional] == positional, name
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            assert row.taken - set(parameters) == set(), name


def test_a_gpu_computes_all(fake: str) -> None:
    """A GPU computes every function without reading memory on the host."""
    device = f"{fake}:cuda:0"
    values = inputs(wide=True)
    arrays = {name: pa.asarray(x, device=device) for name, x in values.items()}
    wrong = []
    for line in LINES:
        if "shares_memory" in line:  # which compares addresses of the host
            continue
        try:
            with pa.config(host_fallback="error"):
                actual = evaluated(line, arrays)
            agree(actual, evaluated(line, dict(values)), device, exact_dtype="eig" not in line)
        except Exception as error:  # noqa: BLE001  (all are told)
            wrong.append(f"{line}: {type(error).__name__}: {error}")
    assert wrong == []


class Foreign:
    """An array of a library whose chunks are portarray arrays."""

    def __init__(self, chunk: Any) -> None:
        self.chunk = chunk

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> str:
        return f"{function.__name__} of {len(types)} types"


def test_a_device_without_64_bits_computes_all(no64bit: str) -> None:
    for line in LINES:
        if "float64" not in line and "may_share_memory" not in line:
            compare(line, no64bit)


def test_others_have_their_say() -> None:
    x = pa.asarray([1.0, 2.0], device="numpy")
    assert np.concatenate([x, Foreign(x)]) == "concatenate of 2 types"
    assert np.stack([Foreign(x), x]) == "stack of 2 types"


def parts(line: str) -> list[str]:
    """Return the calls of a line."""
    node = ast.parse(line, mode="eval").body
    return [ast.unparse(call) for call in (node.elts if isinstance(node, ast.Tuple) else [node])]


MIXED = [
    (call, name)
    for line in LINES
    for call in parts(line)
    if (names := sorted(set(re.findall(r"\b[a-z]\b", call)) & set(inputs(wide=True))))[1:]
    and "lambda" not in call
    for name in names
]
"""Calls with several arrays, and the name of one of them."""


@pytest.mark.parametrize("as_list", [False, True], ids=["arrays", "lists"])
def test_numpys_arrays_and_lists_join_an_array(device: str, as_list: bool) -> None:
    """All arrays of a call but one are NumPy's, or lists."""
    if not {"float64", "complex128"} <= set(pa.__array_namespace_info__().dtypes(device=device)):
        pytest.skip("no float64 or complex128, which NumPy makes of lists")
    values = inputs(wide=True)
    few = 1 if device.startswith("numpy") else 40
    wrong = []
    for call, name in MIXED[:: 7 * few if device.startswith(COMPILING) else few]:
        array = pa.asarray(values[name], device=device)
        operands: dict[str, Any] = {**values, name: array}
        try:
            if as_list:
                lists = {key: x.tolist() for key, x in values.items() if key != name}
                try:
                    expected = evaluated(call, {**lists, name: values[name]})
                except (AttributeError, TypeError, ValueError):
                    continue  # NumPy refuses the list too
                operands = {**lists, name: array}
            else:
                expected = evaluated(call, dict(values))
            actual = evaluated(call, operands)
            if not isinstance(actual, np.ndarray):  # NumPy did not look at this operand
                agree(actual, expected, device, exact_dtype=False)
        except Exception as error:  # noqa: BLE001  (all are told)
            wrong.append(f"{call} of {name}: {type(error).__name__}: {error}")
    assert wrong == []


def test_results_are_written_into_numpys_arrays(device: str) -> None:
    x = pa.asarray([1.0, 2.0, 4.0], dtype=pa.float32, device=device)
    a = np.asarray([1.0, 3.0, 5.0], np.float32)
    a += x
    assert (type(a), a.tolist()) == (np.ndarray, [2.0, 5.0, 9.0])
    np.add(x, x, out=a, where=x > 1)
    assert a.tolist() == [2.0, 4.0, 8.0]
    np.copyto(a, x, where=x < 4)
    assert a.tolist() == [1.0, 2.0, 8.0]
    total, selected = np.zeros(()), np.asarray([True, True, False])
    assert np.sum(x, out=total) is total
    selected &= x > 1
    assert (total.tolist(), selected.tolist()) == (7.0, [False, True, False])
    with pytest.raises(TypeError, match="cannot be cast"):
        np.add(x, 1, out=np.zeros(3, int))
    with pytest.raises(ValueError, match=r"out= has shape \(3,\)"):
        np.add(x, x[:, None], out=a)
    with pa.config(host_access="error"), pytest.raises(pa.HostAccessError):
        np.copyto(a, x)


def test_memory_is_that_of_the_array_itself(device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    view = np.asarray(x)
    assert np.may_share_memory(view, x) == np.shares_memory(x, view)
    if device.startswith(("numpy", "torch", "mlx")):
        assert np.may_share_memory(view, x)


def test_numpys_arrays_stay_in_host_memory(fake: str) -> None:
    device = f"{fake}:cuda:0"
    x, a = pa.asarray([1.0, 3.0], device=device), np.asarray([1.0, 3.0])
    assert np.average(x, weights=[1.0, 3.0]).tolist() == 2.5
    for call in (lambda: np.average(x, weights=a), lambda: np.add(a, x), lambda: a + x):
        with pytest.raises(TypeError, match=rf"NumPy array .*{device}\nHint: .*pa\.asarray\("):
            call()
    y = x.to_device("numpy")
    assert (a + y).tolist() == np.add(y, [1.0, 3.0]).tolist() == [2.0, 6.0]
    with pa.config(host_access="error"):
        assert np.add(y, [1.0, 3.0]).tolist() == [2.0, 6.0]
        with pytest.raises(pa.HostAccessError, match=r"ufunc add: .*\n.*\nHint: move it"):
            np.add(y, a)
    assert (y + a).tolist() == [2.0, 6.0]
    for call in (lambda: [1.0, 3.0] * y, lambda: pa.add(y, a), lambda: pa.add(y, [1.0, 3.0])):
        with pytest.raises(TypeError, match="expected portarray arrays"):
            call()


EXTRA_CALLS = [
    call
    for line in LINES
    for call in parts(line)
    if (match := re.match(r"np\.(\w+)\(", call)) and match[1] in _name_hints.EXTRAS
]


def test_the_namespace_has_numpys_functions_beyond_the_standard(device: str) -> None:
    called = {re.split(r"\W", call)[1] for call in EXTRA_CALLS}
    assert _name_hints.EXTRAS - called == {"argpartition", "partition"}  # in calls of others
    values = inputs(wide="float64" in pa.__array_namespace_info__().dtypes(device=device))
    has = pa.__array_namespace_info__().dtypes(device=device)
    arrays = {
        name: pa.asarray(x, device=device) for name, x in values.items() if str(x.dtype) in has
    }
    xp = arrays["x"].__array_namespace__()
    few = 1 if device.startswith("numpy") else 25
    for call in EXTRA_CALLS[:: 4 * few if device.startswith(COMPILING) else few]:
        if set(re.findall(r"\b[a-z]\b", call)) & set(values) <= set(arrays):
            name, paren, arguments = call.removeprefix("np.").partition("(")
            actual = evaluated(f"EXTRA{paren}{arguments}", {**arrays, "EXTRA": getattr(xp, name)})
            agree(actual, evaluated(call, dict(values)), device, exact_dtype=False)


def test_extras_need_an_array_and_may_be_refused() -> None:
    x = pa.ones(2, device="numpy")
    xp = x.__array_namespace__()
    assert xp.pad is pa.pad is pickle.loads(pickle.dumps(pa.pad))
    for call in (lambda: pa.pad([1.0], 1), lambda: pa.median(np.ones(2)), lambda: pa.exp2(2.0)):
        with pytest.raises(TypeError, match="expected portarray arrays"):
            call()
    pad = pa.pad
    with pa.config(strict_names=True):
        assert not hasattr(pa, "pad")
        assert getattr(xp, "pad", None) is None
        with pytest.raises(AttributeError, match=r"^pad: not in the standard.*\nHint: "):
            pad(x, 1)
        assert np.pad(x, 1).shape == (4,)
    assert xp.pad(x, 1).shape == (4,)


def test_type_checkers_know_all_extras() -> None:
    source = Path(pa.__file__).read_text("utf-8")
    assert set(re.findall(r"^    (\w+): _Extra$", source, re.MULTILINE)) == _name_hints.EXTRAS


def test_interp_of_infinite_values_is_numpys(device: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5 if device.startswith(COMPILING) else 40):
        points = np.sort(rng.choice([0.0, 1, 2, 3, np.inf, -np.inf], size=4, replace=False))
        values = rng.choice([0.0, 1, -2, np.inf, -np.inf, np.nan], size=4)
        at = rng.choice([-1, 0, 0.5, 1, 2, 3.5, np.nan, np.inf], size=6)
        host = [v.astype(np.float32) for v in (at, points, values)]
        with np.errstate(all="ignore"):
            result = np.interp(*(pa.asarray(v, device=device) for v in host))
            np.testing.assert_array_equal(np.asarray(result.tolist()), np.interp(*host))


REFUSED = {
    "(?s)weights=.* is not supported": "np.percentile(x, 5, weights=x)",
    "k=.* is not supported": "np.polyint(v, 1, v)",
    r"lstsq: does not accept .*\n.* pa\.linalg\.pinv\(x\) @ y": "np.linalg.lstsq(m, m)",
    r"roots: does not accept .*\n.*x\.to_device\('numpy'\)\.native": "np.roots(v)",
    "out= is list, but the result is on": "np.sum(x, out=[0.0])",
    "cannot be cast .* int": "np.mean(x, out=np.zeros_like(x, shape=(), dtype=np.int32))",
    r"out= has shape \(2,\), but the result has \(4,\)": "np.sum(x, 0, out=x[0, :2])",
    "takes 4 .*arguments, not 5": "x.__array_function__(np.copyto, (), (x, 1, 'no', True, 0), {})",
    "mode='mean'": "np.pad(x, 1, mode='mean')",
    "numpy.matmul: axes is not supported": "np.matmul(m, m, axes=[(0, 1)] * 3)",
    "numpy.add.reduceat: not supported": "np.add.reduceat(x, [0, 1])",
    "numpy.divide.accumulate: not supported": "np.divide.accumulate(x)",
    "where= needs initial=": "np.max(x, where=b)",
    "does not match .*2 axes of operand 1": "np.einsum('ij,j', x, x)",
    "appeared more than once": "np.einsum('ij->iji', x)",
}


@pytest.mark.parametrize("message", REFUSED)
def test_unsupported_functions_are_refused_by_name(message: str) -> None:
    arrays = {name: pa.asarray(x, device="numpy") for name, x in inputs(wide=True).items()}
    with pytest.raises((TypeError, ValueError), match=message):
        evaluated(REFUSED[message], arrays)


def test_results_go_where_the_array_of_like_is(device: str, fake: str) -> None:
    with pa.device(f"{fake}:cuda:1"):
        x = pa.ones(2, device=device)
        for array in (np.zeros(3, like=x), np.asarray([1, 2], like=x), np.eye(2, like=x)):
            assert isinstance(array, pa.Array)
            assert str(array.device) == device


def test_numpys_functions_are_loaded_at_their_first_call() -> None:
    import subprocess

    code = (
        "import sys, portarray as pa, numpy as np; x = pa.ones(2, device='numpy'); pa.sum(x + x);"
        "name = 'portarray._numpy_functions'; print(name in sys.modules);"
        "np.sum(x); print(name in sys.modules)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.split() == ["False", "True"]
