"""``python -m examples.llama``: what it prints, what it stops at, what it says is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

for needed in ("click", "gguf", "jinja2", "rich", "tokenizers"):
    pytest.importorskip(needed, reason=f"{needed}, which examples/llama needs, is not installed")

from click.testing import CliRunner, Result  # noqa: E402
from llama_files import Tiny  # noqa: E402

from examples import llama  # noqa: E402
from examples.llama.command import llama as command  # noqa: E402

ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Tiny().write(tmp_path / "model.gguf")


def run(file: Path, *options: str, prompt: str = "hello world") -> Result:
    every = [prompt, "--file", str(file), "--device", "numpy", *options]
    return CliRunner().invoke(command, every, catch_exceptions=False)


def report(file: Path, *options: str) -> dict[str, Any]:
    result = run(file, "--json", *options)
    assert result.exit_code == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_the_command_prints_the_same_text_on_every_device(device: str, file: Path) -> None:
    expected = report(file, "--tokens", "12")
    result = run(file, "--tokens", "12", "--device", device)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == expected["text"] + "\n"
    assert f"{device}, float32: the first token after" in result.stderr
    assert f"{len(expected['prompt_tokens'])} tokens read at" in result.stderr
    assert "12 made at" in result.stderr
    assert "more with --tokens" in result.stderr


def test_json_output_has_tokens_and_consistent_times(file: Path) -> None:
    answer = report(file, "--tokens", "5")
    assert answer["device"] == "numpy:cpu:0"
    assert answer["stopped"] == "length"
    assert len(answer["tokens"]) == 5
    rate = len(answer["prompt_tokens"]) / answer["prompt_seconds"]
    assert answer["prompt_tokens_per_second"] == pytest.approx(rate)
    first = answer["load_seconds"] + answer["prompt_seconds"]
    assert answer["first_token_seconds"] == pytest.approx(first)
    assert answer["decode_tokens_per_second"] == pytest.approx(4 / answer["decode_seconds"])


def test_generation_ends_at_the_models_stop_token(file: Path) -> None:
    tiny = Tiny()
    tensors = tiny.tensors()
    model = llama.load(file, device="numpy")
    text = llama.Tokenizer.of(model.file)
    free = llama.generate(model, text, text.chat("hello"), tokens=8)
    assert "".join(free) == free.text
    count = next(n for n in range(1, 8) if free.tokens[n] not in free.tokens[:n])
    stopping = tiny.but(metadata={"tokenizer.ggml.eos_token_id": free.tokens[count]})
    path = stopping.write(file.with_name("stops.gguf"), tensors)
    answer = json.loads(run(path, "--json", prompt="hello").stdout)
    assert answer["stopped"] == "stop"
    assert answer["tokens"] == free.tokens[:count]


def test_chance_is_seeded(file: Path) -> None:
    options = ("--temperature", "1.5", "--top-p", "0.95", "--tokens", "16")
    first = report(file, *options, "--seed", "3")["tokens"]
    assert report(file, *options, "--seed", "3")["tokens"] == first
    assert report(file, *options, "--seed", "4")["tokens"] != first


def test_guesses_chunks_and_narrow_caches_are_options(file: Path, tmp_path: Path) -> None:
    expected = report(file, "--tokens", "12")["tokens"]
    answer = report(file, "--tokens", "12", "--draft", "1", "--guesses", "2", "--chunk", "5")
    assert answer["tokens"] == expected
    assert answer["guessed"] >= answer["guesses_kept"]
    answer = report(file, "--tokens", "12", "--draft", str(file))
    assert (answer["tokens"], answer["guessed"]) == (expected, answer["guesses_kept"])
    result = run(file, "--tokens", "12", "--draft", str(file), "--cache-dtype", "float16")
    assert "guesses were right" in result.stderr
    for options, said in (
        (("--draft", "2"), "a draft of 2 layers: the model has 2"),
        (("--chunk", "0"), "chunks of 0 tokens"),
        (("--top-k", "-1"), "a top_k of -1"),
        (("--cache-dtype", "bfloat16"), "does not support bfloat16"),
    ):
        result = run(file, *options)
        assert result.exit_code == 1
        assert said in result.stderr


def test_raw_text_is_continued_as_it_is(file: Path) -> None:
    text = llama.Tokenizer.of(llama.ModelFile(file))
    raw = report(file, "--raw", "--tokens", "1")["prompt_tokens"]
    assert raw == text.encode("hello world")
    chat = report(file, "--system", "Be brief.", "--tokens", "1")["prompt_tokens"]
    assert chat == text.chat("hello world", system="Be brief.")
    result = run(file, "--raw", "--system", "Be brief.")
    assert result.exit_code == 2
    assert "which --raw leaves out" in result.stderr


def test_a_context_that_does_not_suffice_names_both(file: Path) -> None:
    result = run(file, "--raw", "--context", "8", "--tokens", "30")
    assert result.exit_code == 1
    assert "30 more are" in result.stderr
    assert "but the cache has room for 8" in result.stderr
    result = run(file, "--tokens", "511")
    assert result.exit_code == 1
    assert "but the model was made for 512" in result.stderr
    result = run(file, "--context", "513", "--tokens", "1")
    assert result.exit_code == 1
    assert "a context of 513 tokens: this model was made for 1 to 512" in result.stderr
    assert run(file, "--tokens", "0").exit_code == 1


def test_too_little_memory_is_reported_before_loading(tmp_path: Path) -> None:
    path = Tiny(context=2**50).write(tmp_path / "long.gguf")
    result = run(path, "--context", str(2**49))
    assert result.exit_code == 1
    assert "numpy:cpu:0" in result.stderr
    assert "free" in result.stderr


def test_an_unusable_file_is_reported_in_one_line(file: Path, tmp_path: Path) -> None:
    for options, said in (
        (("--device", "nothing"), "unknown device 'nothing'"),
        (("--file", str(tmp_path / "none.gguf")), "there is no file"),
        (("--dtype", "bfloat16"), "does not support bfloat16"),
        (("--temperature", "-1"), "a temperature of -1.0"),
    ):
        result = run(file, *options)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")
        assert said in result.stderr


def test_the_command_runs_from_the_checkout(file: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "examples.llama", "hello", "--file", str(file), "--tokens", "3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert "float32: " in ended.stderr
    missing = "import sys; sys.modules['tokenizers'] = None; import runpy; "
    missing += "runpy.run_module('examples.llama', run_name='__main__')"
    ended = subprocess.run(
        [sys.executable, "-c", missing, "hello"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ended.returncode == 1
    assert "The language model needs tokenizers, which is not installed" in ended.stderr
    assert 'pip install ".[cli,llm]"' in ended.stderr
