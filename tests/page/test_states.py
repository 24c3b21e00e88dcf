"""Every screen when there is nothing, while it waits, when an op fails, and without the daemon."""

import pytest
from conftest import Browser, World, ready

SCREENS = ["/", "/search", "/search?q=words", "/review", "/review?rejected", "/agents", "/agents/linker", "/activity", "/graph", "/health"]

# What a new user reads where there is nothing yet.
EMPTY = {"/": "No agent ran", "/search": "The memory is empty", "/search?q=words": "Nothing found", "/review": "Nothing waits", "/review?rejected": "Nothing is rejected", "/activity": "No runs with a result",
         "/graph": "No notes"}


def test_an_empty_memory_says_what_to_do(chromium):
    world = World()
    world.start()
    browser = Browser(chromium, world)
    try:
        watched = browser.open()
        page = watched.page
        for path in SCREENS:
            page.goto(browser.path(path))
            ready(page)
            page.wait_for_selector("main h1")
            if path in EMPTY:
                page.wait_for_selector(f".empty >> text={EMPTY[path]}")
        watched.check()
    finally:
        browser.close()
        world.close()


def test_of_two_loads_the_one_that_began_last_is_shown(reading):
    page = reading.open().page
    page.goto(reading.path("/activity"))
    ready(page)
    held = []
    page.route("**/v1/runs?*status=failed*", lambda route: held.append(route))
    with page.expect_request("**/v1/runs?*status=failed*"):
        page.select_option("select[name=runs]", "failed")
    page.select_option("select[name=runs]", "all")
    held[0].continue_()
    ready(page)
    assert page.url.endswith("/activity?runs=all")
    assert page.input_value("select[name=runs]") == "all"


@pytest.mark.parametrize("path", SCREENS)
def test_a_screen_that_waits_and_fails_says_so_and_tries_again(reading, path):
    watched = reading.open()
    watched.expected = ("status of 500",)
    page = watched.page
    wrong = {"code": "internal", "message": "the disk is gone", "hint": "look for it"}
    held, mode = [], "hold"

    def answer(route):
        if mode == "hold":
            held.append(route)
        elif mode == "fail":
            route.fulfill(status=500, json=wrong)
        else:
            route.continue_()

    page.route("**/v1/**", answer)
    page.goto(reading.path(path))
    page.wait_for_selector(".loading")
    assert page.inner_text(".loading") == "Loading"
    mode = "fail"
    for route in held:
        route.fulfill(status=500, json=wrong)
    page.wait_for_selector(".failed >> text=the disk is gone")
    assert "look for it" in page.inner_text(".failed")
    mode = "pass"
    page.click(".failed button")
    page.wait_for_function("() => !document.querySelector('.failed, .loading')")
    ready(page)


def test_health_has_no_problems_only_while_its_checks_have_none(browser):
    page = browser.open().page
    page.goto(browser.path("/health"))
    page.wait_for_selector(".well >> text=No problems")
    browser.world.home.chmod(0o755)
    page.reload()
    page.wait_for_selector(".state-line >> text=1 check below needs your attention")
    assert page.locator(".well").count() == 0
    assert "warning" in page.inner_text(".status.warn") and "other users may read" in page.inner_text("section[aria-labelledby=checks]")
    # The log has the same times as the rest of the page.
    assert "Z " not in page.inner_text("section[aria-labelledby=log] pre")
    assert "connected with each other" in page.inner_text("section[aria-label=Graph]")


# A browser allows six connections to a server, and each page has one of them open.
@pytest.mark.parametrize("paths", [
    ["/", "/activity", "/agents", "/health"],
    ["/search?q=certificate", "/review", "/graph", "/notes/outage"],
], ids=["overviews", "notes"])
def test_open_screens_say_offline_and_come_back(browser, paths):
    watched = browser.open()
    watched.expected = ("ERR_", "Failed to load")
    pages = []
    for path in paths:
        page = watched.page.context.new_page()
        page.goto(browser.path(path))
        ready(page)
        pages.append((path, page))
    browser.world.kill()
    for path, page in pages:
        page.wait_for_selector(".offline")
        # What was shown is still there.
        assert page.locator("main h1").count() == 1, path
    browser.world.start()
    for path, page in pages:
        page.wait_for_function("() => !document.querySelector('.offline')")
        ready(page)
        assert page.locator(".failed").count() == 0, path
    # Screens that were open before the restart show what changes after it.
    browser.world.run("insert", "--title", "After the restart", "--key", "after-the-restart")
    browser.world.run("insert", "--update", "--key", "outage", "--title", "Outage of the payment gateway", "--body", "It is over.")
    seen = {"/activity": "text=After the restart", "/notes/outage": "text=changed elsewhere"}
    for path, page in pages:
        if path in seen:
            page.wait_for_selector(seen[path])
