"""Open every page of the built documentation in Chromium and report problems.

``python tools/check_site.py docs/_build/html --axe axe.min.js`` opens handwritten pages at three
widths, light and dark, and generated pages once. It reports elements wider than the page, console
messages, axe-core's violations of WCAG 2 A and AA, and links between pages that lead nowhere; the
exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

WIDTHS = (360, 1280, 1920)
HEIGHT = 1200
THEMES = ("light", "dark")

CUT = """
const width = document.documentElement.clientWidth, found = [];
const hides = node => {
    for (let one = node.parentElement; one; one = one.parentElement)
        if (getComputedStyle(one).overflowX !== "visible") return true;
    return false;
};
const parts = ["table", "img", "pre", "p", "h1"].map(one => "[role=main] " + one).join();
for (const node of document.querySelectorAll(parts)) {
    const box = node.getBoundingClientRect();
    if (box.width && box.right > width + 1 && !hides(node))
        found.push(node.tagName + ": " + node.textContent.trim().slice(0, 50));
}
if (document.querySelectorAll("h1").length > 1) found.push("several first-level headings");
if (!document.querySelector("[role=main]")) found.push("the page has no main part");
if (document.documentElement.scrollWidth > width + 1) found.push("the page scrolls sideways");
return found;
"""
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: ["wcag2a", "wcag2aa"]}).then(
    found => done(found.violations.map(one => one.id + ": " + one.nodes[0].html.slice(0, 160))),
    error => done(["axe-core: " + error]));
"""


# Names that are not among the first five results of the site's search.
SEARCH = """
const [names, done] = arguments;
const look = () => {
    if (!Search._index) return setTimeout(look, 50);
    const last = name => name.split(".").pop();
    const found = (name, result) =>
        last(result[1]) === name || last(result[2].slice(1)) === name || result[1].includes(name);
    done(names.filter(name => !Search._performSearch(...Search._parseQuery(last(name)))
        .slice(-5).some(result => found(last(name), result))));
};
look();
"""
MODULES = (
    *("portarray", "portarray.errors", "portarray.fft", "portarray.kernel_language"),
    *("portarray.kernels", "portarray.linalg", "portarray.random", "portarray.tasks"),
    *("portarray.testing", "portarray.typing"),
)


def driver() -> Any:
    """Return a browser without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program = shutil.which("chromium") or shutil.which("google-chrome")
    service = shutil.which("chromedriver")
    if program is None or service is None:
        sys.exit(
            "check_site: chromium or chromedriver is missing\nHint: apt install chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
    ):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(service))


def problems(browser: Any, page: Path, theme: str, axe: str) -> Iterator[str]:
    """Yield the problems of a page."""
    browser.get(page.as_uri())
    browser.execute_script("document.body.dataset.theme = arguments[0]", theme)
    yield from browser.execute_script(CUT)
    yield from (f"console: {entry['message']}" for entry in browser.get_log("browser"))
    if axe:
        browser.execute_script(axe)
        yield from browser.execute_async_script(AXE)


def filtered(browser: Any, page: Path) -> Iterator[str]:
    """Yield the problems of the support table's filter."""
    rows = "[...document.querySelectorAll('[role=main] tbody tr')]"
    count = f"return {rows}.filter(one => one.offsetParent).length"
    browser.get(page.as_uri())
    every = browser.execute_script(count)
    browser.find_element("css selector", ".filter input").send_keys("linalg native")
    few = browser.execute_script(count)
    if not 20 < few < every / 2:
        yield f"the filter shows {few} of {every} rows"


def sought(browser: Any, page: Path) -> Iterator[str]:
    """Yield public names that the search does not find."""
    names = [
        f"{module}.{name}"
        for module in MODULES
        for name in getattr(importlib.import_module(module), "__all__", ())
    ]
    browser.get(page.as_uri())
    for name in browser.execute_async_script(SEARCH, names):
        yield f"the search does not find {name}"


class Anchors(HTMLParser):
    """The anchors and the links of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element's name, and where it leads."""
        values = dict(attrs)
        self.anchors.add(values.get("id") or "")
        self.links |= {values[name] or "" for name in ("href", "src") if name in values}


def dead_links(pages: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the links between pages that lead nowhere, and the page of each."""
    read = {page: Anchors(page) for page in pages}
    for page, parts in read.items():
        for link in parts.links:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            anchors = read[target].anchors if target in read else {unquote(url.fragment)}
            if not target.exists() or (url.fragment and unquote(url.fragment) not in anchors):
                yield f"dead link: {link}", page


def main() -> int:
    """Check a folder of pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    parser.add_argument("--only", default="", help="pages with this in their path")
    options = parser.parse_args()
    axe = options.axe.read_text("utf-8") if options.axe else ""
    root = options.folder.resolve()
    pages = sorted(page for page in root.rglob("*.html") if "_static" not in page.parts)
    by_page: dict[str, list[str]] = {}
    for problem, page in dead_links(pages):
        by_page.setdefault(problem, []).append(str(page.relative_to(root)))
    browser = driver()
    browser.set_script_timeout(120)
    opened = 0
    try:
        for page in pages:
            name = str(page.relative_to(root))
            if options.only not in name:
                continue
            by_hand = "generated" not in page.parts
            for width in WIDTHS if by_hand else WIDTHS[:1]:
                browser.set_window_size(width, HEIGHT)
                for theme in THEMES if by_hand else THEMES[:1]:
                    opened += 1
                    for problem in problems(browser, page, theme, axe if width != 1920 else ""):
                        by_page.setdefault(problem, []).append(f"{name} ({width}, {theme})")
        for problem in filtered(browser, root / "support.html"):
            by_page.setdefault(problem, []).append("support.html")
        for problem in sought(browser, root / "search.html"):
            by_page.setdefault(problem, []).append("search.html")
    finally:
        browser.quit()
    for problem, where in by_page.items():
        print(f"{problem}\n    {len(where)} times, first on {where[0]}")
    print(json.dumps({"pages": len(pages), "opened": opened, "problems": len(by_page)}))
    return 1 if by_page else 0


if __name__ == "__main__":
    sys.exit(main())
