"""What agents did: on the first screen, in the activity, and undone."""

import functools
import re

from conftest import ready


def links(world):
    return world.json("stats")["by_edge_kind"].get("link", 0)


def linked_notes(world, name):
    """Stores three notes with a name in common and returns the run of `linker` that links them. What it proposed before
    waits for a decision."""
    for key, title, body in [
        ("pump", "the pump stopped", "it lost its pressure at noon, and the night shift called the mechanic from home"),
        ("valve", "a valve was replaced", "the greenhouse had no water for two days, and the tomatoes were dry"),
        ("alarm", "an alarm rings", "the porter at the gate hears a bell whenever somebody opens the boiler room"),
    ]:
        world.run("insert", "--title", f"{name}: {title}", "--body", f"Because of {name}, {body}.",
                  "--key", f"{name.lower()}-{key}", "--type", "episodic")
    # Each run reads some of the notes that are new.
    for _ in range(10):
        done = world.json("agent", "run", "linker")
        if len(done["applied"]) >= 2:
            return done
    raise AssertionError(done)


def test_a_night_is_read_and_undone(browser):
    world = browser.world
    before = links(world)
    done = linked_notes(world, "PMP-3310")
    page = browser.open().page
    page.wait_for_selector(".action")
    ready(page)
    page.wait_for_selector(".figures small >> text=in this time")
    grown = re.search(r"\+(\d+) in this time", page.inner_text(".figures")).group(1)
    assert int(grown) == world.json("stats")["live"], "nothing was stored a day ago"
    # Each line leads to the notes and to the run, the latest change is the first, and each can be undone alone.
    latest = page.locator(".action").first
    assert latest.locator("a >> text=PMP-3310").count() == 2
    assert [a.get_attribute("href").split("/")[1] for a in latest.locator("a").all()] == ["notes", "notes", "runs"]
    assert re.search(r"run \w+ \d+, 20\d\d, \d\d:\d\d", page.inner_text("section[aria-labelledby=waiting] li"))
    for anchor in page.locator("main a").all():
        assert anchor.get_attribute("href").startswith(("/", "#")), anchor.inner_text()
    assert all(row.locator("a").count() for row in page.locator(".figures dd").all() if row.inner_text().split()[0] not in ("0",))
    first = page.locator(".action").first
    first.locator("button").click()
    page.wait_for_selector(".toast >> text=Undone: 1 change")
    page.wait_for_function("() => document.querySelectorAll('.action.undone').length === 1")
    assert links(world) == before + len(done["applied"]) - 1
    # The night as a whole, after a question.
    page.click("button >> text=Undo all of it")
    assert "changes since" in page.inner_text("dialog") or "1 change since" in page.inner_text("dialog")
    page.click("dialog button >> text=Cancel")
    assert links(world) == before + len(done["applied"]) - 1
    page.click("button >> text=Undo all of it")
    page.click("dialog button.primary")
    page.wait_for_function("() => document.querySelectorAll('.action').length > 0 && !document.querySelector('.action:not(.undone)')")
    assert links(world) == before
    assert page.locator("button >> text=Undo all of it").count() == 0
    # What this undid comes back; the change that was undone before stays undone.
    page.locator(".toast button", has_text="Bring back").last.click()
    page.wait_for_selector(".toast >> text=It is brought back")
    page.wait_for_function("() => document.querySelectorAll('.action.undone').length === 1")
    assert links(world) == before + len(done["applied"]) - 1
    # The button brings back all of it, also in another tab.
    page.reload()
    page.click("button >> text=Bring back what was undone")
    page.wait_for_function("() => document.querySelectorAll('.action').length > 0 && !document.querySelector('.action.undone')")
    assert links(world) == before + len(done["applied"])


