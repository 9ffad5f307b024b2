"""The decorator ``pa.kernel``, which imports the compiler on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from portarray._devices.device import Device
    from portarray._kernel_language.kernel import KernelFunction

F = TypeVar("F", bound=Callable[..., Any])


def reason_unsupported(device: Device) -> str:
    """Return why a device does not run kernels, or an empty string."""
    launcher = device._backend.launcher(device.native)
    return launcher if isinstance(launcher, str) else ""


class Decorator:
    """Compile a function as a kernel, which runs once for each place of an ndrange.

    A kernel is called with arrays of one device, on which it runs. Its body is in the kernel
    language: see :mod:`portarray.kernel_language`.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.kernel_language as kl
    >>> @pa.kernel
    ... def saxpy(y, a, x):
    ...     i = kl.index()
    ...     y[i] = a * x[i] + y[i]
    """

    __slots__ = ()

    @overload
    def __call__(
        self,
        function: Callable[..., None],
        /,
        *,
        static: Sequence[str] = (),
        differentiable: bool = False,
    ) -> KernelFunction: ...

    @overload
    def __call__(
        self, /, *, static: Sequence[str] = (), differentiable: bool = False
    ) -> Callable[[Callable[..., None]], KernelFunction]: ...

    def __call__(
        self,
        function: Callable[..., None] | None = None,
        /,
        *,
        static: Sequence[str] = (),
        differentiable: bool = False,
    ) -> Any:
        """Return a kernel, or a decorator that makes one.

        Parameters
        ----------
        function : callable
            A function in the kernel language.
        static : sequence of str, optional
            Parameters whose values are constants of the program: one is compiled for each.
        differentiable : bool, default: False
            Whether to check that the kernel has a derivative: here, or if its text does not tell
            what its arguments are, in the first call. ``explain`` then shows the adjoint, and under
            ``pa.config(kernel_debug=True)`` each gradient is compared with differences.

        Returns
        -------
        KernelFunction
            What is called with arrays; without `function` a decorator.

        Raises
        ------
        TypeError
            If it is not a plain function with available source.
        NoGradientError
            If `differentiable`, and a statement does not have a derivative.
        """
        from portarray._kernel_language.kernel import KernelFunction

        def decorated(function: Any) -> KernelFunction:
            return KernelFunction(function, static, differentiable=differentiable)

        return decorated if function is None else decorated(function)

    def function(self, function: F, /) -> F:
        """Mark a function as one that kernels may call.

        Parameters
        ----------
        function : callable
            A function in the kernel language that returns a value. It is compiled with the kernels
            that call it, for the types of the arguments.

        Returns
        -------
        callable
            The helper. Called outside of kernels it is the plain function.
        """
        from portarray._kernel_language import source
        from portarray._kernel_language.intrinsics import Helper

        source.read(function, helper=True)
        return Helper(function)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "<portarray.kernel>"


kernel = Decorator()
