"""``portarray verify --kernels``: user kernels of a file on every device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("rich", reason="the extra 'cli' is not installed")

from click.testing import CliRunner

from portarray._cli.verify import verify

TEXT = """
import functools

import portarray as pa
import portarray.kernel_language as kl


@pa.kernel
def saxpy(y, a, x):
    i = kl.index()
    y[i] = a * x[i] + y[i]


@pa.kernel
def outside(y):
    y[kl.index() + 1] = 1.0


def kernel_examples():
    x = pa.arange(9, dtype=pa.float32)
    return [functools.partial(saxpy, pa.ones(9, dtype=pa.float32), 2.0, x, group=(3,)), MORE]
"""


def run(folder: Path, text: str, *options: str) -> tuple[int, str]:
    path = folder / "some_kernels.py"
    path.write_text(text)
    out = CliRunner().invoke(verify, ["--kernels", str(path), *options])
    return out.exit_code, out.output


def test_kernels_of_a_file_are_compared(tmp_path: Path) -> None:
    code, text = run(tmp_path, TEXT.replace(", MORE", ""), "-d", "numpy", "--json")
    assert code == 0
    (result,) = json.loads(text)
    assert result == {
        "device": "numpy:cpu:0",
        "kernel": "saxpy",
        "differences": {"y": 0.0},
        "problem": "",
        "skipped": "",
    }


def test_a_wrong_kernel_is_reported(tmp_path: Path) -> None:
    more = TEXT.replace("MORE", "functools.partial(outside, x)")
    code, text = run(tmp_path, more, "-d", "numpy")
    assert code == 1
    assert "y: 0" in text
    assert "index 9 is outside axis 0 of length 9" in text
    code, text = run(tmp_path, TEXT.replace(", MORE", ""), "-d", "numpy", "--tolerance", "-1")
    assert code == 1
    assert "differs from the interpreter" in " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "does not define kernel_examples()"),
        ("def kernel_examples():\n    return [3]", "return a list of functools.partial"),
        ("def kernel_examples():\n    return []", "no kernel of"),
    ],
)
def test_errors_of_files_without_examples_have_hints(
    tmp_path: Path, text: str, message: str
) -> None:
    code, shown = run(tmp_path, text, "-d", "numpy")
    assert code == 2
    assert message in " ".join(shown.split())
