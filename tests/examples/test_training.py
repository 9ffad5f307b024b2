"""Training on every device, on several at once and across devices: one curve, whole checkpoints."""

from __future__ import annotations

import gc
import io
import json
import sys
import tracemalloc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import portarray as pa

for needed in ("click", "matplotlib", "rich", "safetensors", "sklearn"):
    pytest.importorskip(needed, reason=f"{needed}, which examples/training needs, is not installed")

from click.testing import CliRunner, Result  # noqa: E402
from rich.console import Console  # noqa: E402

from examples.training.command import train as command  # noqa: E402
from examples.training.config import Config  # noqa: E402
from examples.training.curves import draw  # noqa: E402
from examples.training.errors import TrainingError  # noqa: E402
from examples.training.steps import gradients  # noqa: E402
from examples.training.train import Trainer, places  # noqa: E402

SIZES = {
    "mlp": {"batch": 16, "width": 16, "steps": 40},
    "text": {"batch": 4, "width": 16, "depth": 1, "heads": 2, "context": 8, "steps": 40},
}


def config(model: str, precision: str = "float64", **sizes: Any) -> Config:
    return Config.of(model, precision=precision, **{**SIZES[model], **sizes})


def losses(of: Config, devices: list[str], steps: int, **options: Any) -> list[float]:
    with Trainer(of, devices, **options) as trainer:
        while trainer.step < steps:
            trainer.train()
        return trainer.losses


@cache
def on_numpy(of: Config, steps: int) -> list[float]:
    return losses(of, ["numpy"], steps)


def bits(trainer: Trainer) -> list[Any]:
    """Return all arrays of a state, as NumPy's."""
    return [np.array(x) for x in optree.tree_leaves(pa.to_device(trainer.state, "numpy"))]


@cache
def by_plain_pytorch(of: Config, steps: int) -> list[float]:
    from examples.training.plain_torch import train

    return train(of, steps)[0]


@pytest.mark.parametrize(
    ("of", "steps", "off"),
    [(config("mlp"), 40, 1e-9), (config("text", "float32"), 8, 1e-5)],
    ids=["mlp", "text"],
)
def test_losses_are_those_of_plain_pytorch(of: Config, steps: int, off: float, device: str) -> None:
    pytest.importorskip("torch", reason="PyTorch, which this is compared with, is not installed")
    expected = by_plain_pytorch(of, steps)
    np.testing.assert_allclose(losses(of, [device], steps), expected, rtol=off)
    assert expected[-1] < expected[0]


@pytest.mark.parametrize("model", ["mlp", "text"])
def test_there_are_no_64_bit_types_but_float64(model: str) -> None:
    """JAX has none unless it is told to."""
    with Trainer(config(model, "float32"), ["numpy"]) as trainer:
        trainer.train()
        data = trainer._first.data
        every = optree.tree_leaves([trainer.batch(0), data.held_out, trainer.state])
    assert {x.dtype.name for x in every} <= {"float32", "int32"}


def test_mixed_precision_has_nearly_the_same_curve(device: str) -> None:
    expected = on_numpy(config("mlp"), 40)
    np.testing.assert_allclose(losses(config("mlp", "mixed"), [device], 40), expected, rtol=1e-2)


def test_compiled_steps_are_the_same(device: str) -> None:
    result = losses(config("mlp"), [device], 4, compile=True)
    np.testing.assert_allclose(result, on_numpy(config("mlp"), 4), rtol=1e-9)


def test_a_split_model_is_compiled() -> None:
    devices = [str(device) for device in pa.devices()][:2]
    of = config("mlp")
    result = losses(of, devices, 4, split=True, compile=True)
    np.testing.assert_allclose(result, on_numpy(of, 4), rtol=1e-9)


