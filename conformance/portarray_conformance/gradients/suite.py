"""Gradients and second derivatives of each function on a device, compared with differences."""

from __future__ import annotations

import difflib
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import portarray as pa
from portarray_conformance.gradients import (
    elementwise,
    fourier_and_kernels,
    matrices,
    shapes,
    singular,
)
from portarray_conformance.gradients.case import Case, Draw, Drawn, Values
from portarray_conformance.gradients.differences import (
    NARROW,
    SINGLE,
    WIDE,
    KinkError,
    along,
    argnums,
    autograd,
    central,
    has,
    loss,
    placed,
)
from portarray_conformance.run import Result, Status, describe
from portarray_conformance.target import Target

__all__ = ["CASES", "cases_of", "run_cases"]

CASES = (
    *elementwise.CASES,
    *shapes.CASES,
    *matrices.CASES,
    *fourier_and_kernels.CASES,
    *singular.CASES,
)

NARROW_SECOND = 3e-2
COMPLEX_WITHIN = ("fft.", "linalg.eig")
"""Functions that may have complex results of real arrays."""
FIRST, SECOND = "gradients", "second derivatives"


def cases_of(functions: Sequence[str] | None) -> list[Case]:
    """Return the cases of some functions, or all; a ValueError for a function without cases."""
    if functions is None:
        return list(CASES)
    available = {case.function for case in CASES}
    for name in functions:
        if name not in available:
            near = difflib.get_close_matches(name, available, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"no case checks the gradient of {name!r}{hint}")
    return [case for case in CASES if case.function in functions]


class _Reference(NamedTuple):
    """Arguments, and the derivatives by the differentiable ones in NumPy's float64."""

    drawn: Drawn
    derivatives: Sequence[Values]
    directions: Sequence[Values] = ()


class _Method(NamedTuple):
    """How a derivative is computed."""

    name: str
    narrow: bool


@lru_cache(maxsize=50_000)
def _first(case: Case, seed: int, example: int) -> _Reference | KinkError:
    """Return central differences, which PyTorch's gradients agree with where there are any."""
    drawn = case.drawn(seed, example)

    def value(args: Sequence[Values]) -> float:
        arrays = [placed(x, "numpy", narrow=False) for x in args]
        return float(loss(drawn.function(*arrays)))

    with pa.device("numpy"), np.errstate(all="ignore"):
        try:
            return _Reference(drawn, [central(value, drawn.args, n) for n in argnums(drawn)])
        except KinkError as error:
            return error


@lru_cache(maxsize=50_000)
def _by_pytorch(case: Case, seed: int, example: int) -> list[Values] | None:
    return autograd(case.drawn(seed, example))


@lru_cache(maxsize=50_000)
def _second(case: Case, seed: int, example: int) -> _Reference | KinkError:
    """Return central differences of the gradient in a direction."""
    drawn = case.drawn(seed, example)
    positions = argnums(drawn)
    draw = Draw(np.random.default_rng((seed, example, 1)))
    directions = {
        n: (draw.complex if drawn.args[n].dtype.kind == "c" else draw.real)(*drawn.args[n].shape)
        for n in positions
    }

    def slopes(args: Sequence[Values]) -> Values:
        arrays = [placed(x, "numpy", narrow=False) for x in args]
        gradients = pa.grad(_losses(drawn), tuple(positions))(*arrays)
        return np.concatenate([np.reshape(np.asarray(x), -1) for x in gradients])

    with pa.device("numpy"), np.errstate(all="ignore"):
        try:
            every = along(slopes, drawn.args, directions)
        except KinkError as error:
            return error
    products = []
    for n in positions:
        x = drawn.args[n]
        part, every = every[: x.size], every[x.size :]
        part = np.reshape(part, x.shape)
        products.append(part if x.dtype.kind == "c" else part.real)
    return _Reference(drawn, products, list(directions.values()))


def _losses(drawn: Drawn) -> Callable[..., Any]:
    def value(*args: Any) -> Any:
        return loss(drawn.function(*args))

    return value


def _on(drawn: Drawn, target: Target, method: _Method) -> list[pa.Array]:
    return [placed(x, target.device, narrow=method.narrow) for x in drawn.args]


def _gradients(reference: _Reference, target: Target, method: _Method) -> Sequence[Any]:
    """Return the gradients on a device."""
    drawn = reference.drawn
    positions = tuple(argnums(drawn))
    value = _losses(drawn)
    args = _on(drawn, target, method)
    if method.name == WITH_OTHER_DEVICE:
        extra = pa.ones(2, device="numpy")
        # With arrays of several libraries, the tape is used everywhere.
        gradients = pa.grad(lambda *every: value(*every[:-1]), (*positions, len(args)))(
            *args, extra
        )
        assert not np.any(np.asarray(gradients[-1]))
        return gradients[:-1]  # type: ignore[no-any-return]
    if method.name == "checkpoint":
        return pa.grad(pa.checkpoint(value), positions)(*args)  # type: ignore[no-any-return]
    if method.name == "vjp":
        fixed = list(args)

        def function_of_positions(*values: Any) -> Any:
            for n, x in zip(positions, values, strict=True):
                fixed[n] = x
            return drawn.function(*fixed)

        # The loss is linear in the output, so that its gradient is the weights.
        y, vjp_fun = pa.vjp(function_of_positions, *(args[n] for n in positions))
        return vjp_fun(pa.grad(loss)(y))  # type: ignore[no-any-return]
    return pa.grad(value, positions)(*args)  # type: ignore[no-any-return]


