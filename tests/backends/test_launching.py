"""Launchers run hand-written programs on every device that accepts OpenCL C."""

from __future__ import annotations

import gc
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import _host_memory, errors
from portarray._launchers import launcher
from portarray._launchers.launcher import Program
from portarray.backends import registry

C = {"int32": "int", "int64": "long", "float32": "float", "float64": "double"}
C |= {"int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort"}
C |= {"uint32": "uint", "uint64": "ulong"}

INT64 = np.dtype(np.int64)

SAXPY = "size_t i = get_global_id(0); if (i < n) y[i] = a * x[i] + y[i];"


class Bench:
    """A device's backend and launcher, with helpers that build and run programs."""

    def __init__(self, device: str) -> None:
        self.device = pa.device(device)
        self.backend = registry.load_backend(self.device.library)
        native = self.backend.native_device(self.device.platform, self.device.index)
        resolved = self.backend.launcher(native)
        if isinstance(resolved, str):
            pytest.skip(f"{device}: {resolved}")
        if resolved.dialect != "opencl":
            pytest.skip(f"{device} runs programs in {resolved.dialect}")
        assert self.backend.launcher(native) is resolved
        self.launcher = resolved
        self.native_device = native

    def program(
        self, body: str, arrays: dict[str, str], written: str, values: dict[str, str]
    ) -> Program:
        """Return a program with a kernel of this body; ``written`` names arrays."""
        parameters = [f"__global {C[dtype]} *{name}" for name, dtype in arrays.items()]
        kinds = [np.dtype(dtype) for dtype in values.values()]
        shift = ""
        if self.launcher.offsets:
            parameters += [f"const long {name}_offset" for name in arrays]
            kinds = [INT64] * len(arrays) + kinds
            shift = " ".join(f"{name} += {name}_offset;" for name in arrays)
        parameters += [f"const {C[dtype]} {name}" for name, dtype in values.items()]
        return Program(
            "f",
            "opencl",
            f"__kernel void f({', '.join(parameters)}) {{ {shift} {body} }}",
            tuple(map(np.dtype, arrays.values())),
            tuple(name in written.split() for name in arrays),
            tuple(kinds),
        )

    def run(
        self,
        program: Program,
        launch: launcher.Launch,
        arrays: Sequence[Any],
        values: Sequence[Any],
        ndrange: tuple[int, ...],
        group: tuple[int, ...] | None = None,
    ) -> list[Any]:
        """Run a kernel; return the native arrays that it has written."""
        launcher = self.launcher
        natives = [
            launcher.writable(x) if changes else x
            for x, changes in zip(arrays, program.written, strict=True)
        ]
        group = launcher.group(ndrange) if group is None else group
        rounded = tuple(-(-size // part) * part for size, part in zip(ndrange, group, strict=True))
        offsets = [self.backend.layout(x)[2] for x in natives] if launcher.offsets else []
        outputs = launch(natives, (*offsets, *values), rounded, group)
        assert (outputs is None) != launcher.immutable
        if outputs is not None:
            return list(outputs)
        return [x for x, changes in zip(natives, program.written, strict=True) if changes]

    def native(self, values: np.ndarray[Any, Any]) -> Any:
        """Return a native array of these values."""
        return pa.asarray(values, device=self.device, copy=True).native

    def host(self, x: Any) -> np.ndarray[Any, Any]:
        """Return a native array's values."""
        return np.array(self.backend.to_host(x, copy=None))


@pytest.fixture
def bench(device: str) -> Bench:
    return Bench(device)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 7, 1000, 100_003])
def test_saxpy(bench: Bench, dtype: str, size: int) -> None:
    if dtype == "float64" and not bench.launcher.float64:
        pytest.skip("no double precision")
    program = bench.program(SAXPY, {"y": dtype, "x": dtype}, "y", {"a": dtype, "n": "int64"})
    launch = bench.launcher.build(program)
    x, y = np.arange(2 * size, dtype=dtype).reshape(2, size) / 8
    nx, ny = bench.native(x), bench.native(y)
    (output,) = bench.run(program, launch, (ny, nx), (2.5, size), (size,))
    np.testing.assert_array_equal(bench.host(output), 2.5 * x + y)
    np.testing.assert_array_equal(bench.host(nx), x)
    if bench.launcher.immutable:
        assert output is not ny
        np.testing.assert_array_equal(bench.host(ny), y)
    else:
        assert output is ny
    assert bench.backend.device_of_array(output) == bench.backend.device_of_array(ny)
    # Twice more: arguments are set anew each time.
    (again,) = bench.run(program, launch, (output, nx), (-1.0, size), (size,))
    np.testing.assert_array_equal(bench.host(again), 1.5 * x + y)


