"""What the server says in numbers: probabilities of tokens, embeddings and metrics."""

from __future__ import annotations

import base64
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

for needed in ("gguf", "tokenizers", "jinja2", "starlette", "uvicorn"):
    pytest.importorskip(needed, reason=f"{needed}, which the server needs, is not installed")

from llama_clients import Server, serving, spoken  # noqa: E402
from llama_files import TOKENS, Tiny, logits  # noqa: E402

import portarray as pa  # noqa: E402
from examples import llama  # noqa: E402
from examples.llama.sampling import token_logprob  # noqa: E402
from examples.llama.serving.application import Limits  # noqa: E402

TEXTS = ["hello world", "é👍 <|im_end|>", "hell", "a b c d e f g h i j k l m n o p q r s t u v w x"]
TINY = Tiny()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return TINY.write(tmp_path_factory.mktemp("m") / "tiny.gguf")


@pytest.fixture(scope="module")
def model(path: Any) -> llama.Model:
    return llama.load(path, device="numpy")


@pytest.fixture(scope="module")
def server(model: llama.Model) -> Any:
    with serving(model, Limits(tokens=50), chunk=16) as server:
        yield server


def log_softmax(scores: np.ndarray) -> np.ndarray:
    shifted = scores - scores.max()
    return shifted - np.log(np.exp(shifted).sum())


def embedding(tokens: list[int]) -> np.ndarray:
    """Return the textbook's embedding; the head multiplies the features of each token."""
    head = TINY.tensors()["token_embd.weight"].astype(np.float64)
    features = np.linalg.lstsq(head, logits(TINY, tokens).T, rcond=None)[0].T
    mean = features.mean(axis=0)
    return mean / np.linalg.norm(mean)


def content_of(answer: Any) -> list[dict[str, Any]]:
    """Return the entries of all tokens of an answer, whole or a stream's."""
    if not isinstance(answer, list):
        return answer["choices"][0]["logprobs"]["content"]
    choices = [part["choices"][0] for part in answer]
    return [entry for choice in choices for entry in (choice["logprobs"] or {}).get("content", [])]


# --- probabilities of tokens --------------------------------------------------------------------


def test_token_logprob_of_three_tokens() -> None:
    scores = pa.asarray(np.log([0.5, 0.125, 0.375]), dtype=pa.float32, device="numpy")
    entry = token_logprob(scores + 3, 1, 2)
    assert entry.token == 1
    assert entry.logprob == pytest.approx(np.log(0.125), abs=1e-6)
    assert [token for token, _ in entry.top] == [0, 2]
    assert [logprob for _, logprob in entry.top] == pytest.approx(np.log([0.5, 0.375]), abs=1e-6)
    assert token_logprob(scores, 0, 0).top == ()
    assert len(token_logprob(scores, 0, 20).top) == 3


@given(
    scores=st.lists(st.integers(-3, 3), min_size=1, max_size=12),
    count=st.integers(0, 14),
    data=st.data(),
)
def test_drawn_logprobs_with_ties(scores: list[int], count: int, data: st.DataObject) -> None:
    token = data.draw(st.integers(0, len(scores) - 1))
    entry = token_logprob(pa.asarray(scores, dtype=pa.float32, device="numpy"), token, count)
    expected = log_softmax(np.asarray(scores, dtype=np.float64))
    order = sorted(range(len(scores)), key=lambda n: (-scores[n], n))[:count]
    assert entry.logprob == pytest.approx(expected[token])
    assert [token for token, _ in entry.top] == order
    assert [logprob for _, logprob in entry.top] == pytest.approx(expected[order].tolist())


def test_an_answer_says_the_logprobs_of_its_tokens(server: Server, model: llama.Model) -> None:
    tokenizer = llama.Tokenizer.of(model.file)
    for text in TEXTS:
        _, _, plain = server.ask(text, max_tokens=12)
        _, _, whole = server.ask(text, max_tokens=12, logprobs=True, top_logprobs=3)
        _, _, parts = server.ask(text, max_tokens=12, logprobs=True, top_logprobs=3, stream=True)
        assert plain["choices"][0]["logprobs"] is None
        assert spoken(whole) == spoken(parts) == spoken(plain)
        content = content_of(whole)
        assert content_of(parts) == content
        assert len(content) == whole["usage"]["completion_tokens"]
        # The textbook's probabilities, behind the prompt and the tokens so far.
        tokens = tokenizer.chat(text)
        shown = b""
        for entry in content:
            expected = log_softmax(logits(TINY, tokens)[-1])
            best = np.argsort(-expected, kind="stable")[:3]
            assert entry["logprob"] == pytest.approx(expected[best[0]], abs=1e-4)  # it is greedy
            assert [top["logprob"] for top in entry["top_logprobs"]] == pytest.approx(
                expected[best].tolist(), abs=1e-4
            )
            assert entry["top_logprobs"][0] == {k: entry[k] for k in ("token", "logprob", "bytes")}
            assert bytes(entry["bytes"]) == tokenizer.bytes_of(best[0])
            assert entry["token"] == bytes(entry["bytes"]).decode(errors="replace")
            if best[0] >= 3:  # not a control token
                shown += bytes(entry["bytes"])
            tokens = [*tokens, int(best[0])]
        assert shown.decode(errors="replace").startswith(spoken(whole).rstrip("\ufffd"))


