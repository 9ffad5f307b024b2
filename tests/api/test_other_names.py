"""Names of other libraries raise errors whose hints are right."""

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
from portarray import _name_hints
from portarray._numpy_functions.table import SERVED

ROOT = Path(__file__).parents[2]
MODULES: dict[str, Any] = {
    "": pa,
    "linalg": pa.linalg,
    "fft": pa.fft,
    "kernels": pa.kernels,
    "random": pa.random,
    "special": pa.special,
    "tasks": pa.tasks,
}
TEXTS = [
    *(row for table in _name_hints.FUNCTIONS.values() for row in table.items()),
    *_name_hints.ATTRIBUTES.items(),
    *_name_hints.KEYWORDS.items(),
]

X = np.asarray([[3.0, -1.5, 0.25], [7.0, 0.5, -2.0]])
ARGUMENTS: dict[str, Any] = {
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
    "parts": np.asarray([[0.25, 0.5, 0.125], [0.75, 0.875, 0.0625]]),
    "chances": np.asarray([[0.0, 1.0, 0.5], [1.0, 0.25, 0.75]]),
    "values": np.asarray([[5.0, 6.0, 7.0]]),
    "weight": 0.25,
    "value": 9.0,
}
# What the text says, computed, is what the original says: the text's own x, y are the values given
# here, NumPy's arrays for an original behind ``np.``, tensors for one behind ``torch.``.
SAME = {
    "gather": "torch.gather(x, axis, indices)",
    "identity": "np.identity(n)",
    "lerp": "torch.lerp(x, y, weight)",
    "rsqrt": "torch.rsqrt(x)",
    "sigmoid": "torch.sigmoid(x)",
    "expit": "torch.special.expit(x)",
    "logit": "torch.logit(x)",
    "addmm": "torch.addmm(z, x, y)",
    "cdist": "torch.cdist(x, y)",
    "chunk": "torch.chunk(x, n, axis)",
    "diag_embed": "torch.diag_embed(x)",
    "index_add": "torch.index_add(x, 0, indices, values)",
    "index_select": "torch.index_select(x, axis, indices)",
    "kthvalue": "torch.kthvalue(x, n + 1).values",
    "logsumexp": "torch.logsumexp(x, (0, 1))",
    "masked_fill": "torch.masked_fill(x, mask, value)",
    "masked_select": "torch.masked_select(x, mask)",
    "matvec": "np.matvec(x, y) if hasattr(np, 'matvec') else (x * y[..., None, :]).sum(-1)",
    "vecmat": "np.einsum('i,ij->j', x, y)",
    "mv": "torch.mv(x, y)",
    "repeat_interleave": "torch.repeat_interleave(x, n, dim=axis)",
    "scatter": "torch.scatter(x, axis, indices, values)",
    "topk": "torch.topk(x, n).values",
    "tril_indices": "torch.tril_indices(n, n)",
    "triu_indices": "torch.triu_indices(n, n)",
    "polyfit": "np.polyfit(x, y, n)",
    **{
        name: f"torch.nn.functional.{name}(x)"
        for name in ("elu", "leaky_relu", "relu6", "softplus")
    },
    **{
        name: f"torch.nn.functional.{name}(x, y)"
        for name in (
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
            "cosine_similarity",
            "l1_loss",
            "mse_loss",
        )
    },
    "log_softmax": "torch.log_softmax(x, -1)",
    "softmax": "torch.softmax(x, -1)",
    "normalize": "torch.nn.functional.normalize(x, dim=-1)",
    "one_hot": "torch.nn.functional.one_hot(x, n)",
    "tri": "np.tri(n)",
    "unsqueeze": "np.expand_dims(x, axis)",
    "linalg.lstsq": "np.linalg.lstsq(x, y)[0]",
    **{f"fft.{name}": f"np.fft.{name}(x)" for name in ("fft2", "ifft2", "rfft2", "irfft2")},
    "x.H": "np.conj(x.T)",
    "x.clamp": "np.clip(x, lo, hi)",
    "x.double": "x.astype(float)",
    "x.half": "x.astype(np.float16)",
    "x.masked_fill": "np.where(mask, value, x)",
    "x.numel": "np.size(x)",
    "x.element_size": "x.itemsize",
    "x.get": "x",
}
# Where x, y and n stand for something other than the matrices.
SQUARE = np.asarray([[2.0, 1.0, 0.5], [0.0, 1.0, -1.0], [1.0, 1.0, 3.0]])
INSTEAD: dict[str, dict[str, Any]] = {
    "linalg.lstsq": {"x": ARGUMENTS["z"], "y": ARGUMENTS["v"]},
    "rsqrt": {"x": "v"},
    "logit": {"x": "parts"},
    "addmm": {"y": SQUARE, "z": "w"},
    "matvec": {"y": "v"},
    "vecmat": {"x": "v", "y": SQUARE},
    "mv": {"y": "v"},
    "chunk": {"n": 2},
    "index_add": {"indices": np.asarray([1, 1]), "values": "y"},
    "index_select": {"indices": np.asarray([1, 0, 1])},
    "one_hot": {"x": np.asarray([1, 0, 1])},
    "polyfit": {"x": "v", "y": "w", "n": 1},
    "binary_cross_entropy": {"x": "parts", "y": "chances"},
    "binary_cross_entropy_with_logits": {"y": "chances"},
}


