"""Run the official suite, data-apis/array-api-tests, against a target in a child process."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from portarray_conformance import official_plugin
from portarray_conformance.expected import ExpectedFailure
from portarray_conformance.official_names import category_of, function_of
from portarray_conformance.official_suite import OfficialSuite, OfficialSuiteError
from portarray_conformance.run import EXAMPLES, QUICK_EXAMPLES, Result, judge, shorten
from portarray_conformance.target import STANDARD_DTYPES, Target

__all__ = ["run_official"]

POLL_SECONDS = 0.1
# Named one by one, because whatever else is installed (coverage, random order, parallel runs)
# would change the run.
PLUGINS = (
    "hypothesispytest",
    "pytest_jsonreport",
    "metadata",
    "portarray_conformance.official_plugin",
)


def run_official(
    suite: OfficialSuite,
    target: Target,
    *,
    examples: int | None = None,
    seed: int = 0,
    quick: bool = False,
    functions: Sequence[str] | None = None,
    default_device: str = "",
    expected: Iterable[ExpectedFailure] = (),
    on_collected: Callable[[int], None] | None = None,
    on_start: Callable[[str], None] | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the official suite on one target; nothing is written into the suite's folder.

    The options are those of :func:`portarray_conformance.run.run`, except:

    Parameters
    ----------
    suite : OfficialSuite
        From ``find_suite``.
    functions : sequence of str, optional
        Functions of the standard (``"linalg.svd"``: all tests about it) or names of tests
        (``"test_svd"``).
    default_device : str
        Another default device than portarray's target: the namespace under test is then that of an
        array of the target.
    on_collected, on_start, on_result : callable, optional
        Called with the number of tests, with the id of each that starts, with each result.

    Raises
    ------
    OfficialSuiteError
        If pytest cannot run any test, or no test is about one of the functions.
    """
    count = examples or (QUICK_EXAMPLES if quick else EXAMPLES)
    log = _Log(target, functions or (), list(expected), on_collected, on_start, on_result)
    with tempfile.TemporaryDirectory(prefix="portarray-conformance-") as temporary:
        folder = Path(temporary)
        events = folder / "events.jsonl"
        events.touch()
        output = folder / "output.txt"
        with output.open("wb") as sink:
            # The context manager ends the child on an interrupt as well.
            child = subprocess.Popen(
                _command(suite, folder, count, seed),
                env=_environment(suite, target, folder, events, functions, default_device),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
            with _ended(child):
                for event in _follow(events, child):
                    log.take(event)
        said = output.read_text("utf-8", errors="replace")
    return log.close(child.returncode, said)


def _command(suite: OfficialSuite, folder: Path, examples: int, seed: int) -> list[str]:
    # The suite reads lists of skips from its own folder if there are any: give it empty ones.
    nothing = folder / "nothing.txt"
    nothing.touch()
    return [
        *(sys.executable, "-m", "pytest", str(suite.folder / "array_api_tests")),
        *(word for plugin in PLUGINS for word in ("-p", plugin)),
        *("-p", "no:cacheprovider", "--continue-on-collection-errors", "--quiet", "--tb=short"),
        *("--rootdir", str(suite.folder), "-c", str(suite.folder / "pytest.ini")),
        *("--basetemp", str(folder / "pytest")),
        *("--skips-file", str(nothing), "--xfails-file", str(nothing)),
        *("--max-examples", str(examples), "--disable-deadline", "--hypothesis-seed", str(seed)),
    ]


def _environment(
    suite: OfficialSuite,
    target: Target,
    folder: Path,
    events: Path,
    functions: Sequence[str] | None,
    default_device: str,
) -> dict[str, str]:
    module = target.xp.__name__
    if default_device:
        made = f'{module}.empty(0, device="{target.device}").__array_namespace__()'
        module = f"exec('import {module}; xp = {made}')"  # a form that the suite reads
    lacking = [name for name in STANDARD_DTYPES if name not in target.dtypes()]
    if "complex128" in lacking and "float64" not in lacking:
        # The suite takes the complex partner of each real dtype for granted (fft, eig), and ends
        # with a KeyError where there is none. Our suite has no such gap.
        lacking.append("float64")
    # Options meant for another pytest (this may run inside a test) must not reach this one.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {
        "ARRAY_API_TESTS_MODULE": module,
        "ARRAY_API_TESTS_VERSION": suite.standard,
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "",
        # The child starts in another folder and must find the same modules.
        "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path),
        official_plugin.EVENTS: str(events),
        # The suite uses every dtype of the module, and a device may have fewer.
        "ARRAY_API_TESTS_SKIP_DTYPES": ",".join(lacking),
    }
    if target.device is not None:
        environment["PORTARRAY_DEVICE"] = default_device or str(target.device)
        environment[official_plugin.DEVICE] = str(target.device)
    if functions is not None:
        environment[official_plugin.FUNCTIONS] = ",".join(functions)
    return environment


