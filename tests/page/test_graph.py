"""The graph: what is drawn, selected and named."""

import pytest
from conftest import ready


COLORS = """() => {
    const canvas = document.querySelector('.graph-base');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    document.querySelector('graph-screen').graph.paint();
    copy.drawImage(canvas, 0, 0);
    const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    return seen.size;
}"""


@pytest.mark.parametrize("renderer", ["2d", "webgl2"])
def test_the_graph_selects_by_list_keyboard_and_mouse(reading, renderer):
    watched = reading.open()
    # Chromium warns that it draws WebGL without a graphics card.
    watched.expected = ("GPU stall", "GL Driver Message", "software", "WebGL")
    page = watched.page
    page.goto(reading.path(f"/graph?renderer={renderer}"))
    ready(page)
    page.wait_for_selector(".graph-list button")
    assert page.get_attribute(".graph-canvas", "data-renderer") == renderer
    assert page.evaluate(COLORS) > 20
    for color in ("type", "age", "writer", "state", "community"):
        page.select_option("select[name=color]", color)
        assert page.locator(".legend li").count() > 0, color
    page.fill(".graph-side input", "b-tree")
    page.wait_for_function("() => document.querySelectorAll('.graph-list li').length < 10")
    page.locator(".graph-list button", has_text="B-tree").first.click()
    page.wait_for_selector(".graph-side h2 >> text=B-tree")
    page.locator(".graph-top").focus()
    for key in ("ArrowLeft", "+", "-", "0", "Escape"):
        page.keyboard.press(key)
    page.wait_for_selector(".legend")
    page.fill("input[name=pipeline]", "all | type:semantic")
    page.press("input[name=pipeline]", "Enter")
    page.wait_for_url("**pipeline=all*")
    page.wait_for_selector(".graph-list button")
    assert page.evaluate("() => document.querySelector('graph-screen').view.nodes.every(({ type }) => type === 'semantic')")


def test_clusters_collapse_when_they_are_far_away(reading):
    page = reading.open().page
    page.goto(reading.path("/graph?renderer=2d"))
    ready(page)
    page.wait_for_selector(".graph-list button")
    groups = page.evaluate("""() => {
        const { graph } = document.querySelector('graph-screen');
        graph.painter.limits = { ...graph.painter.limits, most: 5, apart: 60 };
        graph.paint();
        const sum = graph.layer.members.reduce((sum, number) => sum + number, 0);
        return [graph.layer.count, sum, graph.nodes.length, graph.layer.cell > 0];
    }""")
    assert groups[0] < groups[2] == groups[1] and groups[3], groups
    few = page.evaluate("""() => {
        const { graph } = document.querySelector('graph-screen');
        graph.painter.limits = { ...graph.painter.limits, groups: 14 };
        graph.paint();
        return [graph.layer.countIn(graph.box()), graph.layer.members.reduce((sum, number) => sum + number, 0)];
    }""")
    assert 0 < few[0] <= 14 and few[1] == groups[1], few
    # No group covers another one.
    covered = page.evaluate("""() => {
        const { layer } = document.querySelector('graph-screen').graph;
        const { x, y, radius, count } = layer;
        const covered = [];
        for (let a = 0; a < count; a += 1) {
            for (let b = 0; b < a; b += 1) {
                const room = Math.hypot(x[a] - x[b], y[a] - y[b]) - radius[a] - radius[b];
                if (room < -0.001 * layer.cell) covered.push([a, b, room]);
            }
        }
        return covered;
    }""")
    assert covered == []


def test_a_large_graph_shows_its_first_notes_until_all_are_laid_out(reading):
    page = reading.open().page
    held = []

    def answer(route):
        if "limit=10000" in route.request.url:
            held.append(route)
        else:
            # As if the memory had more notes than are laid out at once.
            route.continue_(url=route.request.url.replace("limit=2000", "limit=5"))

    page.route("**/v1/view?*", answer)
    page.goto(reading.path("/graph?limit=10000"))
    page.wait_for_selector(".graph-rest >> text=more notes")
    page.wait_for_selector(".graph-list button")
    count = "() => document.querySelector('graph-screen').graph.nodes.length"
    assert page.evaluate(count) == 5
    held[0].continue_()
    page.wait_for_function("() => !document.querySelector('.graph-rest')")
    page.wait_for_function("() => document.querySelector('graph-screen').graph.nodes.length > 5")
    assert page.locator(".graph-canvas").count() == 1


def test_communities_are_named_by_the_words_of_their_titles(reading):
    page = reading.open().page
    page.goto(reading.path("/graph"))
    page.wait_for_selector(".legend li")
    names = [name.rsplit(" ", 1)[0] for name in page.locator(".legend li").all_inner_texts()]
    titles = page.evaluate("() => document.querySelector('graph-screen').view.nodes.map(({ title }) => title.toLowerCase())")
    # A community without common words has the title of one of its notes.
    words = [word for name in names if name != "none" and not any(title.startswith(name.lower().rstrip("…")) for title in titles) for word in name.split(", ")]
    assert words and len(set(names)) == len(names), names
    for word in words:
        assert sum(word in title for title in titles) >= 2, (word, names)
