// Runs and changes as they happen, and one run in full.

import { mayDecide, path, read, write } from "../api.js";
import { count, h, marked, noteLink } from "../dom.js";
import { Screen, empty, say, sayError } from "../frame.js";
import { onChange } from "../live.js";
import { runTable, status } from "../runs.js";
import { ago, minute } from "../time.js";

/** Runs and changes listed. */
const LISTED = 50;

/** Notes listed of one change. */
const NOTES = 3;

class ActivityScreen extends Screen {
  connectedCallback() {
    this.run = location.pathname.startsWith("/runs/") ? decodeURIComponent(location.pathname.split("/")[2]) : "";
    this.filter = "";
    super.connectedCallback();
    onChange(() => this.loadAndShow());
  }

  async load() {
    if (this.run) return { run: await read(path`/v1/runs/${this.run}`) };
    const changes = mayDecide ? read("/v1/changes", { limit: LISTED }) : { changes: null };
    const [history, latest] = await Promise.all([read("/v1/runs", { limit: LISTED }), changes]);
    return { runs: history.runs, changes: latest.changes };
  }

  show({ run, runs, changes }) {
    if (run) return oneRun(this, run);
    const names = [...new Set(runs.map(({ agent }) => agent))].sort();
    const shown = runs.filter(({ agent, status }) => !this.filter || agent === this.filter || status === this.filter);
    const choose = h("select", { "aria-label": "Runs of", onchange: (event) => { this.filter = event.currentTarget.value; this.loadAndShow(); } },
      h("option", { value: "" }, "All agents"), names.map((name) => h("option", { value: name, selected: name === this.filter }, name)));
    return [
      h("div", { class: "title" }, h("h1", {}, "Activity"), h("p", { class: "quiet live-mark" }, "Live"), h("div", { class: "actions" }, choose)),
      h("section", { "aria-labelledby": "runs" }, h("h2", { id: "runs" }, "Runs"),
        shown.length ? runTable(shown) : empty("No runs", "Runs of agents appear here as they happen.")),
      changes && h("section", { "aria-labelledby": "changes" }, h("h2", { id: "changes" }, "Changes"),
        changes.length ? h("ul", { class: "rows" }, changes.map((change) => changeRow(change, this))) : h("p", { class: "quiet" }, "Nothing has changed yet.")),
    ];
  }

  async undo(what) {
    try {
      const { undone, refused } = await write("/v1/undo", { what: String(what) });
      say([undone.length && `Undone: ${undone[0]}${undone.length > 1 ? ` and ${undone.length - 1} more` : ""}`,
        refused.length && `Left as it is: ${refused[0].action}: ${refused[0].reason}`].filter(Boolean).join(". ") || "Nothing was left to undo");
    } catch (error) {
      sayError(error);
    }
    await this.loadAndShow();
  }
}

const changeRow = ({ seq, at, actor, op, nodes }, screen) => h("li", { class: "activity-row" },
  h("div", {}, h("span", { class: "tag" }, op), h("bdi", {}, actor), " ",
    nodes.slice(0, NOTES).map((node, index) => [index > 0 && ", ", noteLink(node)]),
    nodes.length > NOTES && ` and ${nodes.length - NOTES} more`),
  h("span", { class: "side" }, ago(at)),
  h("button", { class: "plain", "aria-label": `Undo change ${seq}`, onclick: () => screen.undo(seq) }, "Undo"));

function oneRun(screen, { outcome, prompt, system, replies, calls, versions }) {
  const { run, agent, applied, proposed, rejected } = outcome;
  return [
    h("p", { class: "up" }, h("a", { href: "/activity" }, "Activity")),
    h("div", { class: "title" }, h("h1", {}, agent), status(outcome.status),
      h("div", { class: "actions" },
        proposed.some(({ state }) => state === "proposed") && h("a", { class: "button", href: `/review?run=${run}` }, "Review"),
        mayDecide && applied.some(({ undone }) => !undone) && h("button", { onclick: () => screen.undo(run) }, "Undo this run"))),
    h("p", { class: "quiet" }, minute(outcome.started), `, ${outcome.occasion}, model ${outcome.model}, ${count(outcome.selected, "note")} read`,
      outcome.cost && `, $${outcome.cost.toFixed(4)}`),
    outcome.message && h("p", { class: "problem" }, h("bdi", {}, marked(outcome.message))),
    outcome.notes && h("p", {}, h("bdi", {}, outcome.notes)),
    actions("Applied", applied, (action) => action.undone && h("span", { class: "tag" }, "undone")),
    actions("Proposed", proposed, (action) => h("span", { class: "tag" }, action.state)),
    actions("Refused", rejected, (action) => [h("span", { class: "tag" }, action.reason), " ", h("bdi", {}, marked(action.detail))]),
    versions.length > 0 && h("section", {}, h("details", {}, h("summary", {}, `${count(versions.length, "note")} read`),
      h("ul", { class: "rows" }, versions.map(([key, version]) => h("li", {}, noteLink(key), h("span", { class: "side" }, `version ${version}`)))))),
    calls.length > 0 && h("section", {}, h("h2", {}, "Calls"), h("ul", { class: "rows" }, calls.map((call) => h("li", {}, call.model,
      ` ${call.tokens_in ?? "?"} tokens in, ${call.tokens_out ?? "?"} out`, call.cost && `, $${call.cost.toFixed(4)}`, call.estimated && " (estimated)")))),
    text("System prompt", system),
    text("Prompt", prompt),
    replies.map((reply, index) => [text(`Reply ${index + 1}`, reply.text, reply.problems.length > 0),
      reply.problems.map((problem) => h("p", { class: "problem" }, h("bdi", {}, marked(problem))))]),
  ];
}

const actions = (name, list, note) => list.length > 0 && h("section", {}, h("h2", {}, `${name} (${list.length})`),
  h("ul", { class: "rows" }, list.map((action) => h("li", {}, h("bdi", {}, marked(action.action)), " ", note(action),
    h("p", { class: "quiet" }, h("bdi", {}, marked(action.why)))))));

const text = (name, content, open = false) => content && h("section", {},
  h("details", { open }, h("summary", {}, name), h("pre", { class: "long", tabindex: "0" }, h("bdi", {}, content))));

customElements.define("activity-screen", ActivityScreen);
