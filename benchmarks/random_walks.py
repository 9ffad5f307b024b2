"""Random moves of arrays between devices, with every value checked.

Each step of a walk draws the kind of move (``to_device``, ``asarray``, ``from_dlpack``,
``pa.to_device``) and ``copy=``; sometimes also a new array with random dtype, shape and layout, or
a computation on the device just before the move. After the move all values must be equal bit by
bit, and copies must be independent.
"""

from __future__ import annotations

import random
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

import portarray as pa

__all__ = ["KEPT", "WAYS", "Mailbox", "Tally", "Walk", "held", "read", "rehearse", "same"]

LARGE = 0.02  # the share of large arrays
SHAPES = ((), (0, 3), (7,), (1,), (4, 6), (3, 1, 5), (64, 33))
LARGE_SHAPE = (512, 257)
LAYOUTS = ("C", "F", "strided", "reversed", "broadcast", "read-only")
VIEWS = 3
COMPUTED = 0.05  # the share of moves directly after a computation
DTYPES = tuple(
    np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", ml_dtypes.bfloat16, "float32", "float64", "complex64", "complex128"),
    )
)
KEPT = 12  # number of error texts to store

Host = np.ndarray[Any, Any]


@dataclass(slots=True)
class Tally:
    """Counts and errors of walks."""

    moves: int = 0
    refused: int = 0  # unsupported dtypes, and copy=False where a copy is needed
    routes: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    errors: list[str] = field(default_factory=list)

    def add(self, tally: Tally) -> None:
        """Add the counts and errors of another tally."""
        self.moves += tally.moves
        self.refused += tally.refused
        self.routes += tally.routes
        self.wrong += tally.wrong
        self.errors += tally.errors[: KEPT - len(self.errors)]

    def note(self, text: str) -> None:
        """Record an error."""
        self.wrong += 1
        if len(self.errors) < KEPT:
            self.errors.append(text)


def drawn(rng: random.Random, dtype: np.dtype[Any]) -> Host:
    """Return a random host array: any bits, any layout, perhaps read-only."""
    shape = LARGE_SHAPE if rng.random() < LARGE else rng.choice(SHAPES)
    return random_array(rng, dtype, shape, rng.choice(LAYOUTS))


def random_array(
    rng: random.Random, dtype: np.dtype[Any], shape: tuple[int, ...], layout: str
) -> Host:
    """Return a host array of random bits in one of the layouts."""
    stored = tuple(2 * n for n in shape) if layout == "strided" else shape
    if layout == "broadcast" and shape:
        stored = (1, *shape[1:])
    count = int(np.prod(stored, dtype=int)) * dtype.itemsize
    if dtype == np.bool_:
        x = np.frombuffer(rng.randbytes(count), np.uint8).reshape(stored) % 2 == 1
    else:
        x = np.frombuffer(bytearray(rng.randbytes(count)), dtype).reshape(stored)
    if layout == "F":
        x = np.asfortranarray(x)
    elif layout == "strided":
        x = x[(slice(None, None, 2),) * x.ndim]
    elif layout == "reversed":
        x = x[(slice(None, None, -1),) * x.ndim]
    elif layout == "broadcast":
        x = np.broadcast_to(x, shape)
    x = np.asarray(x)  # indexing 0-d arrays returns scalars
    x.flags.writeable = layout not in ("broadcast", "read-only")
    return x


def viewed(x: pa.Array, values: Host, kind: int) -> tuple[pa.Array, Host]:
    """Return a view of an array on its device, and the same view of its values."""
    if not x.ndim:
        return x, values
    if kind == 0:
        return x[::-1, ...], values[::-1, ...]
    if kind == 1:
        axes = tuple(reversed(range(x.ndim)))
        return pa.permute_dims(x, axes), values.transpose(axes)
    return x[..., 1:], values[..., 1:]


def computed(x: pa.Array, values: Host) -> tuple[pa.Array, Host]:
    """Return an array that its device computes, perhaps lazily, and its values."""
    if not x.ndim:
        return x, values
    for _ in range(2):
        x, values = pa.roll(x, 1, axis=0), np.roll(values, 1, axis=0)
    return x, values


def read(x: pa.Array) -> Host:
    """Return the values of an array on any device."""
    try:
        return np.asarray(x)
    except TypeError:  # not in host memory
        pass
    if x.dtype == ml_dtypes.bfloat16:
        return np.asarray(pa.astype(x, "float32").to_device("numpy")).astype(x.dtype)
    return np.asarray(x.to_device("numpy"))


def same(values: Host, expected: Host) -> bool:
    """Return whether two arrays are equal bit by bit, ignoring the payload of NaNs."""
    if values.dtype != expected.dtype or values.shape != expected.shape:
        return False
    if values.tobytes() == expected.tobytes():
        return True
    if values.dtype.kind not in "fcV":
        return False
    # Libraries may quiet signalling NaNs.
    parts = {"c8": "f4", "c16": "f8"}.get(values.dtype.str[1:])
    if parts:
        values, expected = (np.ascontiguousarray(array).view(parts) for array in (values, expected))
    with np.errstate(invalid="ignore"):  # NumPy warns of signalling NaNs of 16 bits
        nans, others = np.isnan(expected), np.isnan(values)
    return bool(np.array_equal(others, nans)) and (
        values[~nans].tobytes() == expected[~nans].tobytes()
    )


