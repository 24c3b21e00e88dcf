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


def select_b_tree(page):
    """Finds a note in the list, and selects it once the list shows what was found and nothing else."""
    page.fill(".graph-side input", "b-tree")
    page.wait_for_function("() => document.querySelector('graph-screen').graph.marked.length === document.querySelectorAll('.graph-list li').length")
    page.locator(".graph-list button", has_text="B-tree").first.click()
    page.wait_for_selector(".graph-side h2")


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
    select_b_tree(page)
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


RINGS = """() => {
    const canvas = document.querySelector('.graph-top');
    document.querySelector('graph-screen').graph.paint();
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    copy.drawImage(canvas, 0, 0);
    const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    let blue = 0;
    // The accent of the light theme: rgb(47 95 208).
    for (let at = 0; at < data.length; at += 4) blue += Math.abs(data[at] - 47) + Math.abs(data[at + 1] - 95) + Math.abs(data[at + 2] - 208) < 12 && data[at + 3] > 200;
    return blue;
}"""


def test_what_is_found_and_what_is_selected_has_a_ring(reading):
    page = reading.open().page
    page.goto(reading.path("/graph?renderer=2d"))
    page.wait_for_selector(".graph-list button")
    assert page.evaluate(RINGS) == 0
    page.fill(".graph-side input", "b-tree")
    page.wait_for_function("() => document.querySelector('graph-screen').graph.marked.length === document.querySelectorAll('.graph-list li').length")
    assert page.evaluate(RINGS) > 50
    # It says what it searches, and where the rest is searched.
    assert "in this graph" in page.inner_text(".graph-side [role=status]")
    assert page.get_attribute(".graph-side [role=status] a", "href") == "/search?q=b-tree"
    page.fill(".graph-side input", "")
    page.wait_for_function("() => document.querySelector('graph-screen').graph.marked.length === 0")
    assert page.evaluate(RINGS) == 0
    page.locator(".graph-list button").first.click()
    page.wait_for_selector(".graph-side h2")
    assert page.evaluate(RINGS) > 20


def test_a_selected_note_shows_its_links_with_reasons_and_the_legend_stays(reading):
    page = reading.open().page
    page.goto(reading.path("/graph?pipeline=" + "type:semantic"))
    page.wait_for_selector(".graph-list button")
    select_b_tree(page)
    page.wait_for_selector(".edge-kind >> text=not in this graph")
    linked = reading.world.json("get", "btree", "--all-edges")["edges"]
    notes = {edge["id"] for edges in linked.values() for edge in edges}
    assert page.locator(".graph-list li").count() == len(notes)
    assert f"Linked with {len(notes)} notes" in page.inner_text(".edge-kind")
    assert "shared keywords: btree" in page.inner_text(".graph-list") and page.locator(".graph-list .strength").count() == len(notes)
    assert page.locator(".legend li").count() > 0


def test_the_chosen_colour_stays_and_ages_are_ranges_of_days(reading):
    page = reading.open().page
    page.goto(reading.path("/graph"))
    page.wait_for_selector(".graph-list button")
    page.select_option("select[name=color]", "age")
    page.wait_for_function("() => location.search.includes('color=age')")
    page.wait_for_function("() => document.querySelectorAll('.legend li').length > 2")
    rows = page.locator(".legend li").all_inner_texts()
    assert all("20" in row for row in rows), rows
    assert sum(int(row.rsplit(" ", 1)[1]) for row in rows) == page.evaluate("() => document.querySelector('graph-screen').view.nodes.length")
    select_b_tree(page)
    page.click(".graph-side a >> text=Around this note")
    page.wait_for_url("**around=btree*")
    page.wait_for_selector(".graph-side h2")
    assert page.input_value("select[name=color]") == "age"
    # The heading has the title, not the key.
    assert page.inner_text("h1") == "Around B-tree"
    page.click("a >> text=The whole memory")
    page.wait_for_function("() => !location.search.includes('around')")
    ready(page)
    assert page.input_value("select[name=color]") == "age"


def test_every_colour_of_the_drawing_is_in_the_legend(reading):
    page = reading.open().page
    page.goto(reading.path("/graph"))
    page.wait_for_selector(".legend li")
    used = page.evaluate("""() => {
        const screen = document.querySelector('graph-screen');
        const shown = new Set(screen.groups.map(({ color }) => color));
        return screen.graph.nodes.every(({ color }) => shown.has(screen.graph.palette[color]));
    }""")
    assert used
