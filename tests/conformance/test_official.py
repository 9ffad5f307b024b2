"""The official suite: found, cloned, run in a child process, and never written into."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from portarray_conformance import ExpectedFailure, Target, portarray_target
from portarray_conformance.official import run_official
from portarray_conformance.official_names import category_of, function_of
from portarray_conformance.official_suite import (
    OfficialSuite,
    OfficialSuiteError,
    Pin,
    find_suite,
    read_pin,
)
from portarray_conformance.run import Result

# A suite of the same shape as the official one: its options, its plugins' needs, its folders.
CONFTEST = """
import os
from pytest import fixture
import pytest_jsonreport

@fixture(autouse=True)
def add_extra_json_metadata(request, json_metadata):
    json_metadata["x"] = 1

def pytest_addoption(parser):
    parser.addoption("--max-examples", type=int, default=100)
    parser.addoption("--disable-deadline", action="store_true")
    parser.addoption("--skips-file")
    parser.addoption("--xfails-file")

def pytest_configure(config):
    from hypothesis import settings
    settings.register_profile("suite", max_examples=config.getoption("--max-examples"))
    settings.load_profile("suite")
    assert open(config.getoption("--skips-file")).read() == ""
"""
TESTS = """
import importlib, os
import pytest
from hypothesis import given, strategies as st

xp = importlib.import_module(os.environ["ARRAY_API_TESTS_MODULE"])
counted = []

def test_sin():
    assert os.environ["ARRAY_API_TESTS_VERSION"] == "2025.12"
    print("some output")

@given(st.integers(0, 1000))
def test_svd(k):
    counted.append(k)
    assert k < 17, "seventeen"

@given(st.integers())
def test_cos(k):
    counted.append(k)

def test_count():
    assert 5 <= len(counted)

@pytest.mark.skip(reason="needs a moon")
def test_tan():
    pass

@pytest.fixture
def broken():
    raise OSError("no moon")

def test_exp(broken):
    pass

@pytest.mark.parametrize("case", ["sinh(x_i is NaN) -> NaN"])
def test_unary(case):
    pass
"""
DIES = """
import os

def test_first():
    pass

def test_log():
    os._exit(9)

def test_sqrt():
    pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> OfficialSuite:
    folder = tmp_path / "suite"
    (folder / "array_api_tests").mkdir(parents=True)
    (folder / "array-api" / "spec" / "2025.12").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "skips.txt").write_text("array_api_tests/test_linalg.py::test_sin\n")
    (folder / "array_api_tests" / "__init__.py").touch()
    (folder / "array_api_tests" / "test_linalg.py").write_text(TESTS)
    return find_suite(folder)


def by_test(results: list[Result]) -> dict[str, Result]:
    return {result.aspect.split("::")[-1]: result for result in results}


