"""The pytest plugin: its fixtures, and its cost when unused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from own_pytest import ROOT, Run, python

Pytest = Callable[..., Run]


def test_fixtures_run_on_each_device_and_dtype(run_pytest: Pytest) -> None:
    pytest.importorskip("pyopencl")
    run = run_pytest(
        """
        from concurrent.futures import ThreadPoolExecutor

        import numpy as np
        import pytest
        import portarray as pa

        def test_xp(xp, device):
            assert xp == pa
            assert xp is pa.ones(3).__array_namespace__()
            assert xp.ones(3).device is device

        def test_in_a_thread(xp, device):
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(xp.ones, 3).result().device is device

        def test_device_alone(device):
            assert pa.ones(3).device is pa.cpu_device()  # a function's slip is found elsewhere

        def test_dtype(xp, dtype):
            assert isinstance(dtype, np.dtype)
            assert xp.ones(3, dtype=dtype).dtype == dtype

        @pytest.mark.dtypes("int8", "complex floating")
        def test_marked(dtype):
            pass

        def test_native(native_xp, dtype):
            x = native_xp.ones(3, dtype=getattr(native_xp, dtype.name))
            assert native_xp is pa.namespace(pa.asarray(x).device)

        @pytest.mark.parametrize("n", [1, 2])
        def test_more(n, xp):
            pass

        def test_nothing_of_ours():
            pass
        """,
        "--devices=numpy,clarray:0",
    )
    assert run.code == 0, run.text
    names = ["numpy:cpu", "clarray:opencl"]
    ids = {name: set() for name in ("xp", "device_alone", "dtype", "native", "more")}
    for name in run.outcomes:
        head, _, parameters = name.partition("[")
        ids.setdefault(head.removeprefix("test_"), set()).add(parameters.rstrip("]"))
    assert set(names) <= ids["xp"]
    assert ids["xp"] == ids["device_alone"]
    assert {f"{name}-{dtype}" for name in names for dtype in ("float32", "float64")} <= (
        ids["dtype"] & ids["native"]
    )
    assert ids["marked"] == {"int8", "complex64", "complex128"}
    assert {f"{n}-{name}" for n in (1, 2) for name in names} <= ids["more"]
    assert ids["nothing_of_ours"] == {""}
    assert "devices: numpy:cpu:0, clarray:opencl:0" in run.text


def test_fixtures_of_the_user_with_the_same_name_win(run_pytest: Pytest) -> None:
    run = run_pytest(
        """
        import pytest

        def test_parametrized_by_the_conftest(device):
            assert device in ("one", "two")

        @pytest.mark.parametrize("dtype", ["mine"])
        def test_by_a_mark(dtype, xp):
            assert dtype == "mine"

        @pytest.fixture(params=["a", "b"])
        def native_xp(request):
            return request.param

        def test_a_fixture(native_xp):
            assert native_xp in "ab"

        class TestOther:
            @pytest.fixture
            def device(self):
                return "numpy"

            def test_ours_above_his(self, xp, device):
                assert device == "numpy"
                assert str(xp.ones(1).device) == "numpy:cpu:0"
        """,
        conftest="""
        def pytest_generate_tests(metafunc):
            if "device" in metafunc.fixturenames and "conftest" in metafunc.function.__name__:
                metafunc.parametrize("device", ["one", "two"])
        """,
    )
    assert run.code == 0, run.text
    assert set(run.outcomes) == {
        *(f"test_parametrized_by_the_conftest[{name}]" for name in ("one", "two")),
        "test_by_a_mark[mine-numpy:cpu]",
        *(f"test_a_fixture[{name}]" for name in "ab"),
        "test_ours_above_his[numpy:cpu]",
    }


def test_without_tests_of_the_plugin_no_device_is_searched(run_pytest: Pytest) -> None:
    run = run_pytest(
        """
        import portarray as pa
        from portarray._devices import discovery

        def test_b(device): pass
        def test_a(device):
            assert not any(one.library == "virtual" for one in discovery.existing())
        """,
        "--devices=numpy,virtual:cuda",
        conftest="""
        def pytest_generate_tests(metafunc):
            metafunc.parametrize("device", ["two", "one"])
        """,
    )
    assert list(run.outcomes) == [f"test_{x}[{n}]" for x in "ba" for n in ("two", "one")], run.text
    assert run.code == 0
    assert "devices:" not in run.text


def test_strict_devices_finds_what_is_created_without_a_device(run_pytest: Pytest) -> None:
    source = """
        import portarray as pa

        def test_f(device):
            x = pa.ones(2, device=device)
            assert (x.__array_namespace__().asarray(1000.0) + x).tolist() == [1001.0, 1001.0]
        """
    assert run_pytest(source, "--devices=virtual:cuda").code == 0
    run = run_pytest(source, "--devices=virtual:cuda", "--strict-devices")
    assert run.code == 1
    assert "DeviceMismatchError: add: arrays are on" in run.text


def test_marks_leave_out_devices(run_pytest: Pytest) -> None:
    run = run_pytest(
        """
        import pytest

        pytestmark = pytest.mark.skip_devices("tpu")

        @pytest.mark.skip_devices("metal", "numpy", reason="no such thing")
        def test_skipped(device):
            raise AssertionError

        @pytest.mark.only_devices("gpu", "cuda")
        def test_only(device):
            raise AssertionError

        @pytest.mark.only_devices("numpy:cpu")
        def test_only_here(device):
            pass

        @pytest.mark.xfail_devices("cpu", reason="not yet")
        def test_xfail(device):
            raise AssertionError

        @pytest.mark.xfail_devices("cpu", reason="not yet")
        def test_xpass(device):
            pass

        @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.skip_devices("cpu"))])
        def test_one_parameter(device, n):
            assert n == 1

        @pytest.mark.skip_xp_backends("numpy", reason="SciPy's mark")
        def test_scipy(xp):
            raise AssertionError

        @pytest.mark.skip_xp_backends(np_only=True)
        @pytest.mark.skip_xp_backends(cpu_only=True, exceptions=["cupy"])
        @pytest.mark.skip_xp_backends("torch")
        @pytest.mark.xfail_xp_backends("jax.numpy")
        def test_scipy_others(xp):
            pass

        @pytest.mark.xfail_xp_backends("numpy")
        def test_scipy_xfail(xp):
            raise AssertionError
        """
    )
    expected = {
        "test_skipped": "skipped",
        "test_only": "skipped",
        "test_only_here": "passed",
        "test_xfail": "xfail",
        "test_xpass": "failed",
        "test_scipy": "skipped",
        "test_scipy_others": "passed",
        "test_scipy_xfail": "xfail",
    }
    outcomes = {name.partition("[")[0]: outcome for name, outcome in run.outcomes.items()}
    assert outcomes.items() >= expected.items(), run.text
    assert run.outcomes["test_one_parameter[1-numpy:cpu]"] == "passed"
    assert run.outcomes["test_one_parameter[2-numpy:cpu]"] == "skipped"


def test_functions_tagged_as_lazy_are_traced_where_the_library_is(run_pytest: Pytest) -> None:
    pytest.importorskip("jax")
    run = run_pytest(
        """
        from array_api_extra.testing import lazy_xp_function

        def of_values(x):
            return x if x[0] > 0 else -x

        def of_arrays(x, n, names=("a",)):
            return {name: x * n for name in names}

        lazy_xp_function(of_values)
        lazy_xp_function(of_arrays)

        def test_values(xp):
            of_values(xp.ones(3))

        def test_arrays(xp):
            assert float(of_arrays(xp.ones(3), 2)["a"][0]) == 2
        """,
        "--devices=numpy,jax:cpu",
    )
    assert run.outcomes == {
        "test_values[numpy:cpu]": "passed",
        "test_values[jax:cpu]": "failed",
        "test_arrays[numpy:cpu]": "passed",
        "test_arrays[jax:cpu]": "passed",
    }, run.text
    assert "TracedArrayError" in run.text


GUARDED = """
import numpy as np
import pytest
from portarray.testing import assert_close

