"""Names of other libraries: errors say what to use, and what they say is right."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import _elsewhere

ROOT = Path(__file__).parents[2]
MODULES: dict[str, Any] = {
    "": pa,
    "linalg": pa.linalg,
    "fft": pa.fft,
    "kernels": pa.kernels,
    "random": pa.random,
    "tasks": pa.tasks,
}
TEXTS = [
    *(row for table in _elsewhere.FUNCTIONS.values() for row in table.items()),
    *_elsewhere.ATTRIBUTES.items(),
    *_elsewhere.KEYWORDS.items(),
]

X = np.asarray([[3.0, -1.5, 0.25], [7.0, 0.5, -2.0]])
GIVEN: dict[str, Any] = {
    "x": X,
    "y": np.asarray([[1.0, 2.0, 4.0], [-3.0, 8.0, 0.75]]),
    "z": np.asarray([[1.0], [2.0], [-1.0]]),
    "v": np.asarray([0.5, 2.0, 3.0]),
    "w": np.asarray([4.0, -2.0, 1.0]),
    "gaps": np.where(X < 0, np.nan, X),
    "mask": X > 0,
    "indices": np.asarray([[1, 0, 1]]),
    "axis": 0,
    "axes": (1, 0),
    "shape": (3, 2),
    "n": 2,
    "lo": -1.0,
    "hi": 1.0,
    "weight": 0.25,
    "value": 9.0,
}
# What the text says, computed, is what NumPy says: the text's own x, y are the values given here.
SAME = {
    "argwhere": "np.argwhere(x)",
    "around": "np.around(x, n)",
    "average": "np.average(x, weights=y)",
    "deg2rad": "np.deg2rad(x)",
    "degrees": "np.degrees(x)",
    "dstack": "np.dstack([x, y])",
    "exp2": "np.exp2(x)",
    "flatnonzero": "np.flatnonzero(x)",
    "fliplr": "np.fliplr(x)",
    "flipud": "np.flipud(x)",
    "float_power": "np.float_power(x, 2.0)",
    "fmax": "np.fmax(x, y)",
    "fmin": "np.fmin(x, y)",
    "fmod": "np.fmod(x, y)",
    "gather": "np.take_along_axis(x, indices, axis)",
    "identity": "np.identity(n)",
    "inner": "np.vecdot(x, y)",
    "isclose": "np.isclose(x, y)",
    "isneginf": "np.isneginf(x)",
    "isposinf": "np.isposinf(x)",
    "lerp": "np.asarray([[2.5, -0.625, 1.1875], [4.5, 2.375, -1.3125]])",
    "logsumexp": "np.log(np.sum(np.exp(x)))",
    "median": "np.median(x, axis=-1)",
    "nan_to_num": "np.nan_to_num(x)",
    "nanargmax": "np.nanargmax(x)",
    "nanargmin": "np.nanargmin(x)",
    "nanmax": "np.nanmax(x)",
    "nanmean": "np.nanmean(x)",
    "nanmin": "np.nanmin(x)",
    "nanprod": "np.nanprod(x)",
    "nanstd": "np.nanstd(x)",
    "nansum": "np.nansum(x)",
    "nanvar": "np.nanvar(x)",
    "ptp": "np.ptp(x)",
    "rad2deg": "np.rad2deg(x)",
    "radians": "np.radians(x)",
    "rot90": "np.rot90(x)",
    "rsqrt": "1 / np.sqrt(x)",
    "sigmoid": "np.exp(x) / (1 + np.exp(x))",
    "trapezoid": "np.trapezoid(y, x)",
    "trapz": "np.trapezoid(y, x)",
    "tri": "np.tri(n)",
    "unsqueeze": "np.expand_dims(x, axis)",
    "vander": "np.vander(x, n, increasing=True)",
    "vdot": "np.vdot(x, y)",
    "linalg.lstsq": "np.linalg.lstsq(x, y)[0]",
    "linalg.multi_dot": "np.linalg.multi_dot([x, y, z])",
    "linalg.cond": "np.linalg.cond(x)",
    **{f"fft.{name}": f"np.fft.{name}(x)" for name in ("fft2", "ifft2", "rfft2", "irfft2")},
    "x.H": "np.conj(x.T)",
    "x.clamp": "np.clip(x, lo, hi)",
    "x.cumsum": "np.cumsum(x, axis)",
    "x.cumprod": "np.cumprod(x, axis)",
    "x.double": "x.astype(float)",
    "x.half": "x.astype(np.float16)",
    "x.masked_fill": "np.where(mask, value, x)",
    "x.numel": "np.size(x)",
    "x.element_size": "x.itemsize",
    "x.flatten": "x.flatten()",
    "x.get": "x",
}
# Where x, y and n stand for something other than the matrices.
INSTEAD = {
    "float_power": {"y": np.float64(2.0)},
    **{name: {"x": "v", "y": "w"} for name in ("trapezoid", "trapz", "vander")},
    **{name: {"x": "gaps"} for name in SAME if name.startswith("nan")},
    "fmax": {"x": "gaps"},
    "fmin": {"x": "gaps"},
    "linalg.multi_dot": {"y": np.asarray([[1.0, 2.0, 0.0]] * 3)},
    "linalg.lstsq": {"x": GIVEN["z"], "y": GIVEN["v"]},
    "rsqrt": {"x": "v"},
}


def text_of(name: str) -> str:
    part, _, short = name.rpartition(".")
    return (_elsewhere.ATTRIBUTES if part == "x" else _elsewhere.FUNCTIONS[part])[short]


@pytest.mark.parametrize("name", SAME)
def test_what_is_told_computes_what_was_asked_for(name: str) -> None:
    given = dict(GIVEN)
    for key, other in INSTEAD.get(name, {}).items():
        given[key] = given[other] if isinstance(other, str) else other
    ours = {
        key: pa.asarray(value, device="numpy") if isinstance(value, np.ndarray) else value
        for key, value in given.items()
    }
    expected = eval(SAME[name], {"np": np, **given})
    code, _, names = text_of(name).partition(", where ")
    with pa.device("numpy"), np.errstate(all="ignore"):
        for one in names.split(";")[0].split(" and ") if names else ():
            key, _, value = one.partition(" = ")
            ours[key] = eval(value, {"pa": pa, **ours})
        found = eval(code, {"pa": pa, "numpy": np, **ours})
    if isinstance(found, pa.Array):
        found = np.asarray(found.to_device("numpy"))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_renamed_ufuncs_are_the_same_functions() -> None:
    one, two = np.asarray([0.25, 0.5]), np.asarray([1, 2])
    compared = 0
    for name, ours in _elsewhere.RENAMED.items():
        ufunc = getattr(np, name, None)
        if isinstance(ufunc, np.ufunc):
            real = any(kind.startswith("d" * ufunc.nin) for kind in ufunc.types)
            values = [one if real else two] * ufunc.nin
            if name == "arccosh":
                values = [one + 1]
            with pa.device("numpy"):
                found = getattr(pa, ours)(*map(pa.asarray, values))
            np.testing.assert_allclose(np.asarray(found), ufunc(*values), rtol=1e-15)
            compared += 1
    assert compared > 15


def test_what_is_told_is_there_and_what_is_asked_for_is_not() -> None:
    x = pa.ones((2, 2), device="numpy")
    wrong = []
    for name, text in TEXTS:
        for path in re.findall(r"\bpa\.([\w.]*\w)", text):
            found: Any = pa
            for step in path.split("."):
                found = getattr(found, step, None)
            wrong += [f"{name}: pa.{path}"] if found is None else []
        wrong += [
            f"{name}: x.{attribute}"
            for attribute in re.findall(r"(?<![\w.])x\.([a-zA-Z_]+)", text)
            if not hasattr(x, attribute)
        ]
    for part, table in _elsewhere.FUNCTIONS.items():
        wrong += [f"{part}.{name} is there" for name in table if hasattr(MODULES[part], name)]
    wrong += [f"x.{name} is there" for name in _elsewhere.ATTRIBUTES if hasattr(x, name)]
    assert wrong == []


@pytest.mark.parametrize("part", MODULES)
def test_modules_tell_what_to_use(part: str) -> None:
    module = MODULES[part]
    for name, text in _elsewhere.FUNCTIONS[part].items():
        assert not hasattr(module, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; use ") as caught:
            getattr(module, name)
        assert str(caught.value).endswith(text)
        assert caught.value.name == name
    for name in module.__all__:
        if len(name) > 3 and name.isalpha():
            with pytest.raises(AttributeError, match=r"; did you mean '\w+'\?$") as caught:
                getattr(module, f"{name}x")
    with pytest.raises(AttributeError, match=r"has no attribute 'qqqqqq'$"):
        _ = module.qqqqqq


def test_arrays_tell_what_to_use(device: str) -> None:
    x = pa.ones((2, 2), device=device)
    for name, text in _elsewhere.ATTRIBUTES.items():
        assert not hasattr(x, name)
        assert not hasattr(pa.Array, name)
        with pytest.raises(AttributeError, match=f"'Array' object has no attribute '{name}'; use"):
            getattr(x, name)
        with pytest.raises(AttributeError) as caught:
            getattr(pa.Array, name)
        assert str(caught.value).endswith(text)
        with pytest.raises(AttributeError):
            setattr(x, name, 1)
    listed = {*dir(x), *dir(pa.Array)}
    assert listed & set(_elsewhere.ATTRIBUTES) == set()
    assert {"sum", "to_device", "native", "__add__"} <= listed
    # A __getattr__ would make every read of every attribute slower.
    assert not any("__getattr__" in vars(cls) for cls in pa.Array.__mro__)
    assert not hasattr(x, "__array_interface__")
    assert copy.deepcopy(x).shape == pickle.loads(pickle.dumps(x)).shape == (2, 2)


def test_errors_are_python_s_own_and_are_made_when_read(monkeypatch: pytest.MonkeyPatch) -> None:
    x = pa.ones(2, device="numpy")
    with pytest.raises(AttributeError) as caught:
        _ = pa.consat  # type: ignore[attr-defined]
    assert type(caught.value) is AttributeError
    again = pickle.loads(pickle.dumps(caught.value))
    assert (
        str(again)
        == str(caught.value)
        == ("module 'portarray' has no attribute 'consat'; did you mean 'concat'?")
    )

    def compared(*_: Any, **__: Any) -> None:
        raise AssertionError("hasattr compares no names")

    monkeypatch.setattr("difflib.get_close_matches", compared)
    for owner in (pa, pa.linalg, x, pa.namespace("numpy")):
        assert not hasattr(owner, "consat")
        assert getattr(owner, "consat", None) is None


def test_native_namespaces_tell_what_to_use(device: str) -> None:
    xp: Any = pa.namespace(device)
    for _ in range(2):  # what is missing is remembered
        with pytest.raises(AttributeError, match=r"did you mean 'concat'\?$") as caught:
            _ = xp.consat
        assert str(caught.value).startswith(f"the namespace of {pa.device(device)} has no")
        with pytest.raises(AttributeError, match=r"^linalg namespace .*; did you mean 'cholesky'"):
            _ = xp.linalg.choleski
    with pytest.raises(AttributeError):
        _ = xp._private
    assert not hasattr(xp, "__wrapped__")


def test_the_page_shows_the_tables() -> None:
    page = ROOT / "docs" / "other_names.md"
    if not page.is_file():
        pytest.skip("the documentation's source is not beside the tests")
    shown = re.findall(r"```\{other-names\} (\w+)", page.read_text("utf-8"))
    tables = [name for name in _elsewhere.__all__ if name != "RENAMED"]
    assert sorted(shown) == sorted(tables)


# What a mistaken argument of a function is told; one that is None is not known to the table.
MISTAKES = {
    "dim": "; use axis=",
    "keepdim": "; use keepdims=",
    "ddof": "; use correction=",
    "unbiased": "; use correction=1 for",
    "out": r"; use y\[\.\.\.\] = ",
    "where": r"; use pa\.where\(",
    "axsi": r"; did you mean 'axis'\?$",
    "qqqq": r"; it takes .*\baxis",
}


def with_options() -> list[tuple[str, Any]]:
    """Return the functions and methods that refuse unknown arguments themselves."""
    owners = {"pa.": pa, "pa.kernels.": pa.kernels, "x.": pa.Array}
    return [
        (f"{prefix}{name}", function)
        for prefix, owner in owners.items()
        for name in (pa.Array.__dict__ if owner is pa.Array else owner.__all__)
        if inspect.isfunction(function := getattr(owner, name, None))
        and function.__code__.co_flags & inspect.CO_VARKEYWORDS
        and "**unknown" in inspect.getsource(function)
    ]


@pytest.mark.parametrize(("name", "function"), with_options())
def test_mistaken_arguments_are_told(name: str, function: Any) -> None:
    x = pa.ones((2, 2), device="numpy")
    given = [x] if name.startswith("x.") else [[x, x]] if "concat" in name else [x]
    given += [pa.asarray([0], device="numpy")] if name == "pa.take" else []
    given += [[x, x]] if name == "pa.stack" else []
    given = given[-1:] if name == "pa.stack" else given
    signature = inspect.signature(function)
    assert not any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values())
    assert set(function.__annotations__) == {*signature.parameters, "return"} - {"self"}
    short = name.rpartition(".")[2]
    for wrong, told in MISTAKES.items():
        expected = told
        if told.endswith("=") and told[6:-1] not in signature.parameters:
            expected = "; it takes "
        elif wrong == "out" and "out" in signature.parameters:
            continue
        with pytest.raises(TypeError, match=rf"^{short}\(\) got .* '{wrong}'{expected}"):
            function(*given, **{wrong: 1})
    assert function(*given, axis=0) is not None


def test_functions_that_refuse_arguments_themselves_are_those_with_options() -> None:
    names = [name for name, _ in with_options()]
    assert len(names) > 25
    assert {"pa.sum", "pa.var", "pa.sort", "pa.concat", "x.sum", "pa.kernels.softmax"} <= set(names)
    # The others cost less than the empty dict is worth; Python refuses their unknown arguments.
    with pytest.raises(TypeError, match=r"round\(\) got an unexpected keyword argument 'decimals'"):
        pa.round(pa.ones(1, device="numpy"), decimals=2)  # type: ignore[call-arg]
