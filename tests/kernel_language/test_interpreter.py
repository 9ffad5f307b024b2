"""The interpreter: the cases, what it checks, and what it shows of the user's text."""

from __future__ import annotations

import dataclasses
import math
import pdb
import pickle
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.case import Case, all_cases

import portarray as pa
import portarray.kernel_language as kl
from portarray._kernel_language.work_items import Run
from portarray.errors import (
    KernelDebugError,
    KernelIndexError,
    KernelVerificationError,
    KernelZeroDivisionError,
)

CASES = all_cases()
BY_ZERO = ("floor_divide",)
"""Cases that divide integers by zero."""


def passed(case: Case, device: str) -> list[Any]:
    """Return a case's arguments; a device that lacks a dtype is skipped."""
    try:
        return case.placed(lambda array: pa.asarray(array, device=device))
    except TypeError as error:
        pytest.skip(str(error))


def arrays(out: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(x) for x in (out if isinstance(out, tuple) else (out,)))


def bare(case: Case) -> str:
    """Return a device that has all dtypes and runs no programs in this."""
    return (
        "numpy" if not any(dtype.name == "bfloat16" for dtype in case.dtypes()) else "torch:cpu:0"
    )


@pytest.mark.parametrize("seed", [None, 7], ids=["in-order", "drawn"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Case, seed: int | None) -> None:
    compiled = pa.kernel(case.kernel, static=case.static)
    out = compiled.interpret(
        *passed(case, bare(case)), ndrange=case.ndrange, group=case.group, seed=seed
    )
    case.check(arrays(out))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_pass_all_checks(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = pa.kernel(case.kernel, static=case.static)
    if case.kernel.__name__ in BY_ZERO:
        with pa.config(kernel_debug=True), pytest.raises(KernelZeroDivisionError):
            compiled(*passed(case, bare(case)), ndrange=case.ndrange, group=case.group)
        return
    with pa.config(kernel_debug=True):
        out = compiled(*passed(case, bare(case)), ndrange=case.ndrange, group=case.group)
    case.check(arrays(out))
    assert case.prints in capsys.readouterr().out


@pa.kernel.function
def following(x, index):
    return x[index + 1]


@pa.kernel
def shifted(y, x):
    i = kl.index()
    scale = 2.0
    y[i] = following(x, i) * scale


@pa.kernel
def shifted_back(y, x):
    i = kl.index()
    y[i] = x[i - 1]


@pa.kernel
def whole(y, x, z):
    i = kl.index()
    y[i] = x[i] // z[i]


@pa.kernel
def remainders(y, x, z):
    i = kl.index()
    y[i] = i % (x[i] - x[i])


@pa.kernel
def unwritten_local(y):
    i = kl.index()
    shared = kl.local(4, kl.int32)
    if kl.local_index() > 0:
        shared[kl.local_index()] = i
    kl.barrier()
    y[i] = shared[3 - kl.local_index()]


@pa.kernel
def unwritten_private(y):
    i = kl.index()
    memory = kl.private((2, 2), kl.float32)
    memory[0, 1] = 1.0
    y[i] = memory[0, 1] + memory[1, 0]


@pa.kernel
def all_into_one(y, x):
    i = kl.index()
    y[i // 2] = x[i]


@pa.kernel
def reads_neighbours(y):
    i = kl.index()
    y[i] = y[(i + 1) % y.shape[0]]


@pa.kernel
def no_barrier(y, x):
    here = kl.local_index()
    shared = kl.local(4, kl.float32)
    shared[here] = x[kl.index()]
    y[kl.index()] = shared[3 - here]


@pa.kernel
def atomic_and_plain(y, x):
    i = kl.index()
    kl.atomic_add(y, 0, x[i])
    if i == 3:
        y[0] = 1


@pa.kernel
def in_two_phases(y, counts, x):
    here = kl.local_index()
    shared = kl.local(4, kl.int32)
    shared[here] = x[kl.index()]
    kl.barrier()
    mirrored = shared[3 - here]
    kl.barrier()
    shared[here] = 0
    kl.barrier()
    kl.atomic_add(counts, mirrored % 3, 1)
    kl.atomic_add(shared, 0, mirrored)
    kl.barrier()
    y[kl.index()] = shared[0]


def ints(*values: int, device: object = "numpy") -> Any:
    return pa.asarray(values, dtype=pa.int32, device=device)


def floats(size: int) -> Any:
    return pa.arange(size, dtype=pa.float32, device="numpy")


WRONG = [
    (shifted, lambda: (floats(8), floats(8)), {}, "index 8 is outside axis 0 of length 8"),
    (shifted_back, lambda: (floats(8), floats(8)), {}, "index -1 is outside axis 0 of length 8"),
    (whole, lambda: (ints(1, 2), ints(3, 7), ints(1, 0)), {}, "7 // 0"),
    (remainders, lambda: (ints(1, 2), ints(3, 7), ints(1, 0)), {}, "0 % 0"),
    (unwritten_local, lambda: (ints(1, 2, 3, 4),), {"group": 4}, r"shared\[0\] is read before"),
    (unwritten_private, lambda: (floats(2),), {}, r"memory\[1, 0\] is read before it has a value"),
    (all_into_one, lambda: (floats(2), floats(4)), {"ndrange": 4}, "written here and by"),
    (reads_neighbours, lambda: (floats(3),), {}, "written here and read by work-item 0"),
    (no_barrier, lambda: (floats(4), floats(4)), {"group": 4}, r"shared\[[123]\]"),
    (atomic_and_plain, lambda: (ints(0), ints(1, 2, 3, 4)), {"ndrange": 4}, "without an atomic"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "make", "options", "message"), WRONG, ids=[row[0].__name__ for row in WRONG]
)
def test_debug_mode_reports_wrong_accesses(
    kernel: Any, make: Any, options: dict[str, Any], message: str
) -> None:
    with pa.config(kernel_debug=True), pytest.raises(KernelDebugError, match=message) as caught:
        kernel(*make(), **options)
    error = caught.value
    assert isinstance(error, IndexError) == ("outside" in message)
    assert isinstance(error, ZeroDivisionError) == message.endswith((" // 0", " % 0"))
    assert error.filename == __file__
    assert error.text == Path(__file__).read_text().splitlines()[error.line - 1].strip()
    assert f'File "{__file__}", line {error.line}, in {error.kernel}, work-item ' in str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    assert (frame.filename, frame.lineno, frame.name) == (__file__, error.line, error.kernel)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    cause = error.__cause__ or error.__context__  # programs such as Dask send it along
    assert str(pickle.loads(pickle.dumps(cause))) == str(cause)


def test_without_debug_mode_indices_are_checked_and_nothing_else() -> None:
    for kernel, make, options, message in WRONG:
        if "outside" in message:
            with pytest.raises(IndexError, match=message):
                kernel.interpret(*make(), **options)
        else:
            kernel.interpret(*make(), **options)


def test_ordered_accesses_are_not_a_race() -> None:
    x = ints(5, 7, 9, 11, 13, 15, 17, 19)
    with pa.config(kernel_debug=True):
        y, counts = in_two_phases(ints(*range(8)), ints(0, 0, 0), x, group=4)
    assert np.asarray(y).tolist() == [32] * 4 + [64] * 4
    assert np.asarray(counts).sum() == 8


def test_errors_show_the_helper_and_its_caller_with_their_values() -> None:
    with pytest.raises(KernelIndexError) as caught:
        shifted.interpret(floats(3), floats(3))
    frames = traceback.extract_tb(caught.value.__traceback__)[-2:]
    assert [(row.name, row.line) for row in frames] == [
        ("shifted", "y[i] = following(x, i) * scale"),
        ("following", "return x[index + 1]"),
    ]
    assert caught.value.work_item == (2,)
    assert caught.value.values == {"index": 2}
    inner = caught.tb
    while inner.tb_next is not None:
        outer, inner = inner, inner.tb_next
    assert outer.tb_frame.f_locals["scale"] == 2.0


@pa.kernel
def into_the_first(y, x):
    y[0] = x[kl.index()]


def test_a_drawn_order_shows_races() -> None:
    result = {
        float(into_the_first.interpret(floats(1), floats(9), ndrange=9, group=3, seed=seed)[0])
        for seed in range(6)
    }
    assert len(result) > 1
    assert {float(into_the_first.interpret(floats(1), floats(9), ndrange=9)[0])} == {8.0}


@pa.kernel
def traced(y, x):
    i = kl.index()
    twice = x[i] + x[i]
    y[i] = twice


def test_debuggers_stop_in_the_kernel(tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text(
        "continue\np 'in', i, float(twice), x[i]\np x\nnext\np 'then', y[1]\ncontinue\n"
    )
    line = Path(__file__).read_text().splitlines().index("    y[i] = twice") + 1
    with commands.open() as options, (tmp_path / "shown").open("w") as shown:
        debugger = pdb.Pdb(stdin=options, stdout=shown, nosigint=True, readrc=False)
        debugger.use_rawinput = False
        debugger.set_break(__file__, line, cond="i == 1")
        out = debugger.runcall(traced.interpret, floats(3), floats(3))
        debugger.clear_all_breaks()
    assert out.tolist() == [0.0, 2.0, 4.0]
    text = (tmp_path / "shown").read_text()
    assert "('in', 1, 2.0, " in text
    assert "('then', " in text
    assert "x = array([0., 1., 2.], dtype=float32)" in text
    assert "-> y[i] = twice" in text


@pa.kernel
def printing(y):
    i = kl.index()
    kl.print("at", i, y[i] > 1)
    y[i] += 1


def test_lines_are_printed_in_debug_mode_alone(capsys: pytest.CaptureFixture[str]) -> None:
    printing.interpret(floats(3))
    assert capsys.readouterr().out == ""
    with pa.config(kernel_debug=True):
        printing(floats(3))
    assert capsys.readouterr().out == "at 0 False\nat 1 False\nat 2 True\n"


@pa.kernel
def sums(y, z, x, a):
    i, j = kl.index()
    y[i, j] += x[j, i] * a
    z[i, j] = kl.linear_index() + kl.global_size(1) * kl.group_count(0)


def test_every_device_interprets_and_agrees(device: str) -> None:
    target = pa.device(device)

    def arguments() -> tuple[Any, ...]:
        y = pa.reshape(pa.arange(6, dtype=pa.float32, device=device), (2, 3))
        z = pa.zeros((2, 3), dtype=pa.int32, device=device)
        return y, z, pa.reshape(pa.arange(6, dtype=pa.float32, device=device), (3, 2)), 0.5

    options = arguments()
    y, z = sums.interpret(*options, group=(1, 3))
    assert y.device is target
    assert np.asarray(y).tolist() == [[0.0, 2.0, 4.0], [3.5, 5.5, 7.5]]
    assert np.asarray(z).tolist() == [[6, 7, 8], [9, 10, 11]]
    assert np.asarray(options[0]).tolist() == [[0, 1, 2], [3, 4, 5]]
    launcher = target._backend.launcher(target.native)
    with pa.config(kernel_debug=True):
        checked = sums(*options, group=(1, 3))
    assert np.array_equal(np.asarray(checked[0]), np.asarray(y))
    if isinstance(launcher, str):
        return
    options, others = arguments(), arguments()
    with pa.config(kernel_debug=True):
        checked = sums(*options, group=(1, 3))
    called = sums(*others, group=(1, 3))
    assert (checked[0] is options[0]) == (called[0] is others[0])
    assert np.array_equal(np.asarray(options[0]), np.asarray(others[0]))
    assert sums.verify(*arguments(), group=(1, 3)) == {"y": 0, "z": 0}
    with pytest.raises(KernelVerificationError, match="differs from the interpreter: y by 0 ULP"):
        sums.verify(*arguments(), tolerance=-1)


@pa.kernel
def all_of_one(y, x):
    i = kl.index()
    y[i] = x[i] + 1
    y[i] = x[i] + 1


def test_an_array_that_is_passed_twice_is_one() -> None:
    same = floats(3)
    assert all_of_one.interpret(same, same).tolist() == [2.0, 3.0, 4.0]
    assert same.tolist() == [0.0, 1.0, 2.0]
    assert all_of_one.verify(same, same) == {"y": 0}


def leaves_after_a_barrier(y):
    i = kl.index()
    for t in range(4):
        kl.barrier()
        if kl.local_index() > t:
            break
        y[i] = t


def returns_after_a_barrier(y):
    i = kl.index()
    t = 0
    while t < 4:
        kl.barrier()
        t += 1
        if i == t:
            return
        y[i] = t


def counts_differ(y):
    i = kl.index()
    k = 0
    for t in range(4):
        k = t
        if kl.local_index() > t:
            break
    for _ in range(k):
        kl.barrier()
    y[i] = k


def skips(y):
    i = kl.index()
    k = 0
    while k < 3:
        kl.barrier()
        if kl.local_index() > 1:
            continue
        k += 1
    y[i] = k


@pytest.mark.parametrize(
    "function", [leaves_after_a_barrier, returns_after_a_barrier, counts_differ, skips]
)
def test_barriers_that_not_all_reach_are_refused(function: Any) -> None:
    with pytest.raises(SyntaxError, match="all work-items of a group must reach"):
        pa.kernel(function).interpret(floats(4), group=4)


@pytest.mark.parametrize(("lines", "where"), [((5, None), "at the end"), ((5, 7), "at line 7")])
def test_divergent_barriers_are_reported_with_their_lines(
    lines: tuple[int, int | None], where: str
) -> None:
    """The front end refuses them; the interpreter looks for itself."""

    def waits(y: Any, x: Any, item: Any) -> Any:
        if lines[item.index[0]] is not None:
            yield lines[item.index[0]]

    kernel = no_barrier_of_two
    kernel.interpret(floats(2), floats(2), group=2)
    ((program, _),) = kernel._oracle.programs.values()
    run = Run(
        dataclasses.replace(program, function=waits),
        {"y": np.zeros(2), "x": np.zeros(2)}, (2,), (2,), seed=None, debug=True,
    )  # fmt: skip
    with pytest.raises(KernelDebugError, match=f"work-item 0 waits here, and 1 is {where}"):
        run.run()


@pa.kernel
def no_barrier_of_two(y, x):
    kl.barrier()
    y[kl.index()] = x[kl.index()]


@pa.kernel
def same_branch_in_a_loop(y, z, x, n):
    i = kl.index()
    total = 1.5
    sum_ = 0.0
    for k in range(len(x)):
        total = total * 0.5 + n
        sum_ += 2.0 if x[i] > 0 else k
        if math.isinf(x[i]):
            continue
        if i % 3 == 0 and k >= 0:
            total = total * 0.5 + 1
    y[i] = total
    z[i] = sum_


def test_branches_that_a_loop_does_not_change_are_those_of_each_work_item(device: str) -> None:
    """Compilers make two loops of one, and one took the branch for the same in all work-items."""
    target = pa.device(device)
    if isinstance(target._backend.launcher(target.native), str):
        pytest.skip("no programs run here")
    x = pa.asarray([-1, 2, np.inf, -np.inf] * 4, dtype=pa.float32, device=device)
    y = pa.zeros(16, dtype=pa.float32, device=device)
    z = pa.zeros(16, dtype=pa.float32, device=device)
    assert same_branch_in_a_loop.verify(y, z, x, 7, tolerance=1) is not None
    assert same_branch_in_helpers.verify(y, z, x, 7, tolerance=1) is not None


@pa.kernel.function
def is_third(i):
    return i % 3 == 0


@pa.kernel.function
def halved(total, v, i, k):
    if math.isinf(v):
        return total
    if is_third(i):
        return total * 0.5 + 1
    return total if k < 0 or v > i else total * 1


@pa.kernel
def same_branch_in_helpers(y, z, x, n):
    i = kl.index()
    total = 1.5
    for k in range(len(x)):
        total = halved(total * 0.5 + n, x[i], i, k)
        if is_third(i + 1):
            total = total + 1
    y[i] = total
    z[i] = halved(total, x[i], i, 7)


@pa.kernel
def helpers_outside_loops(y, z, x, n):
    i = kl.index()
    y[i] = halved(1.5, x[i], i, n)
    for k in range(3):
        z[i] = k


def test_branches_in_helpers_that_loops_call_are_kept_there() -> None:
    x, y = pa.ones(16, dtype=pa.float32, device="numpy"), pa.ones(16, device="numpy")
    text = same_branch_in_helpers.source("opencl", y, y, x, 7)
    body = text[text.index("halved_1(") :]
    for fragment in ("pa_isinf(u_v)", "pa_helper_is_third_2(u_i, ", "u_v > (f32)u_i"):
        assert f"PA_KEEP({fragment}" in body, fragment
    assert "PA_KEEP(u_k < 0" not in body  # which changes
    text = helpers_outside_loops.source("opencl", y, y, x, 7)
    assert "PA_KEEP" not in text[text.index("halved_1(") :]


OVERLAPS = {
    "apart": lambda whole: (whole[:4], whole[4:8]),
    "same": lambda whole: (whole[2:6], whole[2:6]),
    "interleaved": lambda whole: (whole[:8:2], whole[1:9:2]),
    "reversed": lambda whole: (whole[:4], whole[7:3:-1]),
    "mirrored": lambda whole: (whole[3:7], whole[6:2:-1]),
    "shifted": lambda whole: (whole[:4], whole[1:5]),
    "wider": lambda whole: (whole[:4], whole[0:8:2]),
}


@pytest.mark.parametrize("views", OVERLAPS.values(), ids=OVERLAPS)
def test_overlapping_arrays_are_one_memory(device: str, views: Any) -> None:
    """What one work-item writes into one of them it reads from the other."""
    target = pa.device(device)
    if isinstance(launcher := target._backend.launcher(target.native), str):
        pytest.skip("no programs run here")
    host = np.arange(10, dtype=np.float32)
    whole = pa.asarray(host, device=device, copy=True)
    y, x = views(whole)
    want = one_by_one.interpret(y, x, ndrange=1)
    np.testing.assert_array_equal(np.asarray(whole), host)
    got = one_by_one(y, x, ndrange=1)
    np.testing.assert_array_equal(np.asarray(want), np.asarray(got))
    # And as NumPy's views, one element after the other.
    y, x = views(host)
    if launcher.immutable or (target.library == "torch" and x.strides[0] < 0):  # which copies
        y, x = y.copy(), x.copy()
    for i in range(4):
        y[i] = x[i] + 10
    np.testing.assert_array_equal(np.asarray(got), y)


@pa.kernel
def one_by_one(y, x):
    for i in range(4):
        y[i] = x[i] + 10


def test_verify_refuses_overlapping_arrays() -> None:
    target = pa.device("numpy")
    if isinstance(target._backend.launcher(target.native), str):
        pytest.skip("no programs run here")
    whole = pa.zeros(9, device="numpy")
    assert one_by_one.verify(whole[:4], whole[4:], ndrange=1) == {"y": 0}
    assert one_by_one.verify(whole[:4], whole[:4], ndrange=1) == {"y": 0}
    assert one_by_one.verify(whole[:8:2], whole[1:9:2], ndrange=1) == {"y": 0}
    assert sum_of_two.verify(pa.zeros(3, device="numpy"), whole[:4], whole[1:]) == {"y": 0}
    with pytest.raises(ValueError, match="x and y overlap in memory"):
        one_by_one.verify(whole[:4], whole[3:], ndrange=1)


@pa.kernel
def sum_of_two(y, x, z):
    y[kl.index()] = x[kl.index()] + z[kl.index()]
