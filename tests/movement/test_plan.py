"""``pa.transfer_plan`` predicts a move: its route, the number of copies, and the reasons.

Between real devices shared memory shows whether data was copied. Simulated GPUs, of one library or
of two that share memory, count their copies.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import portarray as pa
from portarray._movement import routes
from portarray.backends import registry

DEVICES = [str(device) for device in pa.devices()]

# Layouts of a 6x8 matrix in NumPy's memory, which many libraries take as it is.
LAYOUTS: dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {
    "C": lambda a: a,
    "offset": lambda a: a[1:, 3:],
    "strided": lambda a: a[::2, 1::3],
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "reversed row": lambda a: a[:1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[0], (4, 8)),
    "empty": lambda a: a[:0],
    "0-d": lambda a: a[2, 3, ...],
}


def memory(x: pa.Array) -> Any:
    """Return NumPy's view of the memory of an array on a host device."""
    return x.device._backend.to_host(x.native, copy=False)


def on_host(device: pa.Device) -> bool:
    return device._backend.dlpack_device_of(device.native) == routes.HOST


def unaligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of the same values at an odd address."""
    raw = np.empty(values.nbytes + 1, np.uint8)
    moved: np.ndarray[Any, Any] = raw[1:].view(values.dtype).reshape(values.shape)
    moved[...] = values
    return moved


def check(x: pa.Array, target: pa.Device) -> None:
    """Compare the plan for an array with what a move does."""
    source = x.device
    plan = pa.transfer_plan(x, target)
    y = x.to_device(target)
    context = f"{source} → {target}, {x.dtype}, {x.shape}: {plan}"
    assert (plan.source, plan.target, plan.dtype) == (source, target, x.dtype), context
    assert plan.nbytes == plan.copies * x.size * x.dtype.itemsize, context
    assert plan.copies == len(plan.reasons), context
    assert all(reason and reason == reason.strip(" ;.") for reason in plan.reasons), context
    assert plan.why == "; ".join(plan.reasons), context
    if not (on_host(source) and on_host(target)):
        return
    assert plan.copies <= 1, context
    assert plan.route == ("library" if source.library == target.library else "memory"), context
    if x.size:
        assert np.shares_memory(memory(x), memory(y)) == (plan.copies == 0), context
    # The strict forms of the same move.
    again = pa.asarray(x, device=target, copy=True)
    assert not x.size or not np.shares_memory(memory(x), memory(again)), context
    if plan.copies == 0:
        uncopied = pa.asarray(x, device=target, copy=False)
        assert not x.size or np.shares_memory(memory(x), memory(uncopied)), context


@pytest.mark.skipif(len(DEVICES) == 1, reason="there is one device, so nothing to move between")
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_a_plan_predicts_the_move(data: st.DataObject) -> None:
    names = ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64")
    dtype = np.dtype(getattr(pa, data.draw(st.sampled_from(names), "dtype")))
    layout = data.draw(st.sampled_from(sorted(LAYOUTS)), "layout")
    values = LAYOUTS[layout](np.arange(48).reshape(6, 8).astype(dtype))
    odd = data.draw(st.booleans(), "unaligned")
    if odd:
        values = unaligned(values)
    if data.draw(st.booleans(), "read-only"):
        values.flags.writeable = False
    devices = []
    for device in DEVICES:
        try:
            pa.zeros((), dtype=dtype, device=device)
        except pa.DTypeNotSupportedError:
            continue
        devices.append(device)
    assert len(devices) > 1
    for source, target in itertools.product(devices, devices):
        check(pa.asarray(values, device=source), pa.device(target))


@pytest.mark.parametrize("view", ["transposed", "strided", "reversed"])
def test_plans_of_native_views(device: str, view: str) -> None:
    x = pa.asarray(np.arange(48, dtype=np.float32).reshape(6, 8), device=device)
    x = {"transposed": x.T, "strided": x[::2, 1::3], "reversed": pa.flip(x)}[view]
    for target in pa.devices():
        check(x, target)


def test_lazily_conjugated_tensors_are_resolved_once() -> None:
    torch = pytest.importorskip("torch")
    x = pa.asarray(torch.ones(3, dtype=torch.complex64).conj(), device="torch")
    for target in pa.devices():
        if target.library != "torch":
            plan = pa.transfer_plan(x, target)
            assert plan.reasons[0] == "the tensor is lazily conjugated or negated"
    with pytest.raises(ValueError, match="lazily conjugated"):
        pa.asarray(x, device="numpy", copy=False)


def test_planning_and_copying_leave_no_trace(device: str) -> None:
    x = pa.asarray(np.arange(4.0, dtype=np.float32), device=device, copy=True)
    native = x.native
    for target in pa.devices():
        plan = pa.transfer_plan(x, target)
        assert x.native is native
        if target.library == x.device.library:
            continue
        y = pa.asarray(x, device=target, copy=None if plan.copies else True)
        np.testing.assert_array_equal(y.to_device("numpy").native, np.arange(4.0))
        if device.startswith("clarray"):  # its mark of memory that others see slows every call
            assert not native.storage.shared


def refused(function: Callable[..., object], *args: Any, **options: Any) -> str:
    """Return the class and the values of the error that a call raises, or an empty text."""
    try:
        function(*args, **options)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {str(error).partition('Hint: ')[0].rpartition(': ')[2]}"
    return ""


def test_a_plan_refuses_what_a_move_refuses() -> None:
    wide = (2**31, 2**33)
    outcomes = []
    for dtype in map(np.dtype, ("bool", "int64", "float64", "complex128")):
        empty = np.zeros((1, 0), dtype)
        cases = [np.broadcast_to(empty, (length, 0)) for length in wide]
        cases += [empty.reshape((0,) + (1,) * 63), np.ones((1,) * 63 + (3,), dtype)]
        # What is refused is refused before anything is written, or else this would take long.
        cases += [np.broadcast_to(np.ones(1, dtype), length) for length in wide]
        for values, source, target in itertools.product(cases, DEVICES, DEVICES):
            if values.size >= min(wide) and not (
                source.startswith("numpy") and target.startswith("mlx")
            ):
                continue
            for narrow in (False, True):
                try:
                    x = pa.asarray(values, device=source)
                except (ValueError, pa.DTypeNotSupportedError):
                    continue
                where = f"{values.shape} {dtype} {source} → {target}, narrow={narrow}"
                planned = refused(pa.transfer_plan, x, target, narrow=narrow)
                moved = refused(pa.asarray, x, device=target, narrow=narrow)
                assert planned == moved, where
                outcomes.append((target.partition(":")[0], moved))
    assert ("numpy", "") in outcomes
    if "mlx:cpu:0" in DEVICES:
        assert any(library == "mlx" and "exceeds MLX's limit" in text for library, text in outcomes)


def test_arrays_that_stay_are_not_read() -> None:
    jnp = pytest.importorskip("jax.numpy")
    x = pa.asarray(jnp.zeros(3) + 1)
    x.native.delete()
    assert x.to_device(x.device) is x
    assert pa.transfer_plan(x, x.device).copies == 0


def test_a_plan_reads_well() -> None:
    x = pa.zeros(1000, dtype=pa.float32, device="numpy")
    text = str(pa.transfer_plan(x, x.device))
    assert text == "numpy:cpu:0 → numpy:cpu:0: library, without a copy"
    with pytest.raises(TypeError, match=r"(?s)transfer_plan.*pa\.asarray"):
        pa.transfer_plan(np.zeros(3), "numpy")  # type: ignore[arg-type]


# --- dtypes that the target lacks -----------------------------------------------------------------


def test_narrowing_is_a_copy_that_is_counted(nofloat64: str) -> None:
    values = np.arange(6.0)
    x = pa.asarray(values, device="numpy")
    with pytest.raises(pa.DTypeNotSupportedError, match="narrow=True"):
        pa.transfer_plan(x, nofloat64)
    plan = pa.transfer_plan(x, nofloat64, narrow=True)
    # It is converted, and what was converted is shared.
    assert (plan.route, plan.copies, plan.nbytes) == ("memory", 1, 24)
    assert plan.dtype == np.dtype(np.float32)
    assert plan.why == f"{nofloat64}:metal:0 does not support float64, and uses float32"
    y = pa.asarray(x, device=nofloat64, narrow=True)
    assert y.dtype == pa.float32
    with pytest.raises(ValueError, match="converting float64 to float32 needs a copy"):
        pa.asarray(x, device=nofloat64, narrow=True, copy=False)
    with pytest.raises(ValueError, match="converting float64 to float32 needs a copy"):
        pa.asarray(values, device=nofloat64, narrow=True, copy=False)
    # What fits is not converted.
    z = pa.asarray(values.astype(np.float32), device="numpy")
    assert pa.transfer_plan(z, nofloat64, narrow=True).copies == 0


# --- GPUs that are not real -----------------------------------------------------------------------


@dataclass
class Gpus:
    """Two libraries on simulated GPUs, and the copies that they made."""

    monkeypatch: pytest.MonkeyPatch
    copies: list[str] = field(default_factory=list)
    exports: list[dict[str, Any]] = field(default_factory=list)

    def transfer(self, library: str) -> Any:
        return registry.load_backend(library)

    def hook(self, library: str, name: str, function: Any) -> None:
        """Set or replace a hook of a backend."""
        self.monkeypatch.setattr(self.transfer(library), name, function, raising=False)

    def count(self, library: str) -> None:
        """Count the copies of a backend's transfers."""
        transfer = self.transfer(library)
        for name in ("from_host", "to_host", "move"):
            original = getattr(transfer, name)

            def counted(
                *args: Any, _original: Any = original, _name: str = name, **options: Any
            ) -> Any:
                result = _original(*args, **options)
                if result is not args[0]:
                    self.copies.append(f"{library}.{_name}")
                return result

            self.hook(library, name, counted)

    def share(self, library: str, kinds: frozenset[int] = frozenset({2})) -> None:
        """Let a library's GPUs be CUDA's, with memory that it exports and imports by DLPack."""
        backend = registry.load_backend(library)

        def to_dlpack(x: Any, **options: Any) -> Any:
            self.exports.append(options)
            if options["copy"]:
                self.copies.append(f"{library}.to_dlpack")
                return x.data.copy()
            return x.data

        def from_dlpack(x: Any, device: Any, *, copy: bool | None) -> Any:
            data = x.__dlpack__(stream=77, max_version=(1, 0))
            assert x.__dlpack_device__() == (2, device.index)
            if copy:
                self.copies.append(f"{library}.from_dlpack")
                data = data.copy()
            return backend.array_type(data, device)

        self.hook(library, "dlpack_device_of", lambda device: (2, device.index))
        self.hook(library, "dlpack_device", lambda x: (2, x.device.index))
        self.hook(library, "readable_dlpack_types", lambda device: kinds)
        self.hook(library, "to_dlpack", to_dlpack)
        self.hook(library, "from_dlpack", from_dlpack)

    def move(self, x: pa.Array, device: str, copy: bool | None = None) -> tuple[pa.Array, int]:
        """Return a moved array and the number of its copies."""
        del self.copies[:], self.exports[:]
        y = pa.asarray(x, device=device, copy=copy)
        assert str(y.device) == device
        np.testing.assert_array_equal(values_of(y), values_of(x))
        return y, len(self.copies)

    def agree(self, x: pa.Array, device: str) -> Any:
        """Return the plan for an array after checking it against a move."""
        plan = pa.transfer_plan(x, device)
        _, copies = self.move(x, device)
        assert (plan.copies, len(plan.reasons)) == (copies, copies), plan
        assert plan.nbytes == copies * x.size * 4
        return plan