def listing(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_outcome_is_reported(suite: OfficialSuite, strict: Target) -> None:
    initial_files = listing(suite.folder)
    heard: list[object] = []
    results = run_official(
        suite, strict, examples=30, on_collected=heard.append, on_result=heard.append
    )
    assert heard == [7, *results]
    by_name = by_test(results)
    assert {name: result.status for name, result in by_name.items()} == {
        "test_sin": "passed",
        "test_svd": "failed",
        "test_cos": "passed",
        "test_count": "passed",
        "test_tan": "not run",
        "test_exp": "failed",
        "test_unary[sinh(x_i is NaN) -> NaN]": "passed",
    }
    assert by_name["test_tan"].reason.endswith("needs a moon")
    assert by_name["test_exp"].message == "Error in setup: OSError: no moon"
    svd = by_name["test_svd"]
    assert (svd.function, svd.category, svd.target) == (
        "linalg.svd",
        "linalg",
        "module array_api_strict",
    )
    assert svd.aspect == "test_linalg.py::test_svd"
    assert svd.message.startswith("seventeen")
    assert "k=17" in svd.example
    assert listing(suite.folder) == initial_files, "the suite's folder was written into"


def test_a_tear_down_that_fails_is_a_failure(suite: OfficialSuite, strict: Target) -> None:
    (suite.folder / "array_api_tests" / "test_linalg.py").write_text(
        "import pytest\n"
        "@pytest.fixture\n"
        "def lent():\n    yield\n    raise OSError('not given back')\n"
        "def test_sin(lent):\n    pass\n"
        "def test_cos(lent):\n    assert 0, 'the first'\n"
    )
    results = by_test(run_official(suite, strict, quick=True))
    assert results["test_sin"].status == results["test_cos"].status == "failed"
    assert results["test_sin"].message == "Error in teardown: OSError: not given back"
    assert results["test_cos"].message.startswith("the first")


def test_options_of_another_pytest_do_not_reach_it(
    suite: OfficialSuite, strict: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k test_sin")
    assert len(by_test(run_official(suite, strict, quick=True))) == 7


def test_functions_are_chosen_by_name(suite: OfficialSuite, strict: Target) -> None:
    def names(*functions: str) -> set[str]:
        return set(by_test(run_official(suite, strict, quick=True, functions=functions)))

    assert names("sinh", "linalg.svd") == {"test_svd", "test_unary[sinh(x_i is NaN) -> NaN]"}
    assert names("test_sin") == {"test_sin"}
    with pytest.raises(OfficialSuiteError, match=r"about 'sinn'\. Did you mean .*sin"):
        names("cos", "sinn")


def test_expected_failures_are_strict(suite: OfficialSuite, strict: Target) -> None:
    def row(test: str, function: str) -> ExpectedFailure:
        aspect = f"test_linalg.py::{test}"
        link = "https://example.org/1"
        return ExpectedFailure("official", function, aspect, "module *", "known", link)

    rows = [row("test_svd", "linalg.svd"), row("test_cos", "cos")]
    results = by_test(run_official(suite, strict, quick=True, expected=rows))
    assert results["test_svd"].status == "expected"
    assert results["test_cos"].status == "unexpected pass"
    assert results["test_cos"].bad


def test_a_process_that_dies_leaves_nothing_unsaid(suite: OfficialSuite, strict: Target) -> None:
    (suite.folder / "array_api_tests" / "test_linalg.py").write_text(DIES)
    results = by_test(run_official(suite, strict, quick=True))
    assert {name: result.status for name, result in results.items()} == {
        "test_first": "passed",
        "test_log": "failed",
        "test_sqrt": "not run",
    }
    assert "exit status 9" in results["test_log"].message
    assert "test_log" in results["test_sqrt"].reason


def test_a_file_that_cannot_be_imported_is_a_failure(suite: OfficialSuite, strict: Target) -> None:
    (suite.folder / "array_api_tests" / "test_fft.py").write_text("import no_such_module\n")
    results = run_official(suite, strict, quick=True, functions=["sin"])
    broken = [result for result in results if "no_such_module" in result.message]
    assert [result.status for result in broken] == ["failed"]
    assert {"test_sin", "test_fft.py"} == set(by_test(results))


def test_a_suite_that_cannot_start_quotes_pytest(suite: OfficialSuite, strict: Target) -> None:
    (suite.folder / "conftest.py").write_text("raise RuntimeError('torn')\n")
    with pytest.raises(OfficialSuiteError, match="ran no test") as caught:
        run_official(suite, strict, quick=True)
    assert "torn" in str(caught.value)


def test_an_interrupt_ends_the_child(suite: OfficialSuite, strict: Target) -> None:
    marker = suite.folder / "array_api_tests" / "ended"
    (suite.folder / "array_api_tests" / "test_linalg.py").write_text(
        f"import time\ndef test_sin():\n    time.sleep(20)\n    open({str(marker)!r}, 'w')\n"
    )

    def interrupt(test: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_official(suite, strict, quick=True, on_start=interrupt)
    assert not marker.exists()


def test_dtypes_that_a_device_lacks_are_omitted(suite: OfficialSuite, strict: Target) -> None:
    names = "uint16,complex128"
    # The suite takes the complex partner of float64 for granted.
    (suite.folder / "array_api_tests" / "test_linalg.py").write_text(
        "import os\n"
        "def test_sin():\n"
        f"    assert os.environ['ARRAY_API_TESTS_SKIP_DTYPES'] == {names + ',float64'!r}\n"
    )
    tested = {
        name: dtype for name, dtype in strict.dtypes().items() if name not in names.split(",")
    }
    narrow = replace(strict, _cache={"dtypes": tested})
    assert [result.status for result in run_official(suite, narrow)] == ["passed"]
    (result,) = run_official(suite, strict)
    assert (result.status, "assert '' ==" in result.message) == ("failed", True)


def test_arrays_are_moved_to_devices_that_have_their_dtypes(suite: OfficialSuite) -> None:
    """The suite lists devices with the tested dtypes, and not devices with fewer."""
    (suite.folder / "array_api_tests" / "test_linalg.py").write_text(
        "import portarray as pa\n"
        "def test_sin():\n"
        "    info = pa.__array_namespace_info__()\n"
        "    devices = info.devices()\n"
        "    assert isinstance(devices, tuple) and pa.device('numpy') in devices\n"
        "    lacking = [d for d in pa.devices() if 'complex128' not in info.dtypes(device=d)]\n"
        "    assert not set(lacking) & set(devices)\n"
        "    assert set(lacking) | set(devices) == set(pa.devices())\n"
    )
    (result,) = run_official(suite, portarray_target("numpy:cpu:0"))
    assert (result.status, result.message) == ("passed", "")


def test_with_another_default_device_arrays_come_from_the_bound_namespace(
    suite: OfficialSuite,
) -> None:
    pytest.importorskip("torch")
    (suite.folder / "array_api_tests" / "test_linalg.py").write_text(
        "import os\n"
        "import portarray as pa\n"
        "namespace = {}\n"
        "exec(os.environ['ARRAY_API_TESTS_MODULE'][6:-2], namespace)  # as the suite does\n"
        "xp = namespace['xp']\n"
        "def test_sin():\n"
        "    assert str(pa.zeros(1).device) == 'numpy:cpu:0'\n"
        "    assert str(xp.zeros(1).device) == 'torch:cpu:0'\n"
        "    assert (xp == pa, xp.__name__) == (True, 'portarray')\n"
    )
    target = portarray_target("torch:cpu:0")
    (result,) = run_official(suite, target, default_device="numpy:cpu:0")
    assert (result.status, result.message) == ("passed", "")


def test_a_device_other_than_the_requested_is_refused(suite: OfficialSuite, strict: Target) -> None:
    pytest.importorskip("portarray", reason="portarray is not installed")
    strict.dtypes()  # remembered: asked for that device, the namespace would raise
    wrong = replace(strict, device="nowhere:cpu:0", label="nowhere:cpu:0")
    with pytest.raises(OfficialSuiteError, match="nowhere:cpu:0"):
        run_official(suite, wrong, quick=True)


@pytest.mark.parametrize(
    ("test", "function"),
    [
        ("array_api_tests/test_operators_and_elementwise_functions.py::test_sin", "sin"),
        ("array_api_tests/test_special_cases.py::test_unary[sin(x_i is NaN) -> NaN]", "sin"),
        (
            "array_api_tests/test_special_cases.py::test_iop[__iadd__(x1_i > 0) -> a]",
            "array.__iadd__",
        ),
        ("array_api_tests/test_has_names.py::test_has_names[linalg-matmul]", "linalg.matmul"),
        (
            "array_api_tests/test_has_names.py::test_has_names[array_method-__abs__]",
            "array.__abs__",
        ),
        ("array_api_tests/test_signatures.py::test_extension_func_signature[fft.rfft]", "fft.rfft"),
        ("array_api_tests/test_linalg.py::test_matmul", "matmul"),
        ("array_api_tests/test_linalg.py::test_linalg_matmul", "linalg.matmul"),
        ("array_api_tests/test_linalg.py::test_svd", "linalg.svd"),
        ("array_api_tests/test_fft.py::test_shift_func[ifftshift]", "fft.ifftshift"),
        ("array_api_tests/test_array_object.py::test_getitem_masking", "array.__getitem__"),
        (
            "array_api_tests/test_array_object.py::test_scalar_casting[__int__(int64)]",
            "array.__int__",
        ),
        (
            "array_api_tests/test_data_type_functions.py::TestResultType::test_shuffled",
            "result_type",
        ),
        ("array_api_tests/test_data_type_functions.py::test_finfo[float32]", "finfo"),
        ("array_api_tests/test_dlpack.py::test_dunder_dlpack", "array.__dlpack__"),
        ("array_api_tests/test_inspection_functions.py::test_capabilities", "info.capabilities"),
        ("array_api_tests/test_other.py::test_something_else", "test_something_else"),
    ],
)
def test_a_test_belongs_to_a_function(test: str, function: str) -> None:
    assert function_of(test) == function
    assert (category_of(function) == "other") == (function == "test_something_else")


def test_the_pin_is_complete() -> None:
    pin = read_pin()
    assert pin.standard == "2025.12"
    for revision in (pin.revision, pin.specification_revision):
        assert re.fullmatch("[0-9a-f]{40}", revision)


def test_a_folder_that_is_no_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OfficialSuiteError, match="not the official suite") as caught:
        find_suite(tmp_path)
    assert "git clone --recurse-submodules" in str(caught.value)


def test_a_suite_without_its_submodule_is_refused(suite: OfficialSuite) -> None:
    (suite.folder / "array-api" / "spec" / "2025.12").rmdir()
    with pytest.raises(OfficialSuiteError, match="submodule update --init"):
        find_suite(suite.folder)


def test_a_folder_at_another_revision_is_reported(suite: OfficialSuite) -> None:
    assert suite.revision == "unknown"
    assert len(suite.warnings) == 2
    assert "not at the pinned" in suite.warnings[0]


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Pin]:
    """Replace the official repository by a local one with a submodule."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    monkeypatch.setenv("GIT_CONFIG_KEY_1", "uploadpack.allowAnySHA1InWant")
    monkeypatch.setenv("GIT_CONFIG_VALUE_1", "true")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    specification = tmp_path / "specification"
    (specification / "spec" / "2025.12").mkdir(parents=True)
    (specification / "spec" / "2025.12" / "index.rst").write_text("The standard\n")
    suite = tmp_path / "origin"
    (suite / "array_api_tests").mkdir(parents=True)
    (suite / "array_api_tests" / "__init__.py").touch()
    (suite / "conftest.py").touch()
    for folder in (specification, suite):
        git(folder, "init", "--quiet")
    git(specification, "add", ".")
    git(specification, "commit", "--quiet", "-m", "The standard")
    git(suite, "submodule", "--quiet", "add", specification.as_uri(), "array-api")
    git(suite, "add", ".")
    git(suite, "commit", "--quiet", "-m", "The suite")
    pin = Pin(
        standard="2025.12",
        repository=suite.as_uri(),
        revision=git(suite, "rev-parse", "HEAD"),
        specification="array-api",
        specification_revision=git(specification, "rev-parse", "HEAD"),
    )
    return lambda **changes: replace(pin, **changes)


@pytest.mark.skipif(sys.platform != "linux", reason="the cache folder is set by XDG_CACHE_HOME")
def test_the_suite_is_cloned_into_the_cache_once(
    origin: Callable[..., Pin], tmp_path: Path
) -> None:
    pin = origin()
    suite = find_suite(pin=pin)
    assert suite.folder.is_relative_to(tmp_path / "cache")
    assert (suite.revision, suite.warnings) == (pin.revision, ())
    # The second time nothing is fetched, so the repository may be gone.
    again = find_suite(pin=replace(pin, repository="file:///nowhere"))
    assert again == suite
    (suite.folder / "conftest.py").write_text("changed")
    assert "local changes: conftest.py" in find_suite(pin=pin).warnings[0]


@pytest.mark.skipif(sys.platform != "linux", reason="the cache folder is set by XDG_CACHE_HOME")
def test_a_clone_that_fails_says_how_to_do_it_by_hand(
    origin: Callable[..., Pin], tmp_path: Path
) -> None:
    with pytest.raises(OfficialSuiteError, match="git fetch failed") as caught:
        find_suite(pin=origin(repository=(tmp_path / "nowhere").as_uri()))
    assert "--suite-dir" in str(caught.value)
    remaining = list((tmp_path / "cache").rglob("array-api-tests-*"))
    assert remaining == [], "half a clone must not be taken for the suite"
