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
        buffer protocol or ``__array__`` (data frames of numbers, images); a Python or NumPy scalar;
        nested sequences of scalars or of arrays of one shape.
    dtype : dtype, optional
        Dtype of the result. By default that of `obj`, or the one to which arrays and NumPy scalars
        in sequences promote; Python numbers take the device's default dtype of their kind.
    device : device-like, optional
        Device of the result. By default arrays and native arrays stay where they are, a nested
        sequence goes to the device of the arrays in it, by way of the host, and NumPy's arrays and
        everything else go to the default device.
    copy : bool, optional
        True always copies; False never does and raises where it would have to; None shares memory
        where both libraries are safe with it, and copies elsewhere.
    narrow : bool, default: False
        Whether data of a dtype that the device lacks may be converted to the nearest dtype that it
        has, such as float64 to float32. Integers that do not fit it wrap around, floats become
        infinite.

    Returns
    -------
    Array
        Array with the shape and the values of `obj`. Without a copy it shares memory with `obj`:
        what is written on either side is seen on the other.

    Raises
    ------
    TypeError
        For strings, objects and other values that are not numbers, and for masked arrays.
    ValueError
        If rows of a nested sequence differ in length, if ``copy=False`` cannot be met, or if a
        tensor that requires grad is to go to another library.
    DTypeNotSupportedError
        If the device lacks the dtype and `narrow` is False.
    DeviceMismatchError
        If a nested sequence holds arrays of several devices and `device` is None.
    UnknownDeviceError, DeviceNotFunctionalError
        If the text does not name a device, or one that cannot be used here.
    OutOfMemoryError
        If memory runs out.

    See Also
    --------
    Array.to_device : Moves an array.
    to_device : Moves all arrays of a tree.

    Notes
    -----
    Gradients and compiled functions follow the arrays in a nested sequence.

    Moving to a device whose memory is not host memory copies, and so do JAX, MLX and dpnp what
    other libraries have. NumPy arrays of another byte order are converted, which is a copy.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.asarray([[1, 2], [3, 4]], dtype=pa.float32).shape
    (2, 2)

    NumPy's memory is used as it is where the device can:

    >>> import numpy as np
    >>> values = np.zeros(3)
    >>> x = pa.asarray(values, device="numpy")
    >>> values[0] = 7.0
    >>> x
    Array([7., 0., 0.], dtype=float64, device='numpy:cpu:0')
    """
    return conversion.asarray(obj, dtype=dtype, device=device, copy=copy, narrow=narrow)


def from_dlpack(
    x: object,
    /,
    *,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    narrow: bool = False,
) -> Array:
    """Make an array from an object that exports its memory through DLPack.

    Parameters
    ----------
    x : object
        Object with ``__dlpack__`` and ``__dlpack_device__``: an array of nearly any library.
    device : device-like, optional
        Device of the result. By default the one whose memory `x` is in; where several are, the
        one of `x`'s library, else the default device, else the best.
    copy : bool, optional
        True always copies; False never does and raises where it would have to; None shares memory
        where both libraries are safe with it, and copies elsewhere.
    narrow : bool, default: False
        Whether data of a dtype that the device lacks may be converted to the nearest dtype that it
        has, such as float64 to float32.

    Returns
    -------
    Array
        Array with the shape and the values of `x`. Without a copy it shares memory with `x`.

    Raises
    ------
    TypeError
        If `x` has no DLPack methods, or is a bare capsule.
    BufferError
        If `x` cannot be exported, or its capsule was used before.
    ValueError
        If ``copy=False`` cannot be met.
    DTypeNotSupportedError
        If the device lacks the dtype and `narrow` is False.
    OutOfMemoryError
        If memory runs out.

    See Also
    --------
    asarray : Make an array from anything sensible.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> pa.from_dlpack(np.arange(3.0), device="numpy")
    Array([0., 1., 2.], dtype=float64, device='numpy:cpu:0')
    """
    return producers.from_dlpack(x, device=device, copy=copy, narrow=narrow)
