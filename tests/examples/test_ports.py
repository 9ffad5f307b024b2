"""The ports of ``examples/ports``: independent references, every device, and the originals."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import portarray as pa
from examples.ports.calibration_error import calibration_error
from examples.ports.phase_vocoder import phase_vocoder
from examples.ports.ssim import structural_similarity
from portarray.testing import check_function

DRAW = np.random.default_rng(0)
FIRST = DRAW.random((20, 17))
SECOND = np.clip(FIRST + 0.1 * DRAW.normal(size=FIRST.shape), 0, 1)
SPECTRA = DRAW.normal(size=(5, 12)) + 1j * DRAW.normal(size=(5, 12))
PROBABILITIES = np.concat([DRAW.dirichlet(np.full(4, 0.3), size=50), [[0.0, 1.0, 0.0, 0.0]]])
TARGET = DRAW.integers(0, 4, 51)


def similarity_by_windows(a: Any, b: Any) -> Any:
    x, y = (sliding_window_view(v, (7, 7)).reshape(-1, 49) for v in (a, b))
    c1, c2 = 1e-4, 9e-4
    out = []
    for p, q in zip(x, y, strict=True):
        (var_p, covariance), (_, var_q) = np.cov(p, q)
        numerator = (2 * p.mean() * q.mean() + c1) * (2 * covariance + c2)
        out.append(numerator / ((p.mean() ** 2 + q.mean() ** 2 + c1) * (var_p + var_q + c2)))
    return np.mean(out)


def spectra_by_frames(real: Any, imag: Any, rate: float, hop_length: int) -> tuple[Any, Any]:
    spectra = real + 1j * imag
    bins, frames = spectra.shape
    padded = np.concat([spectra, np.zeros((bins, 2))], axis=1)
    phase, out = np.angle(spectra[:, 0]), []
    expected = np.pi * hop_length * np.arange(bins) / (bins - 1)
    for step in np.arange(0, frames, rate):
        left, right = padded[:, int(step)], padded[:, int(step) + 1]
        share = step % 1
        out.append(((1 - share) * abs(left) + share * abs(right)) * np.exp(1j * phase))
        # The same angle, of a complex quotient: the turn beyond what is expected.
        turned = np.where(right == 0, np.conj(left), right * np.conj(left))
        phase = phase + expected + np.angle(turned * np.exp(-1j * expected))
    return np.stack(out, axis=1).real, np.stack(out, axis=1).imag


def error_by_bins(probabilities: Any, target: Any, bins: int = 15) -> Any:
    total = 0.0
    index = np.floor(probabilities.max(axis=1) * bins)
    for n in range(bins + 1):
        chosen = index == n
        if chosen.any():
            accuracy = np.mean(probabilities[chosen].argmax(axis=1) == target[chosen])
            confidence = probabilities[chosen].max(axis=1).mean()
            total += abs(accuracy - confidence) * chosen.mean()
    return total


def vocoded(real: Any, imag: Any, **options: Any) -> tuple[Any, Any]:
    out = phase_vocoder(real + 1j * imag, 1.7, **options)
    xp = out.__array_namespace__()
    return xp.real(out), xp.imag(out)


def test_structural_similarity_is_that_of_each_window() -> None:
    function = partial(structural_similarity, data_range=1.0)
    check_function(function, FIRST, SECOND, reference=similarity_by_windows, rtol=1e-4)


def test_phase_vocoder_adds_the_turns_of_each_frame() -> None:
    reference = partial(spectra_by_frames, rate=1.7, hop_length=2)
    options = {"reference": reference, "rtol": 1e-3, "atol": 1e-4, "dtypes": ["float32"]}
    check_function(partial(vocoded, hop_length=2), SPECTRA.real, SPECTRA.imag, **options)


def test_calibration_error_is_the_sum_over_bins() -> None:
    check_function(calibration_error, PROBABILITIES, TARGET, reference=error_by_bins, rtol=1e-4)


def test_the_originals_agree() -> None:
    """Where scikit-image, librosa and torchmetrics are installed."""
    metrics = pytest.importorskip("skimage.metrics", reason="scikit-image is not installed")
    librosa = pytest.importorskip("librosa", reason="librosa is not installed")
    classification = pytest.importorskip(
        "torchmetrics.functional.classification", reason="torchmetrics is not installed"
    )
    torch = pytest.importorskip("torch")
    a, b = (pa.asarray(x, device="torch") for x in (FIRST, SECOND))
    expected = metrics.structural_similarity(FIRST, SECOND, data_range=1.0)
    assert float(structural_similarity(a, b, data_range=1.0)) == pytest.approx(expected, rel=1e-12)
    stretched = phase_vocoder(pa.asarray(SPECTRA, device="numpy"), 1.7, hop_length=2)
    expected = librosa.phase_vocoder(SPECTRA, rate=1.7, hop_length=2)
    np.testing.assert_allclose(stretched.native, expected, atol=1e-12)
    expected = classification.multiclass_calibration_error(
        torch.asarray(PROBABILITIES), torch.asarray(TARGET), num_classes=4, n_bins=15
    )
    ours = calibration_error(pa.asarray(PROBABILITIES), pa.asarray(TARGET))
    assert float(ours) == pytest.approx(float(expected), rel=1e-6)
