"""``pa.prefetch``: batches of a loader that move to a device ahead of their use."""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from portarray._movement.to_device import checked_device, moved_tree

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["Prefetch", "prefetch"]

PATIENCE = 5.0
"""Seconds that an abandoned prefetch waits for the batch that its thread is making."""


def prefetch(
    iterable: Iterable[Any],
    device: DeviceLike,
    depth: int = 2,
    *,
    narrow: bool = False,
    native: bool | None = False,
    copy: bool = True,
) -> Prefetch:
    """Return an iterator over batches on a device, which a thread makes and moves ahead.

    While you compute with one batch, the next ones are read from the iterable and moved.

    Parameters
    ----------
    iterable : iterable
        Of batches: a generator, a list, PyTorch's ``DataLoader``. A batch is anything that
        :func:`to_device` takes: an array, or a dict, tuple, dataclass and so on of arrays.
    device : device-like
        As for :func:`portarray.device`.
    depth : int, optional
        How many batches are ready ahead of the one in use at most, at least 1. They occupy memory.
    narrow : bool, optional
        Whether to accept the nearest dtype if the device does not support an array's.
    native : bool, optional
        False makes every array an :class:`Array`, also NumPy's and PyTorch's. None and True are as
        for :func:`to_device`.
    copy : bool, optional
        Whether batches have memory of their own, so that the iterable may reuse its buffers.
        False lets batches share memory with the iterable's arrays where :func:`to_device` does.

    Returns
    -------
    Prefetch
        An iterator over the batches, in order. It is exhausted after one pass. Leaving a ``with``
        block of it, or its method ``close()``, stops the thread and closes a generator.

    Raises
    ------
    TypeError
        If the iterable is a text, a mapping or not iterable, or the depth is not an integer.
    ValueError
        If the depth is less than 1.
    UnknownDeviceError, DeviceNotFunctionalError
        If the text does not name a device, or one that cannot be used here.

    See Also
    --------
    to_device : Moves a tree; the batches of an iterator one by one when they are requested.

    Notes
    -----
    The iterable's errors, and those of a move, are raised in place of the batch that caused them,
    with a note of its index; batches before it arrive as usual. The iteration then ends.

    The thread starts at the call and runs the iterable in the caller's context, so that
    ``with pa.device(...)`` applies there too. It ends with the iterable. It also ends when the
    iterator is closed or no longer referenced, as after ``break`` in a loop, and then closes a
    generator. ``close()`` waits for the batch that is being made. A dropped iterator waits for it
    for 5 seconds at most.

    Libraries that copy in the order of their work queue do so here too: what overlaps on them is
    reading the batches and converting them.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> def loader():
    ...     for n in range(3):
    ...         yield {"x": np.full(2, n, dtype=np.float32), "label": f"batch {n}"}
    >>> for batch in pa.prefetch(loader(), "numpy"):
    ...     print(batch["label"], float(pa.sum(batch["x"])))
    batch 0 0.0
    batch 1 2.0
    batch 2 4.0
    """
    if isinstance(iterable, (str, bytes, Mapping)) or not isinstance(iterable, Iterable):
        raise TypeError(
            f"prefetch: a {type(iterable).__name__} is not an iterable of batches\n"
            f"Hint: pass a generator, a list or a DataLoader; pa.to_device moves a single batch"
        )
    if isinstance(depth, bool) or not isinstance(depth, int):
        raise TypeError(f"prefetch: depth must be an integer, not {depth!r}")
    if depth < 1:
        raise ValueError(f"prefetch: depth must be at least 1, not {depth}")
    move = partial(
        moved_tree,
        device=checked_device("prefetch", device, native=native),
        narrow=narrow,
        native=native,
        copy=copy or None,
    )
    # In this thread: PyTorch's DataLoader installs its signal handler only in the main one.
    return Prefetch(iter(iterable), move, depth)


