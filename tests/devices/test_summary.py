from __future__ import annotations

import json

import pytest

import portarray as pa
from portarray._devices import discovery
from portarray._installation import pip_install


def test_text(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = ("fake", "numpy")
    monkeypatch.setattr(discovery, "is_installed", lambda info: info.library in installed)
    pa.reset_gpu_device()
    text = str(pa.summary())
    assert "✓ NumPy" in text
    assert "✓ fake:cuda:1  fake 1 (gpu), memory unknown" in text
    assert "✓ fake:cuda:0  fake 0 (gpu), memory unknown  ← recommended" in text
    assert "Recommended: fake:cuda:0 (fake 0)" in text
    assert "✗ CuPy (not installed)" in text
    assert pip_install("portarray[cupy-cuda12]") in text
    assert "GiB free" in text
    pa.reset_gpu_device()


def test_dictionary() -> None:
    summary = pa.summary().as_dict()
    assert json.loads(json.dumps(summary)) == summary
    assert summary["recommended"] == str(pa.devices()[0])
    assert summary["preference"] is None
    libraries = {library["library"]: library for library in summary["libraries"]}
    assert set(libraries) == set(pa.supported_backends())
    assert libraries["numpy"]["functional"]
    assert libraries["numpy"]["devices"][0]["device"] == "numpy:cpu:0"
    assert libraries["numpy"]["devices"][0]["memory"]["total"] > 0
    for library in libraries.values():
        assert library["functional"] == bool(library["devices"])
        assert library["devices"] or library["reasons"]
        if not library["installed"]:
            assert all("not installed" in reason for reason in library["reasons"].values())
    listed = [device["device"] for library in summary["libraries"] for device in library["devices"]]
    assert sorted(listed) == sorted(map(str, pa.devices()))


def test_preference_that_cannot_be_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTARRAY_DEVICE", "numpy:cpu:9")
    summary = pa.summary()  # shows it instead of warning
    assert summary.preference is not None
    assert "numpy sees 1 device" in summary.problem
    assert "✗ PORTARRAY_DEVICE prefers 'numpy:cpu:9'" in str(summary)
    assert summary.as_dict()["preference"]["source"] == "PORTARRAY_DEVICE"
