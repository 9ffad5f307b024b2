"""What ``/metrics`` says of a server, in Prometheus' text format."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate

__all__ = ["CONTENT_TYPE", "Histogram", "Metrics", "exposition"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "portarray_llm_"
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Histogram:
    """How many seconds something took, counted in buckets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = [0] * (len(BUCKETS) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count something that took so long."""
        with self._lock:
            self._counts[bisect_left(BUCKETS, seconds)] += 1
            self._sum += seconds

    def samples(self) -> Iterator[tuple[str, float]]:
        """Yield the ends of names and the values of its samples."""
        with self._lock:
            counts, total = list(accumulate(self._counts)), self._sum
        bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
        for bound, count in zip(bounds, counts, strict=True):
            yield f'_bucket{{le="{bound}"}}', count
        yield "_sum", total
        yield "_count", counts[-1]


class Metrics:
    """How requests ended, and how long they took.

    Attributes
    ----------
    first_token : Histogram
        From a request's arrival to its first token.
    request : Histogram
        From a request's arrival to its end.
    """

    def __init__(self) -> None:
        self.first_token = Histogram()
        self.request = Histogram()
        self._ends: Counter[str] = Counter(
            dict.fromkeys(("stop", "length", "timeout", "error", "cancelled"), 0)
        )

    def ended(self, reason: str) -> None:
        """Count a request that ended."""
        self._ends[reason] += 1

    def families(self) -> Iterator[tuple[str, str, str, list[tuple[str, float]]]]:
        """Yield names, types, descriptions and samples."""
        ends: list[tuple[str, float]] = [
            (f'{{reason="{reason}"}}', count) for reason, count in self._ends.items()
        ]
        yield "requests_ended_total", "counter", "Requests that ended, by reason.", ends
        for name, histogram, text in (
            ("time_to_first_token_seconds", self.first_token, "From arrival to the first token."),
            ("request_seconds", self.request, "From arrival to the end of a request."),
        ):
            yield name, "histogram", text, list(histogram.samples())


def exposition(values: Mapping[str, tuple[str, str, float]], metrics: Metrics) -> str:
    """Return the text of all metrics.

    Parameters
    ----------
    values : mapping
        Types, descriptions and values of those without labels, by name.
    metrics : Metrics
        The others.

    Returns
    -------
    str
        Lines that end with a line feed.
    """
    plain = [(name, kind, text, [("", value)]) for name, (kind, text, value) in values.items()]
    lines = []
    for name, kind, text, samples in (*plain, *metrics.families()):
        lines += [f"# HELP {PREFIX}{name} {text}", f"# TYPE {PREFIX}{name} {kind}"]
        lines += [f"{PREFIX}{name}{end} {value!r}" for end, value in samples]
    return "\n".join([*lines, ""])