pytestmark = pytest.mark.no_host_transfer

def quiet(f, x):
    try:
        return f(x)
    except Exception:
        return None

def to_float(x):
    return float(x[0])

def constant(x):
    return x * x.__array_namespace__().asarray([1.0, 2.0])

def test_inputs_and_comparisons_are_free(xp):
    x = xp.asarray([1.0, 2.0])
    assert_close(x + x, xp.asarray([2.0, 4.0]))

class TestMethod:
    def test_inputs_of_a_method_are_free(self, xp):
        x = xp.asarray([1.0, 2.0])
        assert_close(x + x, xp.asarray([2.0, 4.0]))

def test_reads(xp):
    quiet(to_float, xp.asarray([1.0, 2.0]))

def test_makes(xp):
    constant(xp.asarray([1.0, 2.0]))

def test_numpy(xp):
    np.asarray(xp.ones(2))
"""


def test_no_host_transfer_fails_at_the_line(run_pytest: Pytest) -> None:
    run = run_pytest(GUARDED)
    run_line = {name.partition("[")[0]: outcome for name, outcome in run.outcomes.items()}
    assert run_line == {
        "test_inputs_and_comparisons_are_free": "passed",
        "test_inputs_of_a_method_are_free": "passed",
        **dict.fromkeys(("test_reads", "test_makes", "test_numpy"), "failed"),
    }, run.text
    assert "float copies to the host, with numpy:cpu:0" in run.text
    assert "return float(x[0])" in run.text
    assert "asarray copies from the host" in run.text


WRONG_OPTIONS = {
    "--devices=cudda": "--devices: device: unknown device 'cudda': ",
    "--devices=numpy,torch:cud": "use 'torch:cuda' or 'torch:cpu'",
    "--devices=numpy:cpu:7": "'numpy:cpu:7' is not functional",
    "--dtypes=float23": "--dtypes: 'float23' is neither a dtype",
}
WRONG_MARKS = {
    "skip_devices('cudda')": "mark skip_devices: device: unknown device 'cudda'",
    "skip_devices()": "mark skip_devices: no device is named",
    "only_devices('cuda', because='x')": "unknown argument because; supported: reason",
    "xfail_devices('cuda')": "mark xfail_devices: reason= is missing",
    "skip_devices(3)": "3 is not a device text",
    "dtypes('float23')": "mark dtypes: 'float23' is neither a dtype",
    "skip_xp_backends('torch', 'numpy')": "2 libraries are named, not one",
}
SEVERAL = """
import json, sys, pytest
for options in json.loads(sys.argv[1]):
    print("CODE", int(pytest.main(["-p", "pytest_portarray", "-p", "no:cacheprovider", *options])))
    sys.stdout.flush()
