"""What the models learn: handwritten digits, and a text, both shipped with scikit-learn.

Batches are drawn on the device that asks for them. Keys give the same numbers everywhere, so that
devices that work together draw the same batch, and each takes its own rows of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any, Protocol

import numpy as np
from sklearn.datasets import load_digits

import portarray as pa
from portarray.typing import DType

__all__ = ["Batch", "Data", "Digits", "Text"]

Batch = tuple[pa.Array, pa.Array]
"""Inputs and targets, one row for each example."""


class Data(Protocol):
    """Examples on a device."""

    classes: int
    held_out: Batch
    checksum: int  # of all examples

    def batch(self, key: pa.Array, step: int, size: int, rows: slice) -> Batch:
        """Return rows of the batch of a step, which is counted from 0."""
        ...


Values = np.ndarray[Any, np.dtype[Any]]


@cache
def images_and_digits() -> tuple[Values, Values]:
    """Return scikit-learn's file, which takes a while to read."""
    images, digits = load_digits(return_X_y=True)
    return images, digits


class Digits:
    """1,797 images of 8 by 8 and their digits; every third is held out."""

    classes = 10
    pixels = 64

    def __init__(self, device: pa.Device, dtype: DType) -> None:
        images, digits = images_and_digits()
        apart = np.arange(len(images)) % 3 == 0
        self.checksum = zlib.crc32(images.tobytes())

        def chosen(which: Values) -> Batch:
            return (
                pa.asarray((images[which] / 8.0 - 1.0).astype(dtype), device=device, copy=True),
                pa.asarray(digits[which].astype(np.int32), device=device, copy=True),
            )

        self.inputs, self.targets = chosen(~apart)
        self.held_out = chosen(apart)
        self._orders: dict[int, pa.Array] = {}

    def batch(self, key: pa.Array, step: int, size: int, rows: slice) -> Batch:
        """Return images of epoch after epoch, each in an order of its own."""
        count = self.inputs.shape[0]
        first, last = step * size, (step + 1) * size
        epochs = range(first // count, (last - 1) // count + 1)
        self._orders = {
            n: self._orders[n]
            if n in self._orders
            else pa.random.permutation(pa.random.fold_in(key, n), count)
            for n in epochs
        }
        parts = [
            self._orders[n][max(first - n * count, 0) : min(last - n * count, count)]
            for n in epochs
        ]
        chosen = (parts[0] if len(parts) == 1 else pa.concat(parts))[rows]
        return pa.take(self.inputs, chosen, axis=0), pa.take(self.targets, chosen)


class Text:
    """The pages on scikit-learn's data sets, 43,000 characters: what follows is to be told.

    The last tenth of each page is held out.

    Parameters
    ----------
    device : Device
        Where tokens are drawn.
    context : int
        How many of them a model sees.
    encode : callable, optional
        Returns the tokens of a text; without it they are its characters.
    windows : int, optional
        How many windows are held out at most.
    """

    def __init__(
        self,
        device: pa.Device,
        context: int,
        encode: Callable[[str], Sequence[int]] | None = None,
        windows: int | None = None,
    ) -> None:
        folder = resources.files("sklearn.datasets") / "descr"
        names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".rst"))
        pages = [(folder / name).read_text("utf-8") for name in names]
        alphabet = sorted(set("".join(pages)))
        self.classes = len(alphabet)
        self.checksum = zlib.crc32("".join(pages).encode())
        self.context = context
        codes = {character: n for n, character in enumerate(alphabet)}

        def encoded(strings: list[str]) -> Values:
            parts = [
                encode(x) if encode else [codes[character] for character in x] for x in strings
            ]
            return np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])

        def here(values: Values) -> pa.Array:
            return pa.asarray(values, device=device, copy=True)

        self.codes = here(encoded([page[: len(page) * 9 // 10] for page in pages]))
        apart = encoded([page[len(page) * 9 // 10 :] for page in pages])
        count = (len(apart) - 1) // context
        count = count if windows is None else min(count, windows)
        shape = (count, context)
        self.held_out = (
            here(apart[: count * context].reshape(shape)),
            here(apart[1 : count * context + 1].reshape(shape)),
        )

    def batch(self, key: pa.Array, step: int, size: int, rows: slice) -> Batch:
        """Return windows that begin anywhere, and the same one token later."""
        last = self.codes.shape[0] - self.context
        key = pa.random.fold_in(key, step)
        starts = pa.random.integers(key, 0, last, (size, 1), dtype=pa.int32)
        windows = starts[rows, :] + pa.arange(self.context, dtype=pa.int32, device=starts.device)
        return self.codes[windows], self.codes[windows + 1]
