"""Cases of the gradient suite, and the drawing of their arguments."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import portarray as pa

Values = np.ndarray[Any, Any]
Function = Callable[..., Any]
Sample = Callable[..., Values]
"""A method of :class:`Draw` that takes a shape."""


class Drawn(NamedTuple):
    """A function of arrays that returns one array, and its arguments.

    Arrays of float64 or complex128 are differentiable; all others are constant.
    """

    function: Function
    args: tuple[Values, ...]


class Case(NamedTuple):
    """One use of a function of portarray.

    Parameters
    ----------
    name
        The unique name in reports and tests.
    function
        The function's name in portarray.
    make
        Draws arguments.
    twice
        Whether its second derivative can be computed in floating-point numbers.
    library_gradients
        Whether the libraries' own gradients are right; docs/gradients.md lists the exceptions.
    singular
        Whether cotangents of zero meet infinite or NaN derivatives, which PyTorch makes NaN.
    """

    name: str
    function: str
    make: Callable[[Draw], Drawn]
    twice: bool = True
    library_gradients: bool = True
    singular: bool = False

    def drawn(self, seed: int, example: int) -> Drawn:
        """Return the arguments that a seed draws: the same each time, whatever else is drawn."""
        name = zlib.crc32(self.name.encode())
        drawn = self.make(Draw(np.random.default_rng((seed, example, name))))
        return drawn._replace(args=tuple(np.asarray(x) for x in drawn.args))


class Draw:
    """Draws sizes, options and numbers of moderate size, away from 0 and 1."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def size(self, least: int = 1, most: int = 4) -> int:
        """Return a length of an axis."""
        return int(self.rng.integers(least, most + 1))

    def shape(self, least: int = 0, most: int = 3) -> tuple[int, ...]:
        """Return a shape with a number of axes in these bounds, at times without elements."""
        ndim = self.size(least, most)
        shape = [self.size(1, 4 if ndim < 3 else 3) for _ in range(ndim)]
        if ndim and self.rng.random() < 0.03:
            shape[self.axis(ndim)] = 0
        return tuple(shape)

    def partner(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape that broadcasts with another."""
        fewer = shape[self.size(0, len(shape)) :] if self.rng.random() < 0.5 else shape
        return tuple(1 if self.rng.random() < 0.25 else n for n in fewer)

    def axis(self, ndim: int) -> int:
        """Return an axis, counted from either end."""
        return int(self.rng.integers(-ndim, ndim))

    def axes(self, ndim: int, least: int = 1) -> tuple[int, ...]:
        """Return several axes in any order."""
        count = self.size(min(least, ndim), ndim)
        return tuple(int(n) for n in self.rng.permutation(ndim)[:count])

    def flag(self) -> bool:
        """Return True or False."""
        return bool(self.rng.random() < 0.5)

    def of(self, *choices: Any) -> Any:
        """Return one of several values."""
        return choices[int(self.rng.integers(len(choices)))]

    def indices(self, length: int, *shape: int) -> Values:
        """Return indices into an axis, some of them more than once."""
        return np.asarray(self.rng.integers(-length, length, shape))

    def real(self, *shape: int) -> Values:
        """Return numbers of both signs."""
        return np.asarray(self.positive(*shape) * self.rng.choice([-1.0, 1.0], shape))

    def positive(self, *shape: int) -> Values:
        """Return positive numbers."""
        return np.asarray(self.rng.uniform(0.2, 0.9, shape))

    def complex(self, *shape: int) -> Values:
        """Return complex numbers from all quadrants."""
        return np.asarray(self.real(*shape) + 1j * self.real(*shape))


def standard(name: str) -> Function:
    """Return a function of portarray by its dotted name."""
    attribute: Any = pa
    for part in name.split("."):
        attribute = getattr(attribute, part)
    return attribute  # type: ignore[no-any-return]


def adjoint(x: Any) -> Any:
    """Return the conjugated transpose of matrices."""
    return pa.conj(x.mT) if pa.isdtype(x.dtype, "complex floating") else x.mT


def kinds() -> tuple[tuple[str, Sample], ...]:
    """Return the prefixes of case names, each with the method that draws its numbers."""
    return (("", Draw.real), ("complex ", Draw.complex))
