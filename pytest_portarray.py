"""The pytest plugin of portarray: options, marks and fixtures.

pytest imports this module in every run. It imports ``portarray`` only if a test uses a fixture or
an option is set, and never an array library. The implementation is in ``portarray.testing``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from portarray.testing import Device, DType, NativeXp, Xp
    from portarray.testing._plugin import Plugin

# Private fixtures carry the parameters: a user's own fixture `device` overrides ours, and with it
# what it depends on.
DEVICE, DTYPE = "_portarray_device", "_portarray_dtype"

MARKS = (
    "skip_devices(*devices, reason=''): skip the test on these devices: 'metal', 'torch', 'gpu', "
    "'virtual:cuda', ... (portarray)",
    "only_devices(*devices, reason=''): run the test on these devices only (portarray)",
    "xfail_devices(*devices, reason, raises=None): the test must fail on these devices (portarray)",
    "dtypes(*names): the dtypes of the fixture `dtype`: 'float32', or one of the standard's kinds "
    "such as 'integral' (portarray)",
    "no_host_transfer: a copy to or from the host inside the test fails it (portarray)",
    "host_fallback_allowed: functions computed on the host do not warn or count as transfers "
    "(portarray)",
    "supports(*names): the functions that the test represents in the device report (portarray)",
    # SciPy's and array-api-extra's, under their names.
    "skip_xp_backends(backend=None, *, reason=None, np_only=False, cpu_only=False, "
    "eager_only=False, exceptions=()): skip the test on these array libraries",
    "xfail_xp_backends(backend=None, *, reason=None, np_only=False, cpu_only=False, "
    "eager_only=False, exceptions=()): the test may fail on these array libraries",
    "skip_xp_backend(backend, *, reason=None): skip the test on this array library",
    "xfail_xp_backend(backend, *, reason=None, strict=None): the test may fail on this one",
)

_plugin: Plugin | None = None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("portarray", "portarray: the devices of the fixtures xp and device")
    group.addoption(
        "--devices",
        metavar="LIST",
        help="devices of the fixtures, separated by commas: 'cpu' (every CPU library), 'virtual' "
        "(every virtual device), 'all' (everything that functions here, and the virtual ones), or "
        "texts such as torch, cuda, virtual:metal. Default: cpu,virtual:cuda,virtual:metal,"
        "virtual:tpu",
    )
    group.addoption(
        "--dtypes",
        metavar="LIST",
        help="dtypes of the fixture dtype, separated by commas. Default: float32,float64",
    )
    group.addoption(
        "--strict-devices",
        action="store_true",
        help="functions of x.__array_namespace__() create on the default device, not beside x: "
        "finds code that must pass device= for users of other libraries",
    )
    group.addoption(
        "--strict-names",
        action="store_true",
        help="portarray's functions and methods beyond the standard raise AttributeError",
    )
    group.addoption(
        "--device-report",
        metavar="FILE",
        help="write to FILE, as JSON, which test ran on which device",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks; check the options if any is set."""
    for line in MARKS:
        config.addinivalue_line("markers", line)
    options = ("--devices", "--dtypes", "--strict-devices", "--strict-names", "--device-report")
    if any(map(config.getoption, options)):
        _of(config).check()


@pytest.hookimpl(trylast=True)  # parameters of the test or its conftest.py come first
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with the fixtures on each device and for each dtype."""
    if DEVICE in metafunc.fixturenames or DTYPE in metafunc.fixturenames:
        _of(metafunc.config).parametrize(metafunc)


def _of(config: pytest.Config) -> Plugin:
    """Return the implementation, registered with pytest on first use."""
    from portarray.testing._plugin import Plugin

    plugin: Plugin | None = config.pluginmanager.get_plugin(Plugin.NAME)
    if plugin is None:
        plugin = Plugin(config)
        config.pluginmanager.register(plugin, Plugin.NAME)
    return plugin


# Fixtures have session scope, so that fixtures of any scope may use them and tests run device by
# device. State of one test, such as its default device, is set around the test.


@pytest.fixture(name=DEVICE, scope="session")
def _device(request: pytest.FixtureRequest) -> str:
    return _param(request)


@pytest.fixture(name=DTYPE, scope="session")
def _dtype(request: pytest.FixtureRequest) -> str:
    return _param(request)


def _param(request: pytest.FixtureRequest) -> str:
    if not hasattr(request, "param"):
        pytest.fail(
            "portarray: request.getfixturevalue cannot run the test on each device\n"
            "Hint: make the fixture an argument of the test or of a fixture that it uses",
            pytrace=False,
        )
    return str(request.param)


@pytest.fixture(scope="session")
def device(_portarray_device: str) -> Device:
    """Each device that ``--devices`` names, as :class:`portarray.Device`.

    The default device is the CPU, so that arrays created without ``device=`` are detected on every
    other device: those of ``pa.ones(3)``, and with ``--strict-devices`` those of
    ``x.__array_namespace__()``. With the fixture ``xp`` the default is this device.
    """
    import portarray

    return portarray.device(_portarray_device)


@pytest.fixture(scope="session")
def xp(_portarray_device: str) -> Xp:
    """Portarray's namespace on each device, which is the default device around the test.

    It is the namespace of arrays there: ``xp is x.__array_namespace__()``.
    """
    import portarray

    return portarray.empty(0, device=_portarray_device).__array_namespace__()


@pytest.fixture(scope="session")
def native_xp(_portarray_device: str) -> NativeXp:
    """Namespace of the device's native arrays: ``portarray.namespace(device)``."""
    import portarray

    return portarray.namespace(_portarray_device)


@pytest.fixture(scope="session")
def dtype(_portarray_dtype: str) -> DType:
    """Each floating-point dtype of the device, or those of ``--dtypes`` or the mark ``dtypes``."""
    from portarray.testing import _choice

    return _choice.dtype(_portarray_dtype)
