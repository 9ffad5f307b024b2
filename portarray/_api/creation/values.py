"""Arrays made from data that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portarray._array import conversion, producers

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import (
        DeviceLike,
        DTypeLike,
        NestedSequence,
        Scalar,
        SupportsBuffer,
        SupportsDLPack,
    )

__all__ = ["asarray", "from_dlpack"]


def asarray(
    obj: Array | Scalar | NestedSequence[Scalar] | SupportsBuffer | SupportsDLPack | Any,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    narrow: bool = False,
) -> Array:
    """Make an array from anything sensible.

    Parameters
    ----------
    obj : object
        An :class:`Array`; a native array of any installed library; an object with DLPack, the
        buffer protocol or ``__array__``; a Python or NumPy scalar; nested sequences of scalars.
    dtype : dtype, optional
        Dtype of the result. By default that of `obj`; Python numbers take the device's default
        dtype of their kind.
    device : device-like, optional
        Device of the result. By default arrays and native arrays stay where they are, NumPy's and
        everything else go to the default device.
    copy : bool, optional
        True always copies; False never does and raises where it would have to; None copies where
        it has to.
    narrow : bool, default: False
        Whether data of a dtype that the device lacks may be converted to the nearest dtype that it
        has, such as float64 to float32.

    Returns
    -------
    Array
        Array with the values of `obj`. Without a copy it shares memory with `obj`.

    Raises
    ------
    TypeError
        For strings, objects and whatever else is no number.
    ValueError
        If rows of a nested sequence differ in length, or ``copy=False`` cannot be met.
    DTypeNotSupportedError
        If the device lacks the dtype and `narrow` is False.

    Notes
    -----
    Moving to a device whose memory is not host memory copies.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.asarray([[1, 2], [3, 4]], dtype=pa.float32).shape
    (2, 2)
    """
    return conversion.asarray(obj, dtype=dtype, device=device, copy=copy, narrow=narrow)


def from_dlpack(
    x: object, /, *, device: DeviceLike | None = None, copy: bool | None = None
) -> Array:
    """Make an array from an object that exports its memory through DLPack.

    Parameters
    ----------
    x : object
        Object with ``__dlpack__`` and ``__dlpack_device__``: an array of nearly any library.
    device : device-like, optional
        Device of the result. By default the one whose memory `x` is in.
    copy : bool, optional
        True always copies; False never does and raises where it would have to; None copies where
        it has to.

    Returns
    -------
    Array
        Array with the values of `x`. Without a copy it shares memory with `x`.

    Raises
    ------
    TypeError
        If `x` has no DLPack methods.
    BufferError
        If `x` cannot be exported.
    ValueError
        If ``copy=False`` cannot be met.

    See Also
    --------
    asarray : Make an array from anything sensible.
    """
    return producers.from_dlpack(x, device=device, copy=copy)
