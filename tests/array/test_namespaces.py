"""``__array_namespace__``, ``array_namespace`` and the namespaces of native arrays."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import array_api_compat
import numpy as np
import pytest
from drawn import same

import portarray as pa


def test_every_array_names_portarray(anywhere: str) -> None:
    x = pa.asarray([1.0], device=anywhere)
    xp = x.__array_namespace__()
    assert xp == pa
    assert pa.__array_api_version__ == "2025.12"
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12", None):
        assert x.__array_namespace__(api_version=version) is xp
    with pytest.raises(
        ValueError, match=r"unsupported api_version '2019\.12'; use one of 2021\.12"
    ):
        x.__array_namespace__(api_version="2019.12")
    assert array_api_compat.array_namespace(x, 1.0, None) is xp
    assert array_api_compat.is_array_api_obj(x)
    assert pa.array_namespace(x, 2, None, np.float64(1)) is xp


CREATE: dict[str, Callable[..., Any]] = {
    "arange": lambda xp, **o: xp.arange(3, **o),
    "asarray": lambda xp, **o: xp.asarray(1000.0, **o),
    "asarray of a list": lambda xp, **o: xp.asarray([[1, 2]], **o),
    "asarray of NumPy's": lambda xp, **o: xp.asarray(np.ones(2, np.float32), **o),
    "empty": lambda xp, **o: xp.empty(3, **o),
    "eye": lambda xp, **o: xp.eye(2, 3, k=1, **o),
    "fft.fftfreq": lambda xp, **o: xp.fft.fftfreq(4, d=0.5, **o),
    "fft.rfftfreq": lambda xp, **o: xp.fft.rfftfreq(4, **o),
    "from_dlpack": lambda xp, **o: xp.from_dlpack(memory_of(np.ones(2, np.float32)), **o),
    "from_dlpack of NumPy's": lambda xp, **o: xp.from_dlpack(np.ones(2, np.float32), **o),
    "full": lambda xp, **o: xp.full((2,), 7, **o),
    "linspace": lambda xp, **o: xp.linspace(0, 1, 4, endpoint=False, **o),
    "logspace": lambda xp, **o: xp.logspace(0, 3, 4, True, 2.0, **o),
    "ones": lambda xp, **o: xp.ones((2, 1), dtype=xp.int32, **o),
    "random.key": lambda xp, **o: xp.random.key(42, **o),
    "zeros": lambda xp, **o: xp.zeros(shape=3, **o),
}


def memory_of(values: np.ndarray[Any, Any]) -> Any:
    """Return an object with DLPack's methods alone, of no library that portarray drives."""
    names = ("__dlpack__", "__dlpack_device__")
    return type("Memory", (), {name: staticmethod(getattr(values, name)) for name in names})()


@pytest.mark.parametrize("name", CREATE)
def test_a_bound_namespace_creates_on_its_arrays_device(
    name: str, anywhere: str, fake: str
) -> None:
    x = pa.ones(2, dtype="float32", device=anywhere)
    xp: Any = x.__array_namespace__()
    create = CREATE[name]
    if name.startswith("from_dlpack") and not x.device._backend.on_host(x.device.native):
        pytest.skip("data in host memory goes to a device that reads it")
    with pa.device(fake) as default:
        expected = create(pa, device=x.device)
        for result in (create(xp), create(xp, device=None)):
            assert result.device is x.device
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            if name != "empty":
                assert result.tolist() == expected.tolist()
        assert create(xp, device=default).device is default
        with pa.config(strict_devices=True):
            assert create(xp).device is create(pa).device


def test_native_namespaces_give_lists_and_numbers_one_dtype(device: str) -> None:
    xp: Any = pa.namespace(device)
    for values in (1.0, [1.0], [[1, 2.5]], []):
        assert xp.asarray(values).dtype == xp.zeros(1).dtype
    assert xp.asarray([1]).dtype == xp.asarray(1).dtype
    assert xp.asarray([True]).dtype == xp.bool
    assert xp.asarray([np.float32(1)]).dtype == xp.float32


def test_a_bound_namespace_moves_nothing(device: str, fake: str) -> None:
    x, y = pa.ones(2, device=device), pa.ones(2, device=fake)
    xp: Any = x.__array_namespace__()
    for value in (y, y.native, [y, y]):
        assert xp.asarray(value).device is y.device
    assert xp.zeros_like(y).device is y.device
    with pytest.raises(pa.DeviceMismatchError):
        xp.add(x, y)
    assert array_api_compat.array_namespace(x, y) == pa


