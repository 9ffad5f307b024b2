"""The comparison of matrix factors accepts correct ones and finds the smallest errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from portarray_conformance.bounds import NORMWISE
from portarray_conformance.programs.factors import FACTORS, decomposed, wrong_factors
from portarray_conformance.programs.program import Snap

Data = Any
DTYPES = ("float32", "float64", "complex64", "complex128")
COMPLEX = {"float32": "complex64", "float64": "complex128"}


def snap(x: Data) -> Snap:
    return Snap("array", x.dtype.name, np.asarray(x))


def problem(name: str, x: Data, factors: Sequence[Data]) -> str:
    items = [snap(factor) for factor in factors]
    result = items[0] if len(items) == 1 else Snap("tuple", "tuple", tuple(items))
    return wrong_factors(f"linalg.{name}", snap(x), result)


def decomposition(name: str, x: Data, **options: Any) -> list[Data]:
    """Return NumPy's factors, with the dtypes of the standard."""
    out = getattr(np.linalg, name)(x, **options)
    factors = list(out) if isinstance(out, tuple) else [out]
    if name in ("eig", "eigvals"):
        return [factor.astype(COMPLEX.get(x.dtype.name, x.dtype.name)) for factor in factors]
    return factors


def drawn(name: str, dtype: str, seed: int = 0, shape: tuple[int, ...] = (3, 4, 4)) -> Data:
    """Draw a stack of matrices of very different norms for a function."""
    random = np.random.default_rng(seed)
    x = random.normal(size=shape) + (1j * random.normal(size=shape) if dtype[0] == "c" else 0)
    if name == "eigh":
        x = x + np.conj(np.swapaxes(x, -1, -2))
    sizes = np.asarray([1e-6, 1.0, 1e6])[: shape[0]].reshape(-1, 1, 1)
    return (x * sizes if len(shape) == 3 else x).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name.removeprefix("linalg.") for name in FACTORS])
def test_right_factors_pass(name: str, dtype: str) -> None:
    for seed in range(20):
        x = drawn(name, dtype, seed)
        assert problem(name, x, decomposition(name, x)) == ""
        assert problem(name, x * 0, decomposition(name, x * 0)) == ""
    for shape in ((0, 3, 3), (2, 0, 0), (1, 1)):
        x = drawn(name, dtype, shape=shape)
        assert problem(name, x, decomposition(name, x)) == ""


@pytest.mark.parametrize("shape", [(3, 2, 4), (3, 4, 2), (0, 3), (3, 0)])
def test_right_factors_of_other_shapes_pass(shape: tuple[int, ...]) -> None:
    x = drawn("svd", "float32", shape=shape)
    for full in (True, False):
        assert problem("svd", x, decomposition("svd", x, full_matrices=full)) == ""
    for mode in ("reduced", "complete"):
        assert problem("qr", x, decomposition("qr", x, mode=mode)) == ""


def scaled(index: int) -> Callable[..., list[Data]]:
    """Return a fault: one factor of the second matrix is scaled."""

    def fault(factors: list[Data], by: float) -> list[Data]:
        changed = [np.array(factor) for factor in factors]
        changed[index][1] *= 1 + by
        return changed

    return fault


def turned(factors: list[Data], by: float) -> list[Data]:
    """Return factors with the same product, of which the first is not orthonormal."""
    q, r = factors
    shear = np.eye(4)
    shear[0, 1] = by
    return [q @ shear, np.linalg.solve(shear, r)]


FAULTS: list[tuple[str, Callable[..., list[Data]], str]] = [
    ("svd", scaled(0), "U S Vh is not x"),
    ("svd", scaled(1), "U S Vh is not x"),
    ("svd", scaled(2), "U S Vh is not x"),
    ("eigh", scaled(0), "the product of values and vectors is not x"),
    ("eigh", scaled(1), "the product of values and vectors is not x"),
    ("eig", scaled(0), "x v is not w v"),
    ("eig", scaled(1), "eigenvectors are not of norm 1"),
    ("eigvals", scaled(0), "not an eigenvalue"),
    ("qr", scaled(0), "Q R is not x"),
    ("qr", scaled(1), "Q R is not x"),
    ("qr", turned, "Q is not orthonormal"),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "fault", "kind"), FAULTS)
