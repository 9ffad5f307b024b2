"""Arrays in PyTorch's transformations: torch.compile, torch.func and autograd."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from foreign_cases import (
    FUNCTIONS,
    assert_close,
    check_rules,
    expected,
    in_new_process,
    loss,
    placed,
)

torch = pytest.importorskip("torch")

import portarray as pa  # noqa: E402

# PyTorch's own.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

BOUND = 1e-6


@pytest.fixture(name="x")
def _x() -> Iterator[pa.Array]:
    torch._dynamo.reset()
    yield placed("torch:cpu")
    torch._dynamo.reset()


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    options = {"fullgraph": True, "backend": "aot_eager", **options}
    output: Callable[..., Any] = torch.compile(function, **options)
    return output


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_whole(name: str, x: pa.Array) -> None:
    function = FUNCTIONS[name]
    got = compiled(function)(x)
    expected = function(x)
    assert type(got) is pa.Array
    assert got.dtype == expected.dtype
    assert got.device is x.device
    assert_close(got, expected, bound=BOUND)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str, x: pa.Array) -> None:
    of_one, reference = loss(FUNCTIONS[name]), expected(name)
    gradient = torch.func.grad(lambda x: of_one(x).native)(x)
    assert type(gradient) is pa.Array
    assert_close(gradient, reference, bound=BOUND)
    leaf = x.native.clone().requires_grad_()
    of_one(pa.asarray(leaf)).native.backward()
    assert_close(leaf.grad, reference, bound=BOUND)


# What torch.func.vmap has no rule for, or computes with data of one sample.
NOT_MAPPED = {"assignment"}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NOT_MAPPED])
def test_vmap(name: str, x: pa.Array) -> None:
    function = FUNCTIONS[name]
    got = torch.func.vmap(function)(pa.stack([x, x * x]))
    assert type(got) is pa.Array
    assert_close(got[0, ...], function(x), bound=BOUND)
    assert_close(got[1, ...], function(x * x), bound=BOUND)


def test_other_transformations(x: pa.Array) -> None:
    v = x[0]
    out, vjp_fun = torch.func.vjp(pa.sin, v)
    assert_close(out, pa.sin(v), bound=BOUND)
    assert_close(vjp_fun(v)[0], v * pa.cos(v), bound=BOUND)
    out, tangent = torch.func.jvp(pa.sin, (v,), (v,))
    assert_close(tangent, v * pa.cos(v), bound=BOUND)
    hessian = torch.func.hessian(lambda v: pa.sum(v**3).native)(v)
    assert_close(hessian, np.diag(6 * np.asarray(v)), bound=BOUND)
    rows = torch.func.vmap(torch.func.grad(lambda v: pa.sum(v * v).native))(x)
    assert_close(rows, 2 * x, bound=BOUND)
    # Arrays of other libraries are no trees for PyTorch, and pass through.
    host = placed("numpy")
    tree = {"x": host}
    assert torch.utils._pytree.tree_map(lambda leaf: leaf * 2, tree)["x"] is host
    specs = [torch.utils._pytree.tree_structure({"x": row}) for row in (host, host, host + 1)]
    assert specs[0] == specs[1] != specs[2]


def test_gradients_of_compiled_functions(x: pa.Array) -> None:
    native = x.native.clone().requires_grad_()
    compiled(lambda t: pa.sum(pa.sin(pa.asarray(t)) ** 2).native)(native).backward()
    expected = pa.sin(2 * x)
    assert_close(native.grad, expected, bound=BOUND)
    native.grad = None
    compiled(lambda a: pa.sum(pa.sin(a) ** 2))(pa.asarray(native)).native.backward()
    assert_close(native.grad, expected, bound=BOUND)


def test_compiled_functions_take_and_return_trees(x: pa.Array) -> None:
    def function(tree: Any, *, scale: float) -> Any:
        values, vectors = pa.linalg.eigh(pa.matmul(tree["x"].T, tree["x"]))
        named = pa.linalg.qr(tree["x"])
        return {"values": values, "r": [named.R], "native": vectors.native, "scale": scale}

    got, expected = compiled(function)({"x": x}, scale=2.0), function({"x": x}, scale=2.0)
    assert_close(got["values"], expected["values"], bound=BOUND)
    assert_close(got["r"][0], expected["r"][0], bound=BOUND)
    assert type(got["native"]) is torch.Tensor
    assert got["scale"] == 2.0


def test_changes_reach_the_arguments(x: pa.Array) -> None:
    def function(x: Any) -> None:
        x[0, 0] = 5.0
        x *= 2

    y = x.copy()
    native = y.native
    compiled(function)(y)
    function(x)
    assert_close(y, x, bound=0)
    assert_close(native, x, bound=0)


def test_compiled_once_for_all_arrays_alike(x: pa.Array) -> None:
    graphs = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    function = compiled(lambda x: pa.sum(pa.sin(x) * 2 + x), backend=backend)
    for y in (x, x.copy(), x * 2):
        assert_close(function(y), pa.sum(pa.sin(y) * 2 + y), bound=BOUND)
    assert len(graphs) == 1
    changing = compiled(lambda x: pa.sum(x * x.shape[0]), dynamic=True)
    for size in (3, 4, 5):
        ones = pa.ones(size, device=x.device)
        assert float(changing(ones)) == size * size


def test_functions_that_need_values_break_the_graph(x: pa.Array) -> None:
    def branching(x: Any) -> Any:
        return x * 2 if float(x[0, 0]) > 0 else x

    with pytest.raises(Exception, match=r"(?s)data-dependent|Unsupported|unbacked|guard"):
        compiled(branching)(x)
    torch._dynamo.reset()
    assert_close(torch.compile(branching, backend="eager")(x), branching(x), bound=0)


BREAK: dict[str, Callable[[Any], Any]] = {
    "mask": lambda x: x[x > 0],
    "tolist": lambda x: x * x.tolist()[0][0],
    "other device": lambda x: pa.to_device(pa.to_device(x * 2, "numpy"), "torch:cpu") + x,
    "method": lambda x: (x * 2).to_device("numpy").to_device("torch:cpu") + x,
    "gradient": lambda x: pa.grad(lambda x: pa.sum(x * x))(x) + x,
    "random": lambda x: x + pa.random.uniform(pa.random.key(1, device=x.device), (2, 3)),
}


@pytest.mark.parametrize("name", BREAK)
def test_graph_breaks_do_not_change_results(name: str, x: pa.Array) -> None:
    with pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(BREAK[name])(x)
    torch._dynamo.reset()
    got = torch.compile(BREAK[name], backend="eager")(x)
    assert_close(got, BREAK[name](x), bound=BOUND)


def test_constants_of_the_host(x: pa.Array) -> None:
    values, index = np.asarray([1.0, 2.0, 3.0]), np.asarray([2, 0])

    def function(x: Any) -> Any:
        y = x + pa.asarray(values, device=x.device) + pa.asarray([0.5, 1.0, 2.0], device=x.device)
        limits = pa.finfo(x.dtype)
        y[:, index] = y[:, np.asarray([0, 1])] * limits.eps
        return pa.astype(y, pa.result_type(x, pa.float32)) * limits.bits

    assert_close(compiled(function)(x.copy()), function(x.copy()), bound=BOUND)


def test_matrix_products_by_operator_break_the_graph(x: pa.Array) -> None:
    """Dynamo knows ``@`` of tensors alone: where it learns more, the table above takes it in."""

    def function(x: Any) -> Any:
        return pa.sin(x @ x.mT) + 1

    with pytest.raises(torch._dynamo.exc.Unsupported, match="matmul"):
        compiled(function)(x)
    torch._dynamo.reset()
    assert_close(torch.compile(function, backend="eager")(x), function(x), bound=0)


def test_errors_are_portarrays(x: pa.Array) -> None:
    def chain(error: BaseException | None) -> Iterator[str]:
        while error is not None:
            yield str(error)
            error = error.__cause__ or error.__context__

    with pytest.raises(torch._dynamo.exc.TorchDynamoException) as caught:
        compiled(lambda x: x + pa.ones(2, device=x.device))(x)
    assert any("cannot be broadcast" in text for text in chain(caught.value))
    with pytest.raises(torch._dynamo.exc.TorchDynamoException) as caught:
        compiled(lambda x: x + 1)(placed("numpy"))
    assert any("x.to_device('torch')" in text for text in chain(caught.value))


def test_a_first_call_may_be_in_a_compiled_function() -> None:
    program = (
        "import torch, portarray as pa\n"
        "f = torch.compile(lambda t: pa.sin(pa.asarray(t)).native, fullgraph=True,"
        " backend='aot_eager')\n"
        "print(float(f(torch.zeros(1))))\n"
    )
    done = in_new_process(program)
    assert done.stdout == "0.0\n", done.stderr


def test_dynamo_is_imported_by_those_who_use_it() -> None:
    program = (
        "import sys, portarray as pa\n"
        "x = pa.asarray([1.0, 2.0], device='torch:cpu')\n"
        "float(pa.sum(pa.sin(x) + x[0]))\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    done = in_new_process(program)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
def test_inductor(x: pa.Array) -> None:
    def function(x: Any) -> Any:
        e = pa.exp(x - pa.max(x, axis=-1, keepdims=True))
        y = e / pa.sum(e, axis=-1, keepdims=True)
        return pa.where(y > 0.3, pa.matmul(y, x.mT)[:, :1], -y)

    assert_close(compiled(function, backend="inductor")(x), function(x), bound=BOUND)


DECOMPOSED: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda x: pa.linalg.eigh(pa.matmul(x.mT, x))[0],
    "eigvalsh": lambda x: pa.linalg.eigvalsh(pa.matmul(x.mT, x)),
    "svd": lambda x: pa.linalg.svd(x, full_matrices=False)[1],
    "svdvals": pa.linalg.svdvals,
    "pinv": pa.linalg.pinv,
    "matrix_norm 2": lambda x: pa.linalg.matrix_norm(x, ord=2),
    "matrix_norm nuc": lambda x: pa.linalg.matrix_norm(x, ord="nuc"),
    "matrix_rank": lambda x: x * pa.astype(pa.linalg.matrix_rank(x), x.dtype),
}


@pytest.mark.parametrize("name", DECOMPOSED)
def test_autograd_through_decompositions(name: str) -> None:
    values = np.random.default_rng(3).normal(size=(3, 3))
    leaf = torch.tensor(values, requires_grad=True)
    pa.sum(DECOMPOSED[name](pa.asarray(leaf))).native.backward()
    reference = pa.grad(lambda x: pa.sum(DECOMPOSED[name](x)))(pa.asarray(values, device="numpy"))
    assert_close(leaf.grad, reference, bound=1e-8)


def test_a_first_call_may_be_in_a_transformed_function() -> None:
    program = (
        "import torch, portarray as pa\n"
        "f = lambda t: pa.sum(pa.asarray(t) ** 2).native\n"
        "print(torch.func.vmap(torch.func.grad(f))(torch.ones(1, 1)).item(),"
        " pa.functional('torch'))\n"
    )
    done = in_new_process(program)
    assert done.stdout == "2.0 True\n", done.stderr


def test_derivatives_that_only_portarray_has() -> None:
    half = torch.tensor(0.5)
    key = pa.random.key(0, device="torch")
    for draws in (0, 600):  # kernels draw small numbers, too, once there are many
        for _ in range(draws):
            pa.random.split(key)
        check_rules(lambda f: torch.func.grad(lambda x: f(pa.asarray(x)).native)(half), "torch")