VIEWS = {
    "all": (slice(None), slice(None)),
    "part": (slice(1, None, 2), slice(3, 9)),
    "reversed": (slice(None, None, -1), slice(None, None, -2)),
    "row": (2, slice(1, None)),
    "column": (slice(2, None, 3), 4),
}


@pytest.mark.parametrize("key", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("transposed", [False, True], ids=["", "transposed"])
def test_parts_of_arrays(bench: Bench, key: tuple[Any, ...], transposed: bool) -> None:
    base = np.arange(12 * 10, dtype=np.int32).reshape(12, 10)
    whole = pa.asarray(base, device=bench.device, copy=True)
    second = pa.asarray(base, device=bench.device, copy=True)
    part, expected_part = whole[key], base.copy()[key]
    if transposed:
        part, expected_part = part.T if part.ndim == 2 else part, expected_part.T
    rank = expected_part.ndim
    source = pa.flip(second[key].T if transposed and rank == 2 else second[key])
    axes = range(rank)
    index = " ".join(f"size_t i{axis} = get_global_id({rank - 1 - axis});" for axis in axes)
    inside = " && ".join(f"i{axis} < n{axis}" for axis in axes)
    at = {name: " + ".join(f"(long)i{axis} * {name}{axis}" for axis in axes) for name in "yx"}
    program = bench.program(
        f"{index} if ({inside}) y[{at['y']}] = 1000 * y[{at['y']}] + x[{at['x']}];",
        {"y": "int32", "x": "int32"},
        "y",
        {f"{name}{axis}": "int64" for name in "nyx" for axis in axes},
    )
    launch = bench.launcher.build(program)
    y, x = part.native, source.native
    (shape, steps, _), (_, source_steps, _) = map(bench.backend.layout, (y, x))
    assert tuple(shape) == expected_part.shape
    (output,) = bench.run(program, launch, (y, x), (*shape, *steps, *source_steps), tuple(shape))
    np.testing.assert_array_equal(bench.host(output), 1000 * expected_part + np.flip(expected_part))
    if not bench.launcher.immutable and output is whole[key].native:
        expected = base.copy()
        expected[key] = 1000 * base[key] + np.flip(base[key])
        np.testing.assert_array_equal(np.asarray(whole.to_device("cpu")), expected)


@pytest.mark.parametrize(
    ("ndrange", "group"),
    [((6, 10), (3, 5)), ((4, 6, 8), (2, 1, 4)), ((60,), (10,)), ((5, 3), (1, 1))],
)
def test_the_last_axis_is_contiguous_in_work_items(
    bench: Bench, ndrange: tuple[int, ...], group: tuple[int, ...]
) -> None:
    i = j = "0"
    for axis in reversed(range(len(ndrange))):
        i = f"({i} * get_global_size({axis}) + get_global_id({axis}))"
        j = f"(10 * {j} + get_local_id({axis}))"
    program = bench.program(
        f"y[{i}] = {j}; z[{i}] = get_local_size(0) + 100 * get_num_groups(0);",
        {"y": "int32", "z": "int32"},
        "y z",
        {},
    )
    launch = bench.launcher.build(program)
    y = bench.native(np.zeros(ndrange, np.int32))
    z = bench.native(np.zeros(ndrange, np.int32))
    outputs = bench.run(program, launch, (y, z), (), ndrange, group)
    expected = np.zeros(ndrange, int)
    for indices, part in zip(np.indices(ndrange), group, strict=True):
        expected = 10 * expected + indices % part
    np.testing.assert_array_equal(bench.host(outputs[0]), expected)
    np.testing.assert_array_equal(
        bench.host(outputs[1]), group[-1] + 100 * (ndrange[-1] // group[-1])
    )


def test_local_memory_and_barriers(bench: Bench) -> None:
    program = bench.program(
        "__local int shared[32]; int k = get_local_id(0); "
        "shared[k] = x[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE); "
        "for (int s = 16; s; s /= 2) { if (k < s) shared[k] += shared[k + s]; "
        "barrier(CLK_LOCAL_MEM_FENCE); } if (!k) y[get_group_id(0)] = shared[0];",
        {"y": "int32", "x": "int32"},
        "y",
        {},
    )
    assert bench.launcher.local_memory >= 32 * 4
    assert bench.launcher.max_group >= 32
    launch = bench.launcher.build(program)
    x = np.arange(32 * 50, dtype=np.int32)
    y = bench.native(np.zeros(50, np.int32))
    (output,) = bench.run(program, launch, (y, bench.native(x)), (), x.shape, (32,))
    np.testing.assert_array_equal(bench.host(output), x.reshape(50, 32).sum(1))


def test_atomics(bench: Bench) -> None:
    wide = bench.launcher.atomics64
    program = bench.program(
        "size_t i = get_global_id(0); if (i < n) { atomic_add(y + x[i] % 3, x[i]); "
        "atomic_max(y + 3, x[i]);" + ("atom_add(z, (long)x[i] << 20);" if wide else "") + "}",
        {"y": "int32", "z": "int64", "x": "int32"},
        "y z",
        {"n": "int32"},
    )
    launch = bench.launcher.build(program)
    x = np.arange(10_000, dtype=np.int32)
    arrays = [bench.native(values) for values in (np.zeros(4, np.int32), np.zeros(1, np.int64), x)]
    outputs = bench.run(program, launch, arrays, (x.size,), x.shape)
    sums = [x[x % 3 == k].sum() for k in range(3)]
    np.testing.assert_array_equal(bench.host(outputs[0]), [*sums, 9999])
    if wide:
        np.testing.assert_array_equal(bench.host(outputs[1]), [x.sum(dtype=np.int64) << 20])


VALUES = {
    "int8": -100,
    "uint8": 200,
    "int16": -30_000,
    "uint16": 60_000,
    "int32": -(2**31),
    "uint32": 2**32 - 1,
    "int64": -(2**63),
    "uint64": 2**63 + 5,
    "float32": 0.5,
    "float64": 1 / 3,
}


@pytest.mark.parametrize("dtype", VALUES)
def test_values_of_every_dtype(bench: Bench, dtype: str) -> None:
    if dtype == "float64" and not bench.launcher.float64:
        pytest.skip("no double precision")
    # Between others, so that a wrong size would shift them.
    program = bench.program(
        "if (!get_global_id(0)) { y[0] = v; z[0] = before; z[1] = after; }",
        {"y": dtype, "z": "int32"},
        "y z",
        {"before": "int32", "v": dtype, "after": "int32"},
    )
    launch = bench.launcher.build(program)
    y = pa.zeros(1, dtype=getattr(pa, dtype), device=bench.device).native
    z = bench.native(np.zeros(2, np.int32))
    outputs = bench.run(program, launch, (y, z), (-7, VALUES[dtype], 9), (1,))
    assert bench.host(outputs[0])[0] == VALUES[dtype]
    assert bench.host(outputs[1]).tolist() == [-7, 9]


def test_kernels_are_ordered_with_the_librarys_work(bench: Bench) -> None:
    size = 300_000
    program = bench.program(
        "size_t i = get_global_id(0); if (i < n) y[i] = 2 * y[i] + x[i];",
        {"y": "float32", "x": "float32"},
        "y",
        {"n": "int64"},
    )
    launch = bench.launcher.build(program)
    x = pa.zeros(size, dtype=pa.float32, device=bench.device)
    y = pa.ones(size, dtype=pa.float32, device=bench.device)
    expected = 1.0
    for step in range(12):
        x = x * 0 + step
        y = y + 1
        (output,) = bench.run(program, launch, (y.native, x.native), (size,), (size,))
        y = pa.asarray(output) - 2
        expected = 2 * (expected + 1) + step - 2
    values = bench.host(y.native)
    assert (values == expected).all()


def test_threads(bench: Bench) -> None:
    """Threads that launch the same kernel do not mix up its arguments."""
    size = 5000
    program = bench.program(
        SAXPY, {"y": "float32", "x": "float32"}, "y", {"a": "float32", "n": "int64"}
    )
    launch = bench.launcher.build(program)
    wrong: list[object] = []
    start = threading.Barrier(2)

    def work(seed: int) -> None:
        try:
            x = bench.native(np.full(size, seed, np.float32))
            start.wait()
            for step in range(60):
                y = bench.native(np.full(size, step, np.float32))
                (output,) = bench.run(program, launch, (y, x), (float(seed), size), (size,))
                if not (bench.host(output) == seed * seed + step).all():
                    wrong.append((seed, step, bench.host(output)[:3]))
        except Exception as error:  # noqa: BLE001 - reported by the test
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_launches_keep_no_memory(bench: Bench) -> None:
    size = 1 << 18
    program = bench.program(
        SAXPY, {"y": "float32", "x": "float32"}, "y", {"a": "float32", "n": "int64"}
    )
    launch = bench.launcher.build(program)
    x = bench.native(np.zeros(size, np.float32))

    def some(count: int) -> None:
        y = bench.native(np.zeros(size, np.float32))
        for _ in range(count):
            (y,) = bench.run(program, launch, (y, x), (1.0, 1000), (1000,))
        bench.backend.synchronize(bench.native_device)
        del y
        gc.collect()

    some(200)
    initial = _host_memory.resident()
    some(2000)
    final = _host_memory.resident()
    if initial is None or final is None:
        pytest.skip("the system does not say how much memory the process has")
    assert final - initial < 40 << 20, "each launch keeping its array would be 2 GB"


def test_the_compilers_log(bench: Bench) -> None:
    program = bench.program("y[0] = undeclared_name;", {"y": "int32"}, "y", {})
    with pytest.raises(errors.KernelBuildError, match="undeclared_name") as caught:
        bench.launcher.build(program)
    assert "undeclared_name" in caught.value.log
    assert caught.value.kernel == "f"
    assert caught.value.text == program.text


def test_a_program_without_its_kernel(bench: Bench) -> None:
    program = bench.program("y[0] = 1;", {"y": "int32"}, "y", {})
    missing = Program("g", "opencl", program.text, program.arrays, program.written, program.values)
    with pytest.raises(errors.KernelBuildError, match="'g'"):
        bench.launcher.build(missing)


@pytest.mark.parametrize("ndrange", [(1,), (1000,), (10**8,), (3, 5), (1000, 7), (9, 1, 4)])
def test_groups(bench: Bench, ndrange: tuple[int, ...]) -> None:
    group = bench.launcher.group(ndrange)
    assert len(group) == len(ndrange)
    assert np.prod(group) <= bench.launcher.max_group
    assert all(0 < part < 2 * size for part, size in zip(group, ndrange, strict=True))


def test_arrays_without_elements_may_be_read(bench: Bench) -> None:
    program = bench.program(
        "if (!get_global_id(0)) y[0] = n ? x[0] : 7;",
        {"y": "int32", "x": "int32"},
        "y",
        {"n": "int32"},
    )
    launch = bench.launcher.build(program)
    arrays = [bench.native(np.zeros(shape, np.int32)) for shape in (1, 0)]
    (output,) = bench.run(program, launch, arrays, (0,), (1,))
    assert bench.host(output).tolist() == [7]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "bool", "complex64"])
