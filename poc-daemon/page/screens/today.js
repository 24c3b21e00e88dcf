// What agents did since yesterday, what waits, what failed, and how large the memory is.

import { mayDecide, path, read, write } from "../api.js";
import { count, dollars, h, marked } from "../dom.js";
import { Screen, empty, form } from "../frame.js";
import { onChange } from "../live.js";
import { REASONS, actionText, budgetLine, startOf, status } from "../runs.js";
import { ago, minute, worded } from "../time.js";
import { bringBack, undoAndSay } from "../undo.js";

/** Actions shown of one agent at first. */
const SHOWN = 5;

/** Actions of one agent in the document: the runs have the others. */
const MOST = 100;

/** The periods to choose from. */
const PERIODS = { "24h": ["Day", "Today"], "7d": ["Week", "This week"], "30d": ["Month", "This month"] };

class TodayScreen extends Screen {
  connectedCallback() {
    super.connectedCallback();
    onChange(() => this.loadAndShow());
  }

  async load() {
    const since = new URLSearchParams(location.search).get("since") ?? "24h";
    const [night, stats] = await Promise.all([read("/v1/night", { since }), read("/v1/stats", { since })]);
    return { night, stats, since };
  }

  show({ night, stats, since }) {
    const agents = Object.entries(night.agents);
    const actions = agents.flatMap(([, agent]) => agent.actions);
    const failures = agents.flatMap(([name, agent]) => agent.failures.map((failure) => ({ name, ...failure })));
    const [waiting, stale] = ["count", "stale"].map((name) => night.waiting.reduce((sum, run) => sum + (run[name] ?? 0), 0));
    const busy = agents.filter(([, agent]) => agent.actions.length || agent.proposed || agent.refused);
    const idle = agents.filter((entry) => !busy.includes(entry) && !entry[1].failures.length);
    const kept = actions.filter(({ undone }) => !undone).length;
    const grown = stats.growth ?? {};
    const retired = stats.nodes > stats.live && `${count(stats.nodes - stats.live, "retired note")}`;
    return [
      h("div", { class: "title" },
        h("h1", {}, PERIODS[since]?.[1] ?? "Today"),
        h("p", { class: "quiet" }, "Since ", minute(night.since)),
        periods(since)),
      h("dl", { class: "figures" },
        figure("Notes", stats.live, [change(grown.notes), retired].filter(Boolean).join(", "), "/search"),
        figure("Links", stats.edges, change(grown.edges), "/graph"),
        figure("Changes by agents", actions.length, actions.length > kept && `${(actions.length - kept).toLocaleString("en")} undone`, actions.length && "#did"),
        figure("Waiting for you", waiting, stale > 0 && `${stale.toLocaleString("en")} of them too late`, waiting && "/review"),
        figure("Failures", failures.length, null, failures.length && "#failures", failures.length && "bad"),
        figure("Cost of runs", `${night.cost_at_most ? "≈ " : ""}${dollars(night.cost)}`, `${night.cost_at_most ? "estimated, " : ""}in this time, without dry runs`, "/health")),
      budgetLine(night),
      stats.degraded.length > 0 && h("div", { class: "problem", role: "alert" }, stats.degraded.map((line) => h("p", {}, marked(line)))),
      waiting > 0 && h("section", { "aria-labelledby": "waiting" },
        h("h2", { id: "waiting" }, "Waiting for your decision"),
        h("ul", { class: "rows waiting" }, night.waiting.map(waitingRow)),
        !mayDecide && h("p", { class: "quiet" }, "This session decides nothing. ", h("code", {}, "poc-memory page"), " signs you in as yourself.")),
      failures.length > 0 && h("section", { "aria-labelledby": "failures" },
        h("h2", { id: "failures" }, "Failed"),
        h("ul", { class: "rows" }, failures.map(failureRow))),
      busy.length > 0 && h("section", { "aria-labelledby": "did" },
        h("div", { class: "section-head" }, h("h2", { id: "did" }, "What agents did"),
          mayDecide && kept > 0 && h("button", { onclick: () => this.askToUndo(night.since, kept) }, "Undo all of it"),
          mayDecide && kept < actions.length && h("button", { onclick: () => this.bringBack(actions) }, "Bring back what was undone")),
        busy.map((entry) => agentCard(entry, this))),
      agents.length === 0 && empty(`No agent ran since ${since === "24h" ? "yesterday" : "then"}`, "Agents run on schedule while the daemon runs. ", h("a", { href: "/agents" }, "Agents"), " shows when, and runs one now."),
      night.consolidation?.length > 0 && h("section", { "aria-labelledby": "consolidation" },
        h("h2", { id: "consolidation" }, "Consolidation"),
        h("ul", { class: "rows" }, night.consolidation.map(consolidationRow))),
      idle.length > 0 && h("section", { "aria-labelledby": "idle" },
        h("h2", { id: "idle" }, "Changed nothing"),
        h("ul", { class: "rows" }, idle.map(idleRow))),
    ];
  }

  /** Undoes what agents did since a time, after a question. */
  askToUndo(since, number) {
    form("Undo what agents did?", [
      h("p", {}, `${count(number, "change")} since `, minute(since), " will be undone, the latest first."),
      h("p", { class: "quiet" }, "Notes that were edited since stay as they are and are named. Agents do not do it again by themselves, because they have read these notes. Proposals that you have applied wait for you again. What is undone can be brought back, here and on Activity."),
    ], "Undo", () => void this.undo(number, () => write("/v1/undo", { since })));
  }

