"""The pictures of README and of the guide. POC_MEMORY_BLESS=1 writes them into `docs/pictures`."""

import os
import pathlib
import re

from conftest import PLACE, ready

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The height that shows what the text beside a picture speaks of.
SCREENS = {"today": ("/", 900), "search": ("/search?q=slow+boot", 800), "review": ("/review", 640), "graph": ("/graph", 800)}


def named():
    """The names of the pictures that the documents show."""
    texts = [path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]]
    return {name for text in texts for name in re.findall(r"\((?:docs/)?pictures/([a-z-]+)\.png\)", text)}


def test_the_pictures_of_the_documents_are_made(browser):
    to = ROOT / "docs" / "pictures" if os.environ.get("POC_MEMORY_BLESS") else PLACE / "pictures" / "docs"
    to.mkdir(parents=True, exist_ok=True)
    browser.world.run("agent", "run", "linker", "--force")
    page = browser.open().page
    for name, (path, height) in SCREENS.items():
        page.set_viewport_size({"width": 1280, "height": height})
        page.goto(browser.path(path))
        ready(page)
        if name == "graph":
            page.wait_for_selector(".graph-list button")
        page.wait_for_timeout(300)
        page.screenshot(path=to / f"{name}.png")
    page.goto(browser.path("/agents/linker"))
    page.wait_for_selector("agent-editor >> text=No errors")
    text = page.input_value("agent-editor textarea")
    page.fill("agent-editor textarea", text.replace("[query]\n", '[query]\npipelin = "all"\n', 1))
    page.wait_for_selector(".mirror .bad")
    page.locator("agent-editor").screenshot(path=to / "agent-editor.png")
    made = {path.stem for path in to.glob("*.png")}
    assert named() == made, "each picture is shown, and each that is shown is made"
