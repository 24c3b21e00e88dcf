// Runs and changes as they happen, and one run in full.

import { mayDecide, path, read, write } from "../api.js";
import { count, dollars, h, marked, noteLink } from "../dom.js";
import { Screen, empty } from "../frame.js";
import { onChange } from "../live.js";
import { FAILED, WITH_RESULT, actionText, isFailure, keyLink, runStatus, runTable } from "../runs.js";
import { ago, minute, worded } from "../time.js";
import { MOST_CHANGES, areUndone, confirmUndo, undoAndSay } from "../undo.js";

/** Runs and changes listed at first. */
const LISTED = 50;

/** Notes listed of one change. */
const NOTES = 3;

/** Notes of which only links or visits were changed have an id in the place of their key when they are deleted. */
const ID = /^[0-9a-f]{32}$/;

/** What each op did, as a verb. */
const DID = { insert: "wrote", delete: "deleted", forget: "forgot", rename: "renamed", link: "linked", supersede: "replaced", weight: "set the weight of", import: "imported",
  reinforce: "marked as helpful", demote: "marked as not helpful", mark: "marked", visit: "read", undo: "undid", consolidate: "consolidated", "agent run": "changed",
  "agent undo": "undid", "agent apply": "applied proposals about", "vault sync": "synced" };

/** The choices of runs, with what is asked for. Most runs of a night read notes and find nothing to do. */
const KINDS = {
  "": ["Runs with a result", { status: WITH_RESULT }],
  failed: ["Failed runs", { status: FAILED }],
  proposed: ["Runs that wait for you", { waiting: true }],
  idle: ["Runs without a result", { status: ["noop", "skipped", "missed"] }],
  all: ["All runs", {}],
};

class ActivityScreen extends Screen {
  connectedCallback() {
    this.run = location.pathname.startsWith("/runs/") ? decodeURIComponent(location.pathname.split("/")[2]) : "";
    this.fields = new URLSearchParams(location.search);
    this.listed = LISTED;
    super.connectedCallback();
    onChange(() => this.loadAndShow());
  }

  async load() {
    if (this.run) return { run: await read(path`/v1/runs/${this.run}`) };
    const [agent, kind] = ["agent", "runs"].map((name) => this.fields.get(name) ?? "");
    const [, chosen] = KINDS[kind] ?? KINDS.all;
    const [history, latest, known] = await Promise.all([read("/v1/runs", { agent, ...chosen, limit: LISTED }),
      mayDecide ? read("/v1/changes", { agent, limit: this.listed }) : { changes: null }, this.agents ?? read("/v1/agents")]);
    this.agents ??= known.agents.map(({ name }) => name);
    return { runs: history.runs, changes: latest.changes, isMore: latest.changes?.length === this.listed && this.listed < MOST_CHANGES, agent, kind };
  }

  /** Shows other runs, and keeps the choice in the address. */
  choose(name, value) {
    this.fields.set(name, value);
    if (!value) this.fields.delete(name);
    history.replaceState(null, "", this.fields.size ? `?${this.fields}` : location.pathname);
    this.loadAndShow();
  }

