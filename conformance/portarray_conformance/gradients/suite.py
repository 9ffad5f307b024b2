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
from portarray_conformance.gradients.case import Case, Draw, Drawn, Values
from portarray_conformance.gradients.differences import (
    KinkError,
    along,
    autograd,
    central,
    followed,
    has,
    loss,
    placed,
)
from portarray_conformance.gradients.elementwise import elementwise, reductions
from portarray_conformance.gradients.matrices import linear_algebra, products
from portarray_conformance.gradients.others import kernels, transforms
from portarray_conformance.gradients.shapes import indexing, shapes
from portarray_conformance.run import Result, Status, describe
from portarray_conformance.target import Target

__all__ = ["CASES", "cases_of", "run_cases"]

CASES: tuple[Case, ...] = (
    *elementwise(),
    *reductions(),
    *shapes(),
    *indexing(),
    *products(),
    *linear_algebra(),
    *transforms(),
    *kernels(),
)

WIDE, NARROW = 1e-6, 3e-3
"""Largest errors in double and in single precision, beside 1 and the largest element."""
NARROW_SECOND = 3e-2
SINGLE = 0.25
"""How often the single precision of a device that has double precision is looked at."""
COMPLEX_WITHIN = ("fft.", "linalg.eig")
"""Functions that may have complex results of real arrays."""
FIRST, SECOND = "gradients", "second derivatives"


def cases_of(functions: Sequence[str] | None) -> list[Case]:
    """Return the cases of some functions, or all.

    Raises
    ------
    ValueError
        If there are none of a function.
    """
    if functions is None:
        return list(CASES)
    known = {case.function for case in CASES}
    for name in functions:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"no case looks at the gradient of {name!r}{hint}")
    return [case for case in CASES if case.function in functions]


class _Reference(NamedTuple):
    """Arguments, and the derivatives of their followed ones in NumPy's float64."""

    drawn: Drawn
    found: Sequence[Values]
    directions: Sequence[Values] = ()


class _Way(NamedTuple):
    """How a derivative is asked for."""

    name: str
    narrow: bool


@lru_cache(maxsize=50_000)
def _first(case: Case, seed: int, example: int) -> _Reference | KinkError:
    """Return central differences, which PyTorch's gradients agree with where there are any."""
    drawn = case.drawn(seed, example)

    def value(args: Sequence[Values]) -> float:
        given = [placed(x, "numpy", narrow=False) for x in args]
        return float(loss(drawn.function(*given)))

    with pa.device("numpy"), np.errstate(all="ignore"):
        try:
            return _Reference(drawn, [central(value, drawn.args, n) for n in followed(drawn)])
        except KinkError as error:
            return error


@lru_cache(maxsize=50_000)
def _by_pytorch(case: Case, seed: int, example: int) -> list[Values] | None:
    return autograd(case.drawn(seed, example))


@lru_cache(maxsize=50_000)
def _second(case: Case, seed: int, example: int) -> _Reference | KinkError:
    """Return central differences of the gradient in a direction."""
    drawn = case.drawn(seed, example)
    places = followed(drawn)
    draw = Draw(np.random.default_rng((seed, example, 1)))
    directions = {
        n: (draw.complex if drawn.args[n].dtype.kind == "c" else draw.real)(*drawn.args[n].shape)
        for n in places
    }

    def slopes(args: Sequence[Values]) -> Values:
        given = [placed(x, "numpy", narrow=False) for x in args]
        found = pa.grad(_losses(drawn), tuple(places))(*given)
        return np.concatenate([np.reshape(np.asarray(x), -1) for x in found])

    with pa.device("numpy"), np.errstate(all="ignore"):
        try:
            every = along(slopes, drawn.args, directions)
        except KinkError as error:
            return error
    found = []
    for n in places:
        x = drawn.args[n]
        part, every = every[: x.size], every[x.size :]
        part = np.reshape(part, x.shape)
        found.append(part if x.dtype.kind == "c" else part.real)
    return _Reference(drawn, found, list(directions.values()))


def _losses(drawn: Drawn) -> Callable[..., Any]:
    def value(*args: Any) -> Any:
        return loss(drawn.function(*args))

    return value


def _on(drawn: Drawn, target: Target, way: _Way) -> list[pa.Array]:
    return [placed(x, target.device, narrow=way.narrow) for x in drawn.args]


