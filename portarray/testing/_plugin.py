"""The pytest plugin's hooks, registered when a test uses its fixtures or an option is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property

import pytest

import portarray as pa
from portarray._devices import memory, selection
from portarray._devices.device import Device
from portarray.testing import _choice, _guard, _marks, _report
from portarray.testing._lazy import traced_functions

__all__ = ["Plugin"]

DEVICE, DTYPE = "_portarray_device", "_portarray_dtype"


class Plugin:
    """The hooks."""

    NAME = "portarray_devices"

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._wrong = ""  # error of an option or a mark, reported after collection
        self._used = False
        self._stack = ExitStack()
        config.add_cleanup(self._stack.close)
        if config.getoption("--strict-devices"):
            self._stack.enter_context(pa.config(strict_devices=True))
        if config.getoption("--strict-names"):
            self._stack.enter_context(pa.config(strict_names=True))
        path = config.getoption("--device-report")
        self._report = _report.Recorder(path) if path else None

    def check(self) -> None:
        """Raise pytest.UsageError for invalid options, without importing array libraries."""
        with _usage("--devices"):
            _choice.check_texts(_choice.split(self._config.getoption("--devices") or ""))
        with _usage("--dtypes"):
            _choice.check_dtypes(_choice.split(self._config.getoption("--dtypes") or ""))

    @cached_property
    def chosen(self) -> _choice.Chosen:
        """The devices that tests run on."""
        try:
            text = self._config.getoption("--devices") or _choice.DEFAULT
            return _choice.choose(text, self._stack)
        except pa.PortarrayError as error:
            self._wrong = f"--devices: {_choice.one_line(error)}"
            return _choice.Chosen((), {})

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize a test by devices and dtypes, grouped by device."""
        # A conftest.py may parametrize `device` or `dtype` itself.
        calls = getattr(metafunc, "_calls", ())  # pytest has no public API for this
        parametrized = {name for call in calls for name in call.params}
        names = set(metafunc.fixturenames)
        of_device = DEVICE in names and bool({"xp", "native_xp", "device"} & names - parametrized)
        of_dtype = DTYPE in names and "dtype" not in parametrized
        devices: tuple[Device | None, ...] = self.chosen.devices if of_device else (None,)
        if of_dtype:
            rows = [
                pytest.param(*_parameter_texts(device, dtype), id="-".join(_ids(device, dtype)))
                for device in devices
                for dtype in self._dtypes(metafunc.definition, device)
            ]
            arguments = (DEVICE, DTYPE) if of_device else (DTYPE,)
        elif of_device:
            rows = [pytest.param(str(device), id=_ids(device)[0]) for device in devices]
            arguments = (DEVICE,)
        else:
            return
        self._used = True
        metafunc.parametrize(arguments, rows, indirect=True, scope="session")

    def _dtypes(self, definition: pytest.Item, device: Device | None) -> list[str]:
        mark = definition.get_closest_marker("dtypes")
        option = self._config.getoption("--dtypes")
        names = mark.args if mark else _choice.split(option) if option else _choice.FLOATS
        try:
            return _choice.dtypes_of(device, names)
        except (TypeError, ValueError) as error:
            self._wrong = f"{definition.nodeid}: mark dtypes: {_choice.one_line(error)}"
            return []

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Apply the marks; order the tests of a file by device, in groups for xdist."""
        for item in [] if self._wrong else items:
            text = _device_text(item)
            if text is not None:
                device = selection.device(text)
                _marks.apply(item, device)
                if self._config.pluginmanager.hasplugin("xdist"):  # else the mark is unknown
                    item.add_marker(pytest.mark.xdist_group(device.library))
                # hypothesis uses this mark to distinguish runs of one test.
                item.add_marker(pytest.mark.parametrize(DEVICE, [text]))
        if self._wrong:
            raise pytest.UsageError(self._wrong)
        answer = yield
        if self._used:
            # pytest groups tests by parameters, but in arbitrary order.
            order = {str(device): n for n, device in enumerate(self.chosen.devices)}
            files = {path: n for n, path in enumerate(dict.fromkeys(item.path for item in items))}
            items.sort(key=lambda item: (files[item.path], order.get(_device_text(item) or "", 0)))
        return answer

    def pytest_report_collectionfinish(self, config: pytest.Config) -> list[str]:
        """Report the devices the tests run on, and why others do not run."""
        if not self._used:
            return []
        lines = [f"portarray {pa.__version__} devices: {', '.join(map(str, self.chosen.devices))}"]
        lines += [f"  not run: {name}: {why}" for name, why in self.chosen.not_run.items()]
        return lines

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Set the default device around a test and its fixtures, and record its device."""
        text = _device_text(item)
        if text is None:
            return (yield)
        device = selection.device(text)
        names = list(_marks.supported_names(item))
        properties = (("device", text), ("device_name", device.name), ("supports", names))
        item.user_properties += [
            item_property for item_property in properties if item_property[1]
        ]  # for reports
        default = device if "xp" in getattr(item, "fixturenames", ()) else selection.cpu_device()
        allowed = item.get_closest_marker("host_fallback_allowed") is not None
        fallback = "allow" if allowed else pa.config.host_fallback
        traced = traced_functions(getattr(item, "module", None), device)
        with _default_device(default), pa.config(host_fallback=fallback), traced:
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Wait for the device after the test; detect transfers if a mark requests it."""
        text = _device_text(item)
        with ExitStack() as stack:
            if item.get_closest_marker("no_host_transfer") is not None:
                allowed = item.get_closest_marker("host_fallback_allowed") is not None
                stack.enter_context(_guard.no_transfers(item, fallback=allowed))
            answer = yield
            if text is not None:
                memory.synchronize(selection.device(text))
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test to the device report."""
        if self._report is not None:
            self._report.add(report)

    def pytest_sessionfinish(self) -> None:
        """Write the device report, except in workers of xdist."""
        if self._report is not None and not hasattr(self._config, "workerinput"):
            self._report.write(self.chosen)


@contextmanager
def _default_device(device: Device) -> Iterator[None]:
    """Set the default device, also for threads that a test starts."""
    previous = selection._fixed
    pa.set_default_device(device)
    try:
        with device:
            yield
    finally:
        pa.set_default_device(previous)


def _device_text(item: pytest.Item) -> str | None:
    """Return the text of a test's device, None without a device."""
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get(DEVICE)


def _parameter_texts(device: Device | None, dtype: str) -> tuple[str, ...]:
    return (dtype,) if device is None else (str(device), dtype)


def _ids(device: Device | None, *names: str) -> list[str]:
    return [*([] if device is None else [_choice.test_id(device)]), *names]


@contextmanager
def _usage(option: str) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{option}: {_choice.one_line(error)}") from error
