"""``pa.config`` changes several settings together or none, and restores them."""

from __future__ import annotations

from typing import Any

import pytest

import portarray as pa
from portarray import errors


def settings() -> dict[str, object]:
    return {
        "block_moves": pa.config.block_moves,
        "check_linalg": pa.config.check_linalg,
        "host_access": pa.config.host_access,
        "host_fallback": pa.config.host_fallback,
        "unpickle_device": pa.config.unpickle_device,
        "kernel_debug": pa.config.kernel_debug,
        "progress": pa.config.progress,
        "strict_devices": pa.config.strict_devices,
        "strict_names": pa.config.strict_names,
        "tuned_kernels": pa.config.tuned_kernels,
    }


DEFAULTS = {
    "block_moves": "allow",
    "check_linalg": True,
    "host_access": "allow",
    "host_fallback": "warn",
    "unpickle_device": "cpu",
    "kernel_debug": False,
    "progress": False,
    "strict_devices": False,
    "strict_names": False,
    "tuned_kernels": True,
}


def test_blocks_restore_only_their_own_changes() -> None:
    assert settings() == DEFAULTS
    with pa.config(host_fallback="allow", unpickle_device=None) as config:
        assert config is pa.config
        assert settings() == DEFAULTS | {"host_fallback": "allow", "unpickle_device": None}
        with pa.config(unpickle_device="numpy:cpu:0"), pa.config():
            assert pa.config.unpickle_device == "numpy:cpu:0"
            pa.config(progress=True)  # for good: no block of this setting is around it
        changed = {"host_fallback": "allow", "unpickle_device": None, "progress": True}
        assert settings() == DEFAULTS | changed
        assert repr(pa.config) == (
            "<portarray.config block_moves='allow' check_linalg=True host_access='allow' "
            "host_fallback='allow' kernel_debug=False "
            "unpickle_device=None progress=True strict_devices=False "
            "strict_names=False tuned_kernels=True>"
        )
    with pytest.raises(KeyError), pa.config(progress=False):
        raise KeyError
    assert settings() == DEFAULTS | {"progress": True}
    pa.config(progress=False)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            {"host_fallback": "never"},
            ValueError,
            "host_fallback must be one of error, warn, allow, not 'never'",
        ),
        (
            {"host_access": "tell"},
            ValueError,
            "host_access must be one of error, warn, allow, not 'tell'",
        ),
        (
            {"host_fallback": None},
            ValueError,
            "host_fallback must be one of error, warn, allow, not None",
        ),
        ({"unpickle_device": "cqu"}, errors.UnknownDeviceError, "unknown device 'cqu'"),
        ({"unpickle_device": ""}, errors.UnknownDeviceError, "the text is empty"),
        (
            {"unpickle_device": 3},
            TypeError,
            "must be a device's text such as 'cpu', or None, not 3",
        ),
        ({"kernel_debug": "on"}, TypeError, "kernel_debug must be True or False, not 'on'"),
        ({"progress": "yes"}, TypeError, "progress must be True or False, not 'yes'"),
        ({"tuned_kernels": 1}, TypeError, "tuned_kernels must be True or False, not 1"),
    ],
)
def test_wrong_values_change_nothing(
    wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    others: dict[str, Any] = {"host_fallback": "error", "unpickle_device": "gpu", "progress": True}
    with pytest.raises(error, match=message):
        pa.config(**(others | wrong))
    assert settings() == DEFAULTS


def test_settings_are_not_attributes_to_assign() -> None:
    for name in DEFAULTS:
        with pytest.raises(AttributeError):
            setattr(pa.config, name, None)
    with pa.config(unpickle_device="auto"):
        assert pa.config.unpickle_device == "auto"
