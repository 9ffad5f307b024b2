"""Training on any device, on several at once, and across devices: the steps themselves.

The same few functions train on every library: :func:`gradients` and :func:`adam` are pure functions
of arrays and trees of them. :class:`Trainer` calls them, on one device, with the rows of each batch
divided among devices, or with the blocks of the model on several.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import optree

import portarray as pa
from examples.training.data import Batch, Data, Digits, Text
from examples.training.errors import TrainingError
from examples.training.models import (
    Block,
    Model,
    Parameters,
    initial,
    multilayer_perceptron,
    transformer,
)

__all__ = ["MODELS", "PRECISIONS", "Config", "Trainer"]

MODELS = ("mlp", "text")
DEFAULTS: dict[str, dict[str, Any]] = {"text": {"batch": 32, "rate": 4e-3, "width": 64}}

Half = Literal["float16", "bfloat16"] | None

PRECISIONS: dict[str, tuple[Literal["float32", "float64"], Half]] = {
    "float32": ("float32", None),
    "float64": ("float64", None),
    "mixed": ("float32", "float16"),
    "mixed-bfloat16": ("float32", "bfloat16"),
}
"""Of each precision the dtype of the parameters, and that of the model's arithmetic if another."""

BETAS = 0.9, 0.999
EPSILON = 1e-8
GROWTH = 200
"""After how many steps without an overflow the loss scale is doubled."""

FIRST_SCALE = 2.0**15
PROGRESS = ("step", "skipped", "scale", "good", "evaluations")
"""Attributes of a trainer that a checkpoint keeps beside arrays."""

Number = float | pa.Array
Tree = list[Parameters]
State = dict[str, Tree]
"""Parameters, and Adam's moments m and v: each a list with a dict of arrays for each block."""


