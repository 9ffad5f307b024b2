"""What is kept of the tokens so far, on the device: keys and values, and where they stand."""

from __future__ import annotations

import portarray as pa
from examples.llama import positions
from examples.llama.config import Config
from examples.llama.errors import LlamaError
from portarray.typing import DType

__all__ = ["Cache", "check_context"]


def check_context(config: Config, context: int | None) -> None:
    """Refuse a cache that is longer than what the model was made for."""
    if context is not None and not 0 < context <= config.context:
        raise LlamaError(
            f"a context of {context} tokens: this model was made for 1 to {config.context}"
        )


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
        That of the weights.

    Attributes
    ----------
    context : int
        How many tokens there is room for.
    length : int
        How many there are.

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
    ) -> None:
        check_context(config, context)
        shape = (config.kv_heads, context, config.head_dim)
        self.context = context
        self.length = 0
        self._cos, self._sin = positions.tables(rates, context, device=device, dtype=dtype)
        self._keys = [pa.zeros(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self._values = [pa.zeros(shape, dtype=dtype, device=device) for _ in range(config.layers)]

    def reserve(self, tokens: int) -> None:
        """Make sure that there is room for more tokens.

        Raises
        ------
        LlamaError
            If there is not; the cache is as it was.
        """
        if self.length + tokens > self.context:
            raise LlamaError(
                f"{self.length + tokens} tokens do not fit in a cache of {self.context}: make it "
                "longer (--context) or the prompt shorter"
            )

    def tables(self, tokens: int) -> tuple[pa.Array, pa.Array]:
        """Return the cosines and sines of the positions behind those in use."""
        begin, end = self.length, self.length + tokens
        return self._cos[begin:end, :], self._sin[begin:end, :]

    def put(self, layer: int, k: pa.Array, v: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Store keys and values behind those that are there; return all of the layer's.

        Parameters
        ----------
        layer : int
            Which layer's they are.
        k, v : Array
            Of shape (kv_heads, tokens, head_dim).

        Returns
        -------
        tuple of Array
            The layer's keys and values, (kv_heads, context, head_dim); what is behind the new ones
            is not in use.
        """
        keys, values = self._keys[layer], self._values[layer]
        stop = self.length + k.shape[1]
        keys[..., self.length : stop, :] = k
        values[..., self.length : stop, :] = v
        return keys, values

    def advance(self, tokens: int) -> None:
        """Count tokens whose keys and values every layer has stored."""
        self.length += tokens

    def clear(self) -> None:
        """Forget all tokens; the memory stays."""
        self.length = 0
