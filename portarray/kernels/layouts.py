"""Layouts of packed matrices: one row each, from which everything that reads them is derived.

A row of a packed matrix is cut into blocks. A weight is ``scale * q + offset``: ``q`` an integer of
a few bits, the other two shared by neighbours. Every layout is chosen so that ``scale * q`` is
rounded at most once, so that all ways to compute it give the same float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

INTERLEAVED = 16
"""Rows whose bytes stand side by side, where they do."""


class Field(NamedTuple):
    """Bits of a block's weights.

    ``run`` neighbouring weights have their bits in as many neighbouring bytes, the lowest ones; the
    next ``run`` weights have theirs in the same bytes above, until the bytes are full.
    """

    at: int
    """First byte within the block."""
    bits: int
    run: int

    @property
    def span(self) -> int:
        """Weights that share ``run`` bytes."""
        return self.run * (8 // self.bits)


class Layout(NamedTuple):
    """How weights are packed.

    Attributes
    ----------
    name : str
        As files call it.
    block, nbytes : int
        Weights and bytes of a block.
    low, high : Field
        The low bits of a weight, and those above them where they are apart.
    zero : int
        What is subtracted from the bits.
    signed : bool
        Whether the bits are a signed byte.
    scale, minimum : int
        Byte at which a block's float16 scale is, and that of its offset; -1 where there is none.
    group : int
        Weights that share a scale: fewer than a block where that has scales of its own within.
    parts, parts_at : str, int
        How scales within a block are kept, and at which byte: ``"int8"`` factors, or pairs of
        ``"six"`` bits for scale and offset, eight of each in twelve bytes.
    interleaved : int
        Rows whose bytes stand side by side: data is of shape (out / rows, bytes of a row, rows).
        One where it is of shape (out, bytes of a row).
    """

    name: str
    block: int
    nbytes: int
    low: Field
    high: Field | None = None
    zero: int = 0
    signed: bool = False
    scale: int = -1
    minimum: int = -1
    group: int = 32
    parts: str = ""
    parts_at: int = 0
    interleaved: int = 1

    def shape(self, data: tuple[int, ...]) -> tuple[int, int]:
        """Return rows and columns of the matrix for the shape of its bytes."""
        return data[0] * self.interleaved, data[1] // self.nbytes * self.block

    @property
    def bits(self) -> int:
        """Bits of a weight."""
        return self.low.bits + (0 if self.high is None else self.high.bits)

    @property
    def apart(self) -> bool:
        """Whether scales are in a separate array."""
        return self.scale < 0


LAYOUTS: Mapping[str, Layout] = MappingProxyType({
    layout.name: layout for layout in (
        # GGUF's: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h
        Layout("Q8_0", 32, 34, Field(2, 8, 32), signed=True, scale=0),
        Layout("Q4_0", 32, 18, Field(2, 4, 16), zero=8, scale=0),
        Layout("Q4_1", 32, 20, Field(4, 4, 16), scale=0, minimum=2),
        Layout("Q5_0", 32, 22, Field(6, 4, 16), Field(2, 1, 1), zero=16, scale=0),
        Layout("Q5_1", 32, 24, Field(8, 4, 16), Field(4, 1, 1), scale=0, minimum=2),
        Layout("Q4_K", 256, 144, Field(16, 4, 32), scale=0, minimum=2, parts="six", parts_at=4),
        Layout("Q6_K", 256, 210, Field(0, 4, 64), Field(128, 2, 32), zero=32, scale=208, group=16,
               parts="int8", parts_at=192),
        # compressed-tensors', with an array of scales for groups or whole rows, and no zero points:
        # "int-quantized" bytes, and "pack-quantized" nibbles, eight in an int32.
        # https://github.com/vllm-project/compressed-tensors
        Layout("INT8", 32, 32, Field(0, 8, 32), signed=True),
        Layout("INT4", 32, 16, Field(0, 4, 1), zero=8),
    )
})  # fmt: skip
"""Layouts by name."""


def layout_of(name: Any) -> Layout:
    """Return a layout by its name."""
    layout = LAYOUTS.get(name) if isinstance(name, str) else None
    if layout is None:
        raise ValueError(f"unsupported layout {name!r}; supported: {', '.join(LAYOUTS)}")
    return layout