def values_of(x: pa.Array) -> np.ndarray[Any, Any]:
    """Return values without a counted copy."""
    native = x.native
    values: np.ndarray[Any, Any] = native if isinstance(native, np.ndarray) else native.data
    return values


@pytest.fixture
def gpus(fake: str, settable: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpus]:
    """Two GPUs of ``fake`` and one of ``settable``, each with memory of its own."""
    routes.kind_of.cache_clear()  # devices of earlier tests had other hooks
    monkeypatch.setattr(importlib.import_module("settable.backend").LIBRARY, "on_host", False)
    pair = Gpus(monkeypatch)
    pair.count(fake)
    pair.count(settable)
    yield pair
    routes.kind_of.cache_clear()


FIRST, SECOND, THIRD, HOST = "fake:cuda:0", "fake:cuda:1", "settable:rocm:0", "numpy:cpu:0"


def ones(device: str) -> pa.Array:
    return pa.asarray(np.arange(5, dtype=np.float32), device=device)


def test_a_gpu_and_the_host(gpus: Gpus) -> None:
    for source, target in ((FIRST, HOST), (HOST, FIRST)):
        plan = gpus.agree(ones(source), target)
        assert (plan.route, plan.copies) == ("host", 1)
        assert "has its own memory" in plan.why
        assert gpus.move(ones(source), target, copy=True)[1] == 1
        with pytest.raises(ValueError, match=f"copy=False, but {source} and {target} do not share"):
            gpus.move(ones(source), target, copy=False)


