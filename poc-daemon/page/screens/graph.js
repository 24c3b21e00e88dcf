// The graph of the memory, of the surroundings of a note, or of the answer of a pipeline. With a list beside it.

import { read } from "../api.js";
import { count, debounced, h, noteLink, notePath } from "../dom.js";
import { Screen, empty } from "../frame.js";
import { GraphCanvas } from "../graph_canvas.js";

/** Notes listed beside the graph. */
const LISTED = 100;

/** Colours that differ in hue at the same lightness, for twelve groups; the others are grey. */
const HUES = [255, 145, 30, 325, 195, 75, 285, 115, 0, 225, 55, 170];

class GraphScreen extends Screen {
  connectedCallback() {
    this.fields = new URLSearchParams(location.search);
    super.connectedCallback();
    const repaint = () => this.graph?.canvas.isConnected && this.recolor();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  async load() {
    const around = this.fields.get("around");
    const pipeline = around ? `key:"${around.replaceAll('"', '""')}" | spread,max_hops=2,min_activation=0.001` : this.fields.get("pipeline");
    return read("/v1/view", { pipeline, limit: this.fields.get("limit") ?? 2000, max_edges: 20000 });
  }

  show(view) {
    this.view = view;
    const around = this.fields.get("around");
    const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": `Graph of ${count(view.nodes.length, "note")}. The list has the same notes.` });
    this.tip = h("div", { class: "graph-tip", hidden: true });
    this.side = h("div", { class: "graph-side" });
    const choose = (name, options) => h("select", { "aria-label": name, name, onchange: () => this.recolor() }, options.map(([value, text]) => h("option", { value }, text)));
    this.color = choose("Colour", [["community", "Colour: community"], ["type", "Colour: type"], ["state", "Colour: state"]]);
    this.size = choose("Size", [["degree", "Size: links"], ["weight", "Size: weight"]]);
    const more = view.node_count > view.nodes.length;
    const limits = h("select", { name: "limit", "aria-label": "Number of notes", onchange: (event) => event.currentTarget.form.submit() },
      [500, 2000, 10000].map((limit) => h("option", { value: limit, selected: String(limit) === (this.fields.get("limit") ?? "2000") }, `${limit.toLocaleString("en")} notes`)));
    const head = h("div", { class: "title" }, h("h1", {}, around ? ["Around ", h("bdi", {}, around)] : "Graph"),
      h("p", { class: "quiet" }, `${count(view.nodes.length, "note")}${more ? ` of ${view.node_count.toLocaleString("en")}` : ""}, ${count(view.edges.length, "link")}`),
      around && h("a", { href: "/graph" }, "The whole memory"),
      h("form", { class: "actions", action: "/graph" },
        h("input", { name: "pipeline", value: this.fields.get("pipeline") ?? "", placeholder: "Pipeline, such as type:episodic", "aria-label": "Pipeline", spellcheck: "false" }),
        limits, this.color, this.size));
    if (view.nodes.length === 0) return [head, empty("No notes", "The pipeline selects nothing, or the memory is empty.")];
    const buttons = h("div", { class: "graph-buttons" },
      [["+", "Zoom in", () => this.graph.zoom(1.25)], ["−", "Zoom out", () => this.graph.zoom(0.8)], ["⤢", "Show all", () => { this.graph.fit(); this.graph.draw(); }]]
        .map(([text, name, onclick]) => h("button", { class: "icon", title: name, "aria-label": name, onclick }, text)));
    queueMicrotask(() => this.start(canvas));
    return [head, h("div", { class: "graph-frame" }, h("div", { class: "graph-canvas" }, canvas, buttons, this.tip), this.side)];
  }

  start(canvas) {
    this.graph = new GraphCanvas(canvas, { onhover: (at) => this.hover(at), onselect: (at) => this.select(at) });
    const index = new Map(this.view.nodes.map(({ id }, at) => [id, at]));
    this.edges = this.view.edges.map(({ from, to, strength, kind }) => [index.get(from), index.get(to), strength, kind]);
    this.recolor(true);
    const focus = this.fields.get("around");
    const at = focus ? this.view.nodes.findIndex(({ key, id }) => key === focus || id === focus) : -1;
    if (at >= 0) this.graph.select(at);
    else this.list("");
  }

  /** Sets colours and sizes. */
  recolor(fit = false) {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    const value = (node) => String(node[this.color.value] ?? "none");
    const tally = new Map();
    for (const node of this.view.nodes) tally.set(value(node), (tally.get(value(node)) ?? 0) + 1);
    this.groups = [...tally].sort((a, b) => b[1] - a[1]).map(([name, number], at) => ({
      name, number, color: at < HUES.length && name !== "none" ? `oklch(${dark ? "74%" : "58%"} 0.13 ${HUES[at]})` : dark ? "#6c7681" : "#a2abb5",
    }));
    const colors = new Map(this.groups.map(({ name, color }) => [name, color]));
    const most = Math.max(...this.view.nodes.map((node) => node[this.size.value]), 1e-9);
    const nodes = this.view.nodes.map((node) => ({
      x: node.position[0], y: node.position[1], size: node[this.size.value] / most, color: colors.get(value(node)), label: node.title || node.key,
    }));
    const selected = this.graph.selected;
    this.graph.set(nodes, this.edges, fit);
    if (selected >= 0) this.graph.select(selected);
  }

  hover(at) {
    this.tip.hidden = at < 0;
    const node = this.view.nodes[at];
    if (node) this.tip.replaceChildren(h("strong", {}, h("bdi", {}, node.title || node.key)), h("span", { class: "quiet" }, `${node.type}, ${count(node.degree, "link")}`));
  }

  select(at) {
    if (at < 0) return this.list("");
    const node = this.view.nodes[at];
    const neighbors = [...new Set(this.graph.neighbors[at])].map((index) => [index, this.view.nodes[index]]);
    this.side.replaceChildren(
      h("button", { class: "plain", onclick: () => this.graph.select(-1) }, "← All notes"),
      h("h2", {}, noteLink(node.key, node.title)),
      h("p", { class: "quiet" }, h("span", { class: "tag" }, node.type), `weight ${node.weight.toFixed(2)}, ${count(node.degree, "link")}`),
      h("p", {}, h("a", { href: `/graph?around=${encodeURIComponent(node.key)}` }, "Around this note"), " · ", h("a", { href: notePath(node.key) }, "Open")),
      neighbors.length > 0 && h("h3", { class: "edge-kind" }, "Linked here"), this.rows(neighbors));
  }

  /** The notes as a list that can be filtered. */
  list(words) {
    const filter = h("input", { type: "search", placeholder: "Find in this graph", "aria-label": "Find in this graph", value: words, oninput: debounced(80, () => fill(filter.value)) });
    const rows = h("div", {});
    const all = this.graph.ranked.map((at) => [at, this.view.nodes[at]]);
    const fill = (text) => {
      const wanted = text.toLowerCase();
      const found = wanted ? all.filter(([, node]) => `${node.title} ${node.key}`.toLowerCase().includes(wanted)) : all;
      rows.replaceChildren(this.rows(found.slice(0, LISTED)), found.length > LISTED ? h("p", { class: "quiet" }, `${count(found.length - LISTED, "more note")}`) : "");
    };
    fill(words);
    const legend = h("ul", { class: "legend", "aria-label": "Colours" }, this.groups.slice(0, 8).map(({ name, number, color }) =>
      h("li", {}, h("i", { style: { "--color": color } }), this.color.value === "community" ? `Community ${name}` : name, h("span", { class: "quiet" }, ` ${number}`))));
    this.side.replaceChildren(filter, legend, rows);
  }

  rows(entries) {
    return h("ul", { class: "graph-list" }, entries.map(([at, node]) => h("li", {},
      h("button", { class: "plain", onclick: () => this.graph.select(at, true) }, h("i", { style: { "--color": this.graph.nodes[at].color } }), h("bdi", {}, node.title || node.key)))));
  }
}

customElements.define("graph-screen", GraphScreen);
