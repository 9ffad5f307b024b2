"""The server of examples/llama under load: latencies and tokens a second, beside one after another.

A server runs in this process, on each device in turn. Clients in threads send questions over the
loopback address, each the next one when it has its answer: first one client, then several, whose
requests the model reads together. Every answer is compared with what the model says by itself.
Ratios of one run compare: tokens a second of several clients to those of one.

    python benchmarks/serving.py [--device D ...] [--file FILE] [--requests 40] [--clients 8]
        [--tokens 32] [--parallel 8] [--json FILE]
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from command_line import parser_of
from kernels import THREADS, prepare
from reports import write

THINGS = ("sky", "lake", "iron", "rust", "yeast", "salt", "granite", "owl", "comet", "tide")
FORMS = ("What is {}?", "Why is {} there?", "Tell me of {} in two words.", "Who likes {}, and why?")


@dataclass
class Line:
    """What was measured with a number of clients; times in seconds."""

    device: str
    clients: int
    requests: int
    tokens: int
    rate: float
    median: float
    p99: float
    first_p99: float
    wrong: int


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__, "--device")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=32, help="that each answer has at most")
    parser.add_argument("--parallel", type=int, default=8, help="requests in one step")
    parser.add_argument("--threads", type=int, default=THREADS)
    options = parser.parse_args()
    prepare(options.threads, waiting=False)
    sys.path.insert(0, str(Path(__file__).parents[1]))

    import portarray as pa
    from examples import llama

    rows = []
    file = llama.ModelFile(options.file or llama.default_file())
    text = llama.Tokenizer.of(file)
    questions = [FORMS[n % 4].format(THINGS[n // 4 % 10]) for n in range(options.requests)]
    for device in options.device or ["numpy", "torch", "clarray"]:
        model = llama.load(file, device=device)
        expected = {}
        for question in dict.fromkeys(questions):
            expected[question] = "".join(
                llama.generate(model, text, text.chat(question), tokens=options.tokens)
            )
        for clients in (1, options.clients):
            line = measured(model, text, questions, expected, clients, options)
            rows.append(asdict(line))
            print(
                f"{line.device:<18} {line.clients} clients: {line.rate:6.1f} tokens/s, answers in "
                f"{line.median:.2f} s (median), {line.p99:.2f} s (p99), the first token in "
                f"{line.first_p99:.2f} s (p99); {line.wrong} of {line.requests} differ",
                flush=True,
            )
        del model
        pa.reclaim(device)
    write({"rows": rows}, options.json)


def measured(model, text, questions, expected, clients, options) -> Line:  # type: ignore[no-untyped-def]
    """Serve, and ask all questions by some clients."""
    import uvicorn

    from examples.llama.serving.application import application
    from examples.llama.serving.scheduler import Scheduler

    scheduler = Scheduler(model, text, parallel=options.parallel, context=512, queue=64)
    server = uvicorn.Server(uvicorn.Config(application(scheduler, text, "m"), log_level="error"))
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    port = bound.getsockname()[1]
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    while not server.started:
        time.sleep(0.01)

    def ask(question: str) -> tuple[float, float, str, int]:
        """Return the seconds to the first token and to the end, the text and its tokens."""
        body = {
            "model": "m", "messages": [{"role": "user", "content": question}], "stream": True,
            "temperature": 0, "max_tokens": options.tokens,
            "stream_options": {"include_usage": True},
        }  # fmt: skip
        start = time.perf_counter()
        link = http.client.HTTPConnection("127.0.0.1", port)
        headers = {"Content-Type": "application/json"}
        link.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer, said, first, count = link.getresponse(), "", 0.0, 0
        for row in answer:
            if row.startswith(b"data: {"):
                part = json.loads(row[6:])
                for choice in part["choices"]:
                    said += choice["delta"].get("content", "")
                first = first or (time.perf_counter() - start if said else 0.0)
                count = (part.get("usage") or {}).get("completion_tokens", 0)
        link.close()
        return first, time.perf_counter() - start, said, count

    ask(questions[0])
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(ask, questions))
    seconds = time.perf_counter() - started
    server.should_exit = True
    thread.join()
    firsts, times = sorted(entry[0] for entry in answers), sorted(entry[1] for entry in answers)
    last = min(len(times) - 1, int(len(times) * 0.99))
    pairs = zip(questions, answers, strict=True)
    wrong = sum(expected[question] != entry[2] for question, entry in pairs)
    tokens = sum(entry[3] for entry in answers)
    median, p99 = times[len(times) // 2], times[last]
    size = len(questions)
    rate = tokens / seconds
    return Line(str(model.device), clients, size, tokens, rate, median, p99, firsts[last], wrong)


if __name__ == "__main__":
    main()
