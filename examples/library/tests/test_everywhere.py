"""Each function on every device against NumPy, in a line."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import smalllearn

from portarray.testing import Device, check_function

draw = np.random.default_rng(0)
SAMPLES = draw.normal(size=(30, 3))
SAMPLES[:10] += 8
SAMPLES[10:20] -= 8
LABELS = np.repeat([0, 1, 2], 10)
NEW = draw.normal(size=(5, 3)) + 8


@pytest.mark.supports("median", "mad")
@pytest.mark.parametrize("function", [smalllearn.median, smalllearn.mad])
def test_robust_scale(function: Any, device: Device) -> None:
    check_function(partial(function, axis=1), SAMPLES, devices=[device])


@pytest.mark.supports("median")
def test_median_is_numpys(device: Device) -> None:
    median = partial(np.median, axis=0)
    check_function(smalllearn.median, SAMPLES, devices=[device], reference=median)


@pytest.mark.supports("trimmed_mean", "huber_location")
@pytest.mark.parametrize("function", [smalllearn.trimmed_mean, smalllearn.huber_location])
def test_robust_location(function: Any, device: Device) -> None:
    check_function(function, SAMPLES, devices=[device])


@pytest.mark.supports("squared_distances")
def test_distances(device: Device) -> None:
    check_function(smalllearn.squared_distances, SAMPLES, NEW, devices=[device], atol=1e-3)


@pytest.mark.supports("kneighbors")
def test_neighbors(device: Device) -> None:
    check_function(smalllearn.kneighbors, NEW, SAMPLES, 4, devices=[device])


@pytest.mark.supports("classify")
def test_classify(device: Device) -> None:
    check_function(smalllearn.classify, NEW, SAMPLES, LABELS, 4, 3, devices=[device])


def fit_and_predict(x: Any, y: Any, new: Any) -> Any:
    return smalllearn.GaussianProcess(length=3.0).fit(x, y).predict(new)


@pytest.mark.supports("GaussianProcess")
def test_gaussian_process(device: Device) -> None:
    check_function(
        fit_and_predict, SAMPLES, np.sin(SAMPLES[:, 0]), NEW, devices=[device], atol=1e-2
    )


@pytest.mark.supports("kmeans")
def test_kmeans(device: Device) -> None:
    check_function(smalllearn.kmeans, SAMPLES, 3, devices=[device], atol=1e-5)
