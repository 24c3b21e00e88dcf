// The graph of the memory, of the surroundings of a note, or of the answer of a pipeline. With a list beside it.

import { path, read } from "../api.js";
import { count, debounced, h, noteLink, notePath, strengthBar } from "../dom.js";
import { Screen, empty, listKeys } from "../frame.js";
import { GraphCanvas } from "../graph_canvas.js";
import { communityNames } from "../graph_names.js";
import { kindName } from "../link_kinds.js";
import { completing, mistakes } from "../pipeline_field.js";
import { dayText, minute, relative, timeForm } from "../time.js";

/** Notes listed beside the graph. */
const LISTED = 100;

/** Numbers of notes to choose from, and how many edges are asked for each note at most. */
const LIMITS = [500, 2000, 10000, 100000];
const EDGES = 2;
const MOST_EDGES = 100000;

/** A layout of more notes takes seconds; so many are shown until it is there. */
const AT_ONCE = 2000;

/** Colours that differ in hue at the same lightness, for twelve groups; the others are grey. */
const HUES = [255, 145, 30, 325, 195, 75, 285, 115, 0, 225, 55, 170];

/** The scale of ages, from the latest notes in red to the oldest in blue. Each colour has about as many notes. */
const AGE_HUES = [25, 55, 95, 150, 215, 265];

/** Notes that are marked in the drawing at most. */
const MARKED = 200;

/** What a note is coloured by. */
const COLORS = {
  community: ({ community }, names) => (community === null ? NONE : names.get(community)),
  type: ({ type }) => type,
  writer: ({ provenance }) => (provenance.startsWith("import:") ? "import" : provenance || NONE),
  state: ({ state }) => state,
  since: ({ since }) => since,
};

/** Notes without a community or a writer. */
const NONE = "none";

/** What the groups of a colour are called if there are too many for a colour each. */
const OTHERS = { community: "smaller communities", type: "other types", writer: "other writers", state: "other states", since: "others" };

/** The days of notes as ranges, the latest first: a function that gives the range of a note, and the ranges. */
function ageScale(nodes) {
  const days = nodes.map(({ modified }) => modified.slice(0, 10)).sort().reverse();
  const starts = new Map();
  const ranges = [];
  for (let at = 0; at < days.length;) {
    const end = Math.max(at, Math.round((ranges.length + 1) * days.length / AGE_HUES.length) - 1);
    const oldest = ranges.length === AGE_HUES.length - 1 ? days.at(-1) : days[Math.min(end, days.length - 1)];
    const [from, to] = [dayText(`${oldest}T12:00:00Z`), dayText(`${days[at]}T12:00:00Z`)];
    ranges.push(from === to ? from : `${from} – ${to}`);
    for (; at < days.length && days[at] >= oldest; at += 1) starts.set(days[at], ranges.length - 1);
  }
  return { ranges, rangeOf: ({ modified }) => ranges[starts.get(modified.slice(0, 10))] };
}