  /** Brings back what was undone of these actions. */
  bringBack(actions) {
    const undos = new Set(actions.flatMap(({ undo }) => undo ?? []));
    return bringBack([...undos].toSorted((one, other) => one - other), () => this.loadAndShow());
  }

  /** Undoes so many actions. The answer also counts the runs whose replay of notes was undone. */
  undo(number, run) {
    return undoAndSay(run, ({ refused }) => `Undone: ${count(Math.max(0, number - refused.length), "change")}`, () => this.loadAndShow());
  }
}

const periods = (since) => h("nav", { class: "choices", "aria-label": "Period" },
  Object.entries(PERIODS).map(([value, [name]]) =>
    h("a", { href: value === "24h" ? "/" : `/?since=${value}`, "aria-current": since === value && "true" }, name)));

function figure(name, value, note, href, tone) {
  const shown = typeof value === "number" ? value.toLocaleString("en") : value;
  return h("div", { class: tone || null }, h("dt", {}, name),
    h("dd", {}, href ? h("a", { href }, shown) : shown, note && h("small", {}, note)));
}

/** By how much a number has changed in the period. */
const change = (number) => number !== undefined && `${number < 0 ? "−" : "+"}${Math.abs(number).toLocaleString("en")} in this time`;

const agentLink = (name) => h("a", { href: `/agents/${encodeURIComponent(name)}` }, name);

const waitingRow = ({ agent, count: number, stale, run, tenant }) => h("li", {},
  h("a", { href: `/review?run=${run}` }, count(number, "proposal")), h("span", { class: "quiet" }, " by ", agentLink(agent), tenant && ` for ${tenant}`, stale > 0 && `, ${stale === number ? "too late to apply" : `${stale.toLocaleString("en")} too late to apply`}`), h("span", { class: "side" }, "run ", minute(startOf(run))));

const failureRow = ({ name, at, status, message, run }) => h("li", { class: "bad" },
  h("a", { class: "tag", href: `/runs/${run}` }, status), h("strong", {}, agentLink(name)), " ", h("bdi", {}, worded(message)), h("span", { class: "side" }, ago(at)));

const consolidationRow = ({ at, status: name, message }) => h("li", { class: name === "failed" && "bad" },
  status(name), " ", h("bdi", {}, marked(message)), h("span", { class: "side" }, ago(at)));

function agentCard([name, agent], screen) {
  const undone = agent.actions.filter((action) => action.undone).length;
  const facts = [
    count(agent.actions.length, "change"),
    agent.proposed && count(agent.proposed, "proposal"),
    agent.refused && `${agent.refused.toLocaleString("en")} refused`,
    undone && `${undone.toLocaleString("en")} undone`,
    `${count(agent.visited, "note")} read`,
    agent.tokens && `${agent.cost_at_most ? "about " : ""}${count(agent.tokens, "token")}`,
    agent.cost && dollars(agent.cost, agent.cost_at_most),
  ].filter(Boolean);
  // The latest first, as everywhere.
  const rows = agent.actions.toReversed().map((action) => () => actionRow(action, screen));
  const shown = (rows) => rows.map((row) => row());
  const rest = rows.slice(SHOWN, MOST);
  const beyond = rows.length - MOST;
  return h("article", { class: "card" },
    h("header", {}, h("h3", {}, agentLink(name)), h("a", { class: "quiet", href: `/activity?agent=${encodeURIComponent(name)}` }, facts.join(" · "))),
    rows.length > 0 && h("ul", { class: "rows" }, shown(rows.slice(0, SHOWN))),
    rest.length > 0 && h("details", {}, h("summary", {}, count(rows.length - SHOWN, "more change")), h("ul", { class: "rows" }, shown(rest),
      beyond > 0 && h("li", {}, h("a", { href: `/activity?agent=${encodeURIComponent(name)}` }, `The runs have ${beyond.toLocaleString("en")} more`)))));
}

/** What an agent did and why, with links to the notes and to the run. */
const actionRow = ({ action, created, why, undone, run, number }, screen) => h("li", { class: undone ? "action undone" : "action" },
  h("bdi", {}, actionText(action, created)),
  h("a", { class: "side", href: `/runs/${run}` }, "run ", ago(startOf(run))),
  undone ? h("span", { class: "tag" }, "undone")
    : mayDecide && h("button", { class: "plain", "aria-label": `Undo: ${action}`, onclick: () => screen.undo(1, () => write(path`/v1/runs/${run}/undo`, { only: [number] })) }, "Undo"),
  why && h("p", { class: "quiet" }, h("bdi", {}, marked(why))));

const idleRow = ([name, agent]) => h("li", {}, h("strong", {}, agentLink(name)), " ",
  h("a", { class: "quiet", href: `/activity?runs=idle&agent=${encodeURIComponent(name)}` }, agent.nothing ? worded(agent.nothing) : agent.visited ? `read ${count(agent.visited, "note")}` : skipped(agent)));

const skipped = (agent) => Object.entries(agent.skipped ?? {}).map(([reason, times]) => `${count(times, "time")} not run, because ${REASONS[reason] ?? reason}`).join("; ");

customElements.define("today-screen", TodayScreen);
