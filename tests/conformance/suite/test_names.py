"""Every name of the standard has a case, and every case a name of the standard."""

from __future__ import annotations

import pytest
from portarray_conformance.cases import case
from portarray_conformance.names import ALL_NAMES, CHAPTERS
from portarray_conformance.suite import all_cases


def test_every_name_has_a_case() -> None:
    checked = {c.function for c in all_cases()}
    assert set(ALL_NAMES) - checked == set()
    assert checked - set(ALL_NAMES) == set()


def test_no_name_is_written_twice() -> None:
    assert len(set(ALL_NAMES)) == len(ALL_NAMES)


def test_the_whole_standard_is_there() -> None:
    """How many names the standard's chapters have, counted in its table of contents."""
    sizes = {chapter: len(names) for chapter, names in CHAPTERS.items()}
    elementwise = list(CHAPTERS)[: list(CHAPTERS).index("creation")]
    assert sum(sizes[family] for family in elementwise) == 67
    assert sizes["linalg"] == 25
    assert sizes["fft"] == 14
    assert sizes["manipulation"] == 15
    assert sizes["operators"] == 4 + 6 + 13 + 13 + 13
    assert len(ALL_NAMES) == 267


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_cases_stand_in_their_chapter(chapter: str) -> None:
    for found in all_cases(CHAPTERS[chapter]):
        assert found.chapter == chapter, found


def test_cases_of_some_functions_only() -> None:
    found = all_cases(["sin", "linalg.svd"])
    assert {c.function for c in found} == {"sin", "linalg.svd"}


def test_an_unknown_function_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ValueError, match=r"'serchsorted'.*searchsorted"):
        all_cases(["serchsorted"])


def test_two_checks_of_one_aspect_are_refused() -> None:
    known = all_cases(["sin"])[0]
    with pytest.raises(ValueError, match="sin has two checks"):
        case("sin", known.aspect, chapter=known.chapter)(known.check)