@contextlib.contextmanager
def _ended(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the child process when the context exits."""
    try:
        yield
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
        child.wait()


def _follow(events: Path, child: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the child's events as they come, until it has ended."""
    with events.open(encoding="utf-8") as lines:
        pending = ""
        while True:
            ended = child.poll() is not None  # checked before reading, so that no event is missed
            while line := lines.readline():
                pending += line
                if pending.endswith("\n"):
                    yield json.loads(pending)
                    pending = ""
            if ended:
                return
            time.sleep(POLL_SECONDS)


@dataclass(slots=True)
class _Log:
    """Turns events into results."""

    target: Target
    functions: Sequence[str]
    expected: list[ExpectedFailure]
    on_collected: Callable[[int], None] | None
    on_start: Callable[[str], None] | None
    on_result: Callable[[Result], None] | None
    tests: list[str] | None = None
    running: str = ""
    results: dict[str, Result] = field(default_factory=dict)

    def take(self, event: dict[str, Any]) -> None:
        """Note one event."""
        kind = event.pop("event")
        if kind == "collected":
            for name in self.functions:
                if name not in event["known"]:
                    near = difflib.get_close_matches(name, event["known"], n=3)
                    hint = f" Did you mean {', '.join(near)}?" if near else ""
                    raise OfficialSuiteError(f"No official test is about {name!r}.{hint}")
            self.tests = event["tests"]
            if self.on_collected is not None:
                self.on_collected(len(event["tests"]))
        elif kind == "start":
            self.running = event["test"]
            if self.on_start is not None:
                self.on_start(self.running)
        elif kind == "broken":
            self._add(event["test"], status="failed", message=event["message"])
        else:
            self._add(**event)

    def _add(self, test: str, **fields: Any) -> None:
        earlier = self.results.get(test)
        if earlier is not None and earlier.status == "failed":
            return  # the tear-down of a test that failed already
        function = function_of(test) if "::" in test else test
        result = Result(
            function=function,
            category=category_of(function),
            aspect=test.removeprefix("array_api_tests/"),
            target=self.target.label,
            served=self.target.served(function),
            **{"seconds": 0.0, **fields, "message": shorten(fields.get("message", ""))},
        )
        self.results[test] = judge(result, self.expected, "official")
        if self.on_result is not None:
            self.on_result(self.results[test])

    def close(self, code: int, said: str) -> list[Result]:
        """Account for every collected test, also where the child process died."""
        tail = "\n".join(said.strip().splitlines()[-25:])
        if not self.tests and not self.results:
            raise OfficialSuiteError(
                f"The official suite ran no test on {self.target.label} "
                f"(pytest ended with {code}):\n{tail}"
            )
        missing = [test for test in self.tests or () if test not in self.results]
        if missing and self.running in missing:
            self._add(
                self.running,
                status="failed",
                message=f"The process ended in this test (exit status {code}).\n{tail}",
            )
        for test in missing:
            if test != self.running:
                reason = f"the process had ended (exit status {code}) in {self.running}"
                self._add(test, status="not run", reason=reason)
        return list(self.results.values())
