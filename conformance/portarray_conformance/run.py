"""Run cases against a target: draw inputs, shrink failing ones, and return results."""

from __future__ import annotations

import contextlib
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.errors import Flaky, Unsatisfiable

from portarray_conformance.cases import Case, Draw
from portarray_conformance.expected import ExpectedFailure, find_row
from portarray_conformance.target import NotApplicable, Target

__all__ = ["EXAMPLES", "QUICK_EXAMPLES", "Result", "Status", "describe", "judge", "run", "shorten"]

Status = Literal["passed", "failed", "expected", "unexpected pass", "not run"]

EXAMPLES = 50
QUICK_EXAMPLES = 10
# Libraries that compile each operation for each shape need half a second for each input.
COMPILED_EXAMPLES = {"jax": 4}
# Seconds spent on making one failing example smaller. Hypothesis' own limit is five minutes for
# each failure, which a namespace with hundreds of failures turns into days.
SHRINK_SECONDS = 10.0
QUICK_SHRINK_SECONDS = 1.0
# Inputs are drawn in batches with seeds of their own: beyond its first ten examples Hypothesis
# mostly varies earlier ones, and rarely finds new combinations of options.
BATCH = 10
BATCH_SEED = 1_000_003
LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one case on one target.

    Attributes
    ----------
    function, category, aspect : str
        Which case; for the official suite the aspect is the test's id.
    target : str
        The target's label.
    served : str
        ``"native"``, ``"composed"``, ``"host"``, or empty where the target does not say.
    status : str
        ``"passed"``, ``"failed"``, ``"expected"`` (a failure that is listed with its reason),
        ``"unexpected pass"`` (listed as failing, but it passed: counts as a failure) or
        ``"not run"`` (nothing was checked; never counted as passed).
    seconds : float
    examples : int
        How many drawn inputs were checked, up to the first failure.
    example : str
        The failing inputs, one line each, made small; empty unless the case failed.
    message : str
        The fault: got, wanted, and the difference.
    reason, link : str
        Why a failure was expected and where that is recorded, or why the case was not run.
    """

    function: str
    category: str
    aspect: str
    target: str
    served: str
    status: Status
    seconds: float
    examples: int = 0
    example: str = ""
    message: str = ""
    reason: str = ""
    link: str = ""

    @property
    def bad(self) -> bool:
        """Whether this result fails the run."""
        return self.status in ("failed", "unexpected pass")


class _EnoughShrinkingError(BaseException):
    """Ends a search whose failing example was made smaller for long enough.

    Not an ``Exception``, because Hypothesis would take that for one more failure.
    """


class _Recorder:
    """Wraps Hypothesis' data object and records the drawn values."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.drawn: list[tuple[str, object]] = []

    def draw(self, strategy: st.SearchStrategy[Any], label: str | None = None) -> Any:
        value = self._data.draw(strategy, label)
        # A check may write into the array it drew; the report shows the original.
        copied = value.copy() if isinstance(value, np.ndarray) else value
        self.drawn.append((label or f"draw {len(self.drawn) + 1}", copied))
        return value


@dataclass(slots=True)
class _Search:
    """One case on one target while Hypothesis calls it again and again."""

    case: Case
    target: Target
    shrink_seconds: float
    examples: int = 0
    drawn: Sequence[tuple[str, object]] = ()
    error: Exception | SystemExit | None = None
    failed_at: float = 0.0
    not_applicable: str = ""

    def check(self, data: Any) -> None:
        """Check one drawn input, and keep it if it fails."""
        recorder = _Recorder(data)
        try:
            with self.target.scope():
                self.case.check(self.target, cast(Draw, recorder))
        except NotApplicable as why:
            self.not_applicable = str(why)
            hypothesis.reject()
        except hypothesis.errors.UnsatisfiedAssumption:
            raise
        except (Exception, SystemExit) as error:
            if self.error is None:
                self.failed_at = time.monotonic()
                self.examples += 1
            self.drawn, self.error = recorder.drawn, error
            self._shrink_no_longer()
            raise
        if self.error is None:
            self.examples += 1
        else:
            self._shrink_no_longer()

    def _shrink_no_longer(self) -> None:
        """End a search that took long enough.

        Not before inputs are drawn: Hypothesis would take that for inputs that differ each time.
        """
        if time.monotonic() - self.failed_at > self.shrink_seconds:
            raise _EnoughShrinkingError