def _gradients(reference: _Reference, target: Target, way: _Way) -> Sequence[Any]:
    """Return the gradients on a device."""
    drawn = reference.drawn
    places = tuple(followed(drawn))
    value = _losses(drawn)
    args = _on(drawn, target, way)
    if way.name == BESIDE:
        other = pa.ones(2, device="numpy")
        # Of arrays of several libraries the record is taken everywhere.
        found = pa.grad(lambda *every: value(*every[:-1]), (*places, len(args)))(*args, other)
        assert not np.any(np.asarray(found[-1]))
        return found[:-1]  # type: ignore[no-any-return]
    if way.name == "checkpoint":
        return pa.grad(pa.checkpoint(value), places)(*args)  # type: ignore[no-any-return]
    if way.name == "vjp":
        fixed = list(args)

        def of_followed(*given: Any) -> Any:
            for n, x in zip(places, given, strict=True):
                fixed[n] = x
            return drawn.function(*fixed)

        # The loss is linear in the output, and its gradient therefore the weights.
        y, pull = pa.vjp(of_followed, *(args[n] for n in places))
        return pull(pa.grad(loss)(y))  # type: ignore[no-any-return]
    return pa.grad(value, places)(*args)  # type: ignore[no-any-return]


def _products(reference: _Reference, target: Target, way: _Way) -> Sequence[Any]:
    """Return products with the Hessian on a device."""
    drawn = reference.drawn
    places = followed(drawn)
    args = _on(drawn, target, way)
    fixed = list(args)

    def of_followed(*given: Any) -> Any:
        for n, x in zip(places, given, strict=True):
            fixed[n] = x
        return loss(drawn.function(*fixed))

    directions = [placed(v, target.device, narrow=way.narrow) for v in reference.directions]
    return pa.hvp(of_followed, [args[n] for n in places], directions)  # type: ignore[no-any-return]


BESIDE = "beside another device"
WAYS = ("grad", "grad", "grad", BESIDE, "checkpoint", "vjp")


def _way(target: Target, case: Case, seed: int, example: int) -> _Way:
    draw = Draw(np.random.default_rng((seed, example, len(case.name))))
    name = draw.of(*WAYS) if case.own else BESIDE
    wide = has(target.device, "float64")
    if any(x.dtype.kind == "c" for x in case.drawn(seed, example).args):
        wide = has(target.device, "complex128")
    if "complex" in case.name or case.function.startswith(COMPLEX_WITHIN):
        wide = wide and has(target.device, "complex128")
    return _Way(name, not wide or draw.rng.random() < SINGLE)


def _compare(
    got: Sequence[Any], wanted: Sequence[Values], args: Sequence[Values], way: _Way, bound: float,
    target: Target, what: str,
) -> None:  # fmt: skip
    for n, (x, value, want) in enumerate(zip(got, wanted, args, strict=True)):
        found = target.get(x)
        where = f"argument {n} by {way.name}{', in single precision' if way.narrow else ''}"
        width = want.dtype.itemsize // (2 if way.narrow else 1)
        if found.shape != want.shape or found.dtype != np.dtype(f"{want.dtype.kind}{width}"):
            raise AssertionError(
                f"{where}: shape {found.shape} and dtype {found.dtype} of an argument of shape "
                f"{want.shape} and dtype {want.dtype.kind}{width}"
            )
        off = np.max(np.abs(found - value), initial=0)
        if not off <= bound * (1 + np.max(np.abs(value), initial=0)):
            raise AssertionError(
                f"{where}: {off:.3g} off {what}\ngot    {describe(found)}\nwanted {describe(value)}"
            )


def _check(target: Target, case: Case, order: str, seed: int, example: int) -> None:
    """Look at one example; raise what is wrong, or KinkError where nothing can be said."""
    way = _way(target, case, seed, example)
    reference = (_first if order == FIRST else _second)(case, seed, example)
    if isinstance(reference, KinkError):
        raise reference
    args = [reference.drawn.args[n] for n in followed(reference.drawn)]
    if order == SECOND:
        bound = NARROW_SECOND if way.narrow else WIDE
        got = _products(reference, target, way)
        _compare(got, reference.found, args, way, bound, target, "differences of gradients")
        return
    bound = NARROW if way.narrow else WIDE
    got = _gradients(reference, target, way)
    _compare(got, reference.found, args, way, bound, target, "central differences")
    pytorch = _by_pytorch(case, seed, example) if case.own else None
    if pytorch is not None:
        _compare(got, pytorch, args, way, bound, target, "PyTorch's float64 gradient")


def run_case(target: Target, case: Case, order: str, seed: int, examples: int) -> Result:
    """Look at some examples of a case on a device, up to the first that is wrong."""
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
        chapter=order,
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

    Parameters
    ----------
    target : Target
        A device of portarray.
    cases : sequence of Case
        Of :data:`CASES`.
    examples, seed : int
        How many arguments are drawn for each case, and what draws them.
    on_start, on_result : callable
        Called with the name of each case before it runs, and with each result.

    Returns
    -------
    list of Result
        Two for each case, of its gradient and of its second derivative.
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
