"""Refused calls of good kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from refused.rows import HEAD, Elsewhere, Raw, Refused, arguments

SAXPY = """
@pa.kernel
def bad(y, a, x):
    i = kl.index()
    y[i] = a * x[i] + y[i]
"""
STATIC = """
@pa.kernel(static=("n",))
def bad(y, n):
    i = kl.index()
    y[i] = y[i] + n
"""
SHARED = """
@pa.kernel
def bad(y, x):
    shared = kl.local(8, kl.float32)
    shared[kl.local_index()] = x[kl.index()]
    kl.barrier()
    y[kl.index()] = shared[0]
"""
PLACE = """
@pa.kernel
def bad(y):
    y[0] = kl.linear_index()
"""
LARGE_LOCAL = """
@pa.kernel
def bad(y):
    shared = kl.local(67108864, kl.float32)
    shared[kl.local_index()] = 1.0
    kl.barrier()
    y[kl.index()] = shared[0]
"""
WIDE = """
@pa.kernel
def bad(y):
    i = kl.index()
    y[i] = kl.float32(kl.float64(y[i]) / 3.0)
"""


def _saxpy() -> tuple[Any, ...]:
    y, x, *_ = arguments()
    return y, 2.0, x


def _y() -> tuple[Any, ...]:
    return arguments()[:1]


def _with(**changed: Any) -> Callable[[], tuple[Any, ...]]:
    """Return a maker of saxpy's arguments, some of them changed."""

    def make() -> tuple[Any, ...]:
        y, a, x = _saxpy()
        return tuple({"y": y, "a": a, "x": x, **changed}.values())

    return make


def call(
    name: str,
    says: str,
    error: type[Exception] | tuple[type[Exception], ...],
    text: str = SAXPY,
    make: Callable[[], tuple[Any, ...]] = _saxpy,
    **options: Any,
) -> Refused:
    """Return a refused call of a good kernel."""
    return Refused(name, HEAD + text, says, error, make, options)


# A group larger than what any device has.
HUGE = 1 << 20

CALLS = [
    # What is given.
    call("list", "list.*asarray|asarray.*list", TypeError, make=_with(x=Raw([1.0, 2.0]))),
    call("dict", "dict", TypeError, make=_with(x=Raw({}))),
    call("none-argument", "x cannot be indexed", SyntaxError, make=_with(x=Raw(None))),
    call("object", "object", TypeError, make=_with(a=Raw(object()))),
    call("native", "asarray", TypeError, make=_with(x=Raw(np.ones(8, np.float32)))),
    call("complex-number", "complex64 does not fit float32", SyntaxError, make=_with(a=2j)),
    call("complex-array", "complex64", SyntaxError, make=_with(x=np.ones(8, np.complex64))),
    call("large-number", "64|large|range", (ValueError, OverflowError), make=_with(a=2**70)),
    call("two-devices", "device", ValueError, make=_with(x=Elsewhere(np.ones(8, np.float32)))),
    call("missing", "'?x'?", TypeError, make=lambda: _saxpy()[:2]),
    call("nothing", "'?y'?", TypeError, make=tuple),
    call("too-many", "4|3|too many", TypeError, make=lambda: (*_saxpy(), 1.0)),
    call("unknown", "'?z'?", TypeError, z=3),
    call("twice", "'?y'?", TypeError, y=3.0),
    call("static-unhashable", "n.*(hash|list)", TypeError, STATIC, lambda: (_saxpy()[0], Raw([1]))),
    call("static-array", "static", TypeError, STATIC, lambda: _saxpy()[::2]),
    Refused(
        *("dtype-of-no-device", HEAD + WIDE, "float64", (TypeError, SyntaxError), _y),
        lacks="float64",
    ),
    # How many work-items.
    call("ndrange-0", "ndrange.*0", ValueError, PLACE, _y, ndrange=0),
    call("ndrange-0-axis", "ndrange.*0", ValueError, PLACE, _y, ndrange=(8, 0)),
    call("ndrange-negative", "ndrange.*-1", ValueError, PLACE, _y, ndrange=(-1,)),
    call("ndrange-large", "ndrange.*2\\*\\*48", ValueError, PLACE, _y, ndrange=(2**62, 4)),
    call("ndrange-large-product", "ndrange", ValueError, PLACE, _y, ndrange=(2**30, 2**30)),
    call("ndrange-huge", "ndrange", ValueError, PLACE, _y, ndrange=(10**30,)),
    call("ndrange-empty", "ndrange", ValueError, PLACE, _y, ndrange=()),
    call("ndrange-float", "ndrange.*(float|8.0)", TypeError, PLACE, _y, ndrange=(8.0,)),
    call("ndrange-text", "ndrange.*(str|'8')", TypeError, PLACE, _y, ndrange="8"),
    call("ndrange-array", "ndrange", TypeError, PLACE, _y, ndrange=np.ones(2)),
    call("ndrange-nested", "ndrange", TypeError, PLACE, _y, ndrange=((8,),)),
    # Groups.
    call("group-large", f"group.*{HUGE}|{HUGE}.*group", ValueError, ndrange=(HUGE,), group=(HUGE,)),
    call("group-0", "group.*0", ValueError, group=(0,)),
    call("group-negative", "group.*-4", ValueError, group=(-4,)),
    call("group-of-two-axes", "group.*(2|axes)", ValueError, group=(2, 2)),
    call("group-float", "group.*(float|2.0)", TypeError, group=(2.0,)),
    call("group-text", "group.*(str|auto)", TypeError, group="auto"),
    call(
        "barrier-not-a-multiple",
        "multiple.*barrier|barrier.*multiple",
        ValueError,
        SHARED,
        lambda: arguments()[:2],
        group=(3,),
    ),
    call("local-large", "local.*memory", ValueError, LARGE_LOCAL, lambda: arguments()[:1]),
]