def test_factors_are_wrong_by_more_than_the_bound(
    name: str, fault: Callable[..., list[Data]], kind: str, dtype: str
) -> None:
    x = drawn(name, dtype)
    bound = NORMWISE["linalg"] * 4 * float(np.finfo(dtype).eps)
    right = decomposition(name, x)
    for by, message in ((8 * bound, kind), (bound / 8, "")):
        wrong = zip(fault(right, by), right, strict=True)
        assert problem(name, x, [first.astype(second.dtype) for first, second in wrong]) == message


@pytest.mark.parametrize(
    ("name", "index", "kind"),
    [
        ("svd", 0, "U is not orthonormal"),
        ("svd", 2, "Vh is not orthonormal"),
        ("eigh", 1, "eigenvectors are not orthonormal"),
    ],
)
def test_vectors_of_zero_are_orthonormal_too(name: str, index: int, kind: str) -> None:
    """Vectors of zero singular values or eigenvalues are checked without the product."""
    x = np.ones((3, 3))
    factors = decomposition(name, x)
    vectors = factors[index] if index < 2 else factors[index].T
    zero = np.argmin(np.abs(factors[1 if name == "svd" else 0]))
    vectors[:, zero] = vectors[:, zero - 1]
    assert problem(name, x, factors) == kind


def test_the_lower_triangle_is_zero() -> None:
    x = drawn("qr", "float64")
    q, r = decomposition("qr", x)
    r[0, 3, 2] = 1e-300
    assert problem("qr", x, [q, r]) == "R is not upper triangular"


def test_eigenvalues_are_a_set_of_a_matrix_nearby() -> None:
    x = np.diag([1.0, 2.0, 3.0])
    vectors = np.eye(3) + 0j
    twice = np.asarray([1.0, 1.0, 3.0]) + 0j
    assert problem("eigvals", x, [twice]) == "an eigenvalue too often"
    assert problem("eig", x, [twice, vectors[:, [0, 0, 2]]]) == "an eigenvalue too often"
    middle = np.asarray([2.0, 2.0, 2.0]) + 0j  # the sum is right
    assert problem("eigvals", x, [middle]) == "an eigenvalue too often"
    order = [2, 0, 1]
    assert problem("eig", x, [np.diag(x)[order] + 0j, vectors[:, order] * 1j]) == ""
    # The roots of epsilon: one block of Jordan, whose eigenvalues move by far more than it does.
    block = np.eye(4) * 2 + np.eye(4, k=1)
    nearby = block.copy()
    nearby[3, 0] = 1e-15
    moved = np.linalg.eigvals(nearby)
    assert np.abs(moved - 2).max() > 1e-4
    assert problem("eigvals", block, [moved]) == ""
    assert problem("eigvals", block, [2 + (moved - 2) * 8]) == "not an eigenvalue"
    assert problem("eigvals", block, [np.asarray([moved[0]] * 4)]) == "an eigenvalue too often"


@pytest.mark.parametrize("name", [name.removeprefix("linalg.") for name in FACTORS])
def test_only_matrices_with_nan_are_open(name: str) -> None:
    x = drawn(name, "float64")
    factors = decomposition(name, x)
    bad = x.copy()
    bad[1, 2, 2] = np.nan
    for factor in factors:
        factor[1] = 7
    assert problem(name, bad, factors) == ""
    assert problem(name, x, factors) != ""
    for factor in factors:
        factor[0] = np.nan
    assert problem(name, bad, factors) != ""


def test_which_matrix_is_decomposed() -> None:
    assert decomposed("c = xp.linalg.qr(a[1:], mode='complete')") == "a[1:]"
    assert decomposed("xp.linalg.eigvals(a)") == "a"
    assert decomposed("c = xp.linalg.qr()") == ""