def test_training_goes_on_where_it_was_saved(device: str, tmp_path: Path) -> None:
    path = tmp_path / "training.safetensors"
    of = config("mlp", "mixed")
    with Trainer(of, [device]) as whole, Trainer(of, [device]) as begun:
        whole.scale = begun.scale = 2.0**40  # more than float16 holds: some steps are left out
        for _ in range(6):
            whole.train()
        for _ in range(3):
            begun.train()
        begun.save(path)
    with Trainer(of, [device]) as resumed:
        resumed.load(path)
        while resumed.step < 6:
            resumed.train()
    assert resumed.losses == whole.losses
    assert (resumed.scale, resumed.good) == (whole.scale, whole.good)
    assert resumed.skipped == whole.skipped > 0
    for x, y in zip(bits(resumed), bits(whole), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_checkpoint_goes_to_another_device(device: str, tmp_path: Path) -> None:
    path = tmp_path / "training.safetensors"
    with Trainer(config("mlp"), [device]) as trainer:
        for _ in range(3):
            trainer.train()
        trainer.save(path)
    with Trainer(config("mlp"), ["numpy"]) as resumed:
        resumed.load(path)
        while resumed.step < 8:
            resumed.train()
    np.testing.assert_allclose(resumed.losses, on_numpy(config("mlp"), 8), rtol=1e-9)


def test_devices_share_batches(device: str) -> None:
    of = config("mlp", batch=64)
    others = [device] if device != "numpy:cpu:0" else []
    shares = [3, 1][: len(others) + 1]
    result = losses(of, ["numpy", *others], 4, shares=shares)
    np.testing.assert_allclose(result, on_numpy(of, 4), rtol=1e-9)


def test_several_libraries_share_batches_that_do_not_divide() -> None:
    devices = ["numpy", *filter(pa.functional, ("torch", "mlx"))]
    for of in (config("mlp", batch=17), config("text", batch=5)):
        np.testing.assert_allclose(losses(of, devices, 4), on_numpy(of, 4), rtol=1e-9)


def test_gradients_cross_a_split_model(device: str) -> None:
    second = next((str(text) for text in pa.devices() if str(text) != device), None)
    if second is None:
        pytest.skip("there is one device alone")
    of = config("mlp")
    for devices in ([device, second], [second, device]):
        result = losses(of, devices, 4, split=True)
        np.testing.assert_allclose(result, on_numpy(of, 4), rtol=1e-9)
    with Trainer(of, [device, second], split=True) as trainer:
        assert {str(x.device) for x in optree.tree_leaves(trainer.state)} == {device, second}


def test_checkpointing_gives_the_same_gradients(device: str) -> None:
    of = config("text", "float32")
    result = losses(of, [device], 3, checkpointing=True)
    np.testing.assert_allclose(result, on_numpy(of, 3), rtol=1e-5)


def test_checkpointing_takes_less_memory() -> None:
    of = config("text", "float32", depth=6, width=32, batch=16, context=32)
    peaks = []
    with Trainer(of, ["numpy"]) as trainer:
        batch = trainer.batch(0)
        for checkpointing in (False, True):
            gc.collect()
            tracemalloc.start()
            gradients(
                trainer.model, trainer.state["parameters"], batch, checkpointing=checkpointing
            )
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 0.5 * peaks[0]


def resident() -> int:
    """Return the memory of this process in bytes, 0 where Linux does not say it."""
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[1]) * 4096 if file.exists() else 0


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the garbage collector memory is freed as soon as nobody needs it, or not at all."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(("library", "steps"), [("numpy", 1000), ("clarray", 200)])
def test_steps_leave_nothing_behind(library: str, steps: int) -> None:
    if not pa.functional(library):
        pytest.skip(f"{library} is not functional here")
    device = pa.device(library)

    def sizes(trainer: Trainer, last: int) -> tuple[int, int, int]:
        """Return how many objects there are, the library's account, and the process's memory."""
        while trainer.step < last:
            trainer.train()
            if trainer.step % 10 == 0:
                assert trainer.losses  # read as the command does
        return len(gc.get_objects()), pa.memory(device).used or 0, resident()

    with Trainer(config("mlp", "float32", steps=1000), [device]) as trainer:
        objects, used, memory = sizes(trainer, 100)
        more, used_then, memory_then = sizes(trainer, 100 + steps)
    assert more - objects < 50
    assert used_then <= used + 20_000  # one epoch's order more
    # A step's arrays are 80 kB.
    assert memory_then - memory < 20_000 * steps


def test_an_overflow_changes_nothing_but_the_scale() -> None:
    with Trainer(config("mlp", "mixed"), ["numpy"]) as trainer:
        trainer.scale = 2.0**60
        initial = bits(trainer)
        trainer.train()
        assert (trainer.scale, trainer.skipped, trainer.step) == (2.0**59, 1, 1)
        assert all(map(np.array_equal, bits(trainer), initial))
        trainer.scale = 2.0**10
        trainer.good = 199
        trainer.train()
        assert (trainer.scale, trainer.good, trainer.skipped) == (2.0**11, 0, 1)
        assert not all(map(np.array_equal, bits(trainer), initial))


def test_every_example_is_in_each_epoch() -> None:
    with Trainer(config("mlp", batch=599), ["numpy"]) as trainer:
        images = trainer._first.data.inputs
        for epoch in range(2):
            examples = pa.concat([trainer.batch(2 * epoch + n)[0] for n in range(2)])
            assert sorted(examples.tolist()) == sorted(images.tolist())


def run(*options: str) -> Result:
    every = ("mlp", "--device", "numpy", "--batch", "16", "--width", "16", "--steps", "6")
    return CliRunner().invoke(command, [*every, *options], catch_exceptions=False)


