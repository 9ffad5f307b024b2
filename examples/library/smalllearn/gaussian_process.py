"""Gaussian processes."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace, device

from smalllearn.neighbors import squared_distances


class GaussianProcess:
    """Regression with a squared exponential kernel.

    Parameters
    ----------
    length : float
        The kernel's length.
    noise : float
        The variance of the noise.
    """

    def __init__(self, length: float = 1.0, noise: float = 1e-2) -> None:
        self.length = length
        self.noise = noise

    def _kernel(self, a: Any, b: Any) -> Any:
        xp = array_namespace(a, b)
        return xp.exp(squared_distances(a, b) * (-0.5 / self.length**2))

    def fit(self, x: Any, y: Any, /) -> GaussianProcess:
        """Take the rows of x and their values."""
        xp = array_namespace(x, y)
        unit = xp.eye(x.shape[0], dtype=x.dtype, device=device(x))
        self._covariance = self._kernel(x, x) + self.noise * unit
        self._x = x
        self._weights = xp.linalg.solve(self._covariance, y)
        return self

    def predict(self, x: Any, /) -> tuple[Any, Any]:
        """Return the mean and the variance at the rows of x."""
        xp = array_namespace(x)
        between = self._kernel(x, self._x)
        solved = xp.linalg.solve(self._covariance, between.T)
        variance = 1 - xp.sum(between * solved.T, axis=1)
        return between @ self._weights, variance
