"""When transformed functions that are called often get plans."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from portarray._array.array import Array
from portarray._transforms.tracer import Tracer
from portarray._trees import array_trees

__all__ = ["CALL_ERRORS", "UNPLANNED", "Plans"]

Function = Callable[..., Any]

UNPLANNED = 32
"""Calls of a transformed function after which it has a plan for arguments like the last ones."""

MOST_PLANS = 4

CALL_ERRORS = (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""Errors of calls that are made again in another way, whose errors say more."""


class Plans:
    """The plans of a transformed function: what it called for arguments of some shapes and dtypes.

    Parameters
    ----------
    function : callable
        The function of arrays, of which pure ones have plans.
    transform : callable
        Returns the transformed function of such a function; it reads nothing that may change.
    known : container of str
        The native calls that a plan may repeat: they check no values.
    gains : callable, optional
        Whether a plan is faster for the arrays of a call.
    """

    def __init__(
        self,
        function: Function,
        transform: Callable[[Function], Function],
        known: Container[str],
        gains: Callable[[list[Array]], bool] = bool,
    ) -> None:
        self.ready: list[tuple[Function, int]] = []  # with the numbers of arguments
        self.other: Any = None
        """What :meth:`run` returns for a call without a plan."""
        self.reason = ""  # why there is no plan, an error
        self._function, self._transform, self._known = function, transform, known
        self._gains = gains
        self._calls = 0
        self._attempts = MOST_PLANS

    def run(self, args: tuple[Any, ...]) -> Any:
        """Return the result of a call by a plan, or ``other``."""
        for planned, count in self.ready:
            if count == len(args):
                try:
                    output = planned(*args)
                except CALL_ERRORS:  # a call without a plan raises with its names
                    break
                if output is not self.other:
                    return output
        return self.other

    def count(self, args: tuple[Any, ...]) -> None:
        """Count a call without a plan; at times, make a plan for calls with arguments like these.

        Only for a pure function, and for arrays that have values.
        """
        self._calls += 1
        if not self._attempts or self._calls % UNPLANNED:
            return
        arrays = array_trees.leaves(args)
        if any(x._native.__class__ is Tracer for x in arrays) or not self._gains(arrays):
            return
        from portarray._transforms.compiling import plans  # imported only when needed

        self._attempts -= 1
        self.other = plans.OTHER
        try:
            planned = plans.plan(self._transform, self._function, args, self._known)
        except Exception as error:  # noqa: BLE001  (which calls without a plan do not raise)
            self.reason = f"{type(error).__name__}: {error}"
            planned = plans.never
        if planned is plans.never:
            self._attempts = 0
        else:
            self.ready = [*self.ready, (planned, len(args))]
