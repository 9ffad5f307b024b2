"""Cases at singular points: masked singularities, many ties and the extremes of the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import portarray as pa
from portarray_conformance.gradients.case import Case, Draw, Drawn, Function, Values, standard

__all__ = ["CASES"]

ODD = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, 1e300)
"""Values at which a function or its derivative is 0, infinite, NaN or undefined."""
UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log",
    "log10", "log1p", "log2", "reciprocal", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    "kernels.gelu", "kernels.silu",
)  # fmt: skip
BINARY = (
    "atan2", "copysign", "divide", "hypot", "logaddexp", "maximum", "minimum", "multiply", "pow",
    "remainder",
)  # fmt: skip
REDUCTIONS: dict[str, dict[str, Any]] = {
    "kernels.log_softmax": {},
    "kernels.softmax": {},
    "linalg.vector_norm": {"axis": -1, "keepdims": True},
    "max": {"axis": -1, "keepdims": True},
    "prod": {"axis": -1, "keepdims": True},
    "std": {"axis": -1, "keepdims": True},
    "var": {"axis": -1, "keepdims": True},
}
MATRICES: dict[str, Function] = {
    "linalg.det": lambda x: pa.linalg.det(x)[..., None, None],
    "linalg.matrix_norm": lambda x: pa.linalg.matrix_norm(x, keepdims=True),
    "linalg.slogdet": lambda x: pa.linalg.slogdet(x).logabsdet[..., None, None],
}
HOMOGENEOUS = {"atan2": 0, "divide": 0, "hypot": 1, "linalg.vector_norm": 1, "maximum": 1, "std": 1}
"""Functions of two operands whose results grow with a power of a common factor."""


def _masked(function: Function, mask: Callable[..., Values], odd: Callable[..., Any]) -> Any:
    """Return a function that draws operands which are odd where ``where`` drops the result."""

    def make(d: Draw, samples: Any, shape: tuple[int, ...]) -> Drawn:
        taken = mask(d, shape)
        values = [sample(d, *shape) for sample in samples]
        args = [np.where(taken, x, odd(d, shape)) for x in values]
        return Drawn(lambda taken, *x: pa.where(taken, function(*x), 0.0), (taken, *args))

    return make


def _elements(d: Draw, shape: tuple[int, ...]) -> Values:
    return np.asarray(d.rng.random(shape) < 0.5)


def _odd_elements(d: Draw, shape: tuple[int, ...]) -> Values:
    return np.asarray(d.rng.choice(ODD, shape))


def _rows(d: Draw, shape: tuple[int, ...]) -> Values:
    return _elements(d, (*shape[:-1], 1))


def _odd_rows(d: Draw, shape: tuple[int, ...]) -> Values:
    return np.broadcast_to(_odd_elements(d, (*shape[:-1], 1)), shape)


def _stacks(d: Draw, shape: tuple[int, ...]) -> Values:
    return _elements(d, (*shape[:-2], 1, 1))


def _odd_stacks(d: Draw, shape: tuple[int, ...]) -> Values:
    return np.asarray(np.broadcast_to(d.rng.choice([0.0, 1.0, 1e300], (*shape[:-2], 1, 1)), shape))


def _above_one(d: Draw, *shape: int) -> Values:
    return 1 + d.positive(*shape)


def _regular(d: Draw, *shape: int) -> Values:
    return np.asarray(d.real(*shape) + 3 * np.eye(shape[-1]))


def _cases() -> Iterator[Case]:
    for name in UNARY:
        sample = _above_one if name == "acosh" else Draw.positive
        make = _masked(standard(name), _elements, _odd_elements)
        yield _case(f"masked {name}", name, make, [sample], 1)
    for name in BINARY:
        make = _masked(standard(name), _elements, _odd_elements)
        yield _case(f"masked {name}", name, make, [Draw.positive, Draw.positive], 1)
    for name, options in REDUCTIONS.items():
        make = _masked(_with_options(standard(name), options), _rows, _odd_rows)
        yield _case(f"masked rows of {name}", name, make, [Draw.real], 2)
    for name, function in MATRICES.items():
        make = _masked(function, _stacks, _odd_stacks)
        # Derivatives of products of matrices have no strong zeros.
        yield _case(f"masked {name}", name, make, [_regular], 3, twice=False)
    for name, power in HOMOGENEOUS.items():
        for exponent in (-0.6, 0.6):
            function = standard(name)
            if name in REDUCTIONS:
                function = _of_pairs(function)
            function = _at_scale(function, exponent, power)
            yield Case(
                f"{name} at {'tiny' if exponent < 0 else 'huge'} operands",
                name,
                partial(_of_positive, function),
                twice=False,
                singular=True,
            )
    yield Case(
        "max of 20000 equal elements",
        "max",
        lambda d: Drawn(lambda x: pa.max(pa.tile(x, 20_000)), (d.real(3),)),
        twice=False,
        singular=True,
    )


def _case(
    title: str, name: str, make: Any, samples: list[Any], ndim: int, *, twice: bool = True
) -> Case:
    def drawn(d: Draw) -> Drawn:
        shape = (4, 3, 3) if ndim == 3 else tuple(d.size(2) for _ in range(ndim))
        return make(d, samples, shape)  # type: ignore[no-any-return]

    return Case(title, name, drawn, twice=twice, singular=True)


def _with_options(function: Function, options: dict[str, Any]) -> Function:
    return lambda x: function(x, **options)


def _of_positive(function: Function, d: Draw) -> Drawn:
    return Drawn(function, (d.positive(3), d.positive(3)))


def _of_pairs(function: Function) -> Function:
    return lambda *operands: function(pa.stack(operands), axis=0)


def _at_scale(function: Function, exponent: float, power: int) -> Function:
    """Return a homogeneous function of operands whose squares over- or underflow."""

    def scaled(*operands: Any) -> Any:
        scale = float(pa.finfo(operands[0].dtype).max) ** exponent
        y = function(*(x * scale for x in operands))
        return y / scale if power else y

    return scaled


CASES = tuple(_cases())
