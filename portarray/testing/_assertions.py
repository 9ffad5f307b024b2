"""array-api-extra's assertions, on arrays of any device."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol

from portarray._array.array import Array
from portarray._installation import pip_install
from portarray._movement.to_device import to_device
from portarray.testing import _guard

try:
    from array_api_extra import testing as xpx
except ImportError as error:  # no such library, or one without public assertions
    raise ImportError(
        f"portarray.testing needs array-api-extra 0.11 or newer ({error}): "
        f"{pip_install('portarray[testing]')}"
    ) from error

__all__ = ["assert_close", "assert_close_nulp", "assert_equal", "assert_less"]

P = ParamSpec("P")


def _on_any_device(assertion: Callable[P, None], examples: str) -> Callable[P, None]:
    """Return an assertion that compares devices, then values on the host."""

    @functools.wraps(assertion)
    def asserted(*args: P.args, **options: P.kwargs) -> None:
        __tracebackhide__ = True
        arrays: list[Any] = [*args]
        first, second = arrays[:2] if len(arrays) > 1 else (None, None)
        if (
            type(first) is Array
            and type(second) is Array
            and first.device is not second.device
            and options.get("check_device", True)
        ):  # an assert would be rewritten by pytest
            raise AssertionError(
                f"Devices do not match.\nActual: {first.device}\nDesired: {second.device}"
            )
        with _guard.allowed():
            arrays = [to_device(x, "numpy") if type(x) is Array else x for x in arrays]
            assertion(*arrays, **options)

    asserted.__module__ = __name__  # where doctest looks for the examples
    doc = inspect.cleandoc(assertion.__doc__ or "")
    asserted.__doc__ = f"{doc}\n\nExamples\n--------\n{inspect.cleandoc(examples)}\n"
    return asserted


_CLOSE = """
    >>> import portarray as pa
    >>> from portarray.testing import assert_close
    >>> x = pa.asarray([1.0, 2.0], dtype="float32")
    >>> assert_close(x / 3 * 3, x)
    >>> assert_close(x, x + 0.1, atol=0.2)
    >>> assert_close(x, pa.astype(x, "float16"))  # equal, with another dtype
    Traceback (most recent call last):
        ...
    AssertionError: dtypes do not match: float32 != float16
"""
_CLOSE_NULP = """
    >>> import portarray as pa
    >>> from portarray.testing import assert_close_nulp
    >>> x = pa.asarray([1.0, 1e30], dtype="float32")
    >>> next_to_it = pa.nextafter(x, pa.full_like(x, pa.inf))
    >>> assert_close_nulp(next_to_it, x)
    >>> assert_close_nulp(pa.nextafter(next_to_it, pa.full_like(x, pa.inf)), x, nulp=2)
"""
_EQUAL = """
    >>> import portarray as pa
    >>> from portarray.testing import assert_equal, virtual_devices
    >>> assert_equal(pa.asarray([2, 1]) * 2, pa.asarray([4, 2]))
    >>> with virtual_devices("cuda") as (gpu,):
    ...     assert_equal(pa.zeros(2, device=gpu), pa.zeros(2, device="numpy"))
    Traceback (most recent call last):
        ...
    AssertionError: Devices do not match.
    Actual: virtual:cuda:0
    Desired: numpy:cpu:0
"""
_LESS = """
    >>> import portarray as pa
    >>> from portarray.testing import assert_less
    >>> x = pa.asarray([0.0, 0.5])
    >>> assert_less(x, pa.asarray([1.0, 1.0]))
    >>> assert_less(x, x)  # equal elements are not less
    Traceback (most recent call last):
        ...
    AssertionError: ...
"""

if TYPE_CHECKING:
    # As array-api-extra declares them, with our type of arrays.
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
    assert_close = _on_any_device(xpx.assert_close, _CLOSE)
    assert_close_nulp = _on_any_device(xpx.assert_close_nulp, _CLOSE_NULP)
    assert_equal = _on_any_device(xpx.assert_equal, _EQUAL)
    assert_less = _on_any_device(xpx.assert_less, _LESS)
