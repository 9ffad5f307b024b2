"""Several sequences at once, on the device: keys and values in slots, one for each sequence.

A step reads any number of tokens of each of some sequences, as the rows of one matrix, so that the
weights are read once for all of them. What belongs to which sequence is told by where its keys lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

import portarray as pa
from examples.llama import positions
from examples.llama.compiled import Run
from examples.llama.config import Config
from examples.llama.errors import LlamaError
from examples.llama.heads import changes_memory, stores_in_place, turn_and_store, turned
from portarray import kernels
from portarray.typing import DType

__all__ = ["Part", "Slots", "Step", "check_context", "common"]

BLOCK = 64  # masks are multiples of it, so that libraries that compile for shapes do so seldom


@dataclass(frozen=True, slots=True)
class Part:
    """The next tokens of a sequence.

    Attributes
    ----------
    slot : int
        Where its keys and values are.
    tokens : sequence of int
        At least one.
    needs_logits : bool
        Whether the logits behind them are needed.
    """

    slot: int
    tokens: Sequence[int]
    needs_logits: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that attend together: of one sequence, or one of each of neighbouring slots.

    Attributes
    ----------
    rows, slots : slice
        Which they are, and where their sequences' keys are.
    keys : int
        How many of these are read.
    mask : Array or None
        Those that each sequence has, where there are several.
    """

    rows: slice
    slots: slice
    keys: int
    mask: pa.Array | None


