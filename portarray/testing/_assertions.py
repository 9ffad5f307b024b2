"""array-api-extra's assertions, on arrays of any device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol

from portarray._api.movement import to_device
from portarray._array.array import Array
from portarray.testing import _guard

try:
    from array_api_extra import testing as xpx
except ImportError as error:  # no such library, or one without public assertions
    raise ImportError(
        f"portarray.testing needs array-api-extra 0.11 or newer ({error}): "
        'pip install "portarray[testing]"'
    ) from error

__all__ = ["assert_close", "assert_close_nulp", "assert_equal", "assert_less"]

P = ParamSpec("P")


def _on_any_device(assertion: Callable[P, None]) -> Callable[P, None]:
    """Compare devices here, and values on the host, whatever memory they are in."""

    @functools.wraps(assertion)
    def asserted(*args: P.args, **options: P.kwargs) -> None:
        __tracebackhide__ = True
        arrays: list[Any] = [*args]
        first, second = arrays[:2] if len(arrays) > 1 else (None, None)
        if type(first) is Array and type(second) is Array and options.get("check_device", True):
            assert first.device is second.device, (
                f"Devices do not match.\nActual: {first.device}\nDesired: {second.device}"
            )
        with _guard.allowed():
            arrays = [to_device(x, "numpy") if type(x) is Array else x for x in arrays]
            assertion(*arrays, **options)

    return asserted


if TYPE_CHECKING:
    # As array-api-extra declares them, whose type of arrays is a protocol of its own.
    class _Compare(Protocol):
        def __call__(
            self,
            actual: Any,
            desired: Any,
            *,
            err_msg: str = "",
            verbose: bool = True,
            check_dtype: bool = True,
            check_shape: bool = True,
            check_scalar: bool = False,
            check_device: bool = True,
            xp: Any = None,
        ) -> None: ...

    def assert_close(
        actual: Any,
        desired: Any,
        *,
        rtol: float | Array | None = None,
        atol: float | Array = 0,
        equal_nan: bool = True,
        err_msg: str = "",
        verbose: bool = True,
        check_dtype: bool = True,
        check_shape: bool = True,
        check_scalar: bool = False,
        check_device: bool = True,
        xp: Any = None,
    ) -> None: ...

    def assert_close_nulp(
        actual: Any,
        desired: Any,
        *,
        nulp: int = 1,
        check_dtype: bool = True,
        check_shape: bool = True,
        check_scalar: bool = False,
        check_device: bool = True,
        xp: Any = None,
    ) -> None: ...

    assert_equal: _Compare
    assert_less: _Compare
else:
    assert_close = _on_any_device(xpx.assert_close)
    assert_close_nulp = _on_any_device(xpx.assert_close_nulp)
    assert_equal = _on_any_device(xpx.assert_equal)
    assert_less = _on_any_device(xpx.assert_less)