def test_bound_namespaces_are_portarray_but_for_creation(anywhere: str, fake: str) -> None:
    xp: Any = pa.ones(1, device=anywhere).__array_namespace__()
    fake_namespace = pa.ones(1, device=fake).__array_namespace__()
    bound = {name.partition(" ")[0] for name in CREATE} | {"fft", "random"}
    for name in {*dir(pa)} - {*bound, "__array_namespace_info__", "__getattr__"}:
        assert getattr(xp, name) is getattr(pa, name), name
    for part in (pa.fft, pa.random):
        name = part.__name__.partition(".")[2]
        assert getattr(xp, name) == part == getattr(fake_namespace, name)
        for child in part.__all__:
            same_object = getattr(getattr(xp, name), child) is getattr(part, child)
            assert same_object == (f"{name}.{child}" not in bound), child
    assert dir(xp) == dir(pa)
    assert (xp.__name__, xp.fft.__name__) == ("portarray", "portarray.fft")
    assert xp == pa == fake_namespace != pa.fft
    assert len({xp, pa, fake_namespace}) == 1
    assert isinstance(xp, type(pa))  # as annotations of libraries say
    for whole in (xp, xp.fft, xp.zeros, xp.random.key):
        assert pickle.loads(pickle.dumps(whole)) == copy.deepcopy(whole) == whole
    assert inspect.signature(xp.zeros).parameters == inspect.signature(pa.zeros).parameters
    assert xp.zeros.__doc__ == pa.zeros.__doc__
    with pytest.raises(AttributeError, match=r"no attribute 'zeroes'\nHint: did you mean 'zeros'"):
        xp.zeroes  # noqa: B018


def test_a_bound_namespace_reports_its_own_defaults(anywhere: str, fake: str) -> None:
    x = pa.asarray(1.0, device=anywhere)
    with pa.device(fake) as default:
        xp = x.__array_namespace__()
        info = xp.__array_namespace_info__()
        assert xp.__array_namespace_info__ is xp.__array_namespace_info__  # as wrappers compare
        assert info.default_device() is x.device
        assert info.default_dtypes()["real floating"] == x.dtype
        ours = pa.__array_namespace_info__()
        assert info.dtypes() == ours.dtypes(device=x.device)
        assert info.dtypes(device=default) == ours.dtypes()
        with pa.config(strict_devices=True):
            assert info.default_device() is default


def _curve(x: pa.Array) -> pa.Array:
    xp: Any = x.__array_namespace__()
    return xp.asarray(1000.0) + x * xp.linspace(0, 1, 3) + xp.zeros(3, device=None) + xp.sum(x)


def test_a_bound_namespace_in_transforms(device: str, fake: str) -> None:
    x = pa.asarray([1.0, 2.0, 4.0], device=device)
    bound = _curve(x).__array_namespace__()
    with pa.device(fake):
        expected = _curve(x)
        compiled = pa.compile(_curve)(x)
        captured = pa.compile(lambda x: _curve(x) - bound.zeros(3))(x)
        gradient = pa.grad(lambda x: pa.sum(_curve(x)))(x)
    assert expected.tolist() == [1007.0, 1008.0, 1011.0]
    for result in (compiled, captured, gradient):
        assert result.device is x.device
    assert compiled.tolist() == captured.tolist() == expected.tolist()
    assert gradient.tolist() == [3.0, 3.5, 4.0]


def test_native_arrays_have_their_device_s_namespace(anywhere: str) -> None:
    x = pa.asarray([1.0, 4.0], device=anywhere)
    xp: Any = pa.array_namespace(x.native, 1.0)
    assert xp is pa.namespace(anywhere)
    with x.device._backend.scope(x.device.native) or nullcontext():  # native calls enter nothing
        root = xp.sqrt(x.native)
        ones = xp.ones((2,))
    assert type(root) is type(x.native)
    same(pa.asarray(root, device=anywhere), np.asarray([1.0, 2.0], dtype=x.dtype))
    assert pa.asarray(ones, device=anywhere).native is ones
    info = xp.__array_namespace_info__()
    assert info.default_device() == x.device.native
    assert set(info.dtypes()) == set(pa.__array_namespace_info__().dtypes(device=anywhere))
    assert ones.dtype == info.default_dtypes()["real floating"]