def test_a_failure_leads_to_its_run_and_consolidation_is_listed(browser):
    world = browser.world
    (world.home / "config.toml").write_text('[models.broken]\nprovider = "broken"\nid = "broken"\n[providers.broken]\nkind = "command"\n'
                                            'command = ["sh", "-c", "echo no credit is left >&2; exit 1"]\n')
    world.kill()
    world.start()
    world.run("agent", "new", "diary")
    file = world.home / "agents" / "diary.toml"
    file.write_text(re.sub(r"(?m)^model = .*", 'model = "broken"', file.read_text()))
    world.run("agent", "reload")
    world.run("agent", "run", "diary", check=False)
    page = browser.open().page
    page.wait_for_selector("section[aria-labelledby=failures]")
    assert "no credit is left" in page.inner_text("section[aria-labelledby=failures]")
    page.click("dl.figures a[href='#failures']")
    page.click("section[aria-labelledby=failures] .tag")
    page.wait_for_url("**/runs/*")
    ready(page)
    assert page.inner_text("h1") == "diary" and "no credit is left" in page.inner_text("main .problem")
    # Consolidation runs on a schedule, so its answer is that of a daemon that has run for a night.
    night = {**world.json("night"), "consolidation": [{"run": "0" * 32, "at": "2026-11-26T03:00:00Z", "status": "noop", "message": "0 notes expired"}]}
    page.route("**/v1/night?*", lambda route: route.fulfill(json=night))
    page.goto(browser.path("/"))
    page.wait_for_selector("section[aria-labelledby=consolidation]")
    assert "0 notes expired" in page.inner_text("section[aria-labelledby=consolidation]")


def test_activity_lists_runs_by_agent_and_result(browser):
    world = browser.world
    for _ in range(3):
        world.run("agent", "run", "transfer", "--force", check=False)
    page = browser.open().page
    page.goto(browser.path("/activity"))
    page.wait_for_selector("tbody tr")
    # At first those that did something or failed.
    assert "transfer" not in page.locator("tbody").all_inner_texts()[0] and "linker" in page.inner_text("tbody")
    page.select_option("select[name=runs]", "idle")
    page.wait_for_selector("tbody >> text=transfer")
    # Runs of one agent in a row that found nothing are one row.
    assert "3 runs in a row" in page.inner_text("tbody")
    page.select_option("select[name=agent]", "linker")
    page.wait_for_selector(".empty >> text=No runs without a result of linker")
    page.click(".empty button")
    page.wait_for_selector("tbody >> text=linker")
    assert page.url.endswith("?runs=all&agent=linker") or page.url.endswith("?agent=linker&runs=all")
    page.reload()
    page.wait_for_selector("tbody tr")
    assert page.locator("tbody td:nth-child(2)").all_inner_texts() == ["linker"] * page.locator("tbody tr").count()
    # A run in full, with what it asked and what came back.
    page.locator("tbody a").first.click()
    page.wait_for_url("**/runs/*")
    ready(page)
    text = page.inner_text("main")
    for part in ("Proposed", "Prompt", "Reply 1", "run by hand"):
        assert part in text, (part, text)


def test_activity_of_one_agent_has_its_older_changes(browser):
    world = browser.world
    linked_notes(world, "PMP-3320")
    notes = [{"title": f"Later note {number}", "key": f"later-{number}"} for number in range(60)]
    for note in notes:
        world.run("insert", "--title", note["title"], "--key", note["key"])
    page = browser.open().page
    page.goto(browser.path("/activity"))
    page.wait_for_selector(".activity-row >> text=Later note 59")
    assert "linker" not in page.locator("ul.rows").inner_text()
    page.select_option("select[name=agent]", "linker")
    page.wait_for_selector(".activity-row >> text=agent:linker")
    # Its notes have their titles. Once it is undone there is nothing to undo any more, and the undo is listed with it.
    row = page.locator(".activity-row").first
    assert "PMP-3320: " in row.inner_text()
    row.locator("button").click()
    if page.locator("dialog[open]").count():
        page.click("dialog button.primary")
    page.wait_for_selector(".activity-row.undone")
    rows = page.locator(".activity-row").all_inner_texts()
    assert "undid" in rows[0] and "for linker" in rows[0], rows
    assert page.locator(".activity-row.undone button").count() == 0
    page.select_option("select[name=agent]", "transfer")
    page.wait_for_selector("text=transfer has changed nothing yet")


def answered(answer, route):
    route.fulfill(json=answer)


