"""``pa.compile``: what a function must not change, and whose its results are."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from compiled_arrays import Plain, asarray, assert_same, host

import portarray as pa
import portarray.kernel_language as kl
from portarray._kernel_language.decorator import reason_unsupported
from portarray._transforms import tracing
from portarray.errors import TracedArrayError


@pa.kernel
def add_into(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = y[i] + x[i]


COUNTER = 0
OUTSIDE: list[Any] = []
SEEN: dict[str, Any] = {}


def changes_global(x: Any) -> Any:
    global COUNTER
    COUNTER += 1
    return x + COUNTER


def grows_list(x: Any) -> Any:
    OUTSIDE.append(x.shape)
    return x * len(OUTSIDE)


def stores_in_dict(x: Any) -> Any:
    SEEN["last"] = x
    return x * 2


def sets_attribute(x: Any) -> Any:
    OWNER.power = OWNER.power + 1
    return x * OWNER.power


def swaps_arrays(x: Any) -> Any:
    OWNER.weight, OWNER.other = OWNER.other, OWNER.weight
    return x * OWNER.weight


def writes_state(x: Any) -> Any:
    OWNER.weight[0] = 5.0
    return x * OWNER.weight


def writes_view_of_state(x: Any) -> Any:
    view = OWNER.weight[0:1]
    view[...] = 5.0
    return x * 2


def grows_argument(x: Any, tree: Any) -> Any:
    tree["more"][0].append(x)
    return x * 2


def adds_key(x: Any, tree: Any) -> Any:
    tree["new"] = x * 3
    return x * 2


def replaces_leaf(x: Any, tree: Any) -> Any:
    tree["more"][0][0] = x * 2
    return x * 2


def sets_attribute_of_argument(x: Any, tree: Any) -> Any:
    tree["object"].power = 3
    return x * 2


def changes_settings(x: Any) -> Any:
    pa.config(progress=not pa.config.progress)
    return x * 2


def changes_default(x: Any) -> Any:
    pa.set_default_device(x.device)
    return x * 2


CHANGES: dict[Callable[..., Any], str] = {
    changes_global: "COUNTER, at line",
    grows_list: "OUTSIDE, at line",
    stores_in_dict: "SEEN, at line",
    sets_attribute: r"OWNER.power, at line",
    swaps_arrays: r"OWNER\.(weight|other), at line",
    writes_state: r"OWNER.weight",
    writes_view_of_state: r"OWNER.weight",
    grows_argument: r"tree\['more'\]\[0\]",
    adds_key: "tree, at line",
    replaces_leaf: r"tree\['more'\]\[0\]\[0\]",
    sets_attribute_of_argument: r"Plain.power, at line",
    changes_settings: r"pa.config",
    changes_default: r"the default device",
}


@pytest.mark.drawn_devices(1)
@pytest.mark.parametrize("function", CHANGES, ids=lambda function: function.__name__)
def test_changes_of_what_is_not_local_are_refused(
    function: Callable[..., Any], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if function is writes_view_of_state and pa.device(device)._backend.immutable:
        pytest.skip("views are copies")
    x, y = asarray([1.0, 2.0], device), asarray([3.0, 4.0], device)
    owner = Plain(x, 2)
    owner.other = y
    for name, value in (("OWNER", owner), ("OUTSIDE", []), ("SEEN", {})):
        monkeypatch.setitem(globals(), name, value)
    tree = {"more": [[x]], "object": Plain(x, 2)}
    progress = pa.config.progress
    args = (y, tree) if function.__code__.co_argcount == 2 else (y,)
    try:
        with pytest.raises(
            TracedArrayError, match=rf"(?s)^{function.__name__}.*{CHANGES[function]}"
        ):
            pa.compile(function)(*args)
        np.testing.assert_array_equal(host(x), [1.0, 2.0])
        assert type(x.native) is type(y.native)
    finally:
        pa.config(progress=progress)
        pa.set_default_device(None)


OWNER: Any = None


def test_results_are_the_callers(device: str) -> None:
    """Write into every result, then look at the other ones, the arguments and a second call."""
    weight, x = asarray([1.0, 2.0], device), asarray([3.0, 4.0], device)
    table = pa.asarray([5.0, 6.0], dtype=pa.float32, device=device)
    hidden = weakref.ref(table)  # through which functions are not followed

    def function(x: Any, y: Any) -> Any:
        ones = pa.ones_like(x)
        return {
            "zeros": [pa.zeros_like(x), pa.zeros_like(x)],
            "sums": (x + y, x + y),
            "parts": ((x + y)[0:1], (x + y)[0:1]),
            "created": pa.zeros(2, dtype=pa.float32, device=x.device),
            "hidden": hidden() * 1.0,
            "same": (ones, ones),
            "constants": [3, "text", None],
        }

    compiled = pa.compile(function)
    for _ in range(3):
        output = compiled(x, weight)
        expected = function(x, weight)
        assert output["same"][0] is output["same"][1]
        arrays = [
            *output["zeros"], *output["sums"], *output["parts"], output["created"],
            output["hidden"], output["same"][0],
        ]  # fmt: skip
        for n, array in enumerate(arrays):
            originals = [host(array_m).copy() for array_m in arrays]
            array[...] = 100.0 + n
            for m, array_m in enumerate(arrays):
                if m != n:
                    np.testing.assert_array_equal(host(array_m), originals[m])
        output["constants"].append(4)
        expected["constants"].append(4)
        assert output["constants"] == expected["constants"]
        np.testing.assert_array_equal(host(x), [3.0, 4.0])
        np.testing.assert_array_equal(host(weight), [1.0, 2.0])
    returned = pa.compile(lambda x, y: (y, weight, {"x": x}, x * 2))
    for _ in range(2):
        y, same, of_x, _ = returned(x, x)
        assert y is x
        assert same is weight
        assert of_x["x"] is x


def test_an_error_in_the_function_restores_its_arrays(device: str) -> None:
    weight = asarray([1.0, 2.0], device)
    holder = Plain(weight, True)
    native = weight.native

    def function(x: Any) -> Any:
        y = holder(x) * weight
        if holder.power:
            raise KeyError("in the middle")
        return y

    x = asarray([3.0, 4.0], device)
    compiled = pa.compile(function)
    with pytest.raises(KeyError, match="in the middle"):
        compiled(x)
    assert weight.native is native
    holder.power = 0
    assert_same(compiled(x), function(x))
    holder.power = True
    with pytest.raises(KeyError, match="in the middle"):
        compiled(x)


def test_other_threads_may_use_the_arrays_of_a_traced_function(device: str) -> None:
    weight = asarray([1.0, 2.0], device)
    x = asarray([3.0, 4.0], device)
    inside, done = threading.Event(), threading.Event()
    outputs: list[Any] = []

    row = pa.ones((1, 32), dtype=pa.float32, device=device)
    packed = pa.kernels.pack(pa.ones((2, 32), dtype=pa.float32, device=device), "Q8_0")

    def function(x: Any, wait: Any = None) -> Any:
        y = x * weight + pa.kernels.linear(row, packed)[0, :] * 0
        if wait is not None:
            inside.set()
            assert done.wait(30)
        return y + weight

    def beside() -> None:
        try:
            assert inside.wait(30)
            outputs.append(host(weight * 2 + 1))
            outputs.append(float(pa.sum(weight)))
            outputs.append(host(again(weight)))
            outputs.append(np.asarray(pa.to_device(weight, "numpy")))
            if not reason_unsupported(pa.device(device)):
                result = add_into(pa.zeros_like(x), weight)
                np.testing.assert_array_equal(host(add_into(result, weight)), [2.0, 4.0])
                outputs.append(host(pa.kernels.linear(row, packed)))
        finally:
            done.set()

    again = pa.compile(lambda x: x + 1.0)
    again(weight)
    thread = threading.Thread(target=beside)
    thread.start()
    output = pa.compile(function)(x, "wait")
    thread.join()
    np.testing.assert_array_equal(host(output), [4.0, 10.0])
    np.testing.assert_array_equal(outputs[0], [3.0, 5.0])
    assert outputs[1] == 3.0
    np.testing.assert_array_equal(outputs[2], [2.0, 3.0])
    np.testing.assert_array_equal(outputs[3], [1.0, 2.0])
    for products in outputs[4:]:
        np.testing.assert_allclose(products, [[32.0, 32.0]], rtol=1e-3)


class Paused(tuple[int, ...]):
    """An ndrange that calls a function while a launch looks for its program."""

    during: Callable[[], Any]

    def __hash__(self) -> int:
        during, self.during = self.during, lambda: None
        during()
        return super().__hash__()


@pytest.mark.parametrize("begins", [True, False])
def test_launches_while_another_thread_begins_or_ends_tracing(device: str, begins: bool) -> None:
    if reason_unsupported(pa.device(device)):
        pytest.skip("the device runs no kernels")
    weight = asarray([1.0, 2.0], device)
    inside, done = threading.Event(), threading.Event()
    pool = ThreadPoolExecutor(1)

    def function(x: Any) -> Any:
        inside.set()
        assert done.wait(30)
        return x + weight

    def begin() -> None:
        compiled.append(pool.submit(lambda: host(pa.compile(function)(weight))))
        assert inside.wait(30)

    def end() -> None:
        done.set()
        compiled[0].result()

    compiled: list[Any] = []
    places = Paused((2,))
    places.during = begin if begins else end
    add_into(pa.zeros_like(weight), weight, ndrange=(2,))
    with pool:
        y = pa.zeros_like(weight)
        if not begins:
            begin()
        y = add_into(y, weight, ndrange=places)
        done.set()
        np.testing.assert_array_equal(compiled[0].result(), [2.0, 4.0])
    np.testing.assert_array_equal(host(y), [1.0, 2.0])


def test_calls_that_end_after_the_tracing_of_another_thread(device: str) -> None:
    weight = asarray([1.0, 2.0], device)
    inside, done = threading.Event(), threading.Event()

    def function(x: Any) -> Any:
        inside.set()
        assert done.wait(30)
        return x + weight

    with ThreadPoolExecutor(1) as pool:
        compiled = pool.submit(lambda: host(pa.compile(function)(weight)))
        assert inside.wait(30)
        traced = weight._native
        done.set()
        np.testing.assert_array_equal(compiled.result(), [2.0, 4.0])
    assert weight._native is not traced
    assert_same(
        pa.kernels.softmax(tracing.untraced(traced, weight.device)), pa.kernels.softmax(weight)
    )


def test_compiled_programs_are_reused_and_do_not_keep_arrays(device: str, replayed: None) -> None:
    holder = Plain(asarray([1.0, 2.0], device), 2)
    compiled = pa.compile(lambda x: holder(x))
    x = asarray([3.0, 4.0], device)
    compiled(x)
    (program,) = next(iter(compiled._programs.values()))
    for n in range(3):  # a training loop: new arrays, and attributes that are not read
        holder.weight = holder.weight + 1.0
        holder.step = n
        compiled(x)
    assert len(compiled._programs) == 1
    assert program in next(iter(compiled._programs.values()))
    assert len(next(iter(compiled._programs.values()))) <= 2
    for n in range(10):
        holder.power = n
        compiled(x)
    assert len(next(iter(compiled._programs.values()))) <= 8
    alive = weakref.ref(holder.weight)
    del holder.weight
    assert alive() is None