class GraphScreen extends Screen {
  connectedCallback() {
    this.fields = new URLSearchParams(location.search);
    super.connectedCallback();
    listKeys({ "← ↑ ↓ →": "move the drawing, if it has the focus", "+ −": "zoom it", 0: "show all of it", Esc: "select no note" });
    const repaint = () => this.graph?.canvas.isConnected && this.recolor();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  async load() {
    const [around, at] = [this.fields.get("around"), this.fields.get("at")];
    const pipeline = around ? null : this.fields.get("pipeline");
    const wanted = Number(this.fields.get("limit") ?? AT_ONCE);
    const ask = async (limit) => {
      const of = (time) => read("/v1/view", { around, pipeline, limit, plane: true, max_edges: Math.min(MOST_EDGES, Math.max(20000, EDGES * limit)), at: time });
      const [view, now] = await Promise.all([of(at), at && of(null).catch(() => ({ nodes: [], edges: [], node_count: 0, edge_count: 0 }))]);
      return { view, now };
    };
    const first = await ask(Math.min(wanted, AT_ONCE)).catch((error) => this.without(pipeline, at, error));
    if (first.problem || first.nothing) return first;
    this.missing = Math.min(wanted, first.view.node_count) - first.view.nodes.length;
    if (this.missing > 0) this.more(ask(wanted));
    return first;
  }

  /** Why there is no graph: a mistake in the pipeline, or a time before the first change. */
  async without(pipeline, at, error) {
    const view = { nodes: [], edges: [], node_count: 0, edge_count: 0 };
    if (at && error.status === 404) return { view, nothing: "Nothing was stored at that time. Notes that were imported may be older than the memory." };
    const { pipelines: [checked] } = pipeline ? await read("/v1/pipeline/check", { pipelines: pipeline }) : { pipelines: [{ sound: true }] };
    if (checked.sound) throw error;
    return { view, problem: checked.problem };
  }

  /** Shows all notes in the place of the first ones when they are there. */
  async more(asked) {
    try {
      const all = await asked;
      if (!this.isConnected) return;
      this.missing = 0;
      this.fill(this.show(all));
    } catch (error) {
      this.querySelector(".graph-rest")?.replaceChildren(`The other notes are not shown: ${error.message}`);
    }
  }

  /** What has become of the notes of a past view. Samples of more notes cannot be compared. */
  compare(then, now) {
    this.isWhole = [then, now].every(({ nodes, node_count: all }) => nodes.length === all);
    this.notesNow = now.node_count;
    if (!this.isWhole) return;
    const present = new Map(now.nodes.map((node) => [node.id, node]));
    const past = new Set(then.nodes.map(({ id }) => id));
    for (const node of then.nodes) {
      const after = present.get(node.id);
      node.since = !after ? "gone since" : after.modified !== node.modified ? "changed since" : "unchanged";
    }
    this.newer = now.nodes.filter(({ id }) => !past.has(id));
    this.edgesNow = now.edge_count;
  }

  show({ view, now, problem, nothing }) {
    this.view = view;
    this.communities = null;
    const [around, at] = [this.fields.get("around"), this.fields.get("at")];
    if (at && now) this.compare(view, now);
    const compares = at && this.isWhole;
    this.label = `Graph of ${count(view.nodes.length, "note")}. The list has the same notes.`;
    this.tip = h("div", { class: "graph-tip", hidden: true });
    this.panel = h("div", { class: "graph-panel" });
    this.legend = h("details", { class: "graph-colors", open: true });
    this.side = h("div", { class: "graph-side" }, this.panel, this.legend);
    const keep = Object.fromEntries([...this.fields].filter(([name]) => name !== "at"));
    const choose = (name, label, options) => h("select", { "aria-label": label, name, onchange: (event) => this.choose(name, keep[name] = event.currentTarget.value) }, options.map(([value, text]) =>
      h("option", { value, selected: value === this.fields.get(name) }, text)));
    this.color = choose("color", "Colour", [compares && ["since", "Colour: change since"], ["community", "Colour: community"], ["type", "Colour: type"],
      ["age", "Colour: age"], ["writer", "Colour: writer"], ["state", "Colour: state"]].filter(Boolean));
    this.size = choose("size", "Size", [["degree", "Size: links"], ["weight", "Size: weight"]]);
    const more = view.node_count > view.nodes.length;
    const limits = h("select", { name: "limit", "aria-label": "Number of notes", onchange: (event) => event.currentTarget.form.submit() },
      LIMITS.map((limit) => h("option", { value: limit, selected: String(limit) === (this.fields.get("limit") ?? "2000") }, `${limit.toLocaleString("en")} notes`)));
    const field = h("input", { name: "pipeline", value: this.fields.get("pipeline") ?? "", placeholder: "Pipeline: type:episodic", "aria-label": "Pipeline",
      autocomplete: "off", spellcheck: "false" });
    const hidden = (name) => this.fields.get(name) && h("input", { type: "hidden", name, value: this.fields.get(name) });
    const head = h("div", { class: "title" }, h("h1", {}, around ? ["Around ", h("bdi", {}, view.nodes.find(({ key, id }) => key === around || id === around)?.title || around)] : "Graph"),
      !problem && !nothing && h("p", { class: "quiet" }, `${count(view.nodes.length, "note")}${more ? ` of ${view.node_count.toLocaleString("en")}${this.fields.get("pipeline") || around ? "" : ", those with the most links"}` : ""}, `
        + `${count(view.edges.length, "link")}${view.edge_count > view.edges.length ? ` of ${view.edge_count.toLocaleString("en")}, the strongest` : ""}`,
        at && view.as_of && [" as of ", minute(view.as_of.at)],
        this.missing > 0 && h("span", { class: "graph-rest", role: "status" }, `. Laying out ${count(this.missing, "more note")}…`)),
      around && this.linkTo({ around: null }, "The whole memory"),
      h("form", { class: "actions", action: "/graph" }, completing(field, { always: true }), hidden("at"), hidden("renderer"), limits, this.color, this.size));
    const time = h("details", { class: "graph-time", open: Boolean(at) }, h("summary", {}, at ? "As of another time" : "Another time"),
      timeForm(at && (view.as_of?.at ?? at), keep), at && now && this.since());
    if (problem) return [head, time, mistakes(problem.pipelines)];
    if (nothing) return [head, time, empty(["No notes as of ", minute(at)], nothing, " ", this.linkTo({ at: null }, "The graph now"))];
    if (view.nodes.length === 0) return [head, time, empty("No notes", "The pipeline selects nothing, or the memory is empty.")];
    const buttons = h("div", { class: "graph-buttons" },
      [["+", "Zoom in", () => this.graph.zoom(1.25)], ["−", "Zoom out", () => this.graph.zoom(0.8)], ["⤢", "Show all", () => { this.graph.fit(); this.graph.draw(); }]]
        .map(([text, name, onclick]) => h("button", { class: "icon", title: name, "aria-label": name, onclick }, text)));
    const place = h("div", { class: "graph-canvas" }, buttons, this.tip);
    queueMicrotask(() => this.start(place));
    return [head, time, h("div", { class: "graph-frame" }, place, this.side)];
  }

  /** What has changed in the graph since the past time. */
  since() {
    if (!this.isWhole) {
      return h("p", { class: "graph-since" }, `${count(this.view.node_count, "note")} then and ${this.notesNow.toLocaleString("en")} now. What has changed is shown if all of them are: choose a greater number of notes, or a pipeline.`);
    }
    const tally = (name) => this.view.nodes.filter(({ since }) => since === name).length;
    return h("div", { class: "graph-since" },
      h("p", {}, `Since then: ${count(this.newer.length, "new note")}, ${tally("changed since")} changed, ${tally("gone since")} gone, `
        + `${count(this.view.edge_count, "link")} then and ${this.edgesNow.toLocaleString("en")} now.`),
      this.newer.length > 0 && h("details", {}, h("summary", {}, "New notes"), h("ul", {}, this.newer.slice(0, LISTED).map(({ key, title }) => h("li", {}, noteLink(key, title))))));
  }

  /** The address of this screen with other fields. */
  address(changes) {
    const fields = new URLSearchParams(this.fields);
    for (const [name, value] of Object.entries(changes)) {
      if (value) fields.set(name, value);
      else fields.delete(name);
    }
    return fields.size ? `/graph?${fields}` : "/graph";
  }

  /** A link to this screen with other fields. Colours and sizes that are chosen after it was made are kept, too. */
  linkTo(changes, text) {
    return h("a", { href: this.address(changes), onclick: (event) => { event.currentTarget.href = this.address(changes); } }, text);
  }

  /** Shows other colours or sizes, and keeps the choice in the address. */
  choose(name, value) {
    this.fields.set(name, value);
    history.replaceState(null, "", this.address({}));
    this.recolor();
  }

  start(place) {
    this.graph = new GraphCanvas(place, { label: this.label, renderer: this.fields.get("renderer"), onhover: (at, group) => this.hover(at, group), onselect: (at) => this.select(at) });
    const index = new Map(this.view.nodes.map(({ id }, at) => [id, at]));
    this.edges = this.view.edges.map(({ from, to, strength }) => [index.get(from), index.get(to), strength]);
    this.recolor(true);
    const focus = this.fields.get("around");
    const at = focus ? this.view.nodes.findIndex(({ key, id }) => key === focus || id === focus) : -1;
    if (at >= 0) this.graph.select(at);
    else this.list(this.words);
  }

  /** Sets colours and sizes. */
  recolor(fit = false) {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    const by = this.color.value;
    this.communities ??= communityNames(this.view.nodes);
    const ages = by === "age" && ageScale(this.view.nodes);
    const value = ages ? ages.rangeOf : COLORS[by];
    const names = this.view.nodes.map((node) => value(node, this.communities));
    const tally = new Map();
    for (const name of names) tally.set(name, (tally.get(name) ?? 0) + 1);
    const order = ages ? ages.ranges.map((name) => [name, tally.get(name)]) : [...tally].sort((a, b) => b[1] - a[1]);
    const hues = ages ? AGE_HUES : HUES;
    const grey = dark ? "#6c7681" : "#a2abb5";
    const palette = [...hues.map((hue) => `oklch(${dark ? "74%" : "58%"} 0.13 ${hue})`), grey];
    const isGrey = (name) => name === NONE || name === "unchanged";
    const colored = order.filter(([name]) => !isGrey(name)).slice(0, hues.length);
    const places = new Map(order.map(([name]) => [name, palette.length - 1]));
    colored.forEach(([name], at) => places.set(name, at));
    const rest = order.filter(([name]) => !isGrey(name)).slice(hues.length);
    this.groups = colored.map(([name, number]) => ({ name, number, color: palette[places.get(name)] }));
    if (rest.length > 0) this.groups.push({ name: `${rest.length.toLocaleString("en")} ${OTHERS[by]}`, number: rest.reduce((sum, [, number]) => sum + number, 0), color: grey });
    for (const [name, number] of order.filter(([name]) => isGrey(name))) this.groups.push({ name: name === NONE ? `no ${by}` : name, number, color: grey });
    const most = this.view.nodes.reduce((most, node) => Math.max(most, node[this.size.value]), 1e-9);
    const nodes = this.view.nodes.map((node, at) => ({
      x: node.position[0], y: node.position[1], size: node[this.size.value] / most, color: places.get(names[at]), label: node.title || node.key,
    }));
    const { selected, marked } = this.graph;
    this.graph.set(nodes, this.edges, palette, fit);
    this.graph.marked = marked;
    this.legend.replaceChildren(h("summary", {}, "Colours"), h("ul", { class: "legend", "aria-label": "Colours" }, this.groups.map(({ name, number, color }) =>
      h("li", {}, h("i", { style: { "--color": color } }), h("bdi", {}, name), h("span", { class: "quiet" }, ` ${number.toLocaleString("en")}`)))),
    by === "community" && h("p", { class: "quiet" }, "A community is a group of notes with many links among each other, named by words of its titles.") || "");
    if (selected >= 0) this.graph.select(selected);
    else if (!fit) this.list(this.words);
  }

  hover(at, group) {
    this.tip.hidden = at < 0;
    const node = this.view.nodes[at];
    if (node && group) this.tip.replaceChildren(h("strong", {}, count(group, "note")), h("span", { class: "quiet" }, "around ", h("bdi", {}, node.title || node.key), ". A click opens them."));
    else if (node) this.tip.replaceChildren(h("strong", {}, h("bdi", {}, node.title || node.key)), h("span", { class: "quiet" }, `${node.type}, linked with ${count(node.degree, "note")}, changed ${relative(node.modified)}`));
  }

  select(at) {
    if (at < 0) return this.list(this.words);
    const node = this.view.nodes[at];
    const links = h("div", {});
    this.panel.replaceChildren(
      h("button", { class: "plain", onclick: () => this.graph.select(-1) }, "← All notes"),
      h("h2", {}, noteLink(node.key, node.title)),
      h("p", { class: "quiet" }, h("span", { class: "tag" }, node.type), `weight ${node.weight.toFixed(2)}, by `, h("bdi", {}, node.provenance)),
      h("p", {}, this.linkTo({ around: node.key }, "Around this note"), " · ", h("a", { href: notePath(node.key) }, "Open")), links);
    this.links(node, at, links);
  }

  /** Shows the links of a note, with their reasons and strengths, also those with notes that are not in this graph. */
  async links(node, at, place) {
    const here = new Map([...new Set(this.graph.neighbors[at])].map((index) => [this.view.nodes[index].id, index]));
    let edges = null;
    try {
      ({ edges } = await read(path`/v1/nodes/${node.id}`, { at: this.fields.get("at"), all_edges: true }));
    } catch {
      // The drawing still says which notes are linked.
    }
    if (!place.isConnected) return;
    if (!edges) return place.replaceChildren(this.rows([...here.values()].map((index) => [index, this.view.nodes[index]])));
    const notes = new Map();
    for (const [kind, list] of Object.entries(edges)) {
      for (const edge of list) notes.set(edge.id, [...(notes.get(edge.id) ?? []), { kind, ...edge }]);
    }
    const index = new Map(this.view.nodes.map(({ id }, index) => [id, index]));
    const strongest = (list) => Math.max(...list.map(({ strength }) => strength));
    const rows = [...notes].map(([id, list]) => ({ at: index.get(id) ?? -1, list, strength: strongest(list) }))
      .sort((a, b) => (b.at >= 0) - (a.at >= 0) || b.strength - a.strength);
    const away = rows.filter((row) => row.at < 0).length;
    place.replaceChildren(h("h3", { class: "edge-kind" }, rows.length === 0 ? "Linked with no note" : `Linked with ${count(rows.length, "note")}${away ? `, of which ${away.toLocaleString("en")} ${away === 1 ? "is" : "are"} not in this graph` : ""}`),
      h("ul", { class: "graph-list" }, rows.map((row) => this.linkRow(row))));
  }

  /** A linked note, and why and how strongly it is linked. */
  linkRow({ at, list, strength }) {
    const [{ key, title }] = list;
    const reasons = [...new Set(list.map(({ kind, reason }) => [kindName(kind), reason].filter(Boolean).join(": ")))];
    return h("li", {}, at >= 0 ? this.button(at) : h("p", { class: "away" }, noteLink(key, title)),
      strengthBar(strength),
      h("p", { class: "quiet reason" }, h("bdi", {}, reasons.join("; "))));
  }

  /** The notes as a list that can be filtered. What is found is marked in the drawing. */
  list(words = "") {
    const filter = h("input", { type: "search", placeholder: "Find in this graph", "aria-label": "Find in this graph", value: words, oninput: debounced(80, () => fill(filter.value)),
      onkeydown: (event) => event.key === "Enter" && rows.querySelector("button")?.click() });
    const found = h("p", { class: "quiet", role: "status" });
    const rows = h("div", {});
    const all = Array.from(this.graph.ranked, (at) => [at, this.view.nodes[at]]);
    const fill = (text) => {
      // A note was selected in the meantime: its links are shown, and the drawing shows it.
      if (this.panel.firstChild !== filter) return;
      this.words = text.trim();
      const wanted = this.words.toLowerCase();
      const hits = wanted ? all.filter(([, node]) => `${node.title} ${node.key}`.toLowerCase().includes(wanted)) : all;
      this.graph.mark(wanted ? hits.slice(0, MARKED).map(([at]) => at) : []);
      found.hidden = !wanted;
      found.replaceChildren(`${count(hits.length, "note")} of the ${all.length.toLocaleString("en")} in this graph, by title and key. `,
        h("a", { href: `/search?q=${encodeURIComponent(this.words)}` }, "Search the whole memory"));
      rows.replaceChildren(this.rows(hits.slice(0, LISTED)), hits.length > LISTED ? h("p", { class: "quiet" }, `${count(hits.length - LISTED, "more note")}`) : "");
    };
    this.panel.replaceChildren(filter, found, rows);
    fill(words);
  }

  rows(entries) {
    return h("ul", { class: "graph-list" }, entries.map(([at]) => h("li", {}, this.button(at))));
  }

  /** A note of the drawing, which a click selects. */
  button(at) {
    const { title, key } = this.view.nodes[at];
    return h("button", { class: "plain", onclick: () => this.graph.select(at, true) },
      h("i", { style: { "--color": this.graph.palette[this.graph.nodes[at].color] } }), h("bdi", {}, title || key));
  }
}

customElements.define("graph-screen", GraphScreen);