def test_the_end_of_a_budget_and_upper_bounds_of_costs_are_said(browser):
    page = browser.open().page
    spent = {"budget_warning": "the daily budget of all agents is used up: $4.99 of $5.00 spent or reserved"}
    for path in ("night", "agents"):
        answer = browser.world.json(*{"night": ["night"], "agents": ["agent", "list"]}[path])
        answer.update(spent)
        for agent in answer["agents"].values() if path == "night" else []:
            agent.update(cost=1.25, cost_at_most=True)
        page.route(f"**/v1/{path}*", functools.partial(answered, answer))
    for path in ("/", "/agents"):
        page.goto(browser.path(path))
        page.wait_for_selector(".problem >> text=$4.99 of $5.00 spent or reserved")
    page.goto(browser.path("/"))
    page.wait_for_selector(".card >> text=about $1.25")


def test_a_run_is_readable_and_its_changes_are_taken_back_one_by_one(browser):
    world = browser.world
    before = links(world)
    done = linked_notes(world, "PMP-3330")
    page = browser.open().page
    answer = world.json("agent", "inspect", done["run"])
    answer["calls"] = [{"model": "default", "tokens_in": 15557, "tokens_out": 16384, "cost": 0.1, "estimated": True}]
    page.route("**/v1/runs/*", lambda route: route.fulfill(json={**answer, "outcome": world.json("agent", "inspect", done["run"])["outcome"]}))
    page.goto(browser.path(f"/runs/{done['run']}"))
    # Notes have their titles and are links; numbers have separators; the JSON of the reply is indented.
    page.wait_for_selector(".action a >> text=PMP-3330: an alarm rings")
    assert page.locator(".action a[href='/notes/pmp-3330-alarm']").count() >= 1
    text = page.inner_text("main")
    assert "15,557 tokens read, 16,384 written" in text, text
    page.click("summary >> text=Reply 1")
    assert '{\n  "link-add": [\n    {' in page.inner_text("main pre.long >> visible=true")
    first = page.locator(".action").first
    first.locator("button").click()
    page.wait_for_selector(".toast >> text=1 change is undone")
    page.wait_for_selector(".action.undone")
    assert "line-through" in page.eval_on_selector(".action.undone > bdi", "(one) => getComputedStyle(one).textDecoration")
    assert links(world) == before + len(done["applied"]) - 1
    page.click(".toast button >> text=Bring back")
    page.wait_for_function("() => !document.querySelector('.action.undone')")
    assert links(world) == before + len(done["applied"])
    # Each undo is a change in the list, which can be undone as well.
    page.goto(browser.path("/activity"))
    page.wait_for_selector(".activity-row .tag >> text=undid")
    page.locator(".activity-row").first.locator("button").click()
    if page.locator("dialog[open]").count():
        page.click("dialog button.primary")
    page.wait_for_selector(".toast >> text=The change is undone")
    assert links(world) == before + len(done["applied"]) - 1


def test_an_undone_change_is_brought_back(browser):
    world = browser.world
    page = browser.open().page
    page.goto(browser.path("/activity"))
    ready(page)
    page.locator(".activity-row", has_text="runbook").last.locator("button").click()
    page.wait_for_selector(".toast >> text=The change is undone")
    assert world.run("get", "runbook", check=False) == ""
    page.click(".toast button >> text=Bring back")
    page.wait_for_selector(".toast >> text=It is brought back")
    assert world.json("get", "runbook")["title"] == "Runbook for refused cards"


def test_all_proposals_of_a_run_are_applied_and_undone(browser):
    world = browser.world
    before = links(world)
    page = browser.open().page
    page.goto(browser.path("/review"))
    page.wait_for_selector(".proposal")
    card = page.locator(".proposal").first
    # The notes that it is about are shown with their texts, so that nobody has to look elsewhere.
    assert card.locator(".about li").count() == 2 and card.locator(".about p").count() >= 1
    number = page.locator(".proposal").count()
    page.click(".run-head button >> text=Apply all")
    page.wait_for_selector(".toast >> text=Applied")
    page.wait_for_selector(".empty >> text=Nothing waits")
    assert links(world) == before + number
    page.click(".toast button >> text=Undo")
    page.wait_for_selector(".toast >> text=undone and wait")
    assert links(world) == before
    # They can be decided again.
    page.wait_for_function("(number) => document.querySelectorAll('.proposal').length === number", arg=number)
