"""What is kept of the tokens so far, on the device: keys and values, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence

import portarray as pa
from examples.llama import positions
from examples.llama.config import Config
from examples.llama.slots import Slots, common
from portarray.typing import DType

__all__ = ["Cache"]


class Cache:
    """Room for the keys and values of a number of tokens, in every layer.

    Parameters
    ----------
    config : Config
        The model's sizes.
    context : int
        How many tokens there is room for.
    rates : numpy.ndarray
        How far each pair of features is rotated from one position to the next.
    device : Device
        Where it is.
    dtype : dtype
        What is computed in.
    storage_dtype : dtype, optional
        What keys and values are kept in; `dtype` if None.

    Attributes
    ----------
    context : int
        How many tokens there is room for.
    slots : Slots
        Where they are: one slot.

    Raises
    ------
    LlamaError
        If the context is longer than the model's.
    """

    def __init__(
        self,
        config: Config,
        context: int,
        *,
        rates: positions.Rates,
        device: pa.Device,
        dtype: DType,
        storage_dtype: DType | None = None,
    ) -> None:
        self.slots = Slots(
            config, 1, context, rates=rates, device=device, dtype=dtype, storage_dtype=storage_dtype
        )
        self.context = context

    @property
    def tokens(self) -> list[int]:
        """Those that there are."""
        return self.slots.tokens[0]

    @property
    def length(self) -> int:
        """How many tokens there are; setting it forgets those behind."""
        return len(self.tokens)

    @length.setter
    def length(self, value: int) -> None:
        del self.tokens[value:]

    def keep(self, prompt: Sequence[int]) -> int:
        """Forget all but what a prompt begins with; return how many of its tokens that are.

        The last of its tokens is never among them, as what follows it is to be computed.
        """
        self.length = common(self.tokens, prompt[:-1])
        return self.length

    def reserve(self, tokens: int) -> None:
        """Make sure that there is room for more tokens.

        Raises
        ------
        LlamaError
            If there is not; the cache is as it was.
        """
        self.slots.reserve(0, tokens)

    def clear(self) -> None:
        """Forget all tokens; the memory stays."""
        self.length = 0
