"""The page, in a real headless Chromium: sorting, filtering, no errors, nothing loaded."""

import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from mteb_nano.report.__main__ import main
from tests.report.result_files import SOURCES, page_scores

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def make_page(tmp_path, *options):
    out = tmp_path / "page.html"
    command = ["leaderboard", str(tmp_path / "results"), "--out", str(out), "--resamples", "200"]
    assert main([*command, "--quiet", *options]) == 0
    return out


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium, driven by Playwright; both are needed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Return a function that opens a file and fails the test on any console message or request."""
    faults = []
    pages = []

    def open_page(path, **options):
        page = browser.new_page(**options)
        pages.append(page)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file://", "data:"))
                else faults.append(f"loads {request.url}")
            ),
        )
        page.goto(path.as_uri())
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not faults


def _column(page, number, *, table=0, only_shown=False):
    rows = page.locator("table").nth(table).locator("tbody tr")
    script = (
        "(rows, [n, only]) => rows.filter(r => !only || !r.hidden)"
        ".map(r => r.cells[n].dataset.sort)"
    )
    return rows.evaluate_all(script, [number, only_shown])


def _sort(page, action):
    """Do something that sorts a table and wait until it is sorted."""
    page.evaluate(
        "() => { window.sorted = new Promise("
        "done => document.addEventListener('sort-end', done, {once: true})) }"
    )
    action()
    page.evaluate("() => window.sorted.then(() => null)")


@pytest.fixture
def results(write_pages, write_ocr):
    """Three whole models, one partial, one OCR model."""
    for i, name in enumerate(("org/alpha", "org/beta", "other/gamma")):
        write_pages(name, 0.4 + 0.1 * i, seed=i)
    write_pages("org/part", sources=SOURCES[:7])
    write_ocr("org/alpha")


def test_sorting_by_clicks_and_by_keyboard(results, tmp_path, open_page):
    """A header sorts by its numbers, both ways, unknown values last; the keyboard does too."""
    page = open_page(make_page(tmp_path))
    header = page.locator("table").first.get_by_role("button", name="computer_science")
    _sort(page, header.click)
    values = [v for v in _column(page, 3) if v]
    assert values == sorted(values, key=float, reverse=True)
    assert len(values) == 4
    assert _column(page, 3)[-1] == ""
    _sort(page, lambda: header.press("Enter"))
    assert [v for v in _column(page, 3) if v] == values[::-1]
    assert _column(page, 3)[-1] == ""


def test_filtering(results, tmp_path, open_page):
    """Typing narrows every table, published rows can be switched off, and the count is told."""
    page = open_page(make_page(tmp_path))
    assert len(_column(page, 1, only_shown=True)) == 4 + 42
    page.get_by_label("published reference rows").uncheck()
    assert len(_column(page, 1, only_shown=True)) == 4
    page.get_by_label("Model", exact=True).fill("ORG/ alp")
    assert _column(page, 1, only_shown=True) == ["org/alpha"]
    page.get_by_label("Model", exact=True).fill("gam")
    assert _column(page, 1, only_shown=True) == ["other/gamma"]
    assert page.get_by_role("status").inner_text() == "1 models shown"
    # Sorting after filtering must not bring rows back.
    _sort(page, page.locator("table").first.get_by_role("button", name="mean").click)
    assert _column(page, 1, only_shown=True) == ["other/gamma"]


def test_hostile_names_are_text(write_pages, tmp_path, open_page):
    """HTML in a model's name is shown as it is and runs nothing."""
    name = "org/<img src=x onerror=alert(1)>\"'&amp;<script>document.title='bad'</script>"
    write_pages("org/hostile", name=name)
    page = open_page(make_page(tmp_path, "--title", "A <b>title</b>"))
    assert page.locator("img").count() == 0
    assert page.title() == "A <b>title</b>"
    assert name in page.locator("tbody th").all_inner_texts()