@dataclass(frozen=True, slots=True)
class Config:
    """All that the numbers depend on; devices do not belong to it."""

    model: str = "mlp"
    steps: int = 1000
    batch: int = 64
    rate: float = 2e-3
    width: int = 256
    depth: int = 2
    heads: int = 4
    context: int = 32
    precision: str = "float32"
    seed: int = 0

    @classmethod
    def of(cls, model: str, **given: Any) -> Config:
        """Return a model's configuration; what is not given, or None, has its default."""
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(model, **{**DEFAULTS.get(model, {}), **chosen})

    def __post_init__(self) -> None:
        for name, known in (("model", MODELS), ("precision", tuple(PRECISIONS))):
            given = getattr(self, name)
            if given not in known:
                raise TrainingError(f"{name} {given!r} is none of {', '.join(known)}")
        for name in ("steps", "batch", "width", "depth", "heads", "context", "rate"):
            if not getattr(self, name) > 0:
                raise TrainingError(f"{name} is {getattr(self, name)}; it must be positive")
        if self.width % self.heads:
            raise TrainingError(
                f"a width of {self.width} cannot be divided among {self.heads} heads; "
                f"choose a multiple"
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of parameters and losses."""
        return np.dtype(PRECISIONS[self.precision][0])

    @property
    def half(self) -> Half:
        """The dtype of the model's arithmetic where it is another."""
        return PRECISIONS[self.precision][1]


# --- pure functions ---------------------------------------------------------------------------


def forward(
    model: Model,
    parameters: Tree,
    x: pa.Array,
    *,
    half: Half = None,
    checkpointing: bool = False,
) -> pa.Array:
    """Return what the last block makes of inputs, in the parameters' dtype.

    Each block runs where its parameters are; gradients go the same way back.
    """
    for block, own in zip(model.blocks, parameters, strict=True):
        some = next(iter(own.values()))
        if x.device != some.device:
            x = x.to_device(some.device)
        run = block if half is None else lowered(block, half)
        x = pa.checkpoint(run)(own, x) if checkpointing else run(own, x)
    return x if half is None else pa.astype(x, some.dtype)


def lowered(block: Block, half: Literal["float16", "bfloat16"]) -> Block:
    """Return a block that computes in a smaller dtype; integers stay as they are."""

    def run(own: Parameters, x: pa.Array) -> pa.Array:
        smaller = {name: pa.astype(p, half, copy=False) for name, p in own.items()}
        is_integer = pa.isdtype(x.dtype, "integral")
        return block(smaller, x if is_integer else pa.astype(x, half, copy=False))

    return run


def gradients(
    model: Model,
    parameters: Tree,
    batch: Batch,
    scale: pa.Array | None = None,
    *,
    half: Half = None,
    checkpointing: bool = False,
) -> tuple[pa.Array, Tree]:
    """Return the loss of a batch and its gradients, which are multiplied by a scale.

    Without a scale small gradients would become zero in float16.
    """

    def loss(parameters: Tree) -> tuple[pa.Array, pa.Array]:
        inputs, targets = batch
        logits = forward(model, parameters, inputs, half=half, checkpointing=checkpointing)
        found = pa.kernels.cross_entropy(logits, targets.to_device(logits.device))
        return (found if scale is None else found * scale.to_device(logits.device)), found

    (_, found), slopes = pa.value_and_grad(loss, has_aux=True)(parameters)
    result: tuple[pa.Array, Tree] = found, slopes
    return result


def adam(
    p: Parameters, m: Parameters, v: Parameters, slopes: Parameters, rate: Number, root: Number
) -> tuple[Parameters, Parameters, Parameters]:
    """Return a block's parameters and moments after a step of Adam (arXiv:1412.6980)."""
    first, second = BETAS

    def moved(p: pa.Array, m: pa.Array, v: pa.Array) -> pa.Array:
        return p - rate * m / (pa.sqrt(v) / root + EPSILON)

    m = mapped(lambda m, g: first * m + (1 - first) * g, m, slopes)
    v = mapped(lambda v, g: second * v + (1 - second) * (g * g), v, slopes)
    return mapped(moved, p, m, v), m, v


def corrected(rate: float, step: int) -> tuple[float, float]:
    """Return the two numbers of Adam's step that correct moments which began at zero."""
    first, second = BETAS
    return rate / (1 - first**step), math.sqrt(1 - second**step)


def unscaled(slopes: Tree, scale: float) -> tuple[Tree, list[pa.Array]]:
    """Return gradients without the loss scale, and for each block whether they are finite."""
    finite = [pa.all(pa.stack([pa.all(pa.isfinite(g)) for g in own.values()])) for own in slopes]
    return mapped(lambda g: g / scale, slopes), finite


def mapped(function: Callable[..., Any], *trees: Any) -> Any:
    """Return a tree of the results of a function of the arrays at the same place of all trees."""
    return optree.tree_map(function, *trees)


def schedule(config: Config, step: int) -> float:
    """Return the learning rate of a step: growing for a twentieth of all, then a falling cosine."""
    warm = max(1, config.steps // 20)
    if step < warm:
        return config.rate * (step + 1) / warm
    part = (step - warm) / max(1, config.steps - warm)
    return config.rate * 0.5 * (1 + math.cos(math.pi * part))


def compiled(function: Callable[..., Any], wanted: bool) -> Callable[..., Any]:
    """Return a function compiled, where that is wanted."""
    return pa.compile(function) if wanted else function


# --- training ---------------------------------------------------------------------------------


def data_of(config: Config, device: pa.Device) -> Data:
    """Return a model's examples on a device."""
    if config.model == "mlp":
        return Digits(device, config.dtype)
    return Text(device, config.context)


def places(devices: Sequence[pa.Device], blocks: int) -> list[pa.Device]:
    """Return where each block is: rows of about as many blocks on one device after another."""
    if len(devices) > blocks:
        raise TrainingError(
            f"a model of {blocks} blocks cannot be split among {len(devices)} devices; take fewer, "
            f"or a deeper model"
        )
    return [devices[n * len(devices) // blocks] for n in range(blocks)]


def model_of(config: Config, data: Data) -> Model:
    """Return the model of a configuration."""
    if isinstance(data, Digits):
        return multilayer_perceptron(data.pixels, data.classes, config.width, config.depth)
    return transformer(data.classes, config.context, config.width, config.depth, config.heads)


def shares_of(batch: int, weights: Sequence[int]) -> list[slice]:
    """Return which rows of a batch each device has: all of them, in proportion to weights."""
    ends = [round(batch * sum(weights[: n + 1]) / sum(weights)) for n in range(len(weights))]
    found = [slice(first, last) for first, last in zip([0, *ends], ends, strict=False)]
    if any(one.start == one.stop for one in found):
        raise TrainingError(
            f"a batch of {batch} rows leaves none for one of {len(weights)} devices with the "
            f"shares {', '.join(map(str, weights))}; take a larger batch or other shares"
        )
    return found


def fits(state: State, found: Any) -> bool:
    """Tell whether a tree has the arrays of a state, in shapes and dtypes."""

    def kinds(tree: Any) -> Any:
        return optree.tree_map(lambda x: (x.shape, str(x.dtype)), tree)

    return bool(kinds(state) == kinds(found))


class Worker:
    """A device with the examples on it, and the key that batches are drawn with."""

    def __init__(self, config: Config, device: pa.Device) -> None:
        self.device = device
        self.data = data_of(config, device)
        self.key = pa.random.split(pa.random.key(config.seed, device=device))[1, :]


class Trainer:
    """A model in training.

    Parameters
    ----------
    config : Config
        What is trained.
    devices : sequence of device-like
        Where. Of several each computes the gradients of its part of every batch, at the same time;
        the first adds them up and keeps the parameters.
    split : bool
        Whether several devices have a part of the model each, instead of a part of the batch.
    shares : sequence of int, optional
        How much of a batch each device gets, in proportion; by default all the same.
    checkpointing : bool
        Whether blocks keep only their inputs for the way back.
    compile : bool
        Whether gradients and steps are compiled.
    """

    def __init__(
        self,
        config: Config,
        devices: Sequence[str | pa.Device] = ("auto",),
        *,
        split: bool = False,
        shares: Sequence[int] | None = None,
        checkpointing: bool = False,
        compile: bool = False,
    ) -> None:
        self.config = config
        self.devices = [pa.device(one) for one in devices]
        workers = self.devices[:1] if split else self.devices
        if shares is not None and (len(shares) != len(workers) or min(shares) < 1):
            raise TrainingError(
                f"shares {','.join(map(str, shares))} for {len(workers)} devices that divide "
                f"batches: give each a positive number"
            )
        if len(set(self.devices)) < len(self.devices):
            raise TrainingError(f"{', '.join(map(str, self.devices))}: a device is named twice")
        for one in self.devices:
            for dtype in (config.dtype, config.half or config.dtype):
                pa.empty((), dtype=dtype, device=one)  # refused where a device lacks it
        self._shares = shares_of(config.batch, shares or [1] * len(workers))
        # Threads of their own: what MLX is asked for in a thread it computes in that thread alone.
        self._threads = [ThreadPoolExecutor(1) for _ in workers[1:]]
        self._first = Worker(config, workers[0])
        self._others = [
            thread.submit(Worker, config, device).result()
            for thread, device in zip(self._threads, workers[1:], strict=True)
        ]
        self.model = model_of(config, self._first.data)
        self._places = places(self.devices if split else self.devices[:1], len(self.model.blocks))
        first = pa.random.split(pa.random.key(config.seed, device=self.devices[0]))[0, :]
        parameters = []
        for n, (shapes, place) in enumerate(zip(self.model.shapes, self._places, strict=True)):
            key = pa.random.fold_in(first, n).to_device(place)
            parameters.append(initial(shapes, key, config.dtype))
        zeros = mapped(pa.zeros_like, parameters)
        self.state: State = {"parameters": parameters, "m": zeros, "v": zeros}
        self.step = 0
        self.skipped = 0  # steps with an overflow
        self.scale = FIRST_SCALE if config.half else 1.0
        self.good = 0  # steps since the scale was changed
        self._losses: list[float] = []
        self._recent: list[pa.Array] = []  # losses that nobody has asked for
        self.evaluations: list[tuple[int, float, float]] = []  # step, loss and accuracy

        self._gradients = compiled(
            partial(gradients, self.model, half=config.half, checkpointing=checkpointing), compile
        )
        self._adam = compiled(adam, compile)
        self._compile = compile

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._threads:
            one.shutdown()

    def train(self) -> None:
        """Make one step."""
        parts = [
            thread.submit(self._part, worker, rows, pa.to_device(self._parameters, worker.device))
            for thread, worker, rows in zip(
                self._threads, self._others, self._shares[1:], strict=True
            )
        ]
        loss, slopes = self._part(self._first, self._shares[0], self._parameters)
        for part in parts:
            more, other = part.result()
            loss, slopes = loss + more, mapped(pa.add, slopes, other)
        if self.config.half is not None:
            slopes, finite = unscaled(slopes, self.scale)
        if self.config.half is None or self._rescaled(all(map(bool, finite))):
            self._update(slopes)
        self._recent.append(loss)
        self.step += 1

    def _update(self, slopes: Tree) -> None:
        """Make a step of Adam."""
        rates = corrected(schedule(self.config, self.step), self.step + 1)
        blocks = []
        for place, *own in zip(self._places, *self.state.values(), slopes, strict=True):
            numbers: Sequence[Number] = rates
            if self._compile:  # arrays are arguments of what is compiled, numbers its constants
                numbers = [pa.asarray(x, dtype=self.config.dtype, device=place) for x in rates]
            blocks.append(self._adam(*own, *numbers))
        trees = map(list, zip(*blocks, strict=True))
        self.state = dict(zip(self.state, trees, strict=True))

    def _rescaled(self, finite: bool) -> bool:
        """Halve the loss scale after an overflow, or double it after a long time without one."""
        self.good += 1
        if not finite:
            self.scale, self.good = self.scale / 2, 0
            self.skipped += 1
        elif self.good == GROWTH:
            self.scale, self.good = self.scale * 2, 0
        return finite

    def batch(self, step: int) -> Batch:
        """Return the batch of a step, which is counted from 0, on the first device."""
        size = self.config.batch
        return self._first.data.batch(self._first.key, step, size, slice(0, size))

    def _part(self, worker: Worker, rows: slice, parameters: Tree) -> tuple[pa.Array, Tree]:
        """Return a worker's part of the loss and of the gradients, on the first device."""
        config = self.config
        batch = worker.data.batch(worker.key, self.step, config.batch, rows)
        scale = None
        if config.half is not None:
            scale = pa.asarray(self.scale, dtype=config.dtype, device=worker.device)
        found: tuple[pa.Array, Tree] = self._gradients(parameters, batch, scale)
        if self._others:
            # The loss is a mean over rows: each worker counts by how many it has.
            weight = (rows.stop - rows.start) / config.batch
            found = pa.to_device(mapped(lambda x: x * weight, found), self.devices[0])
        return found

    @property
    def _parameters(self) -> Tree:
        return self.state["parameters"]

    def evaluate(self) -> tuple[float, float]:
        """Return loss and accuracy on the examples held out, and remember them."""
        inputs, targets = self._first.data.held_out
        logits = forward(self.model, self._parameters, inputs, half=self.config.half)
        targets = targets.to_device(logits.device)
        right = pa.astype(pa.argmax(logits, axis=-1) == targets, logits.dtype)
        found = float(pa.kernels.cross_entropy(logits, targets)), float(pa.mean(right))
        self.evaluations.append((self.step, *found))
        return found

    @property
    def losses(self) -> list[float]:
        """The loss of each step."""
        if self._recent:  # read at once: to read waits for the device
            self._losses += pa.stack(self._recent).tolist()
            self._recent = []
        return self._losses

    # --- checkpoints --------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        """Return what must be the same where training goes on."""
        return {**asdict(self.config), "checksum of the examples": self._first.data.checksum}

    def save(self, path: str | Path) -> None:
        """Save all that the next steps depend on; the file is written whole or not at all."""
        progress = {name: getattr(self, name) for name in PROGRESS}
        losses = np.asarray(self.losses, dtype=self.config.dtype)
        about = {"facts": json.dumps(self._facts()), "progress": json.dumps(progress)}
        pa.save(path, {**self.state, "losses": losses}, metadata=about)

    def load(self, path: str | Path) -> None:
        """Go on from a checkpoint, on whichever devices it was written."""
        try:
            found, about = pa.load(path, device="numpy", return_metadata=True)
        except ValueError as error:
            raise TrainingError(f"{path} is no whole checkpoint: {error}") from error
        if not {"facts", "progress"} <= about.keys():
            raise TrainingError(f"{path} holds arrays, but is no checkpoint of this program")
        facts = json.loads(about["facts"])
        other = [
            f"{name} {facts.get(name)!r} instead of {own!r}"
            for name, own in self._facts().items()
            if facts.get(name) != own
        ]
        if other:
            raise TrainingError(
                f"{path} is a checkpoint of another training: {', '.join(other)}. Ask for the "
                f"same, or start anew without resuming"
            )
        losses = found.pop("losses", None)
        if losses is None or not fits(self.state, found):
            raise TrainingError(f"{path} says that it is such a checkpoint, but its arrays differ")
        self._losses, self._recent = losses.tolist(), []
        self.state = {
            part: [
                {name: pa.asarray(x, device=place, copy=True) for name, x in own.items()}
                for own, place in zip(tree, self._places, strict=True)
            ]
            for part, tree in found.items()
        }
        for name, value in json.loads(about["progress"]).items():
            setattr(self, name, value)
