"""Prints how fast the page is with generated notes: first contentful paint, searches as they are typed, changes made elsewhere,
frames of the graph.

    bash tests/page/measure.sh [NOTES]         13,000 notes by default
"""

import json
import random
import statistics
import sys
import time

from conftest import Browser, World, ready
from playwright.sync_api import sync_playwright

import os

# How often each screen is opened, and the words that are typed.
OPENED = 5
QUESTIONS = ["slow boot after the migration", "why was the gateway refused", "certificates renewed by a timer", "plan for the harbour crane"]

FRAMES = """async (seconds) => {
    const { graph } = document.querySelector('graph-screen');
    const times = [];
    const end = performance.now() + 1000 * seconds;
    let last = performance.now();
    let step = 0;
    while (performance.now() < end) {
        // A reader who pans in a circle and zooms in and out.
        graph.pan(12 * Math.cos(step / 10), 12 * Math.sin(step / 10));
        graph.zoom(step % 60 < 30 ? 1.03 : 1 / 1.03);
        step += 1;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
    }
    times.sort((a, b) => a - b);
    return { frames: times.length, median: times[times.length >> 1], worst: times[Math.floor(times.length * 0.95)], drawn: graph.layer.count };
}"""


def notes(number, chance):
    """Notes with two keywords each, in which every tenth word is of their topic."""
    syllables = ["ba", "ko", "mi", "ter", "lan", "so", "ru", "ven", "qui", "da", "fo", "gel"]
    words = sorted({"".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(4000)})
    common = "the of and a to in is was for on that with as by after slow boot gateway refused certificate timer plan crane harbour migration".split()
    for at in range(number):
        topic = chance.randrange(len(words) // 8) * 8
        body = [chance.choice(words[topic:topic + 8]) if chance.random() < 0.1 else chance.choice(common) if chance.random() < 0.5 else chance.choice(words)
                for _ in range(chance.randint(30, 90))]
        title = " ".join([words[topic], *chance.choices(words, k=3)])
        yield {"key": f"note-{at}", "title": title.capitalize(), "body": " ".join(body) + ".", "type": chance.choice(["semantic", "episodic"]),
               "keywords": [words[topic], words[topic + 1]]}


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 13_000
    chance = random.Random(5)
    world = World()
    try:
        lines = world.home / "notes.jsonl"
        lines.write_text("".join(json.dumps(note) + "\n" for note in notes(number, chance)))
        started = time.monotonic()
        world.run("import", str(lines))
        print(f"{number} notes stored in {time.monotonic() - started:.0f} s")
        world.start()
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
            measure(Browser(chromium, world), number)
            chromium.close()
    finally:
        world.close()


def measure(browser, number):
    page = browser.open().page
    for name, path in {"today": "/", "search": "/search", "agents": "/agents", "note": "/notes/note-7"}.items():
        paints = []
        for _ in range(OPENED):
            page.goto(browser.path(path))
            ready(page)
            paints.append(page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"))
        print(f"first contentful paint, {name}: {statistics.median(paints):.0f} ms (of {OPENED}: {', '.join(f'{paint:.0f}' for paint in paints)})")
    follow(browser)
    page.goto(browser.path("/search"))
    ready(page)
    shown, ops = [], []
    for question in QUESTIONS:
        page.fill("input[name=q]", "")
        page.locator("input[name=q]").press_sequentially(question[:-1], delay=30)
        page.wait_for_timeout(500)
        # From the last key to the frame in which its answer is there.
        took = page.evaluate("""(last) => new Promise((done) => {
            const field = document.querySelector('input[name=q]');
            const answer = document.querySelector('search-screen > div:last-child');
            performance.clearResourceTimings();
            const started = performance.now();
            const watcher = new MutationObserver(() => requestAnimationFrame(() => {
                watcher.disconnect();
                const asked = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/search')).at(-1);
                done([performance.now() - started, asked?.duration ?? NaN]);
            }));
            watcher.observe(answer, { childList: true });
            field.value += last;
            field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        })""", question[-1])
        shown.append(took[0])
        ops.append(took[1])
    print(f"search, from the last key: {statistics.median(shown):.0f} ms, at most {max(shown):.0f} ms; the request alone: {statistics.median(ops):.0f} ms, at most {max(ops):.0f} ms")
    for limit in (limit for limit in (2000, 10_000, 100_000) if limit <= max(2000, number)):
        for renderer in ("2d", "webgl2"):
            started = time.monotonic()
            page.goto(browser.path(f"/graph?limit={limit}&renderer={renderer}"), timeout=600_000)
            try:
                page.wait_for_selector(".graph-list button", timeout=600_000)
            except Exception:
                print(f"graph, {limit} notes, {renderer}: {page.inner_text('main')[:300]}")
                continue
            first = time.monotonic() - started
            page.wait_for_function("() => !document.querySelector('.graph-rest')", timeout=600_000)
            loaded = time.monotonic() - started
            frames = page.evaluate(FRAMES, 4)
            print(f"graph, {limit} notes, {page.get_attribute('.graph-canvas', 'data-renderer')}: first notes after {first:.1f} s, all after {loaded:.1f} s, {1000 / frames['median']:.0f} frames a second"
                  f" (95 of 100 frames in {frames['worst']:.0f} ms), at the end {frames['drawn']} items drawn")


def follow(browser):
    """How long after a command has ended two windows show what it has changed."""
    pages = [browser.open().page for _ in range(2)]
    for page in pages:
        page.goto(browser.path("/activity"))
        ready(page)
        page.wait_for_selector("#changes")
    delays = []
    for at in range(OPENED):
        browser.world.run("insert", "--title", f"Change {at}", "--key", f"change-{at}")
        started = time.monotonic()
        for page in pages:
            page.wait_for_selector(f"text=Change {at}")
        delays.append(1000 * (time.monotonic() - started))
    print(f"a change of the command line in two windows: {statistics.median(delays):.0f} ms after the command, at most {max(delays):.0f} ms")
    for page in pages:
        page.close()


main()
