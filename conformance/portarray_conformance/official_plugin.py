"""A pytest plugin for the child process that reports events to the parent as they happen.

Events are lines of JSON appended to a file. A report written at the end would be lost where a
test takes its process down, and that is when it is needed.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from portarray_conformance.official_names import function_of
from portarray_conformance.official_repairs import repair

EVENTS = "PORTARRAY_CONFORMANCE_EVENTS"
DEVICE = "PORTARRAY_CONFORMANCE_DEVICE"
FUNCTIONS = "PORTARRAY_CONFORMANCE_FUNCTIONS"

_OUTCOMES = {"passed": "passed", "failed": "failed", "skipped": "not run"}


def pytest_configure(config: pytest.Config) -> None:
    """Register the reporter, if the runner started this process."""
    if EVENTS in os.environ:
        config.pluginmanager.register(Teller(Path(os.environ[EVENTS])), "portarray-conformance")


class Teller:
    """Writes an event for each test that is collected, started or finished."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._errors: dict[str, BaseException] = {}

    def _tell(self, **event: object) -> None:
        with self._path.open("a", encoding="utf-8") as events:
            events.write(json.dumps(event) + "\n")

    def pytest_sessionstart(self) -> None:
        """Refuse to test a device other than the requested one."""
        requested = os.environ.get(DEVICE)
        if requested is None:
            return
        # Only where portarray is under test; every other namespace runs without it.
        expected = os.environ["PORTARRAY_DEVICE"]
        default = str(importlib.import_module("portarray").zeros(1).device)
        if default != expected:
            raise pytest.UsageError(f"portarray's default device here is {default}, not {expected}")
        _list_devices_alike(requested)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Select the tests of the requested functions, with inputs that fit the device."""
        repair(items)
        names = {function_of(item.nodeid) for item in items} | {_test(item) for item in items}
        if FUNCTIONS in os.environ:
            requested = set(os.environ[FUNCTIONS].split(","))
            selected = [
                item for item in items if requested & {function_of(item.nodeid), _test(item)}
            ]
            config.hook.pytest_deselected(items=[item for item in items if item not in selected])
            items[:] = selected
        self._tell(event="collected", tests=[item.nodeid for item in items], known=sorted(names))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Report a test file that cannot be imported."""
        if report.failed:
            self._tell(event="broken", test=report.nodeid, message=report.longreprtext)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Report which test runs, so that the parent knows in which one a process died."""
        self._tell(event="start", test=nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the exception: its report has only text."""
        if call.excinfo is not None:
            self._errors[item.nodeid] = call.excinfo.value
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report the outcome of a test, or that its set-up or tear-down failed."""
        error = self._errors.pop(report.nodeid, None)
        if report.when != "call" and report.passed:
            return
        message = example = reason = ""
        if report.skipped:
            skip = report.longrepr
            reason = str(skip[2]) if isinstance(skip, tuple) else str(error)
            if hasattr(report, "wasxfail"):
                reason = f"the suite itself expects a failure: {report.wasxfail}"
        elif report.failed:
            message, example = _explain(error) if error else (report.longreprtext, "")
            if report.when != "call":
                message = f"Error in {report.when}: {message}"
        self._tell(
            event="result",
            test=report.nodeid,
            status=_OUTCOMES[report.outcome],
            seconds=report.duration,
            message=message,
            example=example,
            reason=reason,
        )


def _list_devices_alike(device: str) -> None:
    """Let portarray's inspection list only devices that have every dtype of the tested one.

    The suite moves arrays of any dtype to any listed device, which refuses unsupported dtypes.
    """
    inspection: Any = type(importlib.import_module("portarray").__array_namespace_info__())
    every = inspection.devices

    def devices(self: Any) -> Any:
        needed = set(self.dtypes(device=device))
        listed = every(self)
        return type(listed)(
            candidate for candidate in listed if needed <= set(self.dtypes(device=candidate))
        )

    inspection.devices = devices


def _test(item: pytest.Item) -> str:
    """Return the name of a test function, without parameters."""
    return item.name.split("[")[0]


def _explain(error: BaseException) -> tuple[str, str]:
    """Return the text of an exception and the failing inputs that Hypothesis noted on it."""
    errors = error.exceptions if isinstance(error, BaseExceptionGroup) else (error,)
    messages: list[str] = []
    examples: list[str] = []
    for exception in errors:
        text = str(exception).strip()
        plain = isinstance(exception, AssertionError) and text
        messages.append(text if plain else f"{type(exception).__name__}: {text}")
        notes: list[str] = getattr(exception, "__notes__", [])
        examples.extend(note for note in notes if not note.startswith("You can reproduce"))
    return "\n\n".join(messages), "\n".join(examples)
