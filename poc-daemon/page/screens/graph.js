// The graph of the memory, of the surroundings of a note, or of the answer of a pipeline. With a list beside it.

import { read } from "../api.js";
import { count, debounced, h, noteLink, notePath } from "../dom.js";
import { Screen, empty } from "../frame.js";
import { GraphCanvas } from "../graph_canvas.js";
import { communityNames } from "../graph_names.js";
import { completing } from "../pipeline_field.js";
import { minute, relative, timeForm } from "../time.js";

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

/** The ages that have a colour of their own, in days, from blue to red. */
const AGES = [[1, "Today"], [7, "This week"], [30, "This month"], [90, "Three months"], [365, "This year"], [Infinity, "Older"]];
const AGE_HUES = [25, 55, 95, 150, 215, 265];

/** What a note is coloured by. */
const COLORS = {
  community: ({ community }, now, names) => (community === null ? "none" : names.get(community)),
  type: ({ type }) => type,
  age: ({ modified }, now) => AGES.find(([days]) => now - Date.parse(modified) < days * 86400000)[1],
  writer: ({ provenance }) => (provenance.startsWith("import:") ? "import" : provenance || "none"),
  state: ({ state }) => state,
  since: ({ since }) => since,
};

class GraphScreen extends Screen {
  connectedCallback() {
    this.fields = new URLSearchParams(location.search);
    super.connectedCallback();
    const repaint = () => this.graph?.canvas.isConnected && this.recolor();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  async load() {
    const [around, at] = [this.fields.get("around"), this.fields.get("at")];
    const pipeline = around ? `key:"${around.replaceAll('"', '""')}" | spread,max_hops=2,min_activation=0.001` : this.fields.get("pipeline");
    const wanted = Number(this.fields.get("limit") ?? AT_ONCE);
    const ask = async (limit) => {
      const of = (time) => read("/v1/view", { pipeline, limit, plane: true, max_edges: Math.min(MOST_EDGES, Math.max(20000, EDGES * limit)), at: time });
      const [view, now] = await Promise.all([of(at), at && of(null).catch(() => ({ nodes: [], edges: [] }))]);
      return { view, now };
    };
    const first = await ask(Math.min(wanted, AT_ONCE));
    this.missing = Math.min(wanted, first.view.node_count) - first.view.nodes.length;
    if (this.missing > 0) this.more(ask(wanted));
    return first;
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

  /** What has become of the notes of a past view. */
  compare(then, now) {
    const present = new Map(now.nodes.map((node) => [node.id, node]));
    const past = new Set(then.nodes.map(({ id }) => id));
    for (const node of then.nodes) {
      const after = present.get(node.id);
      node.since = !after ? "gone since" : after.modified !== node.modified ? "changed since" : "unchanged";
    }
    this.newer = now.nodes.filter(({ id }) => !past.has(id));
    this.edgesNow = now.edges.length;
  }

  show({ view, now }) {
    this.view = view;
    this.communities = null;
    const [around, at] = [this.fields.get("around"), this.fields.get("at")];
    if (at) this.compare(view, now);
    this.label = `Graph of ${count(view.nodes.length, "note")}. The list has the same notes.`;
    this.tip = h("div", { class: "graph-tip", hidden: true });
    this.side = h("div", { class: "graph-side" });
    const choose = (name, label, options) => h("select", { "aria-label": label, name, onchange: () => this.recolor() }, options.map(([value, text]) =>
      h("option", { value, selected: value === this.fields.get(name) }, text)));
    this.color = choose("color", "Colour", [at && ["since", "Colour: change since"], ["community", "Colour: community"], ["type", "Colour: type"],
      ["age", "Colour: age"], ["writer", "Colour: writer"], ["state", "Colour: state"]].filter(Boolean));
    this.size = choose("size", "Size", [["degree", "Size: links"], ["weight", "Size: weight"]]);
    const more = view.node_count > view.nodes.length;
    const limits = h("select", { name: "limit", "aria-label": "Number of notes", onchange: (event) => event.currentTarget.form.submit() },
      LIMITS.map((limit) => h("option", { value: limit, selected: String(limit) === (this.fields.get("limit") ?? "2000") }, `${limit.toLocaleString("en")} notes`)));
    const field = h("input", { name: "pipeline", value: this.fields.get("pipeline") ?? "", placeholder: "Pipeline, such as type:episodic", "aria-label": "Pipeline",
      autocomplete: "off", spellcheck: "false" });
    const hidden = (name) => this.fields.get(name) && h("input", { type: "hidden", name, value: this.fields.get(name) });
    const head = h("div", { class: "title" }, h("h1", {}, around ? ["Around ", h("bdi", {}, around)] : "Graph"),
      h("p", { class: "quiet" }, `${count(view.nodes.length, "note")}${more ? ` of ${view.node_count.toLocaleString("en")}` : ""}, ${count(view.edges.length, "link")}`,
        at && [" as of ", minute(view.as_of.at)],
        this.missing > 0 && h("span", { class: "graph-rest", role: "status" }, `. Laying out ${count(this.missing, "more note")}…`)),
      around && h("a", { href: "/graph" }, "The whole memory"),
      h("form", { class: "actions", action: "/graph" }, completing(field, { always: true }), hidden("at"), hidden("renderer"), limits, this.color, this.size));
    const time = h("details", { class: "graph-time", open: Boolean(at) }, h("summary", {}, at ? "As of another time" : "Another time"),
      timeForm(at && view.as_of.at, Object.fromEntries([...this.fields].filter(([name]) => name !== "at"))), at && this.since());
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
    const tally = (name) => this.view.nodes.filter(({ since }) => since === name).length;
    return h("div", { class: "graph-since" },
      h("p", {}, `Since then: ${count(this.newer.length, "new note")}, ${tally("changed since")} changed, ${tally("gone since")} gone, `
        + `${count(this.view.edges.length, "link")} then and ${this.edgesNow.toLocaleString("en")} now.`),
      this.newer.length > 0 && h("details", {}, h("summary", {}, "New notes"), h("ul", {}, this.newer.slice(0, LISTED).map(({ key, title }) => h("li", {}, noteLink(key, title))))));
  }

  start(place) {
    this.graph = new GraphCanvas(place, { label: this.label, renderer: this.fields.get("renderer"), onhover: (at, group) => this.hover(at, group), onselect: (at) => this.select(at) });
    const index = new Map(this.view.nodes.map(({ id }, at) => [id, at]));
    this.edges = this.view.edges.map(({ from, to, strength }) => [index.get(from), index.get(to), strength]);
    this.recolor(true);
    const focus = this.fields.get("around");
    const at = focus ? this.view.nodes.findIndex(({ key, id }) => key === focus || id === focus) : -1;
    if (at >= 0) this.graph.select(at);
    else this.list("");
  }

  /** Sets colours and sizes. */
  recolor(fit = false) {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    const [now, value, by] = [Date.parse(this.view.as_of.at), COLORS[this.color.value], this.color.value];
    this.communities ??= communityNames(this.view.nodes);
    const names = this.view.nodes.map((node) => value(node, now, this.communities));
    const tally = new Map();
    for (const name of names) tally.set(name, (tally.get(name) ?? 0) + 1);
    const order = by === "age" ? AGES.map(([, name]) => name).filter((name) => tally.has(name)).map((name) => [name, tally.get(name)])
      : [...tally].sort((a, b) => b[1] - a[1]);
    const hues = by === "age" ? AGES.map(([, name], at) => [name, AGE_HUES[at]]).filter(([name]) => tally.has(name)).map(([, hue]) => hue) : HUES;
    const grey = dark ? "#6c7681" : "#a2abb5";
    const palette = [...hues.map((hue) => `oklch(${dark ? "74%" : "58%"} 0.13 ${hue})`), grey];
    const places = new Map(order.map(([name], at) => [name, at < hues.length && name !== "none" && name !== "unchanged" ? at : palette.length - 1]));
    this.groups = order.map(([name, number]) => ({ name, number, color: palette[places.get(name)] }));
    const most = this.view.nodes.reduce((most, node) => Math.max(most, node[this.size.value]), 1e-9);
    const nodes = this.view.nodes.map((node, at) => ({
      x: node.position[0], y: node.position[1], size: node[this.size.value] / most, color: places.get(names[at]), label: node.title || node.key,
    }));
    const selected = this.graph.selected;
    this.graph.set(nodes, this.edges, palette, fit);
    if (selected >= 0) this.graph.select(selected);
    else if (!fit) this.list("");
  }

  hover(at, group) {
    this.tip.hidden = at < 0;
    const node = this.view.nodes[at];
    if (node && group) this.tip.replaceChildren(h("strong", {}, count(group, "note")), h("span", { class: "quiet" }, "around ", h("bdi", {}, node.title || node.key), ". A click opens them."));
    else if (node) this.tip.replaceChildren(h("strong", {}, h("bdi", {}, node.title || node.key)), h("span", { class: "quiet" }, `${node.type}, ${count(node.degree, "link")}, changed ${relative(node.modified)}`));
  }

  select(at) {
    if (at < 0) return this.list("");
    const node = this.view.nodes[at];
    const neighbors = [...new Set(this.graph.neighbors[at])].map((index) => [index, this.view.nodes[index]]);
    this.side.replaceChildren(
      h("button", { class: "plain", onclick: () => this.graph.select(-1) }, "← All notes"),
      h("h2", {}, noteLink(node.key, node.title)),
      h("p", { class: "quiet" }, h("span", { class: "tag" }, node.type), `weight ${node.weight.toFixed(2)}, ${count(node.degree, "link")}, by `, h("bdi", {}, node.provenance)),
      h("p", {}, h("a", { href: `/graph?around=${encodeURIComponent(node.key)}` }, "Around this note"), " · ", h("a", { href: notePath(node.key) }, "Open")),
      neighbors.length > 0 && h("h3", { class: "edge-kind" }, "Linked here"), this.rows(neighbors));
  }

  /** The notes as a list that can be filtered. */
  list(words) {
    const filter = h("input", { type: "search", placeholder: "Find in this graph", "aria-label": "Find in this graph", value: words, oninput: debounced(80, () => fill(filter.value)) });
    const rows = h("div", {});
    const all = Array.from(this.graph.ranked, (at) => [at, this.view.nodes[at]]);
    const fill = (text) => {
      const wanted = text.toLowerCase();
      const found = wanted ? all.filter(([, node]) => `${node.title} ${node.key}`.toLowerCase().includes(wanted)) : all;
      rows.replaceChildren(this.rows(found.slice(0, LISTED)), found.length > LISTED ? h("p", { class: "quiet" }, `${count(found.length - LISTED, "more note")}`) : "");
    };
    fill(words);
    const legend = h("ul", { class: "legend", "aria-label": "Colours" }, this.groups.slice(0, 8).map(({ name, number, color }) =>
      h("li", {}, h("i", { style: { "--color": color } }), name, h("span", { class: "quiet" }, ` ${number}`))));
    this.side.replaceChildren(filter, legend, rows);
  }

  rows(entries) {
    return h("ul", { class: "graph-list" }, entries.map(([at, node]) => h("li", {},
      h("button", { class: "plain", onclick: () => this.graph.select(at, true) }, h("i", { style: { "--color": this.graph.palette[this.graph.nodes[at].color] } }), h("bdi", {}, node.title || node.key)))));
  }
}

customElements.define("graph-screen", GraphScreen);