def _products(reference: _Reference, target: Target, method: _Method) -> Sequence[Any]:
    """Return products with the Hessian on a device."""
    drawn = reference.drawn
    positions = argnums(drawn)
    args = _on(drawn, target, method)
    fixed = list(args)

    def function_of_positions(*values: Any) -> Any:
        for n, x in zip(positions, values, strict=True):
            fixed[n] = x
        return loss(drawn.function(*fixed))

    directions = [placed(v, target.device, narrow=method.narrow) for v in reference.directions]
    return pa.hvp(function_of_positions, [args[n] for n in positions], directions)  # type: ignore[no-any-return]


WITH_OTHER_DEVICE = "with another device"
METHODS = ("grad", "grad", "grad", WITH_OTHER_DEVICE, "checkpoint", "vjp")


def _method(target: Target, case: Case, seed: int, example: int) -> _Method:
    draw = Draw(np.random.default_rng((seed, example, len(case.name))))
    name = draw.of(*METHODS) if case.library_gradients else WITH_OTHER_DEVICE
    wide = has(target.device, "float64")
    if any(x.dtype.kind == "c" for x in case.drawn(seed, example).args):
        wide = has(target.device, "complex128")
    if "complex" in case.name or case.function.startswith(COMPLEX_WITHIN):
        wide = wide and has(target.device, "complex128")
    return _Method(name, not wide or draw.rng.random() < SINGLE)


def _compare(
    target: Target, got: Sequence[Any], expected: Sequence[Values], args: Sequence[Values],
    method: _Method, bound: float, reference: str,
) -> None:  # fmt: skip
    for n, (x, value, arg) in enumerate(zip(got, expected, args, strict=True)):
        gradient = target.get(x)
        where = f"argument {n} by {method.name}{', in single precision' if method.narrow else ''}"
        dtype = np.dtype(f"{arg.dtype.kind}{arg.dtype.itemsize // (2 if method.narrow else 1)}")
        if gradient.shape != arg.shape or gradient.dtype != dtype:
            raise AssertionError(
                f"{where}: got shape {gradient.shape} and dtype {gradient.dtype} for an argument "
                f"of shape {arg.shape} and dtype {dtype}"
            )
        off = np.max(np.abs(gradient - value), initial=0)
        if not off <= bound * (1 + np.max(np.abs(value), initial=0)):
            raise AssertionError(
                f"{where}: {off:.3g} off {reference}\n"
                f"got    {describe(gradient)}\nwanted {describe(value)}"
            )


def _check(target: Target, case: Case, order: str, seed: int, example: int) -> None:
    """Check one example; raise KinkError if the function is not differentiable there."""
    method = _method(target, case, seed, example)
    reference = (_first if order == FIRST else _second)(case, seed, example)
    if isinstance(reference, KinkError):
        raise reference
    args = [reference.drawn.args[n] for n in argnums(reference.drawn)]
    if order == SECOND:
        bound = NARROW_SECOND if method.narrow else WIDE
        got = _products(reference, target, method)
        text = "differences of gradients"
        _compare(target, got, reference.derivatives, args, method, bound, text)
        return
    bound = NARROW if method.narrow else WIDE
    got = _gradients(reference, target, method)
    _compare(target, got, reference.derivatives, args, method, bound, "central differences")
    has_peer = case.library_gradients and not case.singular
    pytorch = _by_pytorch(case, seed, example) if has_peer else None
    if pytorch is not None:
        _compare(target, got, pytorch, args, method, bound, "PyTorch's float64 gradient")


def run_case(target: Target, case: Case, order: str, seed: int, examples: int) -> Result:
    """Check some examples of a case on a device, up to the first failure."""
    began = time.perf_counter()
    status: Status = "passed"
    message = text = reason = ""
    kinks = done = 0
    for example in range(examples):
        try:
            _check(target, case, order, seed, example)
        except KinkError as error:
            kinks += 1
            reason = str(error)
            continue
        except Exception as error:  # noqa: BLE001 - whatever is raised is the case's result
            status, message = "failed", _message(error)
            args = case.drawn(seed, example).args
            text = "\n".join(
                [
                    f"seed {seed}, example {example}",
                    *(f"x{n} = {describe(x)}" for n, x in enumerate(args)),
                ]
            )
            done += 1
            break
        done += 1
    if status == "passed" and not done:
        status = "not run"
    return Result(
        function=case.function,
        category=order,
        aspect=case.name,
        target=target.label,
        served=target.served(case.function),
        status=status,
        seconds=time.perf_counter() - began,
        examples=done,
        example=text,
        message=message or (f"{kinks} of {examples} points lie at kinks" if kinks else ""),
        reason=reason if status == "not run" else "",
    )


def _message(error: Exception) -> str:
    if isinstance(error, AssertionError):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error}\nraised at {frame.filename}:{frame.lineno}"


def run_cases(
    target: Target,
    cases: Sequence[Case],
    *,
    examples: int,
    seed: int,
    on_start: Callable[[str], None] = lambda name: None,
    on_result: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Compare gradients and second derivatives of cases on a device with differences.

    ``on_start`` is called with the name of each case before it runs, ``on_result`` with each
    result: one of the gradient, and one of the second derivative if the case has one.
    """
    results = []
    with warnings.catch_warnings(), target.scope():
        warnings.simplefilter("ignore")
        for case in cases:
            on_start(case.name)
            for order in (FIRST, SECOND) if case.twice else (FIRST,):
                results.append(run_case(target, case, order, seed, examples))
                on_result(results[-1])
    return results