def text_of(name: str) -> str:
    part, _, base_name = name.rpartition(".")
    return (_name_hints.ATTRIBUTES if part == "x" else _name_hints.FUNCTIONS[part])[base_name]


@pytest.mark.parametrize("name", SAME)
def test_hints_compute_the_same_as_the_missing_function(name: str) -> None:
    arguments = dict(ARGUMENTS)
    for key, replacement in INSTEAD.get(name, {}).items():
        arguments[key] = arguments[replacement] if isinstance(replacement, str) else replacement
    ours = {
        key: pa.asarray(value, device="numpy") if isinstance(value, np.ndarray) else value
        for key, value in arguments.items()
    }
    if SAME[name].startswith("torch."):
        torch = pytest.importorskip("torch")
        tensors = {
            k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()
        }
        expected = eval(SAME[name], {"torch": torch, **tensors})
    else:
        expected = eval(SAME[name], {"np": np, **arguments})
    code, _, names = text_of(name).partition(", where ")
    if ", or " in code:
        code = code.split(", or ")[-1].partition(" for ")[0]  # the second is the one compared
    code = code.partition(", and ")[0]
    with pa.device("numpy"), np.errstate(all="ignore"):
        for definition in names.split(";")[0].split(" and ") if names else ():
            key, _, value = definition.partition(" = ")
            ours[key] = eval(value, {"pa": pa, **ours})
        result = eval(code, {"pa": pa, "np": np, **ours})
        if result is None:  # it changes what it is given
            result = ours["y"]
        elif callable(result):
            result = result(ours["x"])
    if not isinstance(result, (list, tuple)):
        result, expected = [result], [expected]
    assert len(result) == len(expected)
    for actual, desired in zip(result, expected, strict=True):
        actual = actual.to_device("numpy").native if isinstance(actual, pa.Array) else actual
        np.testing.assert_allclose(actual, desired, rtol=1e-12, atol=1e-12)


def test_hints_name_numpy_functions_that_accept_arrays() -> None:
    served = set(SERVED)
    hinted = {
        f"{part}.{name}".removeprefix(".")
        for part, table in _name_hints.FUNCTIONS.items()
        for name, text in table.items()
        if text == f"np.{part and part + '.'}{name}, which accepts these arrays"
    }
    assert hinted <= served
    for module, names in _name_hints._HOME.items():
        assert set(names.split()) <= set(MODULES[module].__all__)
    # What files, memory and text need has no place in a namespace of arrays.
    unlisted = {name for name in served if "." not in name and not hasattr(pa, name)}
    assert unlisted - set(_name_hints.FUNCTIONS[""]) <= {
        *("apply_over_axes", "array_repr", "array_str", "common_type", "copy", "copyto"),
        *("diag_indices_from", "diagflat", "einsum_path", "fromfile", "fromfunction"),
        *("fromstring", "genfromtxt", "histogram_bin_edges", "iscomplex", "isreal", "isrealobj"),
        *("loadtxt", "may_share_memory", "min_scalar_type", "require", "resize"),
        *("savetxt", "savez_compressed", "shares_memory"),
        *("tril_indices_from", "triu_indices_from"),
    }


