"""Threads that use something for the first time at once get the same object."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

import portarray as pa
from portarray._array import dispatch
from portarray._devices import device as device_module
from portarray._devices import discovery, probe
from portarray.backends import registry

T = TypeVar("T")
ROUNDS = 150
THREADS = 6


@pytest.fixture(autouse=True)
def switching() -> Iterator[None]:
    """Let Python switch threads as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def run_in_threads(action: Callable[[], T]) -> list[T]:
    """Return the results of an action in several threads that start together."""
    barrier = threading.Barrier(THREADS)
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        barrier.wait()
        try:
            results.append(action())
        except BaseException as error:  # noqa: BLE001  (the test looks at it)
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    return results


def test_tables_of_a_new_device(fake: str) -> None:
    device = pa.device(f"{fake}:cuda:0")
    for _ in range(ROUNDS):
        new = device_module.make(
            device._backend, "cuda", 0, name=device.name, kind=device.kind, native=device.native
        )
        results = run_in_threads(lambda new=new: dispatch.tables_of(new))  # type: ignore[misc]
        assert all(tables is results[0] for tables in results)
        ids = {tuple(id(table) for table in tables.values()) for tables in results}
        assert len(ids) == 1


def test_a_device_is_probed_once(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    probed: list[int] = []

    def slow(*_: object) -> str:
        probed.append(threading.get_ident())
        threading.Event().wait(0.02)  # the others come to it meanwhile
        return ""

    pa.device(f"{fake}:cuda:0")  # what is imported for it is there
    monkeypatch.setattr(probe, "compute", slow)
    for table in ("_device_cache", "_functional", "_refused"):
        monkeypatch.setattr(discovery, table, {})
    devices = run_in_threads(lambda: discovery.get_device(fake, "cuda", 0))
    assert len(probed) == 1
    assert all(device is devices[0] for device in devices)


def test_backends(fake: str) -> None:
    package = registry.package_of(fake)
    original = registry.load_backend(fake)
    try:
        for _ in range(ROUNDS):
            registry._backends.pop(package)
            backends = run_in_threads(lambda: registry.load_backend(fake))
            assert all(backend is backends[0] for backend in backends)
    finally:
        registry._backends[package] = original


def test_plugins_are_read_before_the_first_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly() -> None:
        for library in ("first", "second"):
            threading.Event().wait(0.005)
            registry._infos[library] = registry.backend_infos()["numpy"]

    monkeypatch.setattr(registry, "_read_entry_points", slowly)
    for _ in range(5):
        with monkeypatch.context() as patch:
            patch.setattr(registry, "_infos", dict(registry._infos))
            patch.setattr(registry, "_plugins_read", False)
            patch.setattr(registry, "_plugins_asked", False)
            assert all(run_in_threads(lambda: "second" in registry.backend_infos()))
