"""A person writes, checks, tries and runs agents on the page."""

import time

from conftest import LIMIT, PLACE, ready


def typed(page, text):
    """Puts a text into the editor as typing does."""
    page.fill("agent-editor textarea", text)


def test_a_person_writes_an_agent_and_sees_its_first_run(browser):
    page = browser.open().page
    page.goto(browser.path("/agents"))
    ready(page)
    page.click("button >> text=New agent")
    page.fill("dialog input[name=agent]", "gardener")
    page.click("dialog button.primary")
    page.wait_for_url("**/agents/gardener")
    page.wait_for_selector("agent-editor >> text=No errors")
    text = page.input_value("agent-editor textarea")
    assert "[query]" in text and "schedule" in text
    # A mistake is shown in its line while it is typed, with the words of `agent check`, and cannot be saved.
    typed(page, text.replace("[query]\n", "[query]\npipelin = \"all\"\n", 1))
    page.wait_for_selector(".mirror .bad")
    line = text.split("\n").index("[query]") + 2
    assert page.inner_text(".problems .bad button") == f"line {line}"
    assert "unknown key query.pipelin" in page.inner_text(".problems").replace("`", "")
    checked = browser.world.run("agent", "check", "gardener", "--text", page.input_value("agent-editor textarea"), check=False)
    assert f"agents/gardener.toml:{line}" in checked and "unknown key `query.pipelin`" in checked
    assert page.is_disabled("agent-editor button.primary")
    page.click(".problems button")
    (PLACE / "pictures").mkdir(parents=True, exist_ok=True)
    page.locator("agent-editor").screenshot(path=PLACE / "pictures" / "agent-editor.png")
    typed(page, text.replace("[query]\n", "[query]\n# The notes about sessions.\n", 1))
    page.wait_for_selector("agent-editor button.primary:not([disabled])")
    page.press("agent-editor textarea", "Control+s")
    page.wait_for_selector(".toast >> text=Saved")
    file = browser.world.home / "agents" / "gardener.toml"
    assert "# The notes about sessions." in file.read_text()
    # The template is the other file, and what it uses is checked together with the first.
    page.click("agent-editor button >> text=prompts/gardener.md")
    typed(page, "{{ NODES }}\n{{ NOTHING }}")
    page.wait_for_selector(".problems .bad >> text=NOTHING")
    page.click("agent-editor button >> text=Discard")
    page.wait_for_selector("agent-editor >> text=No errors")
    page.click("button >> text=Dry run")
    page.wait_for_selector(".card >> text=Nothing was written")
    assert page.locator(".card .diff").count() > 0, page.inner_text(".card")
    page.click("button >> text=Run now")
    page.wait_for_selector("section[aria-labelledby=past] tbody tr")
    assert browser.world.json("agent", "history", "gardener")["runs"][0]["status"] in ("ok", "partial", "noop")
    page.locator("section[aria-labelledby=past] tbody a").first.click()
    page.wait_for_url("**/runs/*")
    ready(page)
    assert page.inner_text("h1") == "gardener"


def test_a_mistake_in_a_pipeline_stays_in_its_line_and_is_shown_in_place_below(reading):
    page = reading.open().page
    page.goto(reading.path("/agents/linker"))
    page.wait_for_selector("agent-editor >> text=No errors")
    text = page.input_value("agent-editor textarea")
    height = page.evaluate("() => document.querySelector('.mirror').scrollHeight")
    typed(page, text.replace("not-visited:", "tpye:episodic | not-visited:", 1))
    page.wait_for_selector(".problems .mistake")
    # The lines of the text are as far apart with the message as without it.
    assert page.evaluate("() => document.querySelector('.mirror').scrollHeight") == height
    assert "\n" not in page.inner_text(".mirror b") and "unknown stage `tpye`" in page.inner_text(".mirror b")
    lines = page.inner_text(".problems .mistake pre").split("\n")
    assert lines[1].index("^") == lines[0].index("tpye") and "did you mean type" in lines[1].replace("`", "")


def test_a_paused_agent_says_so_once_and_can_be_run(browser):
    world = browser.world
    world.run("agent", "pause", "linker")
    page = browser.open().page
    page.goto(browser.path("/agents/linker"))
    ready(page)
    text = page.inner_text("section[aria-labelledby=next]")
    assert "It is paused since" in text and "runs it in spite of the pause" in text, text
    assert "would not run" not in text and "poc-memory" not in text and ".0Z" not in text and "T1" not in text, text
    page.goto(browser.path("/agents"))
    ready(page)
    assert "agent resume" not in page.inner_text("main") and "paused since" in page.inner_text("tbody")
    assert page.eval_on_selector("tbody td.number", "(cell) => getComputedStyle(cell).textAlign") == "right"


