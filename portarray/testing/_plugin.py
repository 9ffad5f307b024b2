"""What the pytest plugin does once a test asks for its fixtures, or an option is given."""

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
    """The hooks; registered with pytest when it is first needed."""

    NAME = "portarray_devices"

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._wrong = ""  # what is wrong with the options or with a mark, told after collection
        self._used = False
        self._stack = ExitStack()
        config.add_cleanup(self._stack.close)
        path = config.getoption("--device-report")
        self._report = _report.Recorder(path) if path else None

    # --- options --------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise pytest.UsageError for options that name nothing; imports no array library."""
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

    # --- collection -----------------------------------------------------------------------------

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Give a test its devices and dtypes, those of a device together."""
        # Whose conftest.py parametrizes `device` or `dtype` itself has no use for ours.
        calls = getattr(metafunc, "_calls", ())  # pytest has no public way to ask
        own = {name for call in calls for name in call.params}
        names = set(metafunc.fixturenames)
        of_device = DEVICE in names and bool({"xp", "native_xp", "device"} & names - own)
        of_dtype = DTYPE in names and "dtype" not in own
        devices: tuple[Device | None, ...] = self.chosen.devices if of_device else (None,)
        if of_dtype:
            rows = [
                pytest.param(*_texts(device, dtype), id="-".join(_ids(device, dtype)))
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
        given = self._config.getoption("--dtypes")
        names = mark.args if mark else _choice.split(given) if given else _choice.FLOATS
        try:
            return _choice.dtypes_of(device, names)
        except (TypeError, ValueError) as error:
            self._wrong = f"{definition.nodeid}: mark dtypes: {_choice.one_line(error)}"
            return []

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Apply the marks; let tests of a file run device by device, for xdist in groups."""
        for item in [] if self._wrong else items:
            text = _place(item)
            if text is not None:
                device = selection.device(text)
                _marks.apply(item, device)
                if self._config.pluginmanager.hasplugin("xdist"):  # else the mark is unknown
                    item.add_marker(pytest.mark.xdist_group(device.library))
                # hypothesis looks for this mark to tell the runs of one test apart.
                item.add_marker(pytest.mark.parametrize(DEVICE, [text]))
        if self._wrong:
            raise pytest.UsageError(self._wrong)
        answer = yield
        if self._used:
            # pytest has put together what shares parameters, but in no order.
            order = {str(device): n for n, device in enumerate(self.chosen.devices)}
            files = {path: n for n, path in enumerate(dict.fromkeys(item.path for item in items))}
            items.sort(key=lambda item: (files[item.path], order.get(_place(item) or "", 0)))
        return answer

    def pytest_report_collectionfinish(self, config: pytest.Config) -> list[str]:
        """Say which devices the tests run on, and why others do not."""
        if not self._used:
            return []
        lines = [f"portarray {pa.__version__} devices: {', '.join(map(str, self.chosen.devices))}"]
        lines += [f"  not run: {name}: {why}" for name, why in self.chosen.not_run.items()]
        return lines

    # --- running --------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Set the default device around a test and its fixtures, and write down where it runs."""
        text = _place(item)
        if text is None:
            return (yield)
        device = selection.device(text)
        names = list(_marks.supported_names(item))
        told = (("device", text), ("device_name", device.name), ("supports", names))
        item.user_properties += [one for one in told if one[1]]  # for reports
        default = device if "xp" in getattr(item, "fixturenames", ()) else selection.cpu_device()
        allowed = item.get_closest_marker("host_fallback_allowed") is not None
        fallback = "allow" if allowed else pa.config.host_fallback
        traced = traced_functions(getattr(item, "module", None), device)
        with _by_default(default), pa.config(host_fallback=fallback), traced:
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Wait for what the test began; watch for transfers where a mark asks for it."""
        text = _place(item)
        with ExitStack() as stack:
            if item.get_closest_marker("no_host_transfer") is not None:
                allowed = item.get_closest_marker("host_fallback_allowed") is not None
                stack.enter_context(_guard.no_transfers(item, fallback=allowed))
            answer = yield
            if text is not None:
                memory.synchronize(selection.device(text))
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what the device report says of a test."""
        if self._report is not None:
            self._report.add(report)

    def pytest_sessionfinish(self) -> None:
        """Write the device report; workers of xdist leave that to the process they report to."""
        if self._report is not None and not hasattr(self._config, "workerinput"):
            self._report.write(self.chosen)


@contextmanager
def _by_default(device: Device) -> Iterator[None]:
    """Make a device the default one, in threads that a test starts too."""
    before = selection._fixed
    pa.set_default_device(device)
    try:
        with device:
            yield
    finally:
        pa.set_default_device(before)


def _place(item: pytest.Item) -> str | None:
    """Return the text of the device that a test runs on, None for other tests."""
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get(DEVICE)


def _texts(device: Device | None, dtype: str) -> tuple[str, ...]:
    return (dtype,) if device is None else (str(device), dtype)


def _ids(device: Device | None, *rest: str) -> list[str]:
    return [*([] if device is None else [_choice.short(device)]), *rest]


@contextmanager
def _usage(option: str) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{option}: {_choice.one_line(error)}") from error
