"""Products of integers on devices where PyTorch multiplies floating-point matrices only."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from portarray._dispatch import native_functions  # noqa: E402
from portarray.backends import registry  # noqa: E402
from portarray.backends.torch.namespace import linear_algebra  # noqa: E402

xp = native_functions.NativeFunctions(registry.load_backend("torch"), torch.device("cpu")).namespace


@pytest.mark.parametrize(
    ("shape1", "shape2"),
    [
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 2)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((2, 0), (0, 3)),
    ],
)
def test_sum_of_outer_products(shape1: tuple[int, ...], shape2: tuple[int, ...]) -> None:
    x1 = torch.randint(-(2**62), 2**62, shape1)
    x2 = torch.randint(-(2**62), 2**62, shape2)
    got = linear_algebra._sum_of_outer_products(x1, x2)
    torch.testing.assert_close(got, torch.matmul(x1, x2), rtol=0, atol=0)


def test_shapes_that_do_not_meet() -> None:
    with pytest.raises(ValueError, match="3 columns and 2 rows"):
        linear_algebra._sum_of_outer_products(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(ValueError, match="0-d"):
        linear_algebra._sum_of_outer_products(torch.ones(()), torch.ones(2, 3))
    with pytest.raises(ValueError, match="differ"):
        xp.vecdot(torch.ones(2, 1), torch.ones(2, 3))


def test_solve_takes_one_right_side_or_matrices() -> None:
    # PyTorch itself would take the second operand for a stack of two vectors.
    x1 = torch.eye(2, dtype=torch.float64).expand(2, 2, 2)
    x2 = torch.arange(4, dtype=torch.float64).reshape(2, 2)
    assert xp.linalg.solve(x1, x2).shape == (2, 2, 2)
    assert xp.linalg.solve(x1, x2[0]).shape == (2, 2)


def test_norms_over_no_axes() -> None:
    x = torch.tensor([[-3.0, 0.0]])
    assert xp.linalg.vector_norm(x, axis=()).tolist() == [[3.0, 0.0]]
    assert xp.linalg.vector_norm(x, axis=(), ord=0).tolist() == [[1.0, 0.0]]
    assert xp.linalg.vector_norm(x[:0], axis=1, ord=float("inf")).shape == (0,)