def test_a_dry_run_that_costs_something_says_so_before(browser):
    page = browser.open().page
    explained = browser.world.json("agent", "explain", "linker")
    explained["costs"]["most_usd"] = 0.1
    page.route("**/v1/agents/linker/explain*", lambda route: route.fulfill(json=explained))
    page.goto(browser.path("/agents/linker"))
    ready(page)
    page.click("button >> text=Dry run")
    assert "costs up to $0.10" in page.inner_text("dialog")
    page.click("dialog button.primary")
    page.wait_for_selector(".card >> text=Nothing was written")
    # One that the budget stops does not say that it would change nothing.
    stopped = {**browser.world.json("agent", "run", "linker", "--dry-run"), "status": "skipped", "reason": "over-budget",
               "message": "$5.0000 of $5.0000 are spent", "applied": [], "proposed": [], "rejected": []}
    page.route("**/v1/agents/linker/run", lambda route: route.fulfill(json=stopped))
    page.click("button >> text=Dry run")
    page.click("dialog button.primary")
    page.wait_for_selector(".toast >> text=linker would not run: $5.0000 of $5.0000 are spent")


def test_a_wrong_name_of_an_agent_and_one_without_tests(browser):
    page = browser.open().page
    page.goto(browser.path("/agents"))
    ready(page)
    page.click("button >> text=New agent")
    page.fill("dialog input[name=agent]", "no name!")
    page.click("dialog button.primary")
    page.wait_for_selector("dialog .problem >> text=A name has letters")
    page.fill("dialog input[name=agent]", "")
    page.click("dialog button.primary")
    page.wait_for_selector("dialog .problem >> text=Name is missing")
    # A copy has the schedule of the other agent, which the dialog says.
    assert "runs only on demand" in page.inner_text("dialog")
    page.select_option("dialog select[name=from]", "linker")
    assert "has the schedule of the other agent (" in page.inner_text("dialog")
    page.select_option("dialog select[name=from]", "")
    assert "runs only on demand" in page.inner_text("dialog")
    page.fill("dialog input[name=agent]", "weeder")
    page.click("dialog button.primary")
    page.wait_for_url("**/agents/weeder")
    page.click("button >> text=Run its tests")
    page.wait_for_selector("article[aria-label=Tests] >> text=This agent has no tests")
    assert page.locator("article[aria-label=Tests] ul").count() == 0


def test_what_was_changed_on_disk_is_shown_and_not_overwritten(browser):
    watched = browser.open()
    watched.expected = ("status of 409",)
    page = watched.page
    page.goto(browser.path("/agents/linker"))
    page.wait_for_selector("agent-editor >> text=No errors")
    bundled = page.input_value("agent-editor textarea")
    mine = bundled.replace("limit:20", "limit:7")
    typed(page, mine)
    page.wait_for_selector("agent-editor button.primary:not([disabled])")
    theirs = bundled.replace("limit:20", "limit:9")
    file = browser.world.home / "agents" / "linker.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(theirs)
    page.click("agent-editor button.primary")
    page.wait_for_selector("agent-editor [role=alert] >> text=was changed on disk")
    assert file.read_text() == theirs
    shown = page.inner_text("agent-editor [role=alert] .diff")
    assert "limit:9" in shown and "limit:7" in shown
    page.click("agent-editor button >> text=Keep my version")
    page.click("agent-editor button.primary:not([disabled])")
    page.wait_for_selector(".toast >> text=Saved")
    assert file.read_text() == mine
    # The version that was replaced is a click away.
    page.click("agent-editor button >> text=Restore previous version")
    page.wait_for_function("(text) => document.querySelector('agent-editor textarea').value === text", arg=theirs)
    deadline = time.monotonic() + LIMIT / 1000
    while file.read_text() != theirs:
        assert time.monotonic() < deadline, file.read_text()
        page.wait_for_timeout(50)
    # A file that changes while nothing is typed is shown as it is.
    file.write_text(bundled)
    browser.world.run("agent", "reload")
    page.wait_for_function("(text) => document.querySelector('agent-editor textarea').value === text", arg=bundled)


def test_tests_of_an_agent_run_and_a_draft_survives_leaving(browser):
    page = browser.open().page
    page.goto(browser.path("/agents/linker"))
    page.wait_for_selector("agent-editor >> text=No errors")
    page.click("button >> text=Run its tests")
    page.wait_for_selector("article[aria-label=Tests] >> text=4 of 4 passed")
    draft = page.input_value("agent-editor textarea") + "\n# not saved\n"
    typed(page, draft)
    page.goto(browser.path("/agents"))
    ready(page)
    page.goto(browser.path("/agents/linker"))
    page.wait_for_function("(text) => document.querySelector('agent-editor textarea')?.value === text", arg=draft)
    page.click("agent-editor button >> text=Discard")
    page.wait_for_function("() => !document.querySelector('agent-editor textarea').value.includes('not saved')")


def test_a_session_that_decides_nothing_reads_files_only(reading):
    page = reading.open("--read-only").page
    page.goto(reading.path("/agents/linker"))
    page.wait_for_selector("agent-editor >> text=No errors")
    assert page.get_attribute("agent-editor textarea", "readonly") is not None
    assert page.locator("agent-editor button.primary").count() == 0
    page.goto(reading.path("/agents"))
    ready(page)
    assert page.locator("button >> text=New agent").count() == 0
