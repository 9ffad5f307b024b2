"""What the results must be, on each device and in each dtype."""

from __future__ import annotations

import pytest
import smalllearn

from portarray.testing import Device, DType, Xp, assert_close, assert_equal


@pytest.mark.supports("huber_location")
@pytest.mark.no_host_transfer
def test_one_wrong_value_changes_little(xp: Xp, dtype: DType) -> None:
    x = xp.asarray([1.0, 2.0, 3.0, 4.0, 1000.0], dtype=dtype)
    centre = smalllearn.huber_location(x)
    assert centre.dtype == dtype
    assert_close(centre, xp.asarray(3.0, dtype=dtype), rtol=0.3)


@pytest.mark.supports("kmeans")
def test_clusters_that_are_far_apart_are_found(xp: Xp, device: Device, dtype: DType) -> None:
    x = xp.asarray([[0.0], [10.0], [0.5], [10.5], [20.0]], dtype=dtype)
    centres, labels = smalllearn.kmeans(x, 3)
    assert labels.device is device
    assert_equal(labels, xp.asarray([0, 2, 0, 2, 1], dtype=labels.dtype))
    assert_close(centres, xp.asarray([[0.25], [20.0], [10.25]], dtype=dtype))


@pytest.mark.supports("GaussianProcess")
def test_data_without_noise_are_met(xp: Xp, dtype: DType) -> None:
    x = xp.reshape(xp.linspace(0.0, 5.0, 6, dtype=dtype), (6, 1))
    y = xp.sin(x[:, 0])
    mean, variance = smalllearn.GaussianProcess(noise=1e-5).fit(x, y).predict(x)
    assert_close(mean, y, atol=1e-3)
    assert_close(variance, xp.zeros_like(variance), atol=1e-3)