def test_digits_are_classified(tmp_path: Path) -> None:
    curves, file = tmp_path / "curves.svg", tmp_path / "model.safetensors"
    options = ("--curves", str(curves), "--checkpoint", str(file), "--memory", "--json")
    sizes = ("--steps", "300", "--width", "256", "--batch", "64")
    result = run(*options, *sizes)
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["held_out_accuracy"] >= 0.97
    assert (report["step"], len(report["losses"])) == (300, 300)
    assert report["devices"] == "numpy:cpu:0"
    assert curves.read_text("utf-8").count("<svg") == 1
    assert "accuracy, held out" in curves.read_text("utf-8")
    again = run("--checkpoint", str(file), "--resume", "--device", "numpy", *sizes, "--json")
    assert json.loads(again.stdout)["losses"] == report["losses"]


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        sys.modules["examples.training.command"],
        "ERRORS",
        Console(file=screen, force_terminal=True, width=100),
    )
    assert run("--steps", "10").exit_code == 0
    for shown in ("10/10", "held out: loss", "accuracy"):
        assert shown in screen.getvalue()


def test_an_interruption_says_where_to_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    train = Trainer.train

    def interrupted(self: Trainer) -> None:
        if self.step == 3:
            raise KeyboardInterrupt
        train(self)

    monkeypatch.setattr(Trainer, "train", interrupted)
    file = str(tmp_path / "model.safetensors")
    result = run("--checkpoint", file, "--every", "2")
    assert result.exit_code == 130
    monkeypatch.undo()
    resumed = json.loads(run("--checkpoint", file, "--resume", "--json").stdout)
    assert resumed["losses"] == json.loads(run("--json").stdout)["losses"]


def test_curves_are_the_same_bytes_again(tmp_path: Path) -> None:
    for name in "ab":
        draw(tmp_path / name, "mlp", [2.0, 1.0], [(2, 1.5, 0.5)])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_stopped_training_goes_on(tmp_path: Path) -> None:
    file = str(tmp_path / "model.safetensors")
    whole = json.loads(run("--json").stdout)
    stopped = json.loads(run("--json", "--checkpoint", file, "--stop", "2").stdout)
    assert stopped["losses"] == whole["losses"][:2]
    resumed = json.loads(run("--json", "--checkpoint", file, "--resume").stdout)
    assert resumed["losses"] == whole["losses"]
    assert "accuracy" in run("--checkpoint", file, "--resume").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--device", "abacus"), "unknown device 'abacus'"),
        (("--devices", "numpy,numpy"), "a device is named twice"),
        (("--devices", "numpy", "--shares", "0"), "a positive number"),
        (("--devices", "numpy", "--shares", "one"), "give positive integers"),
        (("--shares", "1"), "--shares belongs to --devices"),
        (("--devices", "numpy", "--split", "numpy"), "take one"),
        (("--resume",), "--resume needs --checkpoint"),
        (("--resume", "--checkpoint", "no.safetensors"), "No such file"),
        (("--checkpoint", "no/model.safetensors"), "the folder does not exist; create it first"),
        (("--batch", "0"), "batch is 0; it must be positive"),
        (("--width", "18"), "cannot be divided among 4 heads"),
        (("--every", "0"), "it must be positive"),
    ],
)
def test_impossible_options_are_reported(options: tuple[str, ...], message: str) -> None:
    result = run(*options)
    assert result.exit_code != 0
    assert message in result.stderr


def test_other_checkpoints_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    with Trainer(config("mlp"), ["numpy"]) as trainer:
        trainer.save(file)
        for different in (config("text"), config("mlp", width=32), config("mlp", "float32")):
            with (
                Trainer(different, ["numpy"]) as wrong,
                pytest.raises(TrainingError, match="another"),
            ):
                wrong.load(file)
        with pytest.raises(TrainingError, match="width 16 instead of 32"):
            Trainer(config("mlp", width=32), ["numpy"]).load(file)
        whole = file.read_bytes()
        for length in (0, 7, 100, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:length])
            with pytest.raises(TrainingError, match="not a complete checkpoint"):
                trainer.load(file)
        pa.save(file, {"weight": pa.ones(2)})
        with pytest.raises(TrainingError, match="not a checkpoint of this program"):
            trainer.load(file)
        about = {"facts": json.dumps(trainer._facts()), "progress": "{}"}
        pa.save(file, {"losses": pa.ones(2), "m": [], "v": [], "parameters": []}, metadata=about)
        with pytest.raises(TrainingError, match="its arrays differ"):
            trainer.load(file)
    assert trainer.step == 0


def test_a_small_batch_and_a_small_model_cannot_be_divided() -> None:
    devices = [str(device) for device in pa.devices()][:2]
    if len(devices) < 2:
        pytest.skip("there is one device alone")
    with pytest.raises(TrainingError, match="a batch of 1 rows leaves none"):
        Trainer(config("mlp", batch=1), devices)
    with pytest.raises(TrainingError, match="cannot be split among 2 devices"):
        places([pa.device(device) for device in devices], 1)
