"""A language model on every device: Llama and its kin, read from GGUF files.

``python -m examples.llama "Why is the sky blue?" --device clarray`` talks. In a program::

    from examples import llama

    model = llama.load(device="torch")
    text = llama.Tokenizer.of(model.file)
    for piece in llama.generate(model, text, text.chat("Why is the sky blue?")):
        print(piece, end="")

``python -m examples.llama serve`` serves it to clients of the chat-completions interface.
The transformer itself, ``model.py``, is written once, on :mod:`portarray.kernels` and the standard.
"""

from examples.llama.cache import Cache
from examples.llama.config import Config
from examples.llama.errors import LlamaError
from examples.llama.file import ModelFile, default_file
from examples.llama.generate import Generation, generate
from examples.llama.model import Model, load
from examples.llama.sampling import Sampler
from examples.llama.tokenizer import Tokenizer

__all__ = [
    "Cache",
    "Config",
    "Generation",
    "LlamaError",
    "Model",
    "ModelFile",
    "Sampler",
    "Tokenizer",
    "default_file",
    "generate",
    "load",
]
