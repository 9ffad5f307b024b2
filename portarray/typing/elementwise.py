"""The elementwise categories of a namespace of native arrays."""

from __future__ import annotations

from typing import Protocol, TypeVar

from portarray.typing.aliases import Real, Scalar

A = TypeVar("A")


class ElementwiseNamespace(Protocol[A]):
    """Functions that compute each element from the elements at the same place.

    The docstrings of portarray's own functions of the same names say more.
    """

    def abs(self, x: A, /) -> A:
        """Return the magnitude of each element."""

    def add(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Return the sum of each pair of elements."""

    def copysign(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return the magnitude of each first element with the sign of the second."""

    def divide(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Return the quotient of each pair of elements: true division."""

    def floor_divide(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return the quotient of each pair of elements, rounded towards negative infinity."""

    def multiply(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Return the product of each pair of elements."""

    def negative(self, x: A, /) -> A:
        """Return each element with its sign changed."""

    def nextafter(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return the representable number next to each first element, towards the second."""

    def positive(self, x: A, /) -> A:
        """Return each element as it is."""

    def reciprocal(self, x: A, /) -> A:
        """Return one divided by each element."""

    def remainder(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return the remainder of each division, with the divisor's sign: Python's ``%``."""

    def sign(self, x: A, /) -> A:
        """Return the sign of each element: -1, 0 or 1, and ``x / abs(x)`` for complex numbers."""

    def signbit(self, x: A, /) -> A:
        """Tell of each element whether its sign bit is set."""

    def subtract(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Return the difference of each pair of elements."""

    def clip(self, x: A, /, min: A | Real | None = None, max: A | Real | None = None) -> A:
        """Limit each element to a range."""

    def equal(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Tell of each pair of elements whether they are equal."""

    def greater(self, x1: A | Real, x2: A | Real, /) -> A:
        """Tell of each pair of elements whether the first is greater."""

    def greater_equal(self, x1: A | Real, x2: A | Real, /) -> A:
        """Tell of each pair of elements whether the first is greater or both are equal."""

    def isfinite(self, x: A, /) -> A:
        """Tell of each element whether it is neither infinite nor NaN."""

    def isinf(self, x: A, /) -> A:
        """Tell of each element whether it is infinite, of either sign."""

    def isnan(self, x: A, /) -> A:
        """Tell of each element whether it is NaN."""

    def less(self, x1: A | Real, x2: A | Real, /) -> A:
        """Tell of each pair of elements whether the first is less."""

    def less_equal(self, x1: A | Real, x2: A | Real, /) -> A:
        """Tell of each pair of elements whether the first is less or both are equal."""

    def maximum(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return the greater of each pair of elements."""

    def minimum(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return the lesser of each pair of elements."""

    def not_equal(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Tell of each pair of elements whether they differ."""

    def exp(self, x: A, /) -> A:
        """Return e to the power of each element."""

    def expm1(self, x: A, /) -> A:
        """Return ``exp(x) - 1`` of each element, precise for small ones too."""

    def log(self, x: A, /) -> A:
        """Return the natural logarithm of each element."""

    def log1p(self, x: A, /) -> A:
        """Return the natural logarithm of ``1 + x`` of each element, precise for small ones too."""

    def log2(self, x: A, /) -> A:
        """Return the base-2 logarithm of each element."""

    def log10(self, x: A, /) -> A:
        """Return the base-10 logarithm of each element."""

    def logaddexp(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return ``log(exp(x1) + exp(x2))`` of each pair of elements."""

    def pow(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Return each first element raised to the power of the second."""

    def sqrt(self, x: A, /) -> A:
        """Return the principal square root of each element."""

    def square(self, x: A, /) -> A:
        """Return the square of each element."""

    def acos(self, x: A, /) -> A:
        """Return the angle within [0, π] whose cosine each element is."""

    def acosh(self, x: A, /) -> A:
        """Return the number that is not negative and whose hyperbolic cosine each element is."""

    def asin(self, x: A, /) -> A:
        """Return the angle within [-π/2, π/2] whose sine each element is."""

    def asinh(self, x: A, /) -> A:
        """Return the number whose hyperbolic sine each element is."""

    def atan(self, x: A, /) -> A:
        """Return the angle within [-π/2, π/2] whose tangent each element is."""

    def atan2(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return the angle within [-π, π] of each point, seen from the origin."""

    def atanh(self, x: A, /) -> A:
        """Return the number whose hyperbolic tangent each element is."""

    def cos(self, x: A, /) -> A:
        """Return the cosine of each element."""

    def cosh(self, x: A, /) -> A:
        """Return the hyperbolic cosine of each element."""

    def hypot(self, x1: A | Real, x2: A | Real, /) -> A:
        """Return the distance of each point from the origin, ``sqrt(x1**2 + x2**2)``."""

    def sin(self, x: A, /) -> A:
        """Return the sine of each element."""

    def sinh(self, x: A, /) -> A:
        """Return the hyperbolic sine of each element."""

    def tan(self, x: A, /) -> A:
        """Return the tangent of each element."""

    def tanh(self, x: A, /) -> A:
        """Return the hyperbolic tangent of each element."""

    def ceil(self, x: A, /) -> A:
        """Return the least integer value not below each element."""

    def floor(self, x: A, /) -> A:
        """Return the greatest integer value not above each element."""

    def round(self, x: A, /) -> A:
        """Return the integer value nearest to each element, the even one of two equally near."""

    def trunc(self, x: A, /) -> A:
        """Return the integer value nearest to each element in the direction of zero."""

    def bitwise_and(self, x1: A | int, x2: A | int, /) -> A:
        """Return the bits that are set in both elements of each pair."""

    def bitwise_invert(self, x: A, /) -> A:
        """Return each element with every bit flipped; booleans are negated."""

    def bitwise_left_shift(self, x1: A | int, x2: A | int, /) -> A:
        """Return the bits of each first element moved up by the second; zeros follow."""

    def bitwise_or(self, x1: A | int, x2: A | int, /) -> A:
        """Return the bits that are set in either element of each pair."""

    def bitwise_right_shift(self, x1: A | int, x2: A | int, /) -> A:
        """Return the bits of each first element moved down by the second, keeping its sign."""

    def bitwise_xor(self, x1: A | int, x2: A | int, /) -> A:
        """Return the bits that differ between the elements of each pair."""

    def logical_and(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Tell of each pair of elements whether both are true."""

    def logical_not(self, x: A, /) -> A:
        """Tell of each element whether it is false."""

    def logical_or(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Tell of each pair of elements whether at least one is true."""

    def logical_xor(self, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Tell of each pair of elements whether exactly one is true."""

    def conj(self, x: A, /) -> A:
        """Return the complex conjugate of each element."""

    def imag(self, x: A, /) -> A:
        """Return the imaginary part of each element."""

    def real(self, x: A, /) -> A:
        """Return the real part of each element."""