class Mailbox:
    """Arrays that threads exchange."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrays: list[tuple[pa.Array, Host]] = []

    def swap(self, x: pa.Array, values: Host, rng: random.Random) -> tuple[pa.Array | None, Host]:
        """Store an array and take a random one, if there are enough."""
        with self._lock:
            self._arrays.append((x, values))
            if len(self._arrays) < 4:
                return None, values
            return self._arrays.pop(rng.randrange(len(self._arrays)))


class Walk:
    """Moves of one array from device to device."""

    def __init__(
        self,
        seed: int | str,
        devices: Sequence[pa.Device],
        mailbox: Mailbox | None = None,
        moved: Callable[[], None] = lambda: None,
    ) -> None:
        self._rng = random.Random(seed)
        self._seed = seed
        self._devices = devices
        self._mailbox = mailbox
        self._moved = moved
        self._x: pa.Array | None = None
        self._values: Host = np.empty(0)
        self._ways = WAYS
        self.tally = Tally()

    def run(self, moves: int) -> None:
        """Make moves; after an error, continue with a new array."""
        for index in range(moves):
            description = "no array"
            try:
                if self._x is None or self._rng.random() < 0.1:
                    self._create()
                assert self._x is not None
                target = self._rng.choice(self._devices)
                copy = self._rng.choice((None, None, True, False))
                name, move = self._rng.choice(self._ways)
                description = (
                    f"{name} of {self._x.dtype}{self._x.shape} from {self._x.device} to {target}, "
                    f"copy={copy}"
                )
                if self._rng.random() < COMPUTED:
                    self._x, self._values = computed(self._x, self._values)
                self._step(target, copy, move)
            except Exception:  # noqa: BLE001  (recorded; the run fails)
                self.tally.note(f"seed {self._seed}, move {index}, {description}:\n{_last_error()}")
                self._x = None
            self.tally.moves += 1
            self._moved()
        self._x = None

    def _create(self) -> None:
        device = self._rng.choice(self._devices)
        host = drawn(self._rng, self._rng.choice(held(device)))
        x = pa.asarray(host, device=device)
        values = host.copy()
        if self._rng.random() < 0.4:
            x, values = viewed(x, values, self._rng.randrange(VIEWS))
        self._x, self._values = x, values

    def _step(self, target: pa.Device, copy: bool | None, move: Way) -> None:
        x = self._x
        assert x is not None
        lacks = self._values.dtype not in held(target)
        try:
            y = move(x, target, copy)
        except pa.errors.DTypeNotSupportedError:
            if not lacks:
                raise
            self.tally.refused += 1
            self._x = None
            return
        except (ValueError, BufferError):
            if copy is not False:
                raise
            self.tally.refused += 1
            return
        self.tally.routes[f"{x.device.library} → {target.library}"] += 1
        if y.device is not target:
            raise AssertionError(f"the result is on {y.device}")
        if not same(read(y), self._values):
            raise AssertionError(f"values differ:\n{read(y)!r}\n{self._values!r}")
        if copy and self._values.size and self._rng.random() < 0.2:
            x[...] = 0
            if not same(read(y), self._values):
                raise AssertionError("the copy changed with its source")
        self._x = y
        if self._mailbox is not None and self._rng.random() < 0.2:
            self._x, self._values = self._mailbox.swap(y, self._values, self._rng)


def in_a_tree(x: pa.Array, device: pa.Device, copy: bool | None) -> pa.Array:
    """Move an array in a tree that contains it twice."""
    tree = {"x": [x, x], "other": (x[..., None], "text")}
    moved: dict[str, Any] = pa.to_device(tree, device)
    if moved["x"][0] is not moved["x"][1]:
        raise AssertionError("shared arrays of a tree were separated")
    array: pa.Array = moved["x"][0]
    if copy is False and array is not x:
        raise ValueError("a tree does not promise to share")
    return pa.asarray(array, copy=True) if copy else array


def rehearse(devices: Sequence[pa.Device], moved: Callable[[], None] = lambda: None) -> None:
    """Move every dtype, layout and view once on every device.

    Libraries cache something for each of them, and random moves reach the last ones late.
    """
    rng = random.Random(0)
    shapes = [shape for shape in SHAPES if 0 not in shape]
    for device in devices:
        for dtype, shape, layout in product(held(device), shapes, LAYOUTS):
            x = pa.asarray(random_array(rng, dtype, shape, layout), device=device)
            values = read(x)
            for kind in range(VIEWS if shape else 1):
                view, view_values = viewed(x, values, kind)
                # A view on this device, and an array that arrives from another device.
                for array in (view, pa.asarray(view_values, device=device)):
                    anew, _ = computed(array, view_values)
                    copy = anew.to_device(device, copy=True)
                    copy[...] = 0
                    read(pa.asarray(array, copy=True))
                    read(array)
            moved()


Way = Callable[[pa.Array, pa.Device, bool | None], pa.Array]
WAYS: tuple[tuple[str, Way], ...] = (
    ("to_device", lambda x, device, copy: x.to_device(device, copy=copy)),
    ("asarray", lambda x, device, copy: pa.asarray(x, device=device, copy=copy)),
    ("from_dlpack", lambda x, device, copy: pa.from_dlpack(x, device=device, copy=copy)),
    ("a tree", lambda x, device, copy: in_a_tree(x, device, copy)),
)


@cache
def held(device: pa.Device) -> list[np.dtype[Any]]:
    """Return the dtypes of a device."""
    dtypes = []
    for dtype in DTYPES:
        try:
            pa.empty(0, dtype=dtype, device=device)
        except pa.errors.DTypeNotSupportedError:
            continue
        dtypes.append(dtype)
    return dtypes


def _last_error() -> str:
    lines = traceback.format_exc(limit=-6).splitlines()
    return "\n".join(f"    {line}" for line in lines)