def test_drawn_intervals_match_the_numbers(results, tmp_path, open_page):
    """A drawn interval's ends are where its numbers are on the column's common scale."""
    page = open_page(make_page(tmp_path))
    rows = page.locator("table").first.locator("tr:not(.published) td.wide:has(svg)")
    texts = [re.findall(r"[\d.]+", text) for text in rows.all_inner_texts()]
    lines = rows.locator("svg line").evaluate_all(
        "lines => lines.map(l => [l.x1, l.x2].map(x => x.baseVal.value))"
    )
    assert len(texts) == len(lines) == 3
    lows, highs = [float(t[1]) for t in texts], [float(t[2]) for t in texts]
    start, end = min(lows), max(highs)
    for low, high, (x1, x2) in zip(lows, highs, lines, strict=True):
        # The numbers have one digit, so ends may be off by 0.05 points of the scale's width.
        slack = 92 * 0.11 / (end - start) + 0.1
        assert x1 == pytest.approx(4 + 92 * (low - start) / (end - start), abs=slack)
        assert x2 == pytest.approx(4 + 92 * (high - start) / (end - start), abs=slack)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_light_and_dark(results, tmp_path, open_page, scheme):
    """Text against its background has a contrast of at least 4.5 (WCAG AA) in both schemes."""
    page = open_page(make_page(tmp_path), color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for selector in ("body", ".limits", ".published", "a", "thead button"):
        color = page.locator(selector).first.evaluate("e => getComputedStyle(e).color")
        assert _contrast(color, background) >= 4.5, (selector, color, background)
    assert (_luminance(background) < 0.1) == (scheme == "dark")


def _luminance(color):
    parts = [int(x) / 255 for x in re.findall(r"\d+", color)[:3]]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a, b):
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_phone_scrolls_tables_not_the_page(results, tmp_path, open_page):
    """At 360 pixels the page is not wider than the screen, and text is no smaller than 12 px."""
    page = open_page(make_page(tmp_path), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    sizes = page.locator("td, th, p").evaluate_all(
        "es => es.map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12


def test_print_hides_controls(results, tmp_path, open_page):
    """On paper there are no controls and no cut-off tables."""
    page = open_page(make_page(tmp_path))
    page.emulate_media(media="print")
    assert not page.locator(".controls").is_visible()
    assert page.locator(".scroll").first.evaluate("e => getComputedStyle(e).overflowX") == "visible"


def test_screen_readers_get_structure(results, tmp_path, open_page):
    """Tables have captions and header cells; sections, search and status have their roles."""
    page = open_page(make_page(tmp_path))
    tables = page.locator("table")
    for i in range(tables.count()):
        assert tables.nth(i).locator("caption").inner_text()
        assert tables.nth(i).locator("thead th[scope=col]").count() > 1
        assert tables.nth(i).locator("tbody th[scope=row]").count() > 0
    for role in ("search", "main", "navigation", "status", "banner"):
        assert page.get_by_role(role).count() == 1, role
    assert page.locator("svg:not([aria-hidden=true]):not([role=img])").count() == 0


def test_five_hundred_models_stay_quick(write_pages, tmp_path, open_page):
    """With 500 models a sort and a filter are done at once; slow growth would take many seconds."""
    path = write_pages("org/m0")
    data = json.loads(path.read_text())
    for i in range(1, 500):
        for j, entry in enumerate(data["scores"]["test"]):
            entry.update(page_scores(np.random.default_rng((i, j)), 0.3 + i / 2000, SOURCES[j], 12))
        folder = tmp_path / "results" / f"org__m{i}" / "main"
        folder.mkdir(parents=True)
        (folder / "NanoViDoReV3.json").write_text(json.dumps(data))
    page = open_page(make_page(tmp_path))
    sort_ms, filter_ms = page.evaluate(
        """async () => {
          const table = document.querySelector("table");
          const done = new Promise((ready) => table.addEventListener("sort-end", ready));
          let start = performance.now();
          table.querySelectorAll("button")[2].click();
          await done;
          table.getBoundingClientRect();
          const sort = performance.now() - start;
          start = performance.now();
          document.querySelector("#search").value = "m4";
          document.querySelector("#search").dispatchEvent(new Event("input"));
          table.getBoundingClientRect();
          return [sort, performance.now() - start];
        }"""
    )
    assert sort_ms < 5000
    assert filter_ms < 5000
    print(f"500 models: sorted in {sort_ms:.0f} ms, filtered in {filter_ms:.0f} ms")
    assert len(_column(page, 1, only_shown=True)) == 111  # m4, m40-m49, m400-m499


def test_the_page_is_one_file_that_names_no_other(results, tmp_path):
    """Without a browser too: no element of the page refers to anything outside of it."""
    found = []

    class Links(HTMLParser):
        def handle_starttag(self, tag, attrs):
            refers = [v for name, v in attrs if name in ("src", "href", "data", "action")]
            found.extend((tag, v) for v in refers if not v.startswith(("#", "data:")))

    text = make_page(tmp_path).read_text()
    Links().feed(text)
    assert found == []
    assert "@import" not in text
    assert "url(" not in text


def test_reference_rows_never_stand_beside_sample_scores(write_pages, tmp_path):
    """Published means are of the real data: with sample results they get a table of their own."""
    write_pages("org/a", task="NanoViDoReV3Sample", data_revision="sample-0.1.0")
    text = make_page(tmp_path).read_text()
    sample, published = text.split('<section id="published">')
    assert 'class="published"' not in sample
    assert published.count('class="published"') == 42


def test_same_results_same_page(results, tmp_path):
    """The page has no time stamp: equal results give equal bytes."""
    first = make_page(tmp_path).read_bytes()
    assert make_page(tmp_path).read_bytes() == first
