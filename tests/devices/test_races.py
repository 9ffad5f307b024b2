"""Threads that come to something at once for the first time get the same of it."""

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
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def is_concrete(action: Callable[[], T]) -> list[T]:
    """Return what an action returns in several threads that begin together."""
    barrier = threading.Barrier(THREADS)
    found: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        barrier.wait()
        try:
            found.append(action())
        except BaseException as error:  # noqa: BLE001  (the test looks at it)
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    return found


def test_tables_of_a_new_device(fake: str) -> None:
    known = pa.device(f"{fake}:cuda:0")
    for _ in range(ROUNDS):
        new = device_module.make(
            known._backend, "cuda", 0, name=known.name, kind=known.kind, native=known.native
        )
        found = is_concrete(lambda new=new: dispatch.tables_of(new))  # type: ignore[misc]
        assert all(tables is found[0] for tables in found)
        ids = {tuple(id(table) for table in tables.values()) for tables in found}
        assert len(ids) == 1


def test_a_device_is_probed_once(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    probed: list[int] = []

    def slow(*_: object) -> str:
        probed.append(threading.get_ident())
        threading.Event().wait(0.02)  # the others come to it meanwhile
        return ""

    pa.device(f"{fake}:cuda:0")  # what is imported for it is there
    monkeypatch.setattr(probe, "compute", slow)
    for table in ("_made", "_functional", "_refused"):
        monkeypatch.setattr(discovery, table, {})
    found = is_concrete(lambda: discovery.get_device(fake, "cuda", 0))
    assert len(probed) == 1
    assert all(device is found[0] for device in found)


def test_backends(fake: str) -> None:
    package = registry.package_of(fake)
    before = registry.load_backend(fake)
    try:
        for _ in range(ROUNDS):
            registry._backends.pop(package)
            found = is_concrete(lambda: registry.load_backend(fake))
            assert all(backend is found[0] for backend in found)
    finally:
        registry._backends[package] = before


def test_plugins_are_read_before_anyone_asks(monkeypatch: pytest.MonkeyPatch) -> None:
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
            assert all(is_concrete(lambda: "second" in registry.backend_infos()))