class Slots:
    """Room for the keys and values of several sequences, in every layer.

    Parameters
    ----------
    config : Config
        The model's sizes.
    count : int
        How many sequences there is room for.
    context : int
        How many tokens of each.
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
    tokens : list of list of int
        Those of each slot. They stay when a sequence has ended, for another that begins like it.

    Raises
    ------
    LlamaError
        If there are no slots, or the context is longer than the model's.
    """

    def __init__(
        self,
        config: Config,
        count: int,
        context: int,
        *,
        rates: positions.Rates,
        device: pa.Device,
        dtype: DType,
        storage_dtype: DType | None = None,
    ) -> None:
        check_context(config, context)
        if count < 1:
            raise LlamaError(f"{count} sequences at once: at least 1 is needed (--parallel)")
        self.context = context
        self.tokens: list[list[int]] = [[] for _ in range(count)]
        self._device = device
        self.config = config
        self.tables = positions.tables(rates, context, device=device, dtype=dtype)
        shape, storage_dtype = (
            (count, config.kv_heads, context, config.head_dim),
            storage_dtype or dtype,
        )

        def zeros() -> pa.Array:
            # A copy has values at once: MLX computes an array in the thread that made it alone.
            return pa.asarray(pa.zeros(shape, dtype=storage_dtype, device=device), copy=True)

        self._keys = [zeros() for _ in range(config.layers)]
        self._values = [zeros() for _ in range(config.layers)]
        self.changes_memory = changes_memory(config, self._keys[0], self.tables[0])
        self.in_place = self.changes_memory and stores_in_place(self._keys[0].device)
        self._scratch: dict[int, tuple[pa.Array, pa.Array]] = {}
        self._views: dict[tuple[int, int], tuple[pa.Array, pa.Array]] = {}

    def __len__(self) -> int:
        """Return how many sequences there is room for."""
        return len(self.tokens)

    def keep(self, slot: int, prompt: Sequence[int]) -> int:
        """Make a slot hold what is known of the beginning of a prompt.

        Parameters
        ----------
        slot : int
            Which one; the rest of what it has is forgotten.
        prompt : sequence of int
            Its last token is never kept, as what follows it is to be computed.

        Returns
        -------
        int
            How many of the prompt's tokens the slot has, its own or copied from another one.
        """
        begins = [common(tokens, prompt[:-1]) for tokens in self.tokens]
        best = max(range(len(begins)), key=begins.__getitem__)
        current, count = begins[slot], begins[best]
        if count > current:
            for array in (*self._keys, *self._values):
                array[slot, :, current:count, :] = array[best, :, current:count, :]
        self.tokens[slot] = list(prompt[:count])
        return count

    def step(self, parts: Sequence[Part]) -> Step:
        """Return where the tokens of a step are stored and what they attend to.

        Raises
        ------
        LlamaError
            If they do not fit, or two parts are of one slot.
        """
        if len({part.slot for part in parts}) < len(parts):
            raise LlamaError(f"parts of slots {[part.slot for part in parts]}: each at most once")
        for part in parts:
            self.reserve(part.slot, len(part.tokens))
        begins = [len(self.tokens[entry.slot]) for entry in parts]
        lengths = [len(entry.tokens) for entry in parts]
        spans = [range(n, n + more) for n, more in zip(begins, lengths, strict=True)]
        slots = np.repeat([entry.slot for entry in parts], lengths)
        places = self._indices(np.stack([slots, np.concatenate(spans)]))
        ends = (np.cumsum(lengths) - 1)[[entry.needs_logits for entry in parts]]
        return Step(self, places, tuple(ends.tolist()), tuple(self._groups(parts)), sum(lengths))

    def reserve(self, slot: int, tokens: int) -> None:
        """Make sure that there is room for more tokens in a slot.

        Raises
        ------
        LlamaError
            If there is not.
        """
        needed = len(self.tokens[slot]) + tokens
        if needed > self.context:
            raise LlamaError(
                f"{needed} tokens do not fit in a cache of {self.context}: make it longer "
                "(--context) or the prompt shorter"
            )

    def advance(self, parts: Sequence[Part]) -> None:
        """Count tokens whose keys and values every layer has stored."""
        for part in parts:
            self.tokens[part.slot] += part.tokens

    def layer(self, index: int) -> tuple[pa.Array, pa.Array]:
        """Return the keys and values of a layer, (slots, kv_heads, context, head_dim)."""
        return self._keys[index], self._values[index]

    def scratch(self, count: int) -> tuple[pa.Array, pa.Array]:
        """Return memory for the queries of so many tokens, and for what they read."""
        config = self.config
        if count not in self._scratch:
            shape = (config.heads, count, config.head_dim)
            self._scratch[count] = (
                pa.zeros(shape, dtype=self._keys[0].dtype, device=self._device),
                pa.zeros((count, config.heads * config.head_dim), dtype=self.tables[0].dtype,
                         device=self._device),
            )  # fmt: skip
        return self._scratch[count]

    def of_slot(self, layer: int, slot: int) -> tuple[pa.Array, pa.Array]:
        """Return the keys and values of a slot, (kv_heads, context, head_dim)."""
        if not self.in_place:
            return self._keys[layer][slot, ...], self._values[layer][slot, ...]
        views = self._views.get((layer, slot))
        if views is None:
            views = self._keys[layer][slot, ...], self._values[layer][slot, ...]
            self._views[layer, slot] = views
        return views

    def _indices(self, numbers: np.ndarray) -> pa.Array:
        return pa.asarray(numbers.astype(np.int32), device=self._device, copy=True)

    def _groups(self, parts: Sequence[Part]) -> Iterator[Group]:
        """Yield the parts in groups: those of one token in neighbouring slots are one."""
        start = 0
        single = [len(part.tokens) == 1 for part in parts]
        runs = groupby(
            range(len(parts)), key=lambda n: (single[n], parts[n].slot - n if single[n] else n)
        )
        for _, numbers in runs:
            members = [parts[n] for n in numbers]
            lengths = [len(self.tokens[part.slot]) + len(part.tokens) for part in members]
            rows = slice(start, start + sum(len(part.tokens) for part in members))
            slots = slice(members[0].slot, members[-1].slot + 1)
            start, keys, mask = rows.stop, max(lengths), None
            if len(members) > 1:
                keys = min(-(-keys // BLOCK) * BLOCK, self.context)
                visible = np.arange(keys) < np.asarray(lengths)[:, None]
                mask = pa.asarray(visible[:, None, None, :], device=self._device, copy=True)
            yield Group(rows, slots, keys, mask)


class Step:
    """One step of several sequences.

    Parameters
    ----------
    slots : Slots
        Theirs.
    places : Array
        The slots and positions of the tokens, (2, tokens).
    logit_rows : tuple of int
        The last rows of those parts whose logits are needed.
    groups : tuple of Group
        What attends together.
    count : int
        How many tokens there are.
    """

    def __init__(
        self,
        slots: Slots,
        places: pa.Array,
        needs_logits: tuple[int, ...],
        groups: tuple[Group, ...],
        count: int,
    ) -> None:
        self._slots = slots
        self._places = places
        self._logit_rows = needs_logits
        self._groups = groups
        self._count = count
        self._tables: tuple[pa.Array, pa.Array] | None = None
        if not slots.in_place:
            cos, sin = (pa.take(table, places[1, :], axis=0) for table in slots.tables)
            self._tables = cos, sin

    def ends(self, x: pa.Array) -> pa.Array:
        """Return the rows whose logits are needed."""
        if len(self._logit_rows) == self._count:
            return x
        if len(self._logit_rows) == 1:
            return x[self._logit_rows[0] : self._logit_rows[0] + 1, :]
        rows = pa.asarray(np.asarray(self._logit_rows, np.int32), device=x.device, copy=True)
        return pa.take(x, rows, axis=0)

    def run(self, compiled: Run, x: pa.Array) -> pa.Array:
        """Return the last layer's output for features, from the compiled step."""
        slots = self._slots
        out: pa.Array = compiled(
            slots._keys, slots._values, *slots.scratch(self._count), x, self._places, *slots.tables
        )
        return out

    def attend(self, layer: int, qkv: pa.Array) -> pa.Array:
        """Store a layer's keys and values, and attend to all that each sequence has.

        Parameters
        ----------
        layer : int
            Which layer's they are.
        qkv : Array
            Queries, keys and values, (tokens, features of all heads).

        Returns
        -------
        Array
            What the queries read, (heads, tokens, head_dim).
        """
        q = self._stored(layer, qkv)
        parts = [self._attend(group, layer, q) for group in self._groups]
        out = parts[0] if len(parts) == 1 else pa.concat(parts, axis=1)
        return out if out.dtype == qkv.dtype else pa.astype(out, qkv.dtype)

    def _stored(self, layer: int, qkv: pa.Array) -> pa.Array:
        """Store keys and values; return queries of their dtype."""
        slots, config = self._slots, self._slots.config
        keys, values = slots.layer(layer)
        if self._tables is None:
            shape = (config.heads, self._count, config.head_dim)
            stored: pa.Array = turn_and_store(
                pa.empty(shape, dtype=keys.dtype, device=keys.device),
                keys, values, qkv, *slots.tables, self._places, config.heads,
                ndrange=(config.heads + 2 * config.kv_heads, self._count, config.head_dim // 2),
            )[0]  # fmt: skip
            return stored
        q, k, v = turned(config, qkv, self._tables)
        if keys.dtype != q.dtype:
            q, k, v = (pa.astype(x, keys.dtype) for x in (q, k, v))
        first = self._groups[0]
        if first.mask is None and len(self._groups) == 1:
            slot, span = first.slots.start, slice(first.keys - self._count, first.keys)
            keys[slot, :, span, :] = k
            values[slot, :, span, :] = v
            return q
        where, positions = self._places[0, :], self._places[1, :]
        keys[where, :, positions, :] = pa.permute_dims(k, (1, 0, 2))
        values[where, :, positions, :] = pa.permute_dims(v, (1, 0, 2))
        return q

    def _attend(self, group: Group, layer: int, q: pa.Array) -> pa.Array:
        q = q if len(self._groups) == 1 else q[:, group.rows, :]
        if group.mask is None:
            k, v = self._slots.of_slot(layer, group.slots.start)
            return kernels.attention(q, k, v, causal=True, key_length=group.keys)
        k, v = (array[group.slots, :, : group.keys, :] for array in self._slots.layer(layer))
        # The one query of each sequence: rows become a batch.
        q = pa.expand_dims(pa.permute_dims(q, (1, 0, 2)), axis=2)
        out = kernels.attention(q, k, v, mask=group.mask)
        return pa.permute_dims(pa.squeeze(out, axis=2), (1, 0, 2))


def check_context(config: Config, context: int | None) -> None:
    """Refuse a cache that is longer than what the model was made for."""
    if context is not None and not 0 < context <= config.context:
        raise LlamaError(
            f"a context of {context} tokens: this model was made for 1 to {config.context}"
        )


def common(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two sequences begin with together."""
    pairs = zip(first, second, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
