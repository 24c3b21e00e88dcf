"""Every screen: accessible, at every width, in both themes, with pictures."""

import os
import pathlib

import pytest
from conftest import PLACE, ready

AXE = (PLACE / "node_modules" / "axe-core" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PICTURES = PLACE / "pictures"

NOTE = "/notes/session-2026-11-09-retry-storm"
SCREENS = {
    "today": "/", "search": "/search?q=slow+boot", "search-all": "/search", "search-mistake": "/search?q=all+%7C+tpye%3Ax", "note": NOTE,
    "note-missing": "/notes/nothing-like-it", "review": "/review", "rejected": "/review?rejected", "agents": "/agents", "agent": "/agents/linker",
    "note-past": f"{NOTE}?at=1s", "activity": "/activity", "graph": "/graph", "graph-around": "/graph?around=btree", "graph-past": "/graph?at=1s",
    "health": "/health",
}

# Screens with a picture at 4K, which takes long without a graphics card.
LARGE = ["search", "agent", "graph"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_axe_is_violated_and_nothing_overflows(reading, scheme):
    PICTURES.mkdir(parents=True, exist_ok=True)
    watched = reading.open(scheme=scheme)
    watched.expected = ("404",)
    page = watched.page
    run = page.evaluate("() => document.querySelector('page-status') && location.pathname")
    assert run == "/"
    for name, path in SCREENS.items():
        # The theme changes colours only, which are the same at every width.
        for width in (1280, 320, 3840) if scheme == "light" else (1280,):
            page.set_viewport_size({"width": width, "height": 2160 if width == 3840 else 800})
            page.goto(reading.path(path))
            ready(page)
            if width < 3840 or name in LARGE:
                page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png")
            wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{name} is {wide} px wider than {width}"
            if width == 3840:
                continue
            # A content script of the browser, so that the policy of the page does not concern it.
            violations = page.evaluate(
                f"async (tags) => {{ {AXE}; const found = await axe.run(document, {{ runOnly: tags }});"
                " return found.violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => html + failureSummary).slice(0, 3)]); }", RULES)
            assert violations == [], f"{name} {width} {scheme}: {violations}"


def test_the_sign_in_document_is_accessible(reading):
    page = reading.chromium.new_context().new_page()
    address = "/".join(reading.world.link().split("/")[:3])
    page.goto(address + "/")
    assert "poc-memory page" in page.inner_text("main")
    page.screenshot(path=PICTURES / "sign-in-1280-light.png")
    violations = page.evaluate(f"async (tags) => {{ {AXE}; return (await axe.run(document, {{ runOnly: tags }})).violations.map(({{ id }}) => id); }}", RULES)
    assert violations == []
    page.context.close()


def test_screens_have_landmarks_one_heading_and_work_by_keyboard(reading):
    watched = reading.open()
    page = watched.page
    for path in (path for name, path in SCREENS.items() if "missing" not in name):
        page.goto(reading.path(path))
        ready(page)
        assert page.locator("main").count() == page.locator("header.bar").count() == page.locator("h1").count() == 1, path
        # Tab moves the focus on, to something that shows it. A field for a time has several stops, and after the last element
        # comes the browser itself.
        reached = []
        for _ in range(15):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("""() => {
                const focused = document.activeElement;
                window.order ??= new Map();
                if (!window.order.has(focused)) window.order.set(focused, window.order.size);
                const { width, height } = focused.getBoundingClientRect();
                return focused === document.body || width * height === 0 ? -1 : window.order.get(focused);
            }"""))
        shown = [number for number, before in zip(reached, [None, *reached]) if number != before and number >= 0]
        assert len(set(shown)) == len(shown) >= 9 and reached.count(-1) <= 1, (path, reached)
    page.goto(reading.path("/agents"))
    ready(page)
    page.keyboard.press("/")
    page.keyboard.type("retry")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    assert page.url.endswith("/search?q=retry")


def test_reduced_motion_and_a_read_only_session(reading):
    watched = reading.open("--read-only", reduced_motion="reduce")
    page = watched.page
    ready(page)
    assert page.locator(".badge:visible").all_inner_texts() == ["read-only"]
    page.goto(reading.path(NOTE))
    ready(page)
    assert page.locator("button", has_text="Edit").count() == 0
    page.goto(reading.path("/review"))
    ready(page)
    assert "Only a person decides" in page.inner_text("main")
    page.goto(reading.path("/activity"))
    ready(page)
    assert page.locator("#changes").count() == 0
