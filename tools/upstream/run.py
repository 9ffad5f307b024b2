"""Run other projects' tests with the fixtures of portarray's pytest plugin.

    python tools/upstream/run.py array_api_extra --devices numpy,torch,clarray:0,virtual:cuda
    python tools/upstream/run.py scipy.special --devices numpy -- -k gammaln

The installed package's tests are copied and their conftest.py is replaced; arguments after ``--``
go to pytest. ``expected.json`` lists known failures by the beginning of name and device and a part
of the error, each with a reason. Any other failure is an error.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SUITES = {
    "array_api_extra": ("array_api_extra", "tests/main", "array_api_extra_conftest.py"),
    "cubed": ("cubed", "tests", "cubed_conftest.py"),
    **{
        f"scipy.{name}": ("scipy", f"{name}/tests", "scipy_conftest.py")
        for name in ("cluster", "special", "fft", "integrate", "signal")
    },
}
# The projects' own settings; cubed's stacks are too deep for pytest's tracebacks.
SETTINGS = {
    "array_api_extra": ["-W", "error"],
    "cubed": ["-W", "ignore", "--tb=native"],
}


def main() -> int:
    """Run a suite; return 0 if there are no unexpected failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--devices", default="numpy,torch,clarray:0,virtual:cuda")
    parser.add_argument("--json", type=Path, help="write the counts and failures")
    parser.add_argument("--record", action="store_true", help="write the counts to counts.json")
    arguments, options = sys.argv[1:], []
    if "--" in arguments:
        index = arguments.index("--")
        arguments, options = arguments[:index], arguments[index + 1 :]
    parsed = parser.parse_args(arguments)
    package, folder, conftest = SUITES[parsed.suite]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        parser.error(f"{package} is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        # Tests find the package's data relative to their own location.
        tests = Path(scratch) / "tests"
        shutil.copytree(Path(spec.origin).parent / folder, tests, ignore=_ignored)
        shutil.copy(HERE / conftest, tests / "conftest.py")
        shutil.copy(HERE / "pytest.ini", scratch)
        options = [*SETTINGS.get(parsed.suite, ["-W", "ignore"]), *options]
        # Sequentially: some tests reload modules or change global state.
        rows = [row for device in parsed.devices.split(",") for row in _run(tests, device, options)]
    return _told(parsed.suite, rows, parsed.json, parsed.record)


def _ignored(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in ("__pycache__", "conftest.py")}


def _run(tests: Path, devices: str, options: list[str]) -> list[dict[str, Any]]:
    """Return the outcomes of all tests that used the fixtures."""
    log = tests.parent / "log.jsonl"
    log.unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "pytest_portarray", "-p", "recorder"),
        *("-p", "no:cacheprovider", "--tb=short", f"--devices={devices}", *options, str(tests)),
    ]
    path = os.pathsep.join([str(HERE), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path, "RECORDER_LOG": str(log)}
    env |= {"JAX_ENABLE_X64": "1"}
    subprocess.run(command, env=env, cwd=tests.parent, check=False)
    if not log.is_file():
        raise SystemExit("pytest did not run any test with the fixtures")
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def _told(suite: str, rows: list[dict[str, Any]], path: Path | None, recorded: bool) -> int:
    expected = json.loads((HERE / "expected.json").read_text("utf-8")).get(suite, [])
    counts: dict[str, Counter[str]] = {}
    new: dict[str, str] = {}
    for row in rows:
        outcome = row["outcome"]
        if outcome == "failed":
            reason = _reason(expected, row)
            outcome = "known" if reason else "failed"
            if not reason:
                new[row["test"]] = row["error"]
        counts.setdefault(row["device"], Counter())[outcome] += 1
    for device, counted in sorted(counts.items()):
        print(device, ", ".join(f"{n} {outcome}" for outcome, n in sorted(counted.items())))
    for test, error in new.items():
        print(f"FAILED {test}\n    {error}")
    if path is not None:
        path.write_text(json.dumps({"counts": counts, "failed": new}, indent=1), "utf-8")
    if recorded:
        _record(suite, counts)
    return 1 if new else 0


def _record(suite: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Write a suite's counts to ``counts.json``, which the documentation shows."""
    path = HERE / "counts.json"
    recorded = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    recorded.setdefault(suite, {}).update(counts)
    path.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", "utf-8")


def _reason(expected: list[dict[str, str]], row: dict[str, Any]) -> str:
    """Return the reason of a known failure, or an empty string."""
    name = row["test"].partition("tests/")[2]
    return next(
        (
            entry["reason"]
            for entry in expected
            if name.startswith(entry["test"])
            and row["device"].startswith(entry.get("device", ""))
            and entry["error"] in row["error"]
        ),
        "",
    )


if __name__ == "__main__":
    sys.exit(main())