"""


def test_wrong_options_and_marks_are_one_line(tmp_path: Path) -> None:
    calls, expected = [], []
    (tmp_path / "test_it.py").write_text("def test_f(xp): pass\n", "utf-8")
    for option, said in WRONG_OPTIONS.items():
        calls.append([option, "test_it.py"])
        expected.append(said)
    for index, mark in enumerate(WRONG_MARKS):
        source = f"import pytest\n@pytest.mark.{mark}\ndef test_f(xp, dtype): pass\n"
        (tmp_path / f"test_{index}.py").write_text(source, "utf-8")
        calls.append(["--devices=numpy", f"test_{index}.py"])
        expected.append(f"test_{index}.py::test_f: ")
    run = python("-c", SEVERAL, json.dumps(calls), cwd=tmp_path)
    assert run.text.count(f"CODE {int(pytest.ExitCode.USAGE_ERROR)}") == len(calls), run.text
    assert len(run.errors) == len(calls)
    for text in [*expected, *WRONG_MARKS.values()]:
        assert any(text in line for line in run.errors), text
    assert "Traceback" not in run.text


def test_fixtures_requested_too_late_raise_with_a_hint(run_pytest: Pytest) -> None:
    run = run_pytest("def test_f(request): request.getfixturevalue('xp')")
    assert "make the fixture an argument of the test" in run.text


def test_tests_run_device_by_device_in_groups_for_xdist(run_pytest: Pytest) -> None:
    """With ``--dist loadgroup`` a library starts in one worker."""
    pytest.importorskip("pyopencl")
    run = run_pytest(
        """
        import pytest

        order = []

        @pytest.fixture(scope="module")
        def data(xp):
            return xp.ones(3)

        def test_a(request, device, data):
            assert data.device is device
            mark = request.node.get_closest_marker("xdist_group")
            assert mark.args == (device.library,)
            order.append(device.library)

        def test_b(xp, dtype):
            order.append(xp.ones(1).device.library)

        def test_c(native_xp):
            pass

        @pytest.mark.only_devices("clarray")
        def test_z(device):
            assert order == sorted(order, key=["numpy", "clarray"].index)
            assert set(order) == {"numpy", "clarray"}
        """,
        *("-p", "xdist", "--devices=numpy,clarray:0"),
    )
    assert run.code == 0, run.text


def test_hypothesis_needs_no_settings(run_pytest: Pytest) -> None:
    """Hypothesis accepts the fixtures and the runs of a test on several devices."""
    run = run_pytest(
        """
        from hypothesis import given, strategies as st

        class TestIt:
            @given(st.integers(0, 5))
            def test_drawn(self, xp, n):
                assert xp.sum(xp.ones(n)) == n
        """,
        *("-p", "hypothesispytest"),
        "--devices=numpy,clarray:0" if find_spec("pyopencl") else "--devices=numpy",
    )
    assert run.code == 0, run.text


def test_the_plugin_costs_nothing_unasked(tmp_path: Path) -> None:
    """An unused plugin imports no module beyond pytest's."""
    code = """
import sys, pytest
class Seen:
    def pytest_unconfigure(self):
        print("imported", sorted({name.partition(".")[0] for name in sys.modules}
              & {"portarray", "numpy", "torch", "jax", "array_api_extra", "click"}))
before = set(sys.modules)
import pytest_portarray
print("new", sorted(set(sys.modules) - before))
pytest.main(["-q", "-p", "pytest_portarray", "--collect-only", "-p", "no:cacheprovider"],
            plugins=[Seen()])
"""
    (tmp_path / "test_it.py").write_text("def test_f(tmp_path): pass\n", "utf-8")
    run = python("-c", code, cwd=tmp_path)
    assert "new ['pytest_portarray']" in run.text
    assert "imported []" in run.text


def test_the_entry_point_and_its_module_have_one_name() -> None:
    """``-p pytest_portarray`` registers the plugin once."""
    path = ROOT / "pyproject.toml"
    if not path.is_file():
        pytest.skip("the source is not beside the tests")
    read = tomllib.loads(path.read_text("utf-8"))
    assert read["project"]["entry-points"]["pytest11"] == {"pytest_portarray": "pytest_portarray"}
    wheel = read["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "pytest_portarray.py" in wheel["only-include"]


def test_runs_without_xdist_under_strict_settings(run_pytest: Pytest) -> None:
    """Marks of pytest-xdist are not used without it, where they would be errors."""
    source = """
    def test_sum(xp, device):
        assert xp.sum(xp.ones(3, device=device)) == 3
    """
    run = run_pytest(source, "-p", "no:xdist", "--strict-markers", "-W", "error")
    assert run.code == 0, run.text
    assert "1 passed" in run.text
