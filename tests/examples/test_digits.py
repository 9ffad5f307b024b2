"""The example is a program in standard names only, and says the same on every device."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import portarray as pa

pytest.importorskip("sklearn", reason="scikit-learn, which ships the digits, is not installed")
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("digits")


def convert(digits: ModuleType, to: Any) -> Any:
    return digits.Digits(*map(to, digits.load()))


def test_the_example_recognizes_digits(digits: ModuleType) -> None:
    data = digits.load()
    assert (data.train.shape, data.test.shape) == ((1198, 64), (599, 64))
    assert digits.classify(data)[1] > 0.9


def test_every_device_agrees_with_numpy(
    digits: ModuleType, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, accuracy = digits.classify(digits.load())
    if device != "numpy:cpu:0":  # which times the program for all
        monkeypatch.setattr(digits, "timed", lambda run, wait: 1.0)
    # The program is given x.device alone: another default must not matter.
    with pa.cpu_device():
        row = digits.compare(digits.load(), expected, pa.device(device))
    assert row.accuracy == pytest.approx(accuracy, abs=0.01)
    assert row.difference < digits.bound(row.dtype, expected)
    assert row.seconds > 0


def test_the_example_needs_only_the_standard(digits: ModuleType) -> None:
    strict = pytest.importorskip("array_api_strict")
    expected, accuracy = digits.classify(digits.load())
    model, same = digits.classify(convert(digits, strict.asarray))
    assert same == accuracy
    np.testing.assert_allclose(np.asarray(model.centroids), expected.centroids, atol=1e-9)


@pytest.mark.parametrize("narrow", ["nofloat64", "no64bit"])  # as Metal, and JAX by default
def test_the_example_runs_without_64_bits(
    digits: ModuleType, narrow: str, request: pytest.FixtureRequest
) -> None:
    expected, accuracy = digits.classify(digits.load())
    row = digits.compare(digits.load(), expected, pa.device(request.getfixturevalue(narrow)))
    assert row.dtype == "float32"
    assert row.accuracy == pytest.approx(accuracy, abs=0.01)
    assert row.difference < digits.bound(row.dtype, expected)


def test_constant_columns_are_no_trouble(digits: ModuleType) -> None:
    x = np.asarray([[1.0, 2.0], [1.0, 4.0]])
    z = digits.standardize(x, x.mean(axis=0), x.std(axis=0))
    np.testing.assert_array_equal(z, [[0.0, -1.0], [0.0, 1.0]])


def test_k_means_finds_separate_groups(digits: ModuleType) -> None:
    x = np.asarray([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0], [0.0, 0.5]])
    labels = digits.k_means(pa.asarray(x), 2)
    centroids = sorted(np.asarray(labels).tolist())
    assert centroids == [[0.0, 0.5], [9.0, 8.5]]


def test_the_table_is_printed_with_and_without_rich(
    digits: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [digits.Row("numpy:cpu:0", "float64", 0.5, 0.0, 0.25)]
    digits.show(rows)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    digits.show(rows)
    printed = capsys.readouterr().out
    for text in ("numpy:cpu:0", "50.00%", "250 ms"):
        assert printed.count(text) == 2


def test_a_device_with_other_predictions_is_reported(
    digits: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = digits.Row("numpy:cpu:0", "float64", 0.1, 7.0, 0.25)
    monkeypatch.setattr(digits, "compare", lambda *_: wrong)
    assert digits.main() == 1
    assert "numpy:cpu:0 disagrees with NumPy: accuracy 10.00%" in capsys.readouterr().err