class Prefetch:
    """An iterator over batches that a thread makes ahead; see :func:`prefetch`.

    Parameters
    ----------
    batches : iterator
        Of batches that are not moved.
    move : callable
        Moves a batch.
    depth : int
        How many batches are ready at most.
    """

    def __init__(self, batches: Iterator[Any], move: Callable[[Any], Any], depth: int) -> None:
        self._buffer = buffer = _Buffer(depth)
        # The thread does not refer to this object, which can therefore be dropped while it runs.
        self._thread = threading.Thread(
            target=contextvars.copy_context().run,
            args=(_fill, buffer, batches, move),
            name="portarray-prefetch",
            daemon=True,
        )
        self._thread.start()
        self._drop = weakref.finalize(self, _stop, buffer, self._thread, PATIENCE)

    def __iter__(self) -> Self:
        """Return the iterator itself."""
        return self

    def __next__(self) -> Any:
        """Return the next batch; wait for it if it is not ready."""
        try:
            return self._buffer.take(self._thread)
        except Exception:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Return the iterator itself; the end of the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the iterator."""
        self.close()

    def close(self) -> None:
        """Drop the batches that are ready, close the iterable's generator and end the thread.

        Raises
        ------
        BaseException
            What the generator raises when it is closed.
        """
        if self._drop.detach():
            _stop(self._buffer, self._thread)


class _Buffer:
    """Batches that are ready; the thread waits for room in it, and its user for batches.

    Attributes
    ----------
    closing_error : BaseException or None
        What the generator of the batches raised when it was closed.
    """

    def __init__(self, depth: int) -> None:
        self.closing_error: BaseException | None = None
        self._depth = depth
        self._changed = threading.Condition()
        self._batches: deque[Any] = deque()
        self._end: BaseException | None = None  # what follows the batches
        self._is_closed = False

    def take(self, maker: threading.Thread) -> Any:
        """Return the next batch, or raise what follows the last one."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._end or not maker.is_alive())
            if self._batches:
                self._changed.notify_all()
                return self._batches.popleft()
            end, self._end = self._end, StopIteration()
        try:
            raise end or RuntimeError(
                "prefetch: a forked process does not have the thread that makes the batches\n"
                "Hint: call pa.prefetch in the process that uses the batches"
            )
        finally:
            del end  # the error's traceback refers to this frame

    def has_room(self) -> bool:
        """Wait until there is room for a batch; return False if no more are needed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._batches) < self._depth)
            return not self._is_closed

    def put(self, batch: Any) -> None:
        """Add a batch."""
        with self._changed:
            if not self._is_closed:
                self._batches.append(batch)
                self._changed.notify_all()

    def finish(self, end: BaseException) -> None:
        """Set what follows the batches: an error or StopIteration."""
        with self._changed:
            if not self._is_closed:
                self._end = end
                self._changed.notify_all()

    def has_end(self) -> bool:
        """Return whether the last batch has been made, or the buffer was closed."""
        return self._end is not None

    def close(self) -> None:
        """Drop the batches, and request no more."""
        with self._changed:
            self._batches.clear()
            self._end, self._is_closed = StopIteration(), True
            self._changed.notify_all()


_END = object()


def _fill(buffer: _Buffer, batches: Iterator[Any], move: Callable[[Any], Any]) -> None:
    """Move batches into the buffer until they end, one fails, or no more are needed."""
    end: BaseException = StopIteration()
    index = 0
    try:
        while buffer.has_room():
            batch = next(batches, _END)
            if batch is _END:
                break
            buffer.put(move(batch))
            del batch  # not kept while this waits
            index += 1
    except BaseException as error:  # noqa: BLE001  (raised where the batch is taken)
        error.add_note(f"at batch {index} of pa.prefetch")
        end = error
    buffer.finish(end)
    del end
    if isinstance(batches, Generator):  # of which the rest is not needed
        try:
            batches.close()
        except BaseException as error:  # noqa: BLE001  (raised where the iterator is closed)
            buffer.closing_error = error


def _stop(buffer: _Buffer, thread: threading.Thread, timeout: float | None = None) -> None:
    """Stop the thread and wait for its end; raise what closing the batches raised."""
    if thread.is_alive() or buffer.has_end():  # else this process is forked: nobody frees its lock
        buffer.close()
        if thread is not threading.current_thread():  # whose garbage collection may call this
            thread.join(timeout)
    error, buffer.closing_error = buffer.closing_error, None
    if error is not None:
        raise error