def test_bits_of_other_dtypes(bench: Bench, name: str) -> None:
    """Dtypes that OpenCL C lacks are passed as raw bits."""
    dtype = getattr(pa, name, None)
    where = bench.device.platform, bench.device.index
    if dtype is None or np.dtype(dtype) not in bench.backend.dtypes(*where):
        pytest.skip(f"no {name}")
    kind = {1: "uchar", 2: "ushort", 8: "ulong"}[np.dtype(dtype).itemsize]
    program = bench.program(
        "size_t i = get_global_id(0); if (i < n) y[i] = x[n - 1 - i];",
        {"y": "uint8", "x": "uint8"},
        "y",
        {"n": "int64"},
    )
    text = program.text.replace("__global uchar", f"__global {kind}")
    program = Program("f", "opencl", text, program.arrays, program.written, program.values)
    launch = bench.launcher.build(program)
    x = pa.astype(pa.asarray([0, 1, 1, 0, 1], device=bench.device), dtype)
    (output,) = bench.run(program, launch, (pa.zeros_like(x).native, x.native), (5,), (5,))
    expected = bench.host(pa.flip(x).native)
    np.testing.assert_array_equal(bench.host(output), expected)


def test_arrays_without_axes(bench: Bench) -> None:
    program = bench.program(
        "if (!get_global_id(0)) y[0] += x[0];", {"y": "float32", "x": "float32"}, "y", {}
    )
    launch = bench.launcher.build(program)
    y, x = (bench.native(np.asarray(value, np.float32)) for value in (1, 2))
    assert bench.backend.layout(y) == ((), (), 0)
    (output,) = bench.run(program, launch, (y, x), (), (1,))
    assert bench.host(output).shape == ()
    assert bench.host(output) == 3


