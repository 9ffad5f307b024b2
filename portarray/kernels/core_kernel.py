"""Kernels with a generic version, which is loaded when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portarray._array.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class CoreKernel(Kernel):
    """A kernel of :mod:`portarray.kernels.generic`.

    Parameters
    ----------
    name : str
        Its name there and in :mod:`portarray.kernels`.
    check : callable
        As for :class:`Kernel`.
    leads : int
        As for :class:`Kernel`.
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        check: Callable[[str, Sequence[Any], dict[str, Any]], None],
        *,
        leads: int = 0,
    ) -> None:
        super().__init__(name, None, check, leads=leads)

    def load_generic(self) -> Callable[..., Any]:
        """Return the generic version."""
        from portarray.kernels import generic  # many programs call no kernels

        function: Callable[..., Any] = getattr(generic, self.name)
        return function