def test_two_gpus_of_one_library(gpus: Gpus) -> None:
    plan = gpus.agree(ones(FIRST), SECOND)
    assert (plan.route, plan.copies) == ("library", 1)
    assert pa.transfer_plan(ones(FIRST), FIRST).copies == 0


def test_two_gpus_of_two_libraries_go_by_page_locked_memory(gpus: Gpus) -> None:
    plan = gpus.agree(ones(FIRST), THIRD)
    assert (plan.route, plan.copies, gpus.copies) == (
        *("staged", 2),
        ["fake.to_host", "settable.from_host"],
    )
    locked: list[np.ndarray[Any, Any]] = []

    def staged(x: Any) -> np.ndarray[Any, Any]:
        gpus.copies.append("fake.staged")
        locked.append(x.data.copy())
        return locked[-1]

    gpus.hook("fake", "pinned_copy", staged)
    received: list[Any] = []
    original = gpus.transfer("settable").from_host

    def from_host(array: Any, device: Any, **options: Any) -> Any:
        received.append((array, options["non_blocking"]))
        return original(array, device, **options)

    gpus.hook("settable", "from_host", from_host)
    assert gpus.agree(ones(FIRST), THIRD).route == "staged"
    assert gpus.copies == ["fake.staged", "settable.from_host"]
    # Page-locked memory would be read after the call, and is gone by then.
    assert received[-1][0] is locked[-1]
    native = ones(FIRST).native
    routes.move(native, pa.device(FIRST), pa.device(THIRD), copy=None, non_blocking=True)
    assert received[-1][1] is False
    # To and from the host there is nothing to stage.
    assert gpus.agree(ones(FIRST), HOST).route == "host"
    assert "fake.staged" not in gpus.copies
    with pytest.raises(ValueError, match="do not share memory"):
        gpus.move(ones(FIRST), THIRD, copy=False)