def test_read_only_memory_is_copied() -> None:
    bench = Bench("numpy:cpu:0")
    program = bench.program("y[get_global_id(0)] += 1;", {"y": "int32"}, "y", {})
    launch = bench.launcher.build(program)
    y = np.arange(4, dtype=np.int32)
    y.flags.writeable = False
    (output,) = bench.run(program, launch, (y,), (), (4,), (4,))
    assert y.tolist() == [0, 1, 2, 3]
    assert output.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("where", ["numpy:cpu:0", "dpnp:oneapi:0", "jax:cpu:0", "mlx:cpu:0"])
def test_broadcast_arrays_are_copied(where: str) -> None:
    if where not in map(str, pa.devices()):
        pytest.skip(f"{where} is not functional")
    bench = Bench(where)
    program = bench.program("y[get_global_id(0)] += get_global_id(0);", {"y": "int32"}, "y", {})
    launch = bench.launcher.build(program)
    x = pa.asarray([1, 2], dtype=pa.int32, device=where)
    y = pa.broadcast_to(x, (3, 2))
    (output,) = bench.run(program, launch, (y.native,), (), (6,), (6,))
    assert bench.host(output).tolist() == [[1, 3], [3, 5], [5, 7]]
    assert bench.host(y.native).tolist() == [[1, 2]] * 3