  show({ run, runs, changes, isMore, agent, kind }) {
    if (run) return oneRun(this, run);
    const select = (name, label, options, chosen) => h("select", { name, "aria-label": label, onchange: (event) => this.choose(name, event.currentTarget.value) },
      options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
    const none = kind === "all" ? empty("No runs", "Runs of agents appear here as they happen.")
      : empty(`No ${KINDS[kind][0].toLowerCase()}${agent ? ` of ${agent}` : ""}`, "Runs appear here as they happen. ", h("button", { onclick: () => this.choose("runs", "all") }, "Show all runs"));
    return [
      h("div", { class: "title" }, h("h1", {}, "Activity"), h("p", { class: "quiet live-mark" }, "Live"), h("div", { class: "actions" },
        select("runs", "Which runs", Object.entries(KINDS).map(([value, [text]]) => [value, text]), kind),
        select("agent", "Of which agent", [["", "of all agents"], ...this.agents.map((name) => [name, `of ${name}`])], agent))),
      h("section", { "aria-labelledby": "runs" }, h("h2", { id: "runs" }, "Runs"), runs.length ? runTable(runs) : none),
      changes && h("section", { "aria-labelledby": "changes" }, h("h2", { id: "changes" }, "Changes of notes"),
        changes.length ? h("ul", { class: "rows" }, changes.map((change) => changeRow(change, this))) : h("p", { class: "quiet" }, agent ? `${agent} has changed nothing yet.` : "Nothing has changed yet."),
        isMore && h("p", {}, h("button", { onclick: () => { this.listed = Math.min(MOST_CHANGES, 4 * this.listed); this.loadAndShow(); } }, "Show older changes"))),
    ];
  }

  /** Undoes a change of notes, of which the list says what it did. */
  undo(seq, did) {
    const [done, back] = did === "undid" ? ["It is brought back", "Undo again"] : ["The change is undone", "Bring back"];
    return undoAndSay(() => write("/v1/undo", { what: String(seq) }), () => done, () => this.loadAndShow(), back);
  }

  /** Undoes a run, or some of its actions. */
  undoRun(run, only = []) {
    return undoAndSay(() => write(path`/v1/runs/${run}/undo`, only.length ? { only } : {}),
      ({ undone }) => areUndone(undone), () => this.loadAndShow());
  }
}

/** Why a run began. */
const OCCASIONS = { asked: "run by hand", schedule: "on schedule", batch: "the next batch of its slot", rerun: "again after a failure", change: "after a change" };

/** What a change did. An undo of the undo of a run has applied its actions again. */
const didOf = ({ op, run, redo }) => (redo && run ? "brought back" : DID[op] ?? op);

function changeRow(change, screen) {
  const { seq, at, actor, op, run, agent, nodes, titles, undone, count: number = nodes.length } = change;
  const did = didOf(change);
  const undo = () => confirmUndo({ actor, number, op: did === "undid" ? op : "" }, () => screen.undo(seq, did));
  return h("li", { class: undone ? "activity-row undone" : "activity-row" },
    h("div", {}, h(run ? "a" : "span", { class: "tag", href: run && `/runs/${run}`, title: `${op}, change ${seq}` }, did), h("bdi", {}, actor),
      agent && actor !== `agent:${agent}` && [" for ", h("bdi", {}, agent)], ": ",
      nodes.slice(0, NOTES).map((key, index) => [index > 0 && ", ", Object.hasOwn(titles, key) ? noteLink(key, titles[key]) : ID.test(key) ? "a deleted note" : [h("bdi", {}, key), " (deleted)"]]),
      number > NOTES && ` and ${(number - NOTES).toLocaleString("en")} more`),
    h("span", { class: "side" }, ago(at)),
    undone ? h("span", { class: "tag" }, "undone") : h("button", { class: "plain", "aria-label": did === "undid" ? `Bring back what change ${seq} undid` : `Undo change ${seq}`, onclick: undo }, did === "undid" ? "Bring back" : "Undo"));
}

function oneRun(screen, { outcome, prompt, system, replies, calls, versions }) {
  const { run, agent, applied, proposed, rejected } = outcome;
  return [
    h("p", { class: "up" }, h("a", { href: "/activity" }, "Activity")),
    h("div", { class: "title" }, h("h1", {}, h("a", { class: "note-link", href: `/agents/${encodeURIComponent(agent)}` }, agent)), runStatus(outcome.status, applied.length + proposed.length),
      h("div", { class: "actions" },
        proposed.some(({ state }) => state === "proposed") && h("a", { class: "button", href: `/review?run=${run}` }, "Review"),
        mayDecide && applied.some(({ undone }) => !undone) && h("button", { onclick: () => screen.undoRun(run) }, "Undo this run"))),
    h("p", { class: "quiet" }, minute(outcome.started), `, ${OCCASIONS[outcome.occasion] ?? outcome.occasion}, model ${outcome.model}, ${count(outcome.selected, "note")} read`,
      outcome.cost && `, ${dollars(outcome.cost, outcome.cost_at_most)}`),
    outcome.message && h("p", { class: isFailure(outcome.status) ? "problem" : null }, h("bdi", {}, worded(outcome.message))),
    outcome.notes && h("p", {}, h("bdi", {}, outcome.notes)),
    actions("Applied", applied, ({ undone, number, action }) => (undone ? h("span", { class: "tag" }, "undone")
      : mayDecide && h("button", { class: "plain", "aria-label": `Undo: ${action}`, onclick: () => screen.undoRun(run, [number]) }, "Undo"))),
    actions("Proposed", proposed, (action) => h("span", { class: "tag" }, action.state)),
    actions("Refused", rejected, (action) => h("span", { class: "tag" }, action.reason), ({ detail }) => detail),
    versions.length > 0 && h("section", {}, h("details", {}, h("summary", {}, `${count(versions.length, "note")} read`),
      h("ul", { class: "rows" }, versions.map(([key, version]) => h("li", {}, keyLink(key), h("span", { class: "side" }, `version ${version}`)))))),
    calls.length > 0 && h("section", {}, h("h2", {}, "Calls"), h("ul", { class: "rows" }, calls.map((call) => h("li", {}, call.model,
      `: ${tokens(call)}`, call.cost && `, ${dollars(call.cost)}`, call.estimated && ". The model does not say how many: these are estimates")))),
    text("System prompt", system),
    text("Prompt", prompt),
    replies.map((reply, index) => [text(`Reply ${index + 1}`, indented(reply.text), reply.problems.length > 0),
      reply.problems.map((problem) => h("p", { class: "problem" }, h("bdi", {}, marked(problem))))]),
  ];
}

const actions = (name, list, side, why = (action) => action.why) => list.length > 0 && h("section", {}, h("h2", {}, `${name} (${list.length.toLocaleString("en")})`),
  h("ul", { class: "rows" }, list.map((action) => h("li", { class: action.undone ? "action undone" : "action" },
    h("bdi", {}, actionText(action.action, action.created)), side(action), why(action) && h("p", { class: "quiet" }, h("bdi", {}, marked(why(action))))))));

const tokens = ({ tokens_in: read, tokens_out: written }) => (read === null && written === null ? "tokens are not counted"
  : `${read?.toLocaleString("en") ?? "?"} tokens read, ${written?.toLocaleString("en") ?? "?"} written`);

/** A reply with its JSON indented; another text as it is. */
function indented(reply) {
  try {
    return JSON.stringify(JSON.parse(reply.replace(/^\s*```(?:json)?\s*\n([\s\S]*?)\n```\s*$/, "$1")), null, 2);
  } catch {
    return reply;
  }
}

const text = (name, content, open = false) => content && h("section", {},
  h("details", { open }, h("summary", {}, name), h("pre", { class: "long", tabindex: "0" }, h("bdi", {}, content))));

customElements.define("activity-screen", ActivityScreen);