def test_requests_of_one_step_get_their_own_logprobs(server: Server) -> None:
    def ask(text: str) -> list[float]:
        _, _, answer = server.ask(text, max_tokens=12, logprobs=True)
        return [entry["logprob"] for entry in content_of(answer)]

    expected = [ask(text) for text in TEXTS]
    with ThreadPoolExecutor(4) as clients:
        for _ in range(3):
            for together, alone in zip(clients.map(ask, TEXTS), expected, strict=True):
                assert together == pytest.approx(alone, abs=1e-4)


def test_logprobs_are_those_of_the_model_at_every_temperature(server: Server) -> None:
    options = {"max_tokens": 1, "logprobs": True, "top_logprobs": 20, "seed": 5}
    _, _, greedy = server.ask(TEXTS[0], **options)
    _, _, drawn = server.ask(TEXTS[0], **options, temperature=2.0)
    (first,), (second,) = content_of(greedy), content_of(drawn)
    assert [top["token"] for top in second["top_logprobs"]] == [
        top["token"] for top in first["top_logprobs"]
    ]
    assert [top["logprob"] for top in second["top_logprobs"]] == pytest.approx(
        [top["logprob"] for top in first["top_logprobs"]], abs=1e-5
    )
    _, _, answer = server.ask(TEXTS[0], max_tokens=2, logprobs=True)
    assert [entry["top_logprobs"] for entry in content_of(answer)] == [[], []]


def test_tokens_before_a_stop_have_their_entries(server: Server) -> None:
    _, _, whole = server.ask(TEXTS[0], max_tokens=9, logprobs=True)
    stop = spoken(whole)[2:5]
    for stream in (False, True):
        options = {"max_tokens": 9, "logprobs": True, "stop": stop, "stream": stream}
        _, _, cut = server.ask(TEXTS[0], **options)
        content = content_of(cut)
        assert [entry["bytes"] for entry in content] == [
            entry["bytes"] for entry in content_of(whole)[: len(content)]
        ]
        assert stop in b"".join(bytes(entry["bytes"]) for entry in content).decode(errors="replace")


def test_bytes_of_every_token(model: llama.Model) -> None:
    tokenizer = llama.Tokenizer.of(model.file)
    assert tokenizer.bytes_of(1) == b"<|im_start|>"
    assert tokenizer.bytes_of(TOKENS.index("Ġw")) == b" w"
    assert [tokenizer.bytes_of(3 + byte) for byte in range(256)] == [
        bytes([byte]) for byte in range(256)
    ]
    assert tokenizer.bytes_of(len(TOKENS) + 5) == b""


# --- embeddings ---------------------------------------------------------------------------------


def test_embeddings_are_those_of_the_textbook(server: Server, model: llama.Model) -> None:
    tokenizer = llama.Tokenizer.of(model.file)
    status, _, answer = server.embed(TEXTS)
    assert status == 200, answer
    tokens = [tokenizer.encode(text, special=False) for text in TEXTS]
    assert [entry["index"] for entry in answer["data"]] == [0, 1, 2, 3]
    for entry, prompt in zip(answer["data"], tokens, strict=True):
        np.testing.assert_allclose(entry["embedding"], embedding(prompt), atol=1e-4)
    count = sum(map(len, tokens))
    assert answer["usage"] == {"prompt_tokens": count, "total_tokens": count}
    # Names of control tokens are text, also in tokens that are given; a single input is a list.
    assert 2 not in tokens[1]
    for single in (TEXTS[3], tokens[3], [tokens[3]]):
        _, _, again = server.embed(single)
        assert again["data"][0]["embedding"] == pytest.approx(
            answer["data"][3]["embedding"], abs=1e-6
        )
    _, _, packed = server.embed(TEXTS[0], encoding_format="base64", dimensions=32, user="me")
    values = np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), "<f4")
    assert values.tolist() == pytest.approx(answer["data"][0]["embedding"], abs=1e-6)
    assert np.linalg.norm(values) == pytest.approx(1, abs=1e-6)


