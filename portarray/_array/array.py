"""The Array class: a native array and its dispatch table (device and dtype).

Operators are one line each; :mod:`portarray._array.call` implements them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, SupportsIndex, final

import numpy as np

from portarray import _name_hints
from portarray._array import (
    base,
    call,
    formatting,
    indexing,
    interop,
    operators,
    pickling,
    slow_path,
)

if TYPE_CHECKING:
    from portarray._array.updates import Updates
    from portarray.typing import DeviceLike, DTypeLike, Namespace

__all__ = ["Array"]

_sort, _transpose = interop.method("sort"), interop.method("transpose")


@final
class Array(base.ArrayBase):
    """An array on a device, behind the Array API standard.

    Make one with :func:`portarray.asarray` or another creation function; the class itself is for
    ``isinstance`` and annotations. Functions and operators accept arrays of one device, Python
    scalars and NumPy scalars (which count as Python scalars).

    Notes
    -----
    Basic indexing returns a view where the library can (everywhere but on devices with immutable
    arrays); whether a change through a view is seen in the original is not promised, as in the
    standard. Integer and boolean arrays, NumPy's included, are accepted as indices, and assignment
    casts to the array's dtype.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1.0, 2.0, 3.0], device="numpy")
    >>> x + 1
    Array([2., 3., 4.], dtype=float64, device='numpy:cpu:0')
    """

    __slots__ = ()

    # --- attributes ---------------------------------------------------------------------------

    @property
    def T(self) -> Array:  # noqa: N802
        """Transpose of a matrix. Raises ValueError unless the array has two axes."""
        if self.ndim != 2:
            raise ValueError(
                f"T: the array has {self.ndim} axes, not two\n"
                f"Hint: use x.mT for stacks of matrices, or pa.permute_dims"
            )
        return slow_path.apply("matrix_transpose", (self,))

    @property
    def mT(self) -> Array:  # noqa: N802
        """Transpose of the last two axes. Raises ValueError where there are fewer than two."""
        if self.ndim < 2:
            raise ValueError(f"mT: the array has {self.ndim} axes, not two or more")
        return slow_path.apply("matrix_transpose", (self,))

    @property
    def real(self) -> Array:
        """Real parts; the array's own values where it is not complex."""
        return call.unary("real", self)

    @property
    def imag(self) -> Array:
        """Imaginary parts; zeros where the array is not complex."""
        return call.unary("imag", self)

    # --- the standard's methods ---------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> Namespace[Array]:
        """Return portarray with creation functions that default to the array's device.

        Its other functions are those of the module, and it is equal to the module and to the
        namespaces of arrays on other devices.

        Parameters
        ----------
        api_version : str, optional
            A version of the standard, at most ``"2025.12"``.

        Raises
        ------
        ValueError
            For a version that portarray does not know.

        Notes
        -----
        ``device=`` decides where it is given. The default device, also that of a ``with device:``
        block around the call, is for ``pa.ones(3)`` alone: a library that creates beside its
        argument gets operands on one device, whatever its caller has set. Caches by namespace need
        the device in their key, since the namespaces are equal.

        Examples
        --------
        >>> import portarray as pa
        >>> x = pa.asarray([1.0, 2.0], device="numpy")
        >>> xp = x.__array_namespace__()
        >>> xp.linspace(0, 1, 2).device is x.device
        True
        >>> xp.sum is pa.sum, xp == pa
        (True, True)
        """
        if api_version is not None:
            interop.check_version(api_version)
        return self._dispatch.namespace

    def to_device(
        self,
        device: DeviceLike,
        /,
        *,
        stream: Any = None,
        copy: bool | None = None,
        narrow: bool = False,
    ) -> Array:
        """Return the array on another device; the array itself where it is there already.

        Parameters
        ----------
        device : device-like
            As for :func:`portarray.device`.
        stream : None
            Only None is accepted: portarray orders the work of both devices itself.
        copy : bool, optional
            None shares memory where both libraries are safe with it, and copies elsewhere. True
            always copies. False raises ValueError where a copy is needed.
        narrow : bool, default: False
            Whether to accept the nearest dtype, such as float32 for float64, where the device
            lacks the array's. Integers that do not fit it wrap around, floats become infinite.

        Returns
        -------
        Array
            Of the same shape, with the same values, bit for bit unless narrowed. Where nothing is
            copied both arrays have one memory; :func:`portarray.transfer_plan` says whether.

        Raises
        ------
        UnknownDeviceError, DeviceNotFunctionalError
            If the text does not name a device, or one that cannot be used here.
        DTypeNotSupportedError
            If the device lacks the dtype, unless `narrow`.
        OutOfMemoryError
            If memory runs out on the way.
        ValueError
            If ``copy=False`` cannot be met, if `stream` is not None, or if the array is a tensor
            that requires grad and goes to another library.

        See Also
        --------
        portarray.to_device : Moves all arrays of a tree.
        portarray.transfer_plan : Says what would be copied, and why.

        Examples
        --------
        >>> import portarray as pa
        >>> x = pa.asarray([1.0, 2.0, 3.0], device="cpu")
        >>> x.to_device("numpy").device
        Device('numpy:cpu:0')
        """
        return interop.to_device(self, device, stream=stream, copy=copy, narrow=narrow)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the memory by DLPack; see the standard for the parameters."""
        return interop.dlpack(
            self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device type and index."""
        return interop.dlpack_device(self)

    __getitem__ = call.getitem

    def __setitem__(self, key: Any, value: Any, /) -> None:
        indexing.setitem(self, key, value)

    def __bool__(self) -> bool:
        return bool(formatting.scalar(self, "bool"))

    def __int__(self) -> int:
        return int(formatting.scalar(self, "int"))

    def __float__(self) -> float:
        return float(formatting.scalar(self, "float"))

    def __complex__(self) -> complex:
        return complex(formatting.scalar(self, "complex"))

    def __index__(self) -> int:
        if self._dispatch.kind not in "iu":
            raise TypeError(
                f"index: the array has dtype {self.dtype}; only 0-d integer arrays are indices\n"
                f"Hint: convert it with int(x)"
            )
        return int(formatting.scalar(self, "index"))

    # --- operators ----------------------------------------------------------------------------

    __add__ = call.operator("add")
    __sub__ = call.operator("subtract")
    __mul__ = call.operator("multiply")
    __truediv__ = call.operator("divide")
    __floordiv__ = call.operator("floor_divide")
    __mod__ = call.operator("remainder")
    __pow__ = call.operator("pow")
    __and__ = call.operator("bitwise_and")
    __or__ = call.operator("bitwise_or")
    __xor__ = call.operator("bitwise_xor")
    __lshift__ = call.operator("bitwise_left_shift")
    __rshift__ = call.operator("bitwise_right_shift")
    __lt__ = call.operator("less")
    __le__ = call.operator("less_equal")
    __gt__ = call.operator("greater")
    __ge__ = call.operator("greater_equal")
    if TYPE_CHECKING:  # object's say bool, which type checkers believe unless told

        def __eq__(self, other: Any, /) -> Array: ...  # type: ignore[override]
        def __ne__(self, other: Any, /) -> Array: ...  # type: ignore[override]
    else:
        __eq__ = call.operator("equal")
        __ne__ = call.operator("not_equal")

    __radd__ = call.reflected("add")
    __rsub__ = call.reflected("subtract")
    __rmul__ = call.reflected("multiply")
    __rtruediv__ = call.reflected("divide")
    __rfloordiv__ = call.reflected("floor_divide")
    __rmod__ = call.reflected("remainder")
    __rpow__ = call.reflected("pow")
    __rand__ = call.reflected("bitwise_and")
    __ror__ = call.reflected("bitwise_or")
    __rxor__ = call.reflected("bitwise_xor")
    __rlshift__ = call.reflected("bitwise_left_shift")
    __rrshift__ = call.reflected("bitwise_right_shift")

    __iadd__ = operators.inplace("add")
    __isub__ = operators.inplace("subtract")
    __imul__ = operators.inplace("multiply")
    __itruediv__ = operators.inplace("divide")
    __ifloordiv__ = operators.inplace("floor_divide")
    __imod__ = operators.inplace("remainder")
    __ipow__ = operators.inplace("pow")
    __iand__ = operators.inplace("bitwise_and")
    __ior__ = operators.inplace("bitwise_or")
    __ixor__ = operators.inplace("bitwise_xor")
    __ilshift__ = operators.inplace("bitwise_left_shift")
    __irshift__ = operators.inplace("bitwise_right_shift")

    __matmul__ = operators.matmul

    def __rmatmul__(self, other: Array, /) -> Array:
        return operators.matmul(other, self)

    __imatmul__ = operators.inplace_matmul

    def __divmod__(self, other: Any, /) -> tuple[Array, Array]:
        return self // other, self % other

    def __rdivmod__(self, other: Any, /) -> tuple[Array, Array]:
        return other // self, other % self

    def __neg__(self) -> Array:
        return call.unary("negative", self)

    def __pos__(self) -> Array:
        return call.unary("positive", self)

    def __abs__(self) -> Array:
        return call.unary("abs", self)

    def __invert__(self) -> Array:
        return call.unary("bitwise_invert", self)

    # Unhashable: == is elementwise.
    __hash__ = None  # type: ignore[assignment]

    # --- interoperability: what NumPy, CuPy and JAX arrays share ------------------------------

    # np.sum(x) and the like call these methods with out=None, np.mean with dtype=None as well.

    @_name_hints.hide_var_keywords
    def sum(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        **unknown: Never,
    ) -> Array:
        """Sum over axes; as :func:`portarray.sum`."""
        if unknown:
            raise _name_hints.unexpected_keyword(Array.sum, unknown)
        interop.no_out("sum", out)
        return base.NAMESPACE[0].sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    @_name_hints.hide_var_keywords
    def mean(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        **unknown: Never,
    ) -> Array:
        """Mean over axes; as :func:`portarray.mean`, of the values cast to `dtype` first."""
        if unknown:
            raise _name_hints.unexpected_keyword(Array.mean, unknown)
        interop.no_out("mean", out)
        x = self if dtype is None else self.astype(dtype, copy=False)
        return base.NAMESPACE[0].mean(x, axis=axis, keepdims=keepdims)

    @_name_hints.hide_var_keywords
    def max(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        **unknown: Never,
    ) -> Array:
        """Largest value over axes; as :func:`portarray.max`."""
        if unknown:
            raise _name_hints.unexpected_keyword(Array.max, unknown)
        interop.no_out("max", out)
        return base.NAMESPACE[0].max(self, axis=axis, keepdims=keepdims)

    @_name_hints.hide_var_keywords
    def min(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        **unknown: Never,
    ) -> Array:
        """Smallest value over axes; as :func:`portarray.min`."""
        if unknown:
            raise _name_hints.unexpected_keyword(Array.min, unknown)
        interop.no_out("min", out)
        return base.NAMESPACE[0].min(self, axis=axis, keepdims=keepdims)

    @_name_hints.hide_var_keywords
    def any(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        **unknown: Never,
    ) -> Array:
        """Whether any value over axes is true; as :func:`portarray.any`."""
        if unknown:
            raise _name_hints.unexpected_keyword(Array.any, unknown)
        interop.no_out("any", out)
        return base.NAMESPACE[0].any(self, axis=axis, keepdims=keepdims)

    @_name_hints.hide_var_keywords
    def all(
        self,
        axis: int | tuple[int, ...] | None = None,
        out: None = None,
        *,
        keepdims: bool = False,
        **unknown: Never,
    ) -> Array:
        """Whether every value over axes is true; as :func:`portarray.all`."""
        if unknown:
            raise _name_hints.unexpected_keyword(Array.all, unknown)
        interop.no_out("all", out)
        return base.NAMESPACE[0].all(self, axis=axis, keepdims=keepdims)

    def reshape(self, *shape: int | Sequence[int], copy: bool | None = None) -> Array:
        """Return the values in another shape, given as integers or as one sequence."""
        new_shape: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return base.NAMESPACE[0].reshape(self, new_shape, copy=copy)

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Array:
        """Remove axes of length one; all of them where no axis is named."""
        if axis is None:
            axis = tuple(i for i, n in enumerate(self.shape) if n == 1)
        return base.NAMESPACE[0].squeeze(self, axis)

    def astype(
        self,
        dtype: DTypeLike,
        order: Literal["K", "A", "C", "F"] | None = "K",
        *,
        copy: bool = True,
    ) -> Array:
        """Return the values in another dtype; as :func:`portarray.astype`.

        Code for NumPy may pass ``order``; the library chooses the memory layout.
        """
        if order not in ("K", "A", "C", "F", None):
            raise TypeError(
                f"astype: order is {order!r}, not 'K', 'A', 'C' or 'F'\nHint: pass copy= by name"
            )
        return base.NAMESPACE[0].astype(self, dtype, copy=copy)

    def conj(self) -> Array:
        """Complex conjugate; the values themselves where the array is real."""
        return call.unary("conj", self)

    def copy(self) -> Array:
        """Return a copy on the same device."""
        return base.NAMESPACE[0].asarray(self, copy=True)

    def item(self) -> bool | int | float | complex:
        """Return the one element as a Python scalar. Raises ValueError for any other size."""
        value: bool | int | float | complex = formatting.item(self)
        return value

    def tolist(self) -> Any:
        """Return the values as nested lists of Python scalars; a scalar for a 0-d array."""
        return formatting.listed(self)

    argmax = interop.method("argmax")
    argmin = interop.method("argmin")
    argsort = interop.method("argsort")
    clip = interop.method("clip")
    cumprod = interop.method("cumprod")
    cumsum = interop.method("cumsum")
    diagonal = interop.method("diagonal")
    dot = interop.method("dot")
    nonzero = interop.method("nonzero")
    prod = interop.method("prod")
    ravel = interop.method("ravel")
    repeat = interop.method("repeat")
    round = interop.method("round")
    searchsorted = interop.method("searchsorted")
    std = interop.method("std")
    swapaxes = interop.method("swapaxes")
    take = interop.method("take")
    trace = interop.method("trace")
    var = interop.method("var")

    def transpose(self, *axes: Any) -> Array:
        """Permute the axes, given as integers or as one sequence; reverse them by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        transposed: Array = _transpose(self, order)
        return transposed

    @property
    def at(self) -> Updates:
        """Index it for copies with elements changed: ``x.at[index].add(values)``."""
        interop.check_name("Array.at")
        from portarray._array.updates import Updates

        return Updates(self)

    def conjugate(self) -> Array:
        """Return the complex conjugate, as :meth:`conj` does."""
        interop.check_name("Array.conjugate")
        return self.conj()

    def flatten(self, order: str = "C") -> Array:
        """Return a copy with one axis."""
        interop.check_name("Array.flatten")
        flattened: Array = self.ravel(order)
        return flattened.copy()

    def sort(self, axis: int = -1, **options: Any) -> None:
        """Sort the values along an axis in place; :func:`portarray.sort` returns a copy."""
        self[...] = _sort(self, axis, **options)

    def fill(self, value: Any) -> None:
        """Set all elements to a value."""
        interop.check_name("Array.fill")
        self[...] = value

    @property
    def flat(self) -> interop.Flat:
        """The elements in order: ``x.flat[3]``, ``x.flat[:2] = 0.0``, ``for element in x.flat``."""
        return interop.Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        interop.Flat(self)[:] = value

    def view(self, dtype: DTypeLike | None = None) -> Array:
        """Return the bits of the elements as another dtype.

        Whether the result shares memory with the array is not promised, as for slices.

        Raises
        ------
        TypeError
            If the device's memory is not host memory, but for complex numbers as their parts.
        ValueError
            If the sizes do not fit.
        """
        return interop.view(self, dtype)

    # --- Python's and NumPy's protocols -------------------------------------------------------

    def __len__(self) -> int:
        if not self._native.shape:
            raise TypeError("len: a 0-d array has no length\nHint: use x.item() for its value")
        return int(self._native.shape[0])

    def __iter__(self) -> Iterator[Array]:
        if not self._native.shape:
            raise TypeError("iter: a 0-d array is not iterable\nHint: use x.item() for its value")
        return (self[i] for i in range(self._native.shape[0]))

    def __contains__(self, value: object, /) -> bool:
        return bool((self == value).any())

    def __array__(
        self, dtype: Any = None, copy: bool | None = None
    ) -> np.ndarray[Any, np.dtype[Any]]:
        """Return a NumPy array, without a copy where the memory is host memory.

        Raises
        ------
        TypeError
            If the array is in device memory.
        """
        return interop.to_numpy(self, dtype, copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Answer NumPy's and SciPy's ufuncs; see the docs on interoperability."""
        return interop.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Answer NumPy's functions; see the docs on NumPy's functions."""
        return interop.function(self, func, types, args, kwargs)

    # NumPy's own arrays and matrices leave operators to us.
    __array_priority__ = 100.0

    def __repr__(self) -> str:
        return formatting.represent(self)

    def __str__(self) -> str:
        return formatting.plain(self)

    def _repr_html_(self) -> str:
        return formatting.html(self)

    def __format__(self, spec: str, /) -> str:
        return formatting.formatted(self, spec)

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return pickling.reduce(self, protocol)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return pickling.deep_copy(self, memo)


call.install(Array)