def test_two_libraries_share_the_memory_of_one_gpu(gpus: Gpus) -> None:
    gpus.share("fake")
    gpus.share("settable")
    for source, target in ((FIRST, THIRD), (THIRD, FIRST)):
        x = ones(source)
        plan = gpus.agree(x, target)
        assert (plan.route, plan.copies, plan.why) == ("dlpack", 0, "")
        for copy in (None, False):
            y, _ = gpus.move(x, target, copy)
            assert np.shares_memory(values_of(x), values_of(y))
        # The producer is called once, with the consumer's stream.
        assert [options["stream"] for options in gpus.exports] == [77]
        y, copies = gpus.move(x, target, True)
        assert copies == 1
        assert not np.shares_memory(values_of(x), values_of(y))
    # The other GPU is another memory.
    assert gpus.agree(ones(SECOND), THIRD).route == "staged"


def test_memory_of_another_type_goes_by_the_host(gpus: Gpus) -> None:
    gpus.share("fake", frozenset({2, 13}))
    gpus.share("settable")
    gpus.hook("fake", "dlpack_device", lambda x: (13, x.device.index))  # CUDA's managed memory
    plan = gpus.agree(ones(FIRST), THIRD)
    assert (plan.route, plan.copies) == ("staged", 2)
    assert gpus.exports == []
    # A library that reads nothing of others gets all by the host.
    gpus.hook("fake", "readable_dlpack_types", lambda device: frozenset())
    routes.kind_of.cache_clear()
    assert gpus.agree(ones(THIRD), FIRST).route == "staged"


def test_arrays_that_never_change_are_copied_between_libraries(gpus: Gpus) -> None:
    gpus.share("fake")
    gpus.share("settable")
    gpus.hook("fake", "immutable", True)
    out = gpus.agree(ones(FIRST), THIRD)
    assert (out.route, out.copies) == ("dlpack", 1)
    assert "are immutable, and those of" in out.why
    with pytest.raises(ValueError, match=r"copy=False, but arrays of .* are immutable"):
        gpus.move(ones(FIRST), THIRD, copy=False)
    into = gpus.agree(ones(THIRD), FIRST)
    assert (into.route, into.copies) == ("dlpack", 1)
    assert "are immutable, and the memory may change" in into.why
    # Whoever asks for it promises not to write.
    assert gpus.move(ones(THIRD), FIRST, copy=False)[1] == 0


def test_copies_of_an_export_are_planned(gpus: Gpus) -> None:
    gpus.share("fake")
    gpus.share("settable")
    gpus.hook("fake", "why_copied_on_export", lambda x: "it is lazily conjugated")
    plan = pa.transfer_plan(ones(FIRST), THIRD)
    assert (plan.copies, plan.why) == (1, "it is lazily conjugated")
