"""Signing in with a token or a file, signing out, and addresses that do not exist."""

import os
import re

from conftest import ready


def signed_out(browser):
    """A page that was signed in, and is not any more."""
    watched = browser.open()
    watched.expected = ("status of 401",)
    page = watched.page
    ready(page)
    page.click("text=Sign out")
    page.wait_for_url("**/sign-in")
    return page


def test_a_person_signs_out(browser):
    page = signed_out(browser)
    page.goto(browser.path("/"))
    assert page.inner_text("pre") == "poc-memory page"


def test_a_token_signs_in_for_what_it_may_do(browser):
    page = signed_out(browser)
    page.click("summary")
    page.fill("input[name=token]", "wrong")
    page.press("input[name=token]", "Enter")
    page.wait_for_selector("text=not a token of this memory")
    # The form stays open.
    page.fill("input[name=token]", (browser.world.home / "token-read").read_text())
    page.press("input[name=token]", "Enter")
    page.wait_for_selector(".badge:not([hidden]) >> text=read-only")


def test_the_file_that_the_browser_opens_signs_in(browser):
    page, world = signed_out(browser), browser.world
    browser.watched[-1].expected += ("request to file:",)
    opener = world.home / "bin/xdg-open"
    opener.parent.mkdir()
    opener.write_text("#!/bin/sh\n")
    opener.chmod(0o755)
    world.environment["PATH"] = f"{opener.parent}:{os.environ['PATH']}"
    world.run("page")
    file = world.home / "sign-in.html"
    page.goto(file.as_uri())
    page.wait_for_url(browser.path("/"))
    ready(page)
    assert not file.exists()


def test_an_unknown_address_leads_back(reading):
    watched = reading.open()
    watched.expected = ("status of 404",)
    page = watched.page
    page.goto(reading.path("/no/such/screen"))
    assert page.inner_text("h1") == "No such screen"
    page.click("text=Today")
    page.wait_for_url(re.compile("/$"))
    ready(page)
