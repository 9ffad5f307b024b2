"""Why CuPy sees no GPU; CuPy's runtime is imitated, since it needs a GPU to be anything else."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator

import pytest

import portarray as pa
from portarray._devices import discovery

Install = Callable[..., None]


@pytest.fixture
def imitate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Make ``import cupy`` give a runtime with a driver, and an error or a number of devices."""

    def install(*, driver: int, found: int | str, hip: bool = False) -> None:
        class CUDARuntimeError(RuntimeError):
            pass

        def count() -> int:
            if isinstance(found, str):
                raise CUDARuntimeError(found)
            return found

        runtime = types.SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            driverGetVersion=lambda: driver,
            getDeviceCount=count,
            is_hip=hip,
        )
        cupy = types.ModuleType("cupy")
        cupy.__version__ = "13.4.0"  # type: ignore[attr-defined]
        cupy.cuda = types.SimpleNamespace(runtime=runtime)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        monkeypatch.delitem(sys.modules, "portarray.backends.cupy.devices", raising=False)
        # `version` looks for the installed distribution; this one is not.
        monkeypatch.setattr(discovery, "version", lambda info: "13.4.0")
        pa.reset_gpu_device()

    yield install
    monkeypatch.undo()
    sys.modules.pop("portarray.backends.cupy.devices", None)
    importlib.invalidate_caches()
    pa.reset_gpu_device()


@pytest.mark.parametrize(
    ("machine", "platform", "reason"),
    [
        (
            {"driver": 0, "found": "cudaErrorInsufficientDriver"},
            "cuda",
            "finds no NVIDIA driver (cudaErrorInsufficientDriver)",
        ),
        (
            {"driver": 0, "found": "hipErrorNoDevice", "hip": True},
            "rocm",
            "finds no AMD driver (hipErrorNoDevice)",
        ),
        (
            {"driver": 12080, "found": "cudaErrorNoDevice"},
            "cuda",
            "finds driver 12080, but no GPU that it can use (cudaErrorNoDevice)",
        ),
        ({"driver": 12080, "found": 0}, "cuda", "finds a driver, but no GPU"),
        ({"driver": 12080, "found": 2}, "rocm", "was built for cuda, not for rocm"),
        ({"driver": 12080, "found": 2}, "cuda", "no complete CuPy room yet"),
    ],
)
def test_reason(imitate: Install, machine: dict[str, object], platform: str, reason: str) -> None:
    imitate(**machine)
    with pytest.raises(pa.DeviceNotFunctionalError) as caught:
        pa.device(f"cupy:{platform}")
    assert reason in caught.value.reasons[f"cupy:{platform}"]


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "is_installed", lambda info: False)
    pa.reset_gpu_device()
    with pytest.raises(pa.DeviceNotFunctionalError, match="CuPy is not installed") as caught:
        pa.device("cupy:rocm")
    assert 'pip install "portarray[cupy-rocm]"' in str(caught.value)
    monkeypatch.undo()
    pa.reset_gpu_device()
