"""The page in a real browser: a failing cell is clicked and its example is read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from portarray_conformance import Target, run
from portarray_conformance.cases import Case, Draw
from portarray_conformance.report import Report, TargetReport, write_html

BROWSER = shutil.which("chromium") or ""
DRIVER = shutil.which("chromedriver") or ""
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER),
    reason="chromium and chromedriver are not installed (Debian: chromium, chromium-driver)",
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# Escapes that would run if the page took texts for HTML.
INJECTED = "</script><img src=x onerror=\"document.title='broken'\">"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    options = selenium.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1280,900"):
        options.add_argument(flag)
    # The driver's path is given, so that selenium does not look for one to download.
    driver = selenium.Chrome(options=options, service=service.Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def page(tmp_path: Path, strict: Target, make_case: Callable[..., Case]) -> str:
    def passes(target: Target, draw: Draw) -> None:
        draw.draw(st.integers())

    def fails(target: Target, draw: Draw) -> None:
        x = np.asarray([draw.draw(st.integers(0, 1000), label="k")], np.float32)
        assert x[0] < 17, f"cos: got {x[0]}, wanted less {INJECTED}"

    cases = [make_case(passes, "sin"), make_case(passes, "cos", "dtypes"), make_case(fails, "cos")]
    first = replace(strict, label="numpy:cpu:0", support={"sin": "native", "cos": "composed"})
    second = replace(first, label="torch:cpu:0")
    report = Report(
        suite="ours",
        seed=0,
        examples=50,
        targets=[
            TargetReport(first.label, run(first, cases), 1.0),
            TargetReport(second.label, run(second, cases[:1]), 1.0),
            TargetReport("cupy:cuda:0", reason="no GPU was found"),
        ],
        versions={"python": "3.11"},
    )
    path = tmp_path / "conformance.html"
    write_html(report, path)
    return path.as_uri()


def test_a_failing_cell_shows_its_example(browser: Any, page: str) -> None:
    browser.get(page)
    cell = browser.find_element("css selector", "button.failed[data-function='cos']")
    assert cell.get_attribute("aria-label") == "cos on numpy:cpu:0: failed, composed"
    assert cell.text.endswith("failed · composed")
    panel = browser.find_element("id", "details")
    assert not panel.is_displayed()
    cell.click()
    assert panel.is_displayed()
    assert panel.find_element("css selector", "pre.example").text == "k = 17"
    assert "cos: got 17.0, wanted less </script>" in panel.text
    assert "--device numpy:cpu:0 --functions cos --seed 0" in panel.text
    # The passed case of the same function stands below the failed one.
    heads = [head.text for head in panel.find_elements("css selector", "h3")]
    assert "failed" in heads[0]
    assert "passed" in heads[1]
    assert browser.title == "Array API conformance"
    assert browser.get_log("browser") == []


def test_the_page_works_by_keyboard(browser: Any, page: str) -> None:
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    browser.get(page)
    cell = browser.find_element("css selector", "button.failed")
    browser.execute_script("arguments[0].focus()", cell)
    cell.send_keys(keys.ENTER)
    panel = browser.find_element("id", "details")
    assert panel.is_displayed()
    browser.switch_to.active_element.send_keys(keys.ESCAPE)
    assert not panel.is_displayed()
    assert browser.switch_to.active_element == cell
    browser.find_element("css selector", "body").send_keys("/")
    assert browser.switch_to.active_element.get_attribute("id") == "filter"


def test_rows_are_filtered(browser: Any, page: str) -> None:
    def shown() -> list[str]:
        rows = browser.find_elements("css selector", "tbody tr:not(.category) th")
        return [row.text for row in rows if row.is_displayed()]

    browser.get(page)
    assert shown() == ["sin", "cos"]
    assert browser.find_element("id", "shown").text == "2 functions"
    browser.find_element("id", "failures-only").click()
    assert shown() == ["cos"]
    browser.find_element("id", "failures-only").click()
    browser.find_element("id", "filter").send_keys("si")
    assert shown() == ["sin"]
    assert browser.find_element("id", "shown").text == "1 of 2 functions"
    browser.find_element("id", "filter").send_keys("zzz")
    assert shown() == []
    assert browser.find_element("id", "empty").is_displayed()


def test_not_run_does_not_look_like_passed(browser: Any, page: str) -> None:
    browser.get(page)
    select = "button[data-function='{}'][data-target='torch:cpu:0']"
    passed = browser.find_element("css selector", select.format("sin"))
    element = browser.find_element("css selector", select.format("cos"))
    assert passed.text.endswith("native")
    assert element.text.endswith("not run")
    assert element.get_attribute("aria-label") == "cos on torch:cpu:0: not run"
    background = "background-image"
    assert passed.value_of_css_property(background) != element.value_of_css_property(background)
    totals = [total.text for total in browser.find_elements("css selector", ".total")]
    assert len(totals) == 2
    assert "1 failure in 3 cases" in totals[0]
    assert "all 1 case as they should be" in totals[1]
    element.click()
    assert "Not run" in browser.find_element("id", "details").text


def test_absent_devices_are_listed(browser: Any, page: str) -> None:
    browser.get(page)
    element = browser.find_element("id", "absent")
    assert element.text == "Not run: 1 device that portarray knows and this machine lacks"
    element.find_element("css selector", "summary").click()
    assert element.text.endswith("cupy:cuda:0: no GPU was found")
    heads = [head.text for head in browser.find_elements("css selector", "thead th")]
    assert heads == ["function", "numpy:cpu:0", "torch:cpu:0"]