def test_fields_of_structured_arrays_are_refused() -> None:
    rows = np.zeros(3, [("a", "f4"), ("b", "f8")])
    with pytest.raises(ValueError, match=r"strides of \(12,\) bytes"):
        launcher.layout_of(rows["b"])


def test_gradients_are_not_lost_in_silence() -> None:
    torch = pytest.importorskip("torch")
    bench = Bench("torch:cpu:0")
    program = bench.program("y[get_global_id(0)] += 1;", {"y": "float32"}, "y", {})
    launch = bench.launcher.build(program)
    weight = torch.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        bench.backend.layout(weight)
    with pytest.raises(RuntimeError, match="resolve_neg"):
        bench.backend.layout(torch.ones(2, dtype=torch.complex64).conj().imag)
    y = torch.ones(4)
    loss = (weight * y).sum()
    bench.run(program, launch, (y,), (), (4,), (4,))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("size", [1000, 1_000_000])
def test_traced_functions_call_programs_back(size: int) -> None:
    jax = pytest.importorskip("jax")
    bench = Bench("jax:cpu:0")
    program = bench.program(
        SAXPY, {"y": "float32", "x": "float32"}, "y", {"a": "float32", "n": "int64"}
    )
    launch = bench.launcher.build(program)

    def function(y: Any, x: Any) -> Any:
        assert bench.backend.layout(y) == ((size,), (1,), 0)
        (output,) = bench.run(program, launch, (y + 1, x * 2), (3.0, size), (size,))
        return output * 2

    y, x = np.arange(2 * size, dtype=np.float32).reshape(2, size)
    result = jax.jit(function)(y, x)
    np.testing.assert_array_equal(np.asarray(result), 2 * (3 * (2 * x) + y + 1))
    twice = jax.vmap(function)(np.stack([y, x]), np.stack([x, y]))
    np.testing.assert_array_equal(np.asarray(twice[1]), 2 * (3 * (2 * y) + x + 1))


def test_other_backends_have_a_reason(fake: str) -> None:
    backend = registry.load_backend(fake)
    reason = backend.launcher(backend.native_device("cuda", 0))
    assert isinstance(reason, str)
