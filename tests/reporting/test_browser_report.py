"""The report in a headless Chromium: no error, no request, and a list of items that can be used."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hostile import hostile_run

from authbench.reporting.html import Report, write_report
from authbench.reporting.results import find_runs, load_run

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium with chromedriver here"),
]
#: The last six keep Chromium itself from asking hosts of its own.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
)
#: Whether the page is no wider than the window.
FITS = "const e=document.documentElement;return e.scrollWidth<=e.clientWidth"


class Browser:
    """A page in Chromium, with what it logged and what it asked for."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """Open a report and wait for its list of items; what was logged before is forgotten."""
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.driver.get(path.as_uri())
        self.wait(lambda: not self.js("return document.getElementById('explorer').hidden"))

    def js(self, code: str, *values: object) -> Any:
        return self.driver.execute_script(code, *values)

    def wait(self, until: Callable[[], object], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, "the page did not get there"
            time.sleep(0.05)

    def type(self, text: str) -> None:
        """Type into the search field, as a person does."""
        field = self.driver.find_element("id", "q")
        field.clear()
        field.send_keys(text)

    @property
    def count(self) -> str:
        return str(self.driver.find_element("id", "count").text)

    @property
    def rows(self) -> list[list[str]]:
        found: list[list[str]] = self.js(
            "const rows=[...document.querySelectorAll('#list tbody tr')];"
            "return rows.map(row=>[...row.children].map(cell=>cell.innerText))"
        )
        return found

    def emulate(self, width: int, height: int, *, dark: bool = False, media: str = "screen") -> None:
        facts = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", facts)
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def errors(self) -> list[Any]:
        return [entry for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self) -> list[str]:
        """Addresses that the page asked for, itself aside."""
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        return [address for address in asked if not address.startswith(("file:", "data:", "about:", "blob:"))]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield Browser(driver)
    driver.quit()


@pytest.fixture(scope="module")
def page(fake_results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_report(find_runs([fake_results]), out)
    return out


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.emulate(1280, 900)
    browser.open(page)
    return browser


def test_it_opens_without_an_error_or_a_request(opened: Browser) -> None:
    assert opened.errors() == [] and opened.requests() == []
    assert opened.js("return document.querySelectorAll('svg.plot').length") > 10
    assert opened.count.endswith(" items") and len(opened.rows) == 50


def test_search_sort_and_filters(opened: Browser) -> None:
    opened.type("domains-0002 list-score")
    opened.wait(lambda: opened.count.startswith("0 of"))  # Groups are named in words.
    opened.type("domains-0002 listjudge pointscore")
    opened.wait(lambda: opened.count.startswith("4 of"))  # Two models in two contexts.
    assert {row[0] for row in opened.rows} == {"domains-0002"}
    opened.type("wrong format")
    opened.wait(lambda: {row[3] for row in opened.rows} == {"wrong format"})
    opened.type("")
    opened.wait(lambda: len(opened.rows) == 50)
    for name, value in (("run", "ragauth/qwen3-14b"), ("group", "authority"), ("status", "ok")):
        opened.js(
            "const s=document.getElementById(arguments[0]);s.value=arguments[1];"
            "s.dispatchEvent(new Event('change'))",
            name,
            value,
        )
    assert {tuple(row[1:4:2]) for row in opened.rows} == {("ragauth/qwen3-14b · authority", "ok")}
    header = opened.driver.find_element("css selector", "[data-key=v]")
    header.click()
    values = [float(row[2]) for row in opened.rows]
    assert values == sorted(values)
    header.click()
    assert [float(row[2]) for row in opened.rows] == sorted(values, reverse=True)
    assert opened.js("return document.querySelector('#list [aria-sort=descending]').innerText").startswith(
        "Value"
    )


def test_pages(opened: Browser) -> None:
    first = opened.rows
    opened.driver.find_element("id", "next").click()
    assert opened.driver.find_element("id", "page").text.startswith("Page 2 of ")
    assert opened.rows != first
    opened.driver.find_element("id", "last").click()
    assert not opened.driver.find_element("id", "next").is_enabled()
    opened.driver.find_element("id", "first").click()
    assert opened.rows == first


def test_an_item_opens_with_the_keyboard_and_closes_again(opened: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    opened.type("domains-0001 listjudge pointscore")
    opened.wait(lambda: opened.count.startswith("4 of"))
    opened.js("document.querySelector('#list tbody button').focus()")
    opened.driver.switch_to.active_element.send_keys(Keys.ENTER)
    dialog = opened.driver.find_element("id", "item")
    opened.wait(dialog.is_displayed)
    text = dialog.text
    for words in ("domains-0001", "true level", "Prompt", "You are a web analysis expert", "Answer"):
        assert words in text
    body = opened.driver.find_element("id", "item-body")
    opened.driver.find_element("id", "on").send_keys(Keys.ARROW_RIGHT)
    opened.wait(lambda: "with text, ListJudge PointScore" in body.text)
    opened.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    opened.wait(lambda: not dialog.is_displayed())
    # Focus goes back into the list, to the item that was open last.
    assert opened.driver.switch_to.active_element.text == "domains-0001"
    assert opened.errors() == []


def test_prompts_and_answers_can_be_searched(opened: Browser) -> None:
    opened.driver.find_element("id", "deep").click()
    # A document of question 7, which two models were asked under four filters.
    opened.type("https://l9.example/7/1")
    opened.wait(lambda: opened.count.startswith("8 of"))
    assert {row[0] for row in opened.rows} == {"q7"}


def test_phone_desktop_dark_light_and_print(opened: Browser, tmp_path: Path) -> None:
    for width, height in ((390, 844), (1280, 900)):
        for dark in (False, True):
            opened.emulate(width, height, dark=dark)
            # Wide parts scroll by themselves: the page does not.
            assert opened.js(FITS)
            ground = opened.js("return getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, ground[4:-1].split(","))) < 200) is dark
            shot = tmp_path / f"{width}-{dark}.png"
            assert opened.driver.save_screenshot(str(shot)) and shot.stat().st_size > 10_000
    opened.emulate(1280, 900)
    opened.driver.find_element("id", "theme").click()
    assert opened.js("return document.documentElement.dataset.theme") == "dark"
    opened.emulate(1280, 900, dark=True, media="print")
    assert opened.js("return getComputedStyle(document.querySelector('nav')).display") == "none"
    assert opened.js("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_every_control_has_a_name_and_can_be_reached(opened: Browser) -> None:
    unnamed = opened.js(
        "return [...document.querySelectorAll('button,input,select,svg[role=img],[role=region]')].filter(e=>"
        "!(e.getAttribute('aria-label')||e.innerText||e.closest('label')||e.title)).map(e=>e.outerHTML)"
    )
    assert unnamed == []
    assert opened.js("return document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length") == 0
    levels = opened.js("return [...document.querySelectorAll('h1,h2,h3,h4')].map(h=>+h.tagName[1])")
    assert levels[0] == 1 and all(b - a <= 1 for a, b in pairwise(levels))


def test_hostile_texts_do_not_run_and_are_shown(browser: Browser, tmp_path: Path) -> None:
    out = tmp_path / "hostile.html"
    write_report([load_run(hostile_run(tmp_path / "results"))], out)
    browser.emulate(1280, 900)
    browser.open(out)
    browser.js("document.querySelector('#list tbody button').click()")
    body = browser.driver.find_element("id", "item-body")
    browser.wait(lambda: "<script>window.broken=1</script>" in body.text)
    for _ in range(2):
        browser.driver.find_element("id", "on").click()
    browser.wait(lambda: "characters left out" in body.text)
    assert browser.js("return window.broken") is None
    assert browser.js("return document.images.length") == 0
    assert browser.errors() == [] and browser.requests() == []
    browser.emulate(390, 844)
    assert browser.js(FITS)


def test_a_hundred_thousand_items_can_be_searched_and_sorted(
    browser: Browser, big_report: tuple[Path, Report]
) -> None:
    browser.emulate(1280, 900)
    browser.open(big_report[0])
    assert browser.count == "100,000 of 100,000 items"
    # However many items there are, the page holds the rows of one page.
    assert len(browser.rows) == 50
    for key in ("v", "id"):
        browser.js("document.querySelector(arguments[0]).click()", f"[data-key={key}]")
    browser.js("document.getElementById('last').click()")
    assert browser.rows[-1][0] == "domains-easy-099999"
    browser.type("099998")
    browser.wait(lambda: browser.count.startswith("1 of"))
    assert browser.rows[0][0] == "domains-easy-099998" and browser.errors() == []
