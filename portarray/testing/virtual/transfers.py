"""Copies between devices and the host, recorded or refused in a block."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from portarray._array import host_access

__all__ = ["HostTransfer", "HostTransferError", "host_transfers"]


class HostTransferError(AssertionError):
    """A copy between a device and the host where none is allowed.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import host_transfers, virtual_devices
    >>> with virtual_devices("cuda") as (gpu,), host_transfers(refuse=True):
    ...     x = pa.ones(3, device=gpu)
    ...     float(pa.sum(x))
    Traceback (most recent call last):
        ...
    portarray.testing.virtual.transfers.HostTransferError: ...: float copies to the host from
    virtual:cuda:0, which is refused here
    """


class HostTransfer(NamedTuple):
    """One copy between a device and the host.

    Parameters
    ----------
    kind : str
        The operation: ``"float"``, ``"numpy.asarray"``, ``"indexing"`` and so on.
    device : str
        The device's text.
    to_host : bool
        Whether it copies to the host.
    name : str
        The function computed on the host, or the other device of a move.
    where : str
        File, line and source of the code that calls portarray.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import host_transfers, virtual_devices
    >>> with virtual_devices("cuda") as (gpu,), host_transfers() as copies:
    ...     x = pa.ones(3, device=gpu)
    ...     y = x.tolist()
    >>> copies[0].kind, copies[0].to_host, copies[0].device
    ('tolist', True, 'virtual:cuda:0')
    >>> print(str(copies[0]).rpartition(": ")[2])  # without the source location
    tolist copies to the host from virtual:cuda:0
    """

    kind: str
    device: str
    to_host: bool
    name: str
    where: str

    def __str__(self) -> str:
        direction = "to the host from" if self.to_host else "from the host to"
        copied = f"{self.kind} ({self.name})" if self.name else self.kind
        return f"{self.where}: {copied} copies {direction} {self.device}"


@contextmanager
def host_transfers(*, refuse: bool = False) -> Iterator[list[HostTransfer]]:
    """Record the copies between devices and the host in the current thread.

    Parameters
    ----------
    refuse : bool
        Whether the first copy raises.

    Yields
    ------
    list of HostTransfer
        The copies so far.

    Raises
    ------
    HostTransferError
        If a copy is refused.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import host_transfers, virtual_devices
    >>> with virtual_devices("cuda") as (gpu,), host_transfers() as copies:
    ...     x = pa.ones(3, device=gpu)
    ...     y = float(pa.sum(x))
    >>> [copy.kind for copy in copies]
    ['float']
    """
    transfers: list[HostTransfer] = []
    thread = threading.get_ident()

    def note(copy: host_access.Transfer) -> None:
        if threading.get_ident() != thread:
            return
        where = str(next(host_access.callers(), ""))
        transfers.append(HostTransfer(copy.kind, str(copy.device), copy.to_host, copy.name, where))
        if refuse:
            raise HostTransferError(f"{transfers[-1]}, which is refused here")

    with host_access.listening(note):
        yield transfers