def test_renamed_ufuncs_are_the_same_functions() -> None:
    reals, integers = np.asarray([0.25, 0.5]), np.asarray([1, 2])
    compared = 0
    for name, ours in _name_hints.RENAMED.items():
        ufunc = getattr(np, name, None)
        if isinstance(ufunc, np.ufunc):
            real = any(kind.startswith("d" * ufunc.nin) for kind in ufunc.types)
            values = [reals if real else integers] * ufunc.nin
            if name == "arccosh":
                values = [reals + 1]
            with pa.device("numpy"):
                result = getattr(pa, ours)(*map(pa.asarray, values))
            np.testing.assert_allclose(np.asarray(result), ufunc(*values), rtol=1e-15)
            compared += 1
    assert compared > 15


def test_hinted_names_exist_and_missing_names_do_not() -> None:
    x = pa.ones((2, 2), device="numpy")
    wrong = []
    for name, text in TEXTS:
        for path in re.findall(r"\bpa\.([\w.]*\w)", text):
            target: Any = pa
            for step in path.split("."):
                target = getattr(target, step, None)
            wrong += [f"{name}: pa.{path}"] if target is None else []
        wrong += [
            f"{name}: x.{attribute}"
            for attribute in re.findall(r"(?<![\w.])x\.([a-zA-Z_]+)", text)
            if not hasattr(x, attribute)
        ]
    for part, table in _name_hints.FUNCTIONS.items():
        wrong += [f"{part}.{name} is there" for name in table if hasattr(MODULES[part], name)]
    wrong += [f"x.{name} is there" for name in _name_hints.ATTRIBUTES if hasattr(x, name)]
    assert wrong == []


@pytest.mark.parametrize("part", MODULES)
def test_modules_hint_at_the_replacement(part: str) -> None:
    module = MODULES[part]
    for name, text in _name_hints.FUNCTIONS[part].items():
        assert not hasattr(module, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}'\nHint: use ") as caught:
            getattr(module, name)
        assert str(caught.value).endswith(text)
        assert caught.value.name == name
    for name in module.__all__:
        if len(name) > 3 and name.isalpha() and f"{name}x" not in module.__all__:
            with pytest.raises(AttributeError, match=r"\nHint: did you mean '\w+'\?$") as caught:
                getattr(module, f"{name}x")
    with pytest.raises(AttributeError, match=r"has no attribute 'qqqqqq'$"):
        _ = module.qqqqqq


def test_arrays_hint_at_the_replacement(device: str) -> None:
    x = pa.ones((2, 2), device=device)
    for name, text in _name_hints.ATTRIBUTES.items():
        assert not hasattr(x, name)
        assert not hasattr(pa.Array, name)
        with pytest.raises(
            AttributeError, match=f"'Array' object has no attribute '{name}'\nHint: use"
        ):
            getattr(x, name)
        with pytest.raises(AttributeError) as caught:
            getattr(pa.Array, name)
        assert str(caught.value).endswith(text)
        with pytest.raises(AttributeError):
            setattr(x, name, 1)
    listed = {*dir(x), *dir(pa.Array)}
    assert listed & set(_name_hints.ATTRIBUTES) == set()
    assert {"sum", "to_device", "native", "__add__"} <= listed
    # A __getattr__ would make every read of every attribute slower.
    assert not any("__getattr__" in vars(cls) for cls in pa.Array.__mro__)
    assert not hasattr(x, "__array_interface__")
    assert copy.deepcopy(x).shape == pickle.loads(pickle.dumps(x)).shape == (2, 2)


