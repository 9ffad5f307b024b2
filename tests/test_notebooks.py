"""Notebooks show tables in place of ``repr``, and pages render them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import _html
from portarray._devices import device as devices
from portarray.backends.types import MemoryFigures

INJECTED = "<img src=x onerror=\"document.title='broken'\">&"


def cells(html: str) -> dict[str, str]:
    """Return the rows with one value by their titles."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td>([^<]*)</td></tr>', html)
    return {unescape(title): unescape(value) for title, value in rows}


def test_arrays_show_their_properties_and_values(device: str) -> None:
    x = pa.asarray([[1.0, 2.5], [3.0, 4.0]], device=device)
    html = x._repr_html_()
    assert cells(html) == {
        "shape": "(2, 2)",
        "dtype": str(x.dtype),
        "device": device,
        "bytes": str(x.nbytes),
    }
    assert f"<samp>{x}</samp>" in html
    assert "<samp>3</samp>" in pa.asarray(3, device=device)._repr_html_()
    assert "<samp>[]</samp>" in pa.zeros((0, 3), device=device)._repr_html_()


def test_a_large_array_moves_its_edges_alone(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = pa.reshape(pa.arange(200_000, dtype=pa.int32, device=device), (400, 500))
    backend = x.device._backend
    moved: list[int] = []

    def printable(native: Any, where: Any) -> np.ndarray[Any, Any]:
        moved.append(int(np.prod(native.shape)))
        return type(backend).printable(backend, native, where)

    monkeypatch.setattr(backend, "printable", printable)
    html = x._repr_html_()
    assert sum(moved) == 7 * 7
    assert cells(html)["bytes"] == "800,000"
    assert "499]" in html
    assert "..." in html


def test_traced_arrays_are_not_computed() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    shown = []

    def function(values: Any) -> Any:
        shown.append(pa.asarray(values)._repr_html_())
        return values

    jax.jit(function)(jax.numpy.ones(3))
    assert "<samp>[? ? ?]</samp>" in shown[0]


def test_devices_show_their_library_name_and_memory(device: str) -> None:
    pa_device = pa.device(device)
    table = cells(pa_device._repr_html_())
    assert (table["library"], table["name"], table["kind"]) == (
        pa_device.library,
        pa_device.name,
        pa_device.kind,
    )
    assert ("memory" in table) == (pa.memory(pa_device).free is not None)
    assert f"<caption>Device {device}</caption>" in pa_device._repr_html_()


def test_memory_is_that_of_the_device(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fake.backend import LIBRARY

    current: list[int] = []

    def memory(native: Any) -> MemoryFigures:
        current.append(LIBRARY.current)
        return MemoryFigures(total=2**30, free=2**29)

    pa_device = pa.device("fake:cuda:1")
    monkeypatch.setattr(pa_device._backend, "memory", memory)
    assert cells(pa_device._repr_html_())["memory"] == "0.5 of 1.0 GiB free"
    assert current == [1]


def test_plans_show_each_copy(fake: str) -> None:
    x = pa.ones(1000, dtype=pa.float32, device="numpy")
    plan = pa.transfer_plan(x, "fake:cuda:0")
    table = cells(plan._repr_html_())
    assert table["route"] == plan.route
    assert table["bytes"] == f"{plan.nbytes:,}"
    assert [value for title, value in table.items() if title.startswith("copy ")] == [*plan.reasons]
    assert plan.copies == 1
    assert cells(pa.transfer_plan(x, "numpy")._repr_html_())["copies"] == "none"


def test_placement_and_plans_of_dask() -> None:
    pytest.importorskip("dask.array", reason="Dask is not installed")
    import portarray.dask as pd

    x = pd.ones((4, 4), chunks=2, devices=["numpy"])
    where = pd.placement(x)
    html = where._repr_html_()
    titles, *rows = re.findall(r"<tr>(.*?)</tr>", html)
    assert re.findall(r">(\w+)<", titles) == ["block", "worker", "device", "bytes"]
    assert len(rows) == 4
    assert '<th scope="row">(1, 0)</th><td>-</td><td>numpy:cpu:0</td>' in rows[2]
    plan = pd.linalg.explain("matmul", x, x)
    html = plan._repr_html_()
    for device, (count, _) in plan.devices.items():
        assert f'<th scope="row">{device}</th><td>{count}</td><td>100%</td>' in html
    assert str(plan).splitlines()[0] in html


def test_texts_are_escaped() -> None:
    of = pa.device("numpy")
    hostile = devices.make(of._backend, "cpu", 7, name=INJECTED, kind="cpu", native=of.native)
    shown = [
        hostile._repr_html_(),
        pa.transfer_plan(pa.ones(3), "numpy")._replace(reasons=(INJECTED,))._repr_html_(),
        _html.table([(INJECTED, INJECTED)], caption=INJECTED, head=[INJECTED], values=INJECTED),
    ]
    if pytest.importorskip("dask.array", reason="Dask is not installed"):
        from portarray.dask import Block, Placement

        shown.append(Placement([Block((0,), INJECTED, INJECTED, 8, None)])._repr_html_())
    for html in shown:
        assert INJECTED in unescape(html)
        assert "<img" not in html
        assert not re.search(r"&(?!\w+;|#x?\w+;)", html)


def test_the_page_decides_how_it_looks() -> None:
    html = pa.ones(3)._repr_html_() + pa.device("numpy")._repr_html_()
    tags = set(re.findall(r"<(\w+[^>]*)>", html))
    assert tags <= {"div", "table", "caption", "tbody", "tr", 'th scope="row"', "td", "pre", "samp"}


# --- in a page -----------------------------------------------------------------------------------

CELLS = (
    "import portarray as pa, portarray.dask as pd",
    "pa.reshape(pa.arange(30_000, dtype=pa.float64), (100, 300)) / 7",
    "pa.device('numpy')",
    "pa.transfer_plan(pa.ones(3), 'numpy')",
    "pd.placement(pd.ones((400, 400), chunks=200, devices=['numpy']))",
    "pd.linalg.explain('cholesky', pd.eye(400, chunks=100, devices=['numpy']))",
)
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>notebook</title><style>:root {{ color-scheme: light dark; }}</style>
<body>{}</body></html>
"""
CUT = """
const found = [], right = document.documentElement.scrollWidth;
for (const node of document.querySelectorAll("table, caption, th, td, pre")) {
    const box = node.getBoundingClientRect(), style = getComputedStyle(node);
    const text = node.tagName + ": " + node.textContent.slice(0, 40);
    if (!box.width || !box.height || style.visibility !== "visible")
        found.push(text + " is not there");
    if (box.left < 0 || box.right + scrollX > right + 1) found.push(text + " is out of reach");
    if (style.overflowX === "hidden" && node.scrollWidth > node.clientWidth)
        found.push(text + " is cut off");
    if (style.color !== getComputedStyle(document.body).color)
        found.push(text + " has a colour of its own");
}
return found;
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an executed notebook as a page without external resources."""
    pytest.importorskip("dask.array", reason="Dask is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    v4 = pytest.importorskip("nbformat.v4")
    folder = tmp_path_factory.mktemp("notebook")
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in CELLS])
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute()
    body, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(notebook)
    path = folder / "notebook.html"
    path.write_text(PAGE.format(body), "utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver):
        pytest.skip("chromium and chromedriver are not installed")
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    options = selenium.ChromeOptions()
    options.binary_location = program
    profile = tmp_path_factory.mktemp("profile")
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    chrome = selenium.Chrome(options=options, service=service.Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_shows_the_tables(page: Path, browser: Any, width: int, scheme: str) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 1000}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(page.as_uri())
    assert browser.execute_script("return innerWidth") >= width
    captions = [caption.text for caption in browser.find_elements("css selector", "table caption")]
    assert captions == [
        "portarray.Array",
        "Device numpy:cpu:0",
        "TransferPlan numpy:cpu:0 → numpy:cpu:0",
        "Placement of 4 blocks",
        "cholesky of 4 x 4 tiles of 100 x 100 and less, by a region",
    ]
    assert browser.execute_script(CUT) == []
    values = browser.find_element("xpath", "//table[caption='portarray.Array']/../pre/samp")
    assert values.value_of_css_property("font-family") == "monospace"
    assert values.text == str(pa.reshape(pa.arange(30_000, dtype=pa.float64), (100, 300)) / 7)
    assert browser.get_log("browser") == []