def test_mixtures_are_refused(device: str, fake: str) -> None:
    ours = pa.asarray([1.0], device=device)
    stranger = pa.asarray([1.0], device=fake).native
    mixtures: list[tuple[Any, ...]] = [
        (ours, ours.native),
        (ours.native, stranger),
        (stranger, pa.asarray([1.0], device="fake:cuda:1").native),
        (ours, stranger, None),
    ]
    for mixture in mixtures:
        with pytest.raises(TypeError, match=r"(?s)are mixed.*pa\.asarray\(x, device=\.\.\.\)"):
            pa.array_namespace(*mixture)
    with pytest.raises(TypeError):
        array_api_compat.array_namespace(ours, np.asarray([1.0]))
    with pytest.raises(TypeError, match="expected at least one array"):
        pa.array_namespace(1.0, None)
    with pytest.raises(TypeError, match=r"array_namespace: expected .*, got list\n"):
        pa.array_namespace([1.0])


def test_a_native_namespace_is_whole(device: str) -> None:
    xp: Any = pa.namespace(device)
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = xp.no_such_function
    for name in ("concat", "unique_all", "linalg.svd", "fft.rfft", "e", "float32"):
        value = xp
        for part in name.split("."):
            value = getattr(value, part)
        assert value is not None
    assert xp is pa.namespace(device)
    assert xp.__name__ == f"portarray.namespace('{pa.device(device)}')"
    assert not array_api_compat.is_torch_namespace(xp)


def test_inspection(anywhere: str) -> None:
    info = pa.__array_namespace_info__()
    device = pa.device(anywhere)
    assert device in info.devices()
    with device:
        assert info.default_device() is device
        assert info.dtypes() == info.dtypes(device=anywhere)
        assert info.default_dtypes() == info.default_dtypes(device=device)
    both = info.dtypes(device=anywhere, kind=("bool", "real floating"))
    assert both == {
        **info.dtypes(device=anywhere, kind="bool"),
        **info.dtypes(device=anywhere, kind="real floating"),
    }
    for name, dtype in info.dtypes(device=anywhere).items():
        assert pa.zeros(1, dtype=dtype, device=anywhere).dtype == np.dtype(name)
    with pytest.raises(
        ValueError, match="unknown kind 'floating'; use one of 'bool', 'signed integer'"
    ):
        info.dtypes(device=anywhere, kind="floating")
    assert info.capabilities()["boolean indexing"]


def test_native_namespaces_promote_as_portarray_does(device: str) -> None:
    """Every pair of dtypes and scalars promotes like portarray's arrays."""
    where = pa.device(device)
    xp = pa.namespace(where)
    present = list(pa.__array_namespace_info__().dtypes(device=where).values())
    arrays = [pa.ones(2, dtype=dtype, device=where) for dtype in present]
    pairs = [(x, y) for x in arrays for y in arrays]
    pairs += [pair for x in arrays for s in (True, 2, 1.5, 1j) for pair in ((x, s), (s, x))]
    for name in ("add", "equal", "divide"):
        for x, y in pairs:
            ours = dtype_of(getattr(pa, name), x, y)
            natives = [getattr(operand, "native", operand) for operand in (x, y)]
            theirs = dtype_of(getattr(xp, name), *natives)
            assert theirs == ours, (name, x, y)


def dtype_of(function: Callable[..., Any], *operands: Any) -> object:
    """Return the dtype of a function's result, or TypeError if it raised that."""
    try:
        return pa.asarray(function(*operands)).dtype
    except TypeError:  # DTypeNotSupportedError is one
        return TypeError


FIELDS = {
    "linalg.eigh": ("eigenvalues", "eigenvectors"),
    "linalg.eig": ("eigenvalues", "eigenvectors"),
    "linalg.qr": ("Q", "R"),
    "linalg.slogdet": ("sign", "logabsdet"),
    "linalg.svd": ("U", "S", "Vh"),
    "unique_all": ("values", "indices", "inverse_indices", "counts"),
    "unique_counts": ("values", "counts"),
    "unique_inverse": ("values", "inverse_indices"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_results_have_the_standards_fields(device: str, name: str) -> None:
    """Named results have the standard's fields in both namespaces."""
    x = pa.asarray([[2.0, 1.0], [1.0, 4.0]], dtype="float32", device=device)
    for xp, argument in ((pa, x), (pa.namespace(device), x.native)):
        function: Any = xp
        for part in name.split("."):
            function = getattr(function, part)
        result = function(argument)
        assert result._fields == FIELDS[name]
        if name == "linalg.eigh":
            values = pa.asarray(result.eigenvalues).tolist()
            assert values == pytest.approx([3 - 2**0.5, 3 + 2**0.5], rel=1e-5)
        if name == "linalg.slogdet":
            assert float(pa.asarray(result.sign)) == 1.0
        if name == "unique_all":
            assert pa.asarray(result.indices).tolist() == [1, 0, 3]