def test_missing_names_raise_attribute_error_with_a_lazy_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = pa.ones(2, device="numpy")
    with pytest.raises(AttributeError) as caught:
        _ = pa.consat  # type: ignore[attr-defined]
    assert type(caught.value) is AttributeError
    again = pickle.loads(pickle.dumps(caught.value))
    assert (
        str(again)
        == str(caught.value)
        == ("module 'portarray' has no attribute 'consat'\nHint: did you mean 'concat'?")
    )

    def compared(*_: Any, **__: Any) -> None:
        raise AssertionError("hasattr compares no names")

    monkeypatch.setattr("difflib.get_close_matches", compared)
    for owner in (pa, pa.linalg, x, pa.namespace("numpy")):
        assert not hasattr(owner, "consat")
        assert getattr(owner, "consat", None) is None


def test_native_namespaces_hint_at_the_replacement(device: str) -> None:
    xp: Any = pa.namespace(device)
    for _ in range(2):  # what is missing is remembered
        with pytest.raises(AttributeError, match=r"did you mean 'concat'\?$") as caught:
            _ = xp.consat
        assert str(caught.value).startswith(f"the namespace of {pa.device(device)} has no")
        with pytest.raises(
            AttributeError, match=r"^linalg namespace .*\nHint: did you mean 'cholesky'"
        ):
            _ = xp.linalg.choleski
    with pytest.raises(AttributeError):
        _ = xp._private
    assert not hasattr(xp, "__wrapped__")


def test_pages_show_the_tables() -> None:
    pages = [path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md")]
    if not pages:
        pytest.skip("the documentation's source is not beside the tests")
    shown = re.findall(r"```\{other-names\} (\w+)", "".join(pages))
    tables = [
        name for name in _name_hints.__all__ if name.isupper() and name not in ("EXTRAS", "RENAMED")
    ]
    assert sorted(shown) == sorted(tables)


# What a mistaken argument of a function is told; one that is None is not known to the table.
MISTAKES = {
    "dim": "\nHint: use axis=",
    "keepdim": "\nHint: use keepdims=",
    "ddof": "\nHint: use correction=",
    "unbiased": "\nHint: use correction=1 for",
    "out": r"\nHint: use y\[\.\.\.\] = ",
    "where": r"\nHint: use pa\.where\(",
    "axsi": r"\nHint: did you mean 'axis'\?$",
    "qqqq": r"\nHint: use one of .*\baxis",
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
def test_mistaken_arguments_raise_with_a_hint(name: str, function: Any) -> None:
    x = pa.ones((2, 2), device="numpy")
    arguments = [x] if name.startswith("x.") else [[x, x]] if "concat" in name else [x]
    arguments += [pa.asarray([0], device="numpy")] if name == "pa.take" else []
    arguments += [[x, x]] if name == "pa.stack" else []
    arguments = arguments[-1:] if name == "pa.stack" else arguments
    signature = inspect.signature(function)
    assert not any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values()
    )
    assert set(function.__annotations__) == {*signature.parameters, "return"} - {"self"}
    base_name = name.rpartition(".")[2]
    for wrong, hint in MISTAKES.items():
        expected = hint
        if (
            hint.endswith("=")
            and hint.removeprefix("\nHint: use ")[:-1] not in signature.parameters
        ):
            expected = "\nHint: use one of "
        elif wrong == "out" and "out" in signature.parameters:
            continue
        with pytest.raises(TypeError, match=rf"^{base_name}\(\) got .* '{wrong}'{expected}"):
            function(*arguments, **{wrong: 1})
    assert function(*arguments, axis=0) is not None


def test_functions_that_refuse_arguments_themselves_are_those_with_options() -> None:
    names = [name for name, _ in with_options()]
    assert len(names) > 25
    assert {"pa.sum", "pa.var", "pa.sort", "pa.concat", "x.sum", "pa.kernels.softmax"} <= set(names)
    # The others cost less than the empty dict is worth; Python refuses their unknown arguments.
    with pytest.raises(TypeError, match=r"round\(\) got an unexpected keyword argument 'decimals'"):
        pa.round(pa.ones(1, device="numpy"), decimals=2)  # type: ignore[call-arg]
