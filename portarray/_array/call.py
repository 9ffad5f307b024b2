"""How a function of a library is called: the one place where portarray and the libraries meet.

Every call goes: unwrap, check, promote, enter the device, call, translate errors, wrap. The
functions here are the path of warm calls, see :mod:`portarray._array.warm`; what a call costs is
measured in ``benchmarks/overhead.py``. All else is in :mod:`portarray._array.cold`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from portarray._array.cold import (
    apply,
    check_countable,
    create,
    floating,
    host_view,
    integral,
    promoted,
    read,
    sequence,
    spread,
    where,
)
from portarray._array.warm import (
    aligned,
    binary,
    joined,
    operator,
    options,
    pair,
    reflected,
    unary,
)

if TYPE_CHECKING:
    from portarray._array.array import Array

several = cast("Callable[..., tuple[Array, ...]]", options)
"""What :func:`options` does, of functions with several results."""

__all__ = [
    "aligned",
    "apply",
    "binary",
    "check_countable",
    "create",
    "floating",
    "host_view",
    "integral",
    "joined",
    "operator",
    "options",
    "pair",
    "promoted",
    "read",
    "reflected",
    "sequence",
    "several",
    "spread",
    "unary",
    "where",
]
