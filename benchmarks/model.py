"""A language model on every device beside a peer: tokens a second, and the memory's limit.

The weights of one GGUF file (by default SmolLM2-135M-Instruct) run through examples/llama on each
device and through torch_llama.py, which is eager PyTorch without portarray, in turns in one
process: a prompt of 512 tokens, then greedy decoding at batch 1. The shortest time of each counts.
One device at a time is loaded beside PyTorch, on whose CPU the comparison runs, or on its GPU for a
GPU. Ratios of one run compare; the first is PyTorch's time divided by the device's, so that more is
faster.

At batch 1 every weight is read once for each token. So the bytes for a token, divided by what the
machine can read in a second, are a limit that no device passes; the share of it is told. What the
machine reads is measured: the best of sums over 512 MB by PyTorch, clarray and NumPy, with the same
threads.

    python benchmarks/model.py [--device D ...] [--beside llama.cpp] [--dtype float32]
        [--file FILE] [--prompt 512] [--tokens 32] [--repeats 5]
        [--json docs/model.json] [--plot docs/model.svg]

``--beside llama.cpp`` compares with that instead, by the package llama-cpp-python where it is
installed, from the same file and with as many threads; weights then stay as the file has them
(``--dtype auto``), as llama.cpp has them.

``--read FILE`` takes the figures of an earlier run, to print or draw them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from command_line import parser_of, require_positive
from kernels import THREADS, prepare
from reports import write


def main() -> None:
    """Measure, print, write JSON and draw the picture."""
    parser = parser_of(__doc__, "--device")
    parser.add_argument(
        "--beside", choices=("torch", "llama.cpp"), default="torch", help="what is compared with"
    )
    parser.add_argument(
        "--dtype",
        help="what the weights are kept in; by default float32, beside llama.cpp as in the file",
    )
    parser.add_argument("--file", type=Path, help="a GGUF file of a Llama model")
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=32, help="tokens that one turn makes")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each candidate")
    parser.add_argument("--threads", type=int, default=THREADS, help="threads of every candidate")
    parser.add_argument("--plot", type=Path, help="also draw them: a name that ends in .svg")
    parser.add_argument("--read", type=Path, help="take the figures of this file; measure nothing")
    options = parser.parse_args()
    require_positive(parser, options, "prompt", "tokens", "repeats", "threads")
    # Threads may spin: sleeping costs a few microseconds in each of a token's hundreds of calls.
    # Instead, a pause before each turn lets the previous candidate's threads fall asleep. They spin
    # for microseconds, as in examples/llama; by default milliseconds, in which kernels lack cores.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    prepare(options.threads, waiting=False)
    sys.path.insert(0, str(Path(__file__).parents[1]))  # for examples/

    # Imported late: libraries read the environment when they are imported.
    import model_table

    import portarray as pa
    from examples.llama import LlamaError

    if options.read is not None:
        try:
            report = json.loads(options.read.read_text("utf-8"))
        except (OSError, ValueError) as error:
            parser.error(f"--read: {error}")
        model_table.show_all(report)
    else:
        try:
            devices = [pa.device(text) for text in options.device or map(str, pa.devices())]
            plan = model_table.Plan(
                options.file,
                options.dtype or ("float32" if options.beside == "torch" else "auto"),
                options.prompt,
                options.tokens,
                options.repeats,
                options.threads,
                options.beside,
            )
            report = model_table.measured(
                plan, devices, keep=lambda report: write(report, options.json)
            )
        except (pa.errors.PortarrayError, LlamaError) as error:
            parser.error(str(error))
    write(report, options.json)
    if options.plot is not None:
        from model_picture import draw  # what it needs is not installed everywhere

        draw(report, options.plot)


if __name__ == "__main__":
    main()