def test_embeddings_and_answers_at_once(server: Server) -> None:
    expected = [server.embed(text)[2]["data"][0]["embedding"] for text in TEXTS]
    answers = [spoken(server.ask(text, max_tokens=8)[2]) for text in TEXTS]

    def ask(n: int) -> bool:
        text = TEXTS[n % 4]
        if n % 3:
            return spoken(server.ask(text, max_tokens=8)[2]) == answers[n % 4]
        vector = server.embed([text] * 3)[2]["data"][n % 2]["embedding"]
        return bool(np.allclose(vector, expected[n % 4], atol=1e-5))

    with ThreadPoolExecutor(8) as clients:
        assert all(clients.map(ask, range(40)))
    server.until(running=0, waiting=0)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input": []}, "input must be a text, a list of tokens"),
        ({"input": None}, "input must be"),
        ({"input": ""}, r"input\[0\] is 0 tokens, but 1 to 256"),
        ({"input": ["a", 3]}, r"input\[1\] must be a text or a list of tokens"),
        ({"input": [len(TOKENS)]}, r"input\[0\]: tokens must be from 0 to"),
        ({"input": "x" * 300}, r"input\[0\] is 300 tokens, but 1 to 256"),
        ({"input": "\ud800"}, "surrogate"),
        ({"dimensions": 8}, "dimensions is not served here: leave it out, or say 32"),
        ({"encoding_format": "hex"}, "encoding_format must be float or base64"),
        ({"model": "other"}, "there is no model 'other'"),
        ({"messages": []}, "'messages' is not a known field"),
    ],
)
def test_refused_embeddings(server: Server, fields: dict[str, Any], said: str) -> None:
    status, _, answer = server.embed("hello", **fields)
    assert status in (400, 404)
    assert re.search(said, answer["error"]["message"])


def test_the_client_package_of_others(server: Server) -> None:
    openai = pytest.importorskip("openai", reason="openai is not installed")
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none")
    vectors = client.embeddings.create(model="tiny", input=TEXTS[:2])  # which it asks for in base64
    plain = [entry["embedding"] for entry in server.embed(TEXTS[:2])[2]["data"]]
    np.testing.assert_allclose([entry.embedding for entry in vectors.data], plain, atol=1e-6)
    answer = client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "hello"}], temperature=0,
        max_tokens=3, logprobs=True, top_logprobs=2,
    )  # fmt: skip
    content = answer.choices[0].logprobs.content
    assert [len(entry.top_logprobs) for entry in content] == [2, 2, 2]


def test_logprobs_and_embeddings_on_every_device(device: str, path: Any) -> None:
    model = llama.load(path, device=device)
    tokenizer = llama.Tokenizer.of(model.file)
    with serving(model, context=64, parallel=2) as server:
        _, _, answer = server.ask("hi", max_tokens=1, logprobs=True, top_logprobs=2)
        _, _, vectors = server.embed(TEXTS[0])
    (entry,) = content_of(answer)
    expected = log_softmax(logits(TINY, tokenizer.chat("hi"))[-1])
    assert entry["logprob"] == pytest.approx(expected.max(), abs=2e-3)
    expected = embedding(tokenizer.encode(TEXTS[0], special=False))
    np.testing.assert_allclose(vectors["data"][0]["embedding"], expected, atol=2e-3)


# --- metrics ------------------------------------------------------------------------------------


def metrics_of(server: Server) -> dict[str, float]:
    """Return the samples, by name and labels; the text must be in Prometheus' format."""
    status, headers, body = server.send("GET", "/metrics")
    assert status == 200
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = body.decode()
    assert text.endswith("\n")
    samples: dict[str, float] = {}
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        if comment := re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)", line):
            if comment[1] == "TYPE":
                assert comment[2] not in kinds
                kinds[comment[2]] = comment[3]
            continue
        sample = re.fullmatch(r'([a-z_]+)((?:\{[a-z]+="[^"\\]*"\})?) (\S+)', line)
        assert sample, line
        family = re.sub("_(bucket|sum|count)$", "", sample[1])
        assert kinds[family if family in kinds else sample[1]] in ("counter", "gauge", "histogram")
        assert sample[1] + sample[2] not in samples
        samples[sample[1] + sample[2]] = float(sample[3])
    return samples


def test_metrics_count_what_was_served(model: llama.Model) -> None:
    with serving(model, queue=0, parallel=1) as server:
        server.ask(TEXTS[0], max_tokens=7)
        _, _, answer = server.ask(TEXTS[0], max_tokens=3)
        server.embed(TEXTS[:2])
        server.until(running=0, waiting=0)
        name = "portarray_llm_"
        samples = {
            key.removeprefix(name): value for key, value in metrics_of(server).items()
            if key.startswith(name)
        }  # fmt: skip
        counts = server.scheduler.counts
    assert samples["requests_total"] == 4
    assert samples["generated_tokens_total"] == counts.generated == 10
    assert samples["prompt_tokens_total"] == counts.read
    assert samples["prompt_tokens_reused_total"] == counts.reused > 0
    assert samples["steps_total"] == counts.steps
    assert (samples["requests_running"], samples["requests_waiting"]) == (0, 0)
    assert (samples["slots"], samples["queue_capacity"]) == (1, 0)
    assert samples['requests_ended_total{reason="length"}'] == 2
    assert samples['requests_ended_total{reason="stop"}'] == 2
    assert sum(x for key, x in samples.items() if key.startswith("requests_ended")) == 4
    assert answer["usage"]["completion_tokens"] == 3
    for histogram, count in (("request_seconds", 4), ("time_to_first_token_seconds", 2)):
        buckets = [x for key, x in samples.items() if key.startswith(f"{histogram}_bucket")]
        assert buckets == sorted(buckets)
        assert buckets[-1] == samples[f"{histogram}_count"] == count
        assert 0 < samples[f"{histogram}_sum"] < 60 * count
