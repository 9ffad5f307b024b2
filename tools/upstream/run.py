"""Run other projects' tests with the fixtures of portarray's pytest plugin.

    python tools/upstream/run.py array_api_extra --devices numpy,torch,clarray:0,virtual:cuda
    python tools/upstream/run.py scipy.special --devices numpy -- -k gammaln

The installed package's tests, or those of its sdist, are copied. Where they ask for a namespace by
a fixture, their conftest.py is replaced; where they import array_api_strict, or another library,
portarray stands in for it (``stand_in.py``). Arguments after ``--`` go to pytest. ``expected.json`` lists known failures by the beginning of name and device and a part
of the error, each with a reason. Any other failure is an error.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent


class Suite(NamedTuple):
    """Tests of a project.

    Parameters
    ----------
    package : str
        The package that is tested.
    folder : str
        The folder of the tests in the package, or in the sdist.
    conftest : str
        The file that replaces their conftest.py.
    sdist : str
        The pinned requirement of an sdist that contains the tests, if the package does not.
    stands_in : str
        The library whose place portarray takes; installed tests then run where they are.
    text : str
        Only the files with this text are run.
    options : tuple of str
        Options of pytest.
    """

    package: str
    folder: str
    conftest: str = ""
    sdist: str = ""
    stands_in: str = ""
    text: str = ""
    options: tuple[str, ...] = ()


STRICT = "array_api_strict"
STANDING_IN = ("--import-mode=prepend", "--continue-on-collection-errors")
SUITES = {
    "array_api_extra": Suite("array_api_extra", "tests/main", "array_api_extra_conftest.py"),
    "cubed": Suite("cubed", "tests", "cubed_conftest.py"),
    **{
        f"scipy.{name}": Suite(
            "scipy", f"{name.replace('.', '/')}/tests", "scipy_conftest.py", text="_array_api"
        )
        for name in (
            *("cluster", "differentiate", "fft", "integrate", "interpolate", "linalg", "ndimage"),
            *("optimize", "signal", "spatial.transform", "special", "stats"),
        )
    },
    "ipax": Suite("ipax", "tests", "", "ipax==0.12.0", STRICT, "", ("-k", "array_api_strict")),
    "marray": Suite(
        "marray",
        "marray/tests",
        "",
        "marray==0.0.12",
        STRICT,
        "",
        ("-k", "portarray or array_api_strict or array_api_compat.numpy"),
    ),
    "quantity_array": Suite("quantity_array", "tests", "", "quantity-array==0.0.1", STRICT),
    "array_api_negative_index": Suite(
        "array_api_negative_index", "tests", "", "array-api-negative-index==1.0.0", STRICT
    ),
    "array_api_signal": Suite(
        "array_api_signal", "tests", "", "array-api-signal==0.2.0", "torch", "", ("-k", "torch")
    ),
    "einops": Suite("einops", "tests", stands_in="einops"),
    "xarray": Suite("xarray", "tests", stands_in=STRICT, text="array_api_strict"),
    "sklearn": Suite(
        "sklearn", ".", stands_in=STRICT, text="array_api", options=("-k", "array_api_strict")
    ),
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
    parser.add_argument("--devices", help="default: numpy,torch,clarray:0, also virtual:cuda")
    parser.add_argument("--file", default="test_*.py", help="run only files of such a name")
    parser.add_argument("--json", type=Path, help="write the counts and failures")
    parser.add_argument("--record", action="store_true", help="write the counts to counts.json")
    arguments, options = sys.argv[1:], []
    if "--" in arguments:
        index = arguments.index("--")
        arguments, options = arguments[:index], arguments[index + 1 :]
    parsed = parser.parse_args(arguments)
    suite: Suite = SUITES[parsed.suite]
    spec = importlib.util.find_spec(suite.package)
    if spec is None or spec.origin is None:
        parser.error(f"{suite.package} is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        root, tests = Path(scratch), Path(scratch) / "tests"
        if suite.sdist:
            root = _unpacked(suite.sdist, scratch)
            tests = root / suite.folder
        elif suite.stands_in:
            root = Path(spec.origin).parents[1]
            tests = Path(spec.origin).parent / suite.folder
        else:  # tests find the package's data relative to their own location
            shutil.copytree(Path(spec.origin).parent / suite.folder, tests, ignore=_ignored)
            parts = [suite.package, *suite.folder.split("/")[:-1]]
            _name_parent(tests, ".".join(parts))
            shutil.copy(HERE / suite.conftest, tests / "conftest.py")
        files = [x for x in tests.rglob(parsed.file) if suite.text in x.read_text("utf-8")]
        if not suite.text and parsed.file == "test_*.py":
            files = [tests]
        settings = SETTINGS.get(parsed.suite, ["-W", "ignore"])
        options = [*settings, *suite.options, *options]
        # Sequentially: some tests reload modules or change global state.
        virtual = "" if suite.stands_in else ",virtual:cuda"
        devices = parsed.devices or f"numpy,torch,clarray:0{virtual}"
        rows = [
            row
            for device in devices.split(",")
            for row in _run(suite, root, device, [*options, *map(str, sorted(files))])
        ]
    return _summarize(parsed.suite, rows, parsed.json, parsed.record)


def _unpacked(requirement: str, scratch: str) -> Path:
    """Return the folder of an sdist: from UPSTREAM_SDISTS if it is there, else from PyPI."""
    project = requirement.partition("==")[0]
    name = requirement.replace("==", "-").replace("-", "_")
    folder = Path(os.environ.get("UPSTREAM_SDISTS", scratch))
    if not _archive(folder, name):
        # Not ":all:", which would also build the build systems from source.
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        options = [f"--no-binary={project}", f"--dest={folder}"]
        subprocess.run([*command, *options, requirement], check=True)
    archive = _archive(folder, name)
    if archive is None:
        raise SystemExit(f"{requirement} has no sdist")
    with tarfile.open(archive) as file:
        file.extractall(scratch, filter="data")
    return Path(scratch) / archive.name.removesuffix(".tar.gz")


def _archive(folder: Path, name: str) -> Path | None:
    archives = [x for x in folder.glob("*.tar.gz") if x.name.replace("-", "_") == f"{name}.tar.gz"]
    return archives[0] if archives else None


def _name_parent(folder: Path, package: str) -> None:
    """Write absolute imports from the tested package, which is not the parent of copied tests."""
    for path in folder.rglob("*.py"):
        text = path.read_text("utf-8")
        changed = re.sub(r"^(\s*from )\.\.(?=\w)", rf"\1{package}.", text, flags=re.MULTILINE)
        if changed != text:
            path.write_text(changed, "utf-8")


def _ignored(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in ("__pycache__", "conftest.py")}


def _run(suite: Suite, root: Path, devices: str, options: list[str]) -> list[dict[str, Any]]:
    """Return the outcomes of all tests on the devices."""
    log = Path(tempfile.mkdtemp()) / "log.jsonl"
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "recorder", "-p", "no:cacheprovider"),
        *(
            ("-p", "stand_in", "-p", "no:pytest_portarray", *STANDING_IN)
            if suite.stands_in
            else ("-p", "pytest_portarray", f"--devices={devices}")
        ),
        *("-c", str(HERE / "pytest.ini"), f"--rootdir={root}", "--tb=short", *options),
    ]
    path = os.pathsep.join([str(HERE), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path, "RECORDER_LOG": str(log)}
    env |= {"JAX_ENABLE_X64": "1", "STAND_IN_FOR": suite.stands_in, "STAND_IN_DEVICE": devices}
    env |= {"IPAX_BACKENDS": "array_api_strict"}
    subprocess.run(command, env=env, cwd=root if suite.sdist else log.parent, check=False)
    if not log.is_file():
        raise SystemExit("pytest did not run any test with the fixtures")
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    shutil.rmtree(log.parent)
    return rows


def _summarize(suite: str, rows: list[dict[str, Any]], path: Path | None, recorded: bool) -> int:
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
        _write_counts(suite, counts)
    return 1 if new else 0


def _write_counts(suite: str, counts: Mapping[str, Mapping[str, int]]) -> None:
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
