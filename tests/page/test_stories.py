"""What a person does on the page, and what becomes of it in the memory."""

import http.server
import os
import random
import threading
import time

from conftest import Browser, World, ready
from playwright.sync_api import Error


class EmptyPage(http.server.BaseHTTPRequestHandler):
    """A page of another program on this machine."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>Other</title>")

    def log_message(self, *given):
        pass


def test_a_note_is_found_understood_and_confirmed(browser):
    page = browser.open().page
    page.fill("page-tools input", "why does the service boot slowly")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    first = page.locator(".hit").first
    assert "boots slowly" in first.inner_text()
    assert "meaning" in first.locator(".why").inner_text()
    questions = lambda: browser.world.json("stats")["by_type"].get("question", 0)
    first.locator("button", has_text="This helped").click()
    page.wait_for_selector(".hit button[aria-pressed=true]")
    assert questions() == 1
    # The mark is there when the question is asked again, and a second click takes it back.
    page.reload()
    page.locator(".hit button[aria-pressed=true]").click()
    page.wait_for_selector(".toast >> text=do not lead to this note")
    assert questions() == 0
    page.click(".toast button >> text=Undo")
    page.wait_for_selector(".hit button[aria-pressed=true]")
    assert questions() == 1
    # The question is no note of the list.
    page.fill("input[name=q]", "")
    page.wait_for_selector(".command code >> text=all | !type:question")
    assert "question" not in page.locator(".hit .tag").all_inner_texts()
    page.goto(browser.path("/search?q=why+does+the+service+boot+slowly"))
    page.wait_for_selector(".hit")
    page.locator(".hit").first.locator("h2 a").click()
    page.wait_for_url("**/notes/session-2026-11-02-slow-boot")
    ready(page)
    # The note names the questions that it answered.
    asked = page.locator("section[aria-labelledby=questions]")
    assert "why does the service boot slowly" in asked.inner_text()
    asked.locator("button", has_text="Take back").click()
    page.wait_for_function("() => !document.querySelector('section[aria-labelledby=questions]')")
    assert questions() == 0
    page.wait_for_selector(".toast >> text=do not lead")
    ready(page)
    assert page.locator(".prose h1").count() == 0
    page.locator(".prose a", has_text="broker-tls").click()
    page.wait_for_url("**/notes/broker-tls")


def test_search_filters_and_shows_mistakes_in_place(browser):
    page = browser.open().page
    page.goto(browser.path("/search"))
    ready(page)
    page.fill("input[name=q]", "all | tpye:episodic | sort:weigth")
    page.wait_for_selector(".mistake")
    lines = page.inner_text(".mistake pre").split("\n")
    assert lines[1].index("^") == lines[0].index("tpye") and lines[2].index("^") == lines[0].index("weigth")
    assert "did you mean type" in lines[1].replace("`", "")
    page.fill("input[name=q]", "all | type:episodic | sort:timestamp | limit:3")
    page.wait_for_function("() => document.querySelectorAll('.hit').length === 3")
    page.fill("input[name=q]", "broker")
    page.select_option("select[name=type]", "semantic")
    page.wait_for_function("() => [...document.querySelectorAll('.hit .tag')].every((tag) => tag.textContent === 'semantic') && document.querySelector('.share')")
    assert "type=semantic" in page.url
    command = page.inner_text(".command code")
    assert command == "poc-memory search 'broker' -p 'hybrid,k=256,derived=1 | type:semantic'"
    page.fill("input[name=keyword]", "no such tag")
    page.wait_for_selector(".empty")
    page.click(".empty button >> text=Search without them")
    page.wait_for_selector(".hit")
    assert page.input_value("select[name=type]") == page.input_value("input[name=keyword]") == ""


def test_pipelines_are_completed_from_the_language(reading):
    page = reading.open().page
    page.goto(reading.path("/search"))
    ready(page)
    field = page.locator("input[name=q]")
    field.press_sequentially("all | ty")
    page.wait_for_selector("[role=option] >> text=type:")
    field.press("ArrowDown")
    assert page.get_attribute("input[name=q]", "aria-activedescendant")
    field.press("Enter")
    assert field.input_value() == "all | type:"
    page.wait_for_selector("[role=option] >> text=episodic")
    assert "[object" not in page.inner_text(".completions") and "a built-in type" in page.inner_text(".completion-about")
    field.press_sequentially("sem")
    page.wait_for_function("() => document.querySelectorAll('[role=option]').length === 1")
    field.press("ArrowDown")
    field.press("Tab")
    assert field.input_value() == "all | type:semantic"
    page.wait_for_function("() => [...document.querySelectorAll('.hit .tag')].length > 0 && [...document.querySelectorAll('.hit .tag')].every((tag) => tag.textContent === 'semantic')")
    field.press_sequentially(" | limit:")
    page.wait_for_selector(".completion-about >> text=a whole number from 1")
    field.press("Escape")
    assert not page.is_visible(".completions")
    # Words are not completed, and a word that is also a stage is a word.
    field.fill("key")
    page.wait_for_selector(".hit .share")
    assert not page.is_visible(".completions")


def test_a_note_and_the_graph_as_of_another_time(browser):
    first = browser.world.json("get", "checkpoint")
    browser.world.run("insert", "--key", "checkpoint", "--update", "--title", first["title"], "--body", "A checkpoint is a **snapshot** now.")
    browser.world.run("link", "checkpoint", "backups", "--reason", "both survive a crash")
    watched = browser.open()
    watched.expected = ("status of 404", "status of 400")
    page = watched.page
    page.goto(browser.path("/notes/checkpoint"))
    ready(page)
    assert "snapshot" in page.inner_text(".prose")
    page.locator(".change a", has_text="As of then").last.click()
    page.wait_for_url("**at=*")
    page.wait_for_selector("#since")
    ready(page)
    assert "snapshot" not in page.inner_text(".prose") and "as of" in page.inner_text(".state-line")
    changed = page.inner_text("section[aria-labelledby=since]")
    assert "snapshot" in changed and "new" in changed and "1 link" in changed, changed
    assert page.locator("button", has_text="Edit").count() == 0
    page.click("a >> text=The graph as of then")
    page.wait_for_url("**/graph?**")
    page.wait_for_selector(".graph-since")
    assert "Since then" in page.inner_text(".graph-since")
    assert page.input_value("select[name=color]") == "since"
    # Samples are not compared.
    view = browser.world.json("view", "--plane")
    page.route("**/v1/view?*", lambda route: route.fulfill(json={**view, "node_count": 5000, "edge_count": 90000}))
    page.goto(browser.path("/graph?at=1s"))
    page.wait_for_selector(".graph-since >> text=5,000 notes then and 5,000 now")
    assert "Colour: change since" not in page.inner_text("select[name=color]") and "of 90,000, the strongest" in page.inner_text("main .title")
    page.unroute("**/v1/view?*")
    # A mistake in a pipeline is shown below its field.
    page.goto(browser.path("/graph?pipeline=typ:semantic"))
    page.wait_for_selector(".mistake >> text=unknown stage")
    assert page.input_value("input[name=pipeline]") == "typ:semantic"
    page.goto(browser.path("/notes/checkpoint?at=2001-01-01"))
    assert "at that time" in page.inner_text("h1")


def test_health_shows_checks_budgets_and_the_log(browser):
    page = browser.open().page
    page.goto(browser.path("/health"))
    ready(page)
    checks = page.inner_text("section[aria-labelledby=checks]")
    assert "embedder" in checks and "agents" in checks
    assert "of $10" in page.inner_text("section[aria-label='Spent today']")
    assert "heuristic" in page.inner_text("section[aria-label=Models]")
    assert page.inner_text("section[aria-labelledby=log]").strip()
    (browser.world.home / "agents").mkdir(exist_ok=True)
    (browser.world.home / "agents" / "broken.toml").write_text("[query]\n")
    page.reload()
    page.wait_for_selector(".status.bad")
    assert "broken" in page.inner_text("section[aria-labelledby=checks]")


def test_a_note_is_edited_linked_and_taken_back(browser):
    page = browser.open().page
    page.goto(browser.path("/notes/checkpoint"))
    ready(page)
    page.keyboard.press("e")
    page.fill("textarea[name=body]", "A checkpoint is written when the store has been **quiet**.")
    page.click("dialog button.primary")
    page.wait_for_selector(".prose strong")
    assert browser.world.json("get", "checkpoint")["version"] == 2
    ready(page)
    change = page.locator(".change").first
    assert "quiet" in change.locator(".diff .plus").first.inner_text()
    change.locator("button", has_text="Undo").click()
    page.wait_for_function("() => !document.querySelector('.prose strong')")
    assert "quiet**" not in browser.world.json("get", "checkpoint")["body"]
    ready(page)
    # What is undone says so, and can only be brought back by the undo.
    assert page.locator(".change.undone").count() == 1 and page.locator(".change.undone button").count() == 0
    page.click(".toast button >> text=Undo")
    page.wait_for_selector(".prose strong")
    ready(page)
    page.click(".toast button >> text=Undo")
    page.wait_for_function("() => !document.querySelector('.prose strong')")
    ready(page)
    page.keyboard.press("l")
    page.fill("input[name=to]", "backups")
    page.fill("input[name=reason]", "both survive a crash")
    page.click("dialog button.primary")
    page.wait_for_selector("text=both survive a crash")
    linked = lambda: any(edge["key"] == "backups" for edge in browser.world.json("get", "checkpoint")["edges"].get("link", []))
    assert linked()
    ready(page)
    page.click(".toast button >> text=Undo")
    page.wait_for_selector("text=both survive a crash", state="detached")
    assert not linked()


def test_what_was_typed_is_kept_and_a_note_is_deleted_and_comes_back(browser):
    watched = browser.open()
    watched.expected = ("status of 404",)
    page = watched.page
    page.goto(browser.path("/notes/checkpoint"))
    ready(page)
    page.keyboard.press("e")
    page.fill("textarea[name=body]", "Half a thought")
    page.keyboard.press("Escape")
    page.click(".toast button >> text=Go on editing")
    assert page.input_value("textarea[name=body]") == "Half a thought"
    # What was not saved says so when it is there again, and can be dropped.
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.keyboard.press("e")
    page.wait_for_selector("dialog >> text=did not save")
    page.click("dialog button >> text=Discard it")
    page.wait_for_function("() => document.querySelectorAll('dialog').length === 1")
    assert "Half" not in page.input_value("textarea[name=body]")
    page.click("dialog button >> text=Cancel")
    page.wait_for_selector("dialog", state="detached")
    assert "Half" not in browser.world.json("get", "checkpoint")["body"]
    page.click("button >> text=Delete")
    page.click("dialog button.primary")
    page.wait_for_url("**/activity")
    assert browser.world.run("get", "checkpoint", check=False) == ""
    page.click(".toast button >> text=Undo")
    page.wait_for_selector(".toast >> text=The change is undone")
    assert browser.world.json("get", "checkpoint")["key"] == "checkpoint"
    # A tab that has the note open says when it is deleted elsewhere.
    page.goto(browser.path("/notes/checkpoint"))
    ready(page)
    browser.world.run("delete", "checkpoint")
    page.wait_for_selector("main h2 >> text=This note was deleted")
    assert "checkpoint is written" not in page.inner_text("main")
    # It follows when the note comes back.
    browser.world.run("undo")
    page.wait_for_selector(".prose >> visible=true")
    ready(page)
    browser.world.run("delete", "checkpoint")
    page.wait_for_selector("main h2 >> text=This note was deleted")
    page.click("main a >> text=Activity")
    row = page.locator(".activity-row", has_text="deleted").first
    assert "checkpoint" in row.inner_text()
    row.locator("button").click()
    page.wait_for_selector(".toast >> text=The change is undone")
    undone = page.wait_for_selector(".activity-row.undone > div")
    assert "line-through" in undone.evaluate("(row) => getComputedStyle(row).textDecoration")
    assert browser.world.json("get", "checkpoint")["key"] == "checkpoint"


def test_what_can_no_longer_be_applied_is_said_and_stays(browser):
    world = browser.world
    first = world.json("agent", "review")["proposals"][0]
    for note in first["notes"]:
        world.run("insert", "--key", note["key"], "--update", "--body", "It says something else now.")
    page = browser.open().page
    page.goto(browser.path("/review"))
    page.wait_for_selector(".proposal")
    ready(page)
    stale = page.locator(".proposal", has_text="Too late")
    number = stale.count()
    assert number >= 1 and "was edited since" in stale.first.inner_text()
    stale.first.focus()
    page.keyboard.press("a")
    page.wait_for_selector(".toast >> text=It can no longer be applied")
    page.click(".run-head button >> text=Apply all") if page.is_enabled(".run-head button >> text=Apply all") else None
    ready(page)
    assert page.locator(".proposal", has_text="Too late").count() == number
    # Runs whose proposals wait are found, also if some of them were applied.
    page.goto(browser.path("/activity?runs=proposed"))
    page.wait_for_selector("tbody tr")
    assert "linker" in page.inner_text("tbody")


def test_proposals_are_decided_by_keyboard_and_undone(browser):
    waiting = browser.world.json("agent", "review")["proposals"]
    assert len(waiting) >= 2, waiting
    page = browser.open().page
    ready(page)
    page.locator("dl.figures a", has_text=str(len(waiting))).click()
    page.wait_for_selector(".proposal")
    ready(page)
    page.keyboard.press("j")
    number = page.evaluate("() => document.activeElement.dataset.number")
    run = page.evaluate("() => document.activeElement.dataset.run")
    assert (waiting[0]["run"], str(waiting[0]["number"])) == (run, number)
    page.keyboard.press("a")
    page.wait_for_selector(".toast >> text=Applied")
    ready(page)
    assert len(browser.world.json("agent", "review")["proposals"]) == len(waiting) - 1
    page.locator(".toast button", has_text="Undo").click()
    page.wait_for_selector(".toast >> text=waits again")
    ready(page)
    assert len(browser.world.json("agent", "review")["proposals"]) == len(waiting)
    page.keyboard.press("k")
    page.keyboard.press("r")
    page.wait_for_selector(".toast >> text=Rejected")
    ready(page)
    assert len(browser.world.json("agent", "review")["proposals"]) == len(waiting) - 1
    # What was rejected is found again, and waits again.
    page.click("nav.choices >> text=Rejected")
    page.wait_for_url("**/review?rejected")
    page.wait_for_selector(".proposal")
    ready(page)
    assert page.locator(".proposal").count() == 1
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_selector(".toast >> text=Waits again")
    page.wait_for_selector(".empty >> text=Nothing is rejected")
    assert len(browser.world.json("agent", "review")["proposals"]) == len(waiting)


def test_the_keys_of_a_screen_are_shown_and_hits_are_reached_by_arrows(reading):
    page = reading.open().page
    page.goto(reading.path("/search?q=broker"))
    page.wait_for_selector(".hit")
    page.locator("input[name=q]").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.activeElement === document.querySelectorAll('.hit h2 a')[1]")
    page.keyboard.press("?")
    keys = page.inner_text("dialog[open]")
    assert "next note" in keys and "search" in keys, keys
    # Keys do nothing behind the dialog.
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.wait_for_function("() => document.activeElement === document.querySelectorAll('.hit h2 a')[1]")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("() => document.activeElement.name") == "q"
    # Where the bar has no field, the key leads to the screen of the search.
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(reading.path("/"))
    ready(page)
    page.keyboard.press("/")
    page.wait_for_url("**/search")


def test_agents_run_pause_and_explain(browser):
    page = browser.open().page
    page.goto(browser.path("/agents"))
    ready(page)
    assert page.locator("tbody tr").count() == 8
    costs = page.locator("thead th").all_inner_texts().index("Cost today")
    assert page.locator(f"tbody td:nth-child({costs + 1})").all_inner_texts() == ["$0.00"] * 8
    page.click("a >> text=separator")
    page.wait_for_url("**/agents/separator")
    ready(page)
    page.click("button >> text=Dry run")
    page.wait_for_selector(".card >> text=Nothing was written")
    page.click("button >> text=Pause")
    page.wait_for_selector("button >> text=Resume")
    assert browser.world.json("agent", "show", "separator")["agent"]["state"] == "paused"
    page.click("button >> text=Resume")
    page.wait_for_selector("button >> text=Pause")
    page.click("button >> text=Run now")
    page.wait_for_selector("table tbody tr")
    page.locator("table tbody a").first.click()
    page.wait_for_url("**/runs/*")
    ready(page)
    assert "separator" in page.inner_text("h1")


def test_screens_follow_changes_from_elsewhere(browser):
    first, second = browser.open().page, browser.open().page
    for page in (first, second):
        page.goto(browser.path("/activity"))
        ready(page)
        page.wait_for_selector("#changes")
    browser.world.run("insert", "--title", "Seen at once", "--key", "seen-at-once")
    for page in (first, second):
        page.wait_for_selector("text=Seen at once")
    first.locator(".activity-row", has_text="Seen at once").locator("button").click()
    second.wait_for_function("() => document.querySelector('.activity-row.undone')")


def test_the_page_outlives_its_daemon(browser):
    watched = browser.open()
    watched.expected = ("ERR_", "Failed to load")
    page = watched.page
    page.goto(browser.path("/health"))
    ready(page)
    editor = page.context.new_page()
    editor.goto(browser.path("/agents/linker"))
    editor.wait_for_selector("agent-editor >> text=No errors")
    browser.world.kill()
    page.wait_for_selector(".offline")
    editor.locator("agent-editor textarea").press("x")
    editor.wait_for_selector(".problems >> text=does not answer")
    assert editor.is_disabled("agent-editor button.primary")
    browser.world.start()
    page.wait_for_function("() => !document.querySelector('.offline')")
    # What was typed is still there, and is checked again.
    editor.wait_for_selector(".problems .bad .tag >> text=error")
    assert editor.input_value("agent-editor textarea").count("x") > 0
    browser.world.run("insert", "--title", "After the restart", "--key", "after")
    page.goto(browser.path("/notes/after"))
    ready(page)
    assert page.inner_text("h1") == "After the restart"


def test_undoing_a_change_of_many_notes_asks_first(browser):
    watched = browser.open()
    # The note does not exist after it.
    watched.expected = ("status of 404",)
    page = watched.page
    page.goto(browser.path("/notes/broker-tls"))
    ready(page)
    before = browser.world.json("stats")["live"]
    created = page.locator(".change", has_text="imported").first
    created.locator("button", has_text="Undo").click()
    asked = page.locator("dialog")
    assert "together, by import:" in asked.inner_text()
    asked.locator("button", has_text="Cancel").click()
    assert browser.world.json("stats")["live"] == before
    created.locator("button", has_text="Undo").click()
    page.locator("dialog button.primary").click()
    page.wait_for_selector(".toast >> text=Undone")
    assert browser.world.json("stats")["live"] < before
    # Activity asks as well, and brings everything back.
    page.goto(browser.path("/activity"))
    ready(page)
    page.locator(".activity-row", has_text="undid").first.locator("button").click()
    page.locator("dialog button.primary").click()
    page.wait_for_selector(".toast >> text=It is brought back")
    assert browser.world.json("stats")["live"] == before


def test_an_edit_never_replaces_a_version_that_was_not_seen(browser):
    watched = browser.open()
    watched.expected = ("status of 409",)
    page = watched.page
    page.goto(browser.path("/notes/broker-tls"))
    ready(page)
    theirs = lambda body: browser.world.run("insert", "--key", "broker-tls", "--update", "--body", body)
    # Without an edit, the open note follows.
    theirs("The broker speaks TLS since Monday.")
    page.wait_for_selector(".state-line >> text=changed elsewhere")
    assert "since Monday" in page.inner_text(".prose")
    # During an edit, the dialog says so, keeps what was typed and shows both.
    page.keyboard.press("e")
    page.fill("textarea[name=body]", "The broker speaks TLS since Friday.")
    theirs("The broker speaks TLS since Tuesday.")
    page.wait_for_selector("dialog >> text=changed in the meantime")
    page.click("dialog button.primary")
    page.wait_for_selector("dialog >> text=Somebody else saved version")
    shown = page.inner_text("dialog")
    assert "Tuesday" in shown and "Friday" in shown
    assert "Tuesday" in browser.world.json("get", "broker-tls")["body"]
    page.click("dialog button >> text=Go on editing")
    assert page.input_value("textarea[name=body]") == "The broker speaks TLS since Friday."
    page.click("dialog button.primary")
    page.wait_for_selector(".toast >> text=Saved as a new version")
    assert "Friday" in browser.world.json("get", "broker-tls")["body"]


def test_a_link_is_made_by_words_of_a_title(browser):
    watched = browser.open()
    watched.expected = ("status of 404",)
    page = watched.page
    page.goto(browser.path("/notes/broker-tls"))
    ready(page)
    page.keyboard.press("l")
    page.locator("dialog input[name=to]").press_sequentially("refused cards")
    # Words that are not a key are refused in the dialog, which keeps them.
    page.wait_for_selector(".suggestions button >> text=Runbook for refused cards")
    page.click("dialog button.primary")
    page.wait_for_selector("dialog .problem >> text=there is no note")
    assert page.input_value("dialog input[name=to]") == "refused cards" and "poc-memory" not in page.inner_text("dialog .problem")
    page.press("dialog input[name=to]", "ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("dialog input[name=to]") == "runbook"
    page.click("dialog button.primary")
    page.wait_for_selector(".toast >> text=Link added")
    page.wait_for_selector(".edge >> text=Runbook for refused cards")


def test_a_search_says_when_nothing_is_near_and_shows_more(browser):
    world = browser.world
    for number in range(40):
        world.run("insert", "--key", f"buoy-{number}", "--title", f"Buoy {number} of the harbour", "--body", f"It was painted in year {1900 + number}.")
    page = browser.open().page
    page.goto(browser.path("/search?q=buoy"))
    page.wait_for_function("() => document.querySelectorAll('.hit').length === 30")
    page.click("button >> text=Show more")
    page.wait_for_function("() => document.querySelectorAll('.hit').length >= 40")
    page.fill("input[name=q]", "zxqvbnm")
    page.wait_for_selector("text=No note has a word of the question")


def go(page, address):
    """Goes to an address although clicks that came before may still be followed: each of them can interrupt this once."""
    for _ in range(10):
        try:
            return page.goto(address)
        except Error as error:
            if "interrupted by another navigation" not in str(error):
                raise
            interrupted = error
    raise interrupted


def test_clicking_at_random_finds_no_error(browser):
    """A minute; PAGE_MONKEY_SECONDS sets another time, PAGE_MONKEY_SEED the clicks."""
    chance = random.Random(int(os.environ.get("PAGE_MONKEY_SEED", "7")))
    watched = browser.open()
    # A note that was deleted in the meantime, and requests of a screen that was left.
    watched.expected = ("status of 4", "ERR_ABORTED")
    page = watched.page
    end = time.monotonic() + float(os.environ.get("PAGE_MONKEY_SECONDS", "60"))
    while time.monotonic() < end:
        targets = page.locator("a:visible, button:visible, summary:visible, select:visible, input:visible")
        number = targets.count()
        if number == 0:
            # A document is being replaced by the next one.
            page.wait_for_timeout(50)
            continue
        target = targets.nth(chance.randrange(number))
        try:
            if target.inner_text(timeout=500) == "Sign out":
                continue
            target.click(timeout=500, no_wait_after=True)
            # Through the element and not the keyboard: what is typed while a document is being replaced is never acknowledged,
            # and the calls of the keyboard have no time limit.
            if chance.random() < 0.2:
                target.press_sequentially(chance.choice(["retry", "all | sort:weight", "<b>", "\u202e", "jjak"]), timeout=500)
            if chance.random() < 0.2:
                target.press(chance.choice(["Escape", "Enter", "Tab"]), timeout=500, no_wait_after=True)
        except Exception as error:
            # The element went away while the screen changed.
            assert "Timeout" in type(error).__name__ or "closed" not in str(error), error
        if not page.url.startswith(browser.origin):
            go(page, browser.path("/"))
    # A context with a navigation under way does not always close.
    go(page, "about:blank")


def test_a_session_shows_the_notes_of_one_tenant(chromium):
    world = World()
    for user, title in [("ann", "Harbour crane"), ("bob", "Lighthouse lamp")]:
        world.run("--tenant", f"user={user}", "insert", "--key", f"{user}/note", "--title", title, "--body", "It turns at night.")
    world.start()
    browser = Browser(chromium, world)
    try:
        watched = browser.open("--tenant", "user=ann")
        page = watched.page
        assert page.inner_text(".brand").split() == ["poc-memory", "user=ann"]
        ready(page)
        assert "+1" in page.locator("dl.figures > *", has_text="Notes").first.inner_text()
        page.goto(browser.path("/search?q=what+turns+at+night"))
        page.wait_for_selector(".hit")
        assert page.locator(".hit h2").all_inner_texts() == ["Harbour crane"]
        command = page.inner_text(".command code")
        assert command == "poc-memory --tenant 'user=ann' retrieve 'what turns at night'"
        page.locator(".hit h2 a").click()
        page.wait_for_url("**/notes/ann/note")
        ready(page)
        page.keyboard.press("e")
        page.fill("textarea[name=body]", "It turns **slowly**.")
        page.click("dialog button.primary")
        page.wait_for_selector(".prose strong")
        assert "slowly" in world.json("--tenant", "user=ann", "get", "ann/note")["body"]
        ready(page)
        # A change of this tenant from elsewhere reaches the open page.
        world.run("--tenant", "user=ann", "insert", "--key", "ann/note", "--update", "--title", "Harbour crane", "--body", "It was sold.")
        page.wait_for_selector(".state-line >> text=changed elsewhere")
        watched.expected = ("status of 404",)
        page.goto(browser.path("/notes/bob/note"))
        assert page.inner_text("h1") == "No such note"
        watched.check()
    finally:
        browser.close()
        world.close()


def test_a_read_only_store_is_marked_on_every_screen(chromium):
    world = World()
    for number in range(6):
        world.run("insert", "--key", f"note-{number}", "--title", f"Harbour {number}", "--body", "Ships at anchor")
    log = world.home / "store" / "log" / "00000000000000000001.log"
    damaged = bytearray(log.read_bytes())
    damaged[2000] ^= 0x10
    log.write_bytes(damaged)
    world.start()
    browser = Browser(chromium, world)
    try:
        page = browser.open().page
        for path in ["/", "/search", "/notes/note-5", "/agents", "/graph", "/health"]:
            page.goto(browser.path(path))
            page.wait_for_selector(".badge.bad >> text=store is read-only")
            assert page.get_attribute(".badge.bad", "title").startswith("read-only: log segment")
    finally:
        browser.close()
        world.close()


def test_a_page_of_an_allowed_origin_reads_and_writes_with_a_token(chromium):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), EmptyPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{server.server_port}"
        world = World()
        try:
            (world.home / "config.toml").write_text(f'[rest]\nenabled = true\naddress = "127.0.0.1:0"\nallowed-origins = ["{origin}"]\n')
            world.start()
            rest = world.json("daemon", "status")["rest"]
            token = (world.home / "token").read_text().strip()
            context = chromium.new_context()
            page = context.new_page()
            ask = """async ([url, token, body]) => {
                const answer = await fetch(url, { method: body ? "POST" : "GET", body: body && JSON.stringify(body),
                    headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) } }).catch((error) => error);
                return answer instanceof Error ? "refused" : [answer.status, (await answer.json()).key, answer.headers.get("etag")];
            }"""
            page.goto(origin)
            assert page.evaluate(ask, [f"{rest}/v1/insert", token, {"key": "a/crane", "title": "Crane"}]) == [201, "a/crane", '"1"']
            assert page.evaluate(ask, [f"{rest}/v1/nodes/a/crane", token, None]) == [200, "a/crane", '"1"']
            # The same server under another name is another origin.
            page.goto(origin.replace("127.0.0.1", "localhost"))
            assert page.evaluate(ask, [f"{rest}/v1/nodes/a/crane", token, None]) == "refused"
            context.close()
        finally:
            world.close()
            server.shutdown()
