"""Every name of the standard has a case, and every case a name of the standard."""

from __future__ import annotations

import pytest
from portarray_conformance.cases import case
from portarray_conformance.names import ALL_NAMES, CATEGORIES
from portarray_conformance.suite import all_cases


def test_every_name_has_a_case() -> None:
    checked = {c.function for c in all_cases()}
    assert set(ALL_NAMES) - checked == set()
    assert checked - set(ALL_NAMES) == set()


def test_no_name_is_written_twice() -> None:
    assert len(set(ALL_NAMES)) == len(ALL_NAMES)


def test_the_whole_standard_is_there() -> None:
    """Every category has as many names as the standard's table of contents."""
    sizes = {category: len(names) for category, names in CATEGORIES.items()}
    elementwise = list(CATEGORIES)[: list(CATEGORIES).index("creation")]
    assert sum(sizes[family] for family in elementwise) == 67
    assert sizes["linalg"] == 25
    assert sizes["fft"] == 14
    assert sizes["manipulation"] == 15
    assert sizes["operators"] == 4 + 6 + 13 + 13 + 13
    assert len(ALL_NAMES) == 267


@pytest.mark.parametrize("category", CATEGORIES)
def test_cases_stand_in_their_category(category: str) -> None:
    for checked in all_cases(CATEGORIES[category]):
        assert checked.category == category, checked


def test_cases_of_some_functions_only() -> None:
    cases = all_cases(["sin", "linalg.svd"])
    assert {c.function for c in cases} == {"sin", "linalg.svd"}


def test_an_unknown_function_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ValueError, match=r"'serchsorted'.*searchsorted"):
        all_cases(["serchsorted"])


def test_two_checks_of_one_aspect_are_refused() -> None:
    first = all_cases(["sin"])[0]
    with pytest.raises(ValueError, match="sin has two checks"):
        case("sin", first.aspect, category=first.category)(first.check)
