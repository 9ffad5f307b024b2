"""Errors of functions, their gradients and tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.errors._base import PortarrayError, with_hint


class LinAlgError(PortarrayError, np.linalg.LinAlgError):
    """Matrices for which a linear algebra function has no result.

    A ValueError; ``except numpy.linalg.LinAlgError`` catches it too. Also available as
    ``pa.linalg.LinAlgError``.

    Parameters
    ----------
    function : str
        The called function.
    reason : str
        What is wrong with the matrices.
    device : str
        Text of the device; empty for functions of native arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> try:
    ...     pa.linalg.inv(pa.zeros((2, 2), device="numpy"))
    ... except np.linalg.LinAlgError as error:
    ...     print(error)
    linalg.inv on numpy:cpu:0: a matrix of shape (2, 2) is singular
    Hint: pa.linalg.pinv computes a least-squares inverse
    """

    def __init__(self, function: str, reason: str, device: str = "") -> None:
        self.function = function
        self.reason = reason
        self.device = device
        super().__init__(f"{function}{f' on {device}' if device else ''}: {reason}")


class NoGradientError(PortarrayError, TypeError):
    """A function that has no gradient, or none for these arguments.

    Parameters
    ----------
    function : str
        The function.
    reason : str
        Why, with the fix; empty for functions that never have a gradient.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([2.0, 2.0, 3.0])
    >>> pa.grad(lambda x: pa.sum(pa.unique_values(x)))(x)
    Traceback (most recent call last):
        ...
    portarray.errors.NoGradientError: unique_values: the function has no gradient
    Hint: use pa.stop_gradient on its operand, or define a rule with pa.custom_vjp
    """

    def __init__(self, function: str, reason: str = "") -> None:
        self.function = function
        self.reason = reason
        default = "use pa.stop_gradient on its operand, or define a rule with pa.custom_vjp"
        problem = f"{function}: the function has no gradient"
        super().__init__(f"{problem}: {reason}" if reason else with_hint(problem, default))


class TracedArrayError(PortarrayError, TypeError):
    """An operation on a traced array that a gradient or compilation cannot record.

    Parameters
    ----------
    reason : str
        What is wrong, with the fix.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.0, 2.0])
    >>> pa.compile(lambda x: x if x[0] > 0 else -x)(x)
    Traceback (most recent call last):
        ...
    portarray.errors.TracedArrayError: ...
    >>> pa.compile(lambda x: pa.where(x[0] > 0, x, -x))(x).tolist()
    [1.0, -2.0]
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class TaskCancelledError(PortarrayError, RuntimeError):
    """A task that was not run, because an input was not computed or its region raised.

    Parameters
    ----------
    task : str
        The task.
    reason : str
        What failed.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.tasks import In, InOut, Region
    >>> def read(x):
    ...     raise OSError("no such file")
    >>> x = pa.zeros(3)
    >>> try:
    ...     with Region() as region:
    ...         first = region.spawn(read, InOut(x))
    ...         total = region.spawn(pa.sum, In(x))
    ... except* OSError:
    ...     print(total.exception().reason)
    task 0, read, failed with OSError: no such file
    """

    def __init__(self, task: str, reason: str) -> None:
        self.task = task
        self.reason = reason
        super().__init__(f"{task}: was not run: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task, self.reason)


class VerificationError(PortarrayError, AssertionError):
    """A function returned wrong results.

    Parameters
    ----------
    function : str
        Name of the function.
    device : str
        Text of the device.
    reason : str
        What is wrong.
    inputs : tuple
        The smallest failing arguments, if they were drawn.

    Examples
    --------
    >>> import portarray as pa
    >>> try:
    ...     pa.verify(pa.log, pa.asarray([1.0, 0.0], device="numpy"), property="finite")
    ... except pa.VerificationError as error:
    ...     print(error.reason, error.inputs[0].tolist())
    the result is not finite: -inf [0.0, 0.0]
    """

    def __init__(self, function: str, device: str, reason: str, inputs: tuple[Any, ...] = ()):
        self.function = function
        self.device = device
        self.reason = reason
        self.inputs = inputs
        arguments = "".join(f"\n  argument {n}: {x!r}" for n, x in enumerate(inputs))
        super().__init__(f"{function} on {device}: {reason}{arguments}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.function, self.device, self.reason, self.inputs)