def run(
    target: Target,
    cases: Iterable[Case],
    *,
    examples: int | None = None,
    seed: int = 0,
    quick: bool = False,
    expected: Iterable[ExpectedFailure] = (),
    on_start: Callable[[Case], None] | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Check cases on one target, each apart from the others.

    Parameters
    ----------
    target : Target
        From ``module_target`` or ``portarray_target``.
    cases : iterable of Case
        For example ``all_cases(["sin", "linalg.svd"])``.
    examples : int, optional
        Inputs drawn for each case: 50, or 10 with `quick` (4 on JAX, which compiles for each).
    seed : int
        The same seed draws the same inputs.
    quick : bool
        Few inputs, and little time to make failing ones smaller.
    expected : iterable of ExpectedFailure
        Failures that are known, see ``read_expected``.
    on_start, on_result : callable, optional
        Called with each case before it runs, and with each result.

    Returns
    -------
    list of Result
        One for each case, in their order.

    Notes
    -----
    Whatever a case or the library under test raises is that case's result. ``KeyboardInterrupt``
    alone ends the run. Warnings are ignored: the standard says nothing about them.
    """
    quick_examples = COMPILED_EXAMPLES.get(target.library, QUICK_EXAMPLES)
    count = examples or (quick_examples if quick else EXAMPLES)
    shrink_seconds = QUICK_SHRINK_SECONDS if quick else SHRINK_SECONDS
    rows = list(expected)
    served: dict[str, str] = {}
    results = []
    for case in cases:
        if on_start is not None:
            on_start(case)
        if case.function not in served:
            served[case.function] = target.served(case.function)
        search = _Search(case, target, shrink_seconds)
        result = _search(search, count, seed, served[case.function])
        result = judge(result, rows, "ours")
        results.append(result)
        if on_result is not None:
            on_result(result)
        target.forget()
    return results


def _draw_batch(search: _Search, examples: int, seed: int) -> None:
    """Let Hypothesis draw and check inputs; raise the exception of the smallest failing ones."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(st.data())
    def test(data: Any) -> None:
        search.check(data)

    with contextlib.suppress(Unsatisfiable):
        test()


def _search(search: _Search, examples: int, seed: int, served: str) -> Result:
    """Search for failing inputs and return the result."""
    status: Status = "passed"
    message = reason = ""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            while search.examples < examples:
                done = search.examples
                size = min(BATCH, examples - done)
                _draw_batch(search, size, seed + BATCH_SEED * (done // BATCH))
                if search.examples < done + size:
                    break  # no further inputs exist
        except (Flaky, _EnoughShrinkingError) as error:
            status = "failed"
            if isinstance(error, Flaky):
                message = "Flaky: it failed, and passed when repeated with the same inputs. "
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any exception is a result
            status = "failed"
            search.error = search.error or error
    seconds = time.perf_counter() - start
    if status == "passed" and search.examples == 0:
        status = "not run"
    if status == "not run":
        reason = search.not_applicable or "no drawn input met the conditions of this case"
    elif search.error is not None:
        message += _message(search.error)
    return Result(
        function=search.case.function,
        category=search.case.category,
        aspect=search.case.aspect,
        target=search.target.label,
        served=served,
        status=status,
        seconds=seconds,
        examples=search.examples,
        example="\n".join(f"{label} = {describe(value)}" for label, value in search.drawn),
        message=message,
        reason=reason,
    )


def judge(result: Result, rows: Iterable[ExpectedFailure], suite: str) -> Result:
    """Turn a listed failure into ``"expected"`` and a listed pass into ``"unexpected pass"``."""
    row = find_row(rows, suite, result.function, result.aspect, result.target)
    if row is None or result.status not in ("passed", "failed"):
        return result
    status: Status = "expected" if result.status == "failed" else "unexpected pass"
    message = result.message
    if status == "unexpected pass":
        message = "This case is listed as an expected failure and passes now: remove its row."
    return replace(result, status=status, message=message, reason=row.reason, link=row.link)


def describe(value: object) -> str:
    """Return a drawn value on one line, with all digits.

    Arrays read ``array([1.0, -0.0], dtype=float32)``; empty ones show their shape too.
    """
    if isinstance(value, np.ndarray):
        values = np.array2string(
            value, separator=", ", threshold=200, max_line_width=10**6, formatter={"all": str}
        )
        shape = f", shape={value.shape}" if value.size == 0 else ""
        text = f"array({values}, dtype={value.dtype}{shape})"
    else:
        text = repr(value)
    return shorten(" ".join(text.split()))


def _message(error: BaseException) -> str:
    """Return the text of an exception, and where it was raised unless it is an assertion."""
    text = str(error).strip()
    frames = traceback.extract_tb(error.__traceback__)
    where = f"at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    if isinstance(error, AssertionError):
        return shorten(text) if text else f"An assertion without a message failed {where}."
    return shorten(f"{type(error).__name__}: {text}") + (f"\nraised {where}" if where else "")


def shorten(text: str) -> str:
    """Return a text, truncated to the length that reports show."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]} ... ({len(text) - LONGEST_TEXT} more characters)"
