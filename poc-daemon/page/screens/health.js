// Whether everything works: the daemon, the indexes, the sizes, the agents' budgets.

import { mayDecide, read } from "../api.js";
import { count, dollars, h, marked } from "../dom.js";
import { Screen } from "../frame.js";
import { kindName } from "../link_kinds.js";
import { onChange } from "../live.js";
import { ago, logLine, minute, worded } from "../time.js";

/** Lines of the log that are shown. */
const LINES = 30;

class HealthScreen extends Screen {
  connectedCallback() {
    super.connectedCallback();
    onChange(() => this.loadAndShow());
  }

  async load() {
    const [daemon, stats, checked] = await Promise.all([read("/v1/daemon/status"), read("/v1/stats"),
      mayDecide ? read("/v1/daemon/check", { lines: LINES }) : null]);
    return { daemon, stats, checked };
  }

  show({ daemon, stats, checked }) {
    const problems = [...daemon.problems, ...stats.degraded];
    const warnings = checked?.findings.filter(({ state }) => state === "warning" || state === "failed") ?? [];
    return [
      h("div", { class: "title" }, h("h1", {}, "Health"), h("p", { class: "quiet" }, `poc-memory ${daemon.version}, running since `, minute(daemon.started))),
      problems.map((problem) => h("p", { class: "problem", role: "alert" }, h("bdi", {}, worded(problem)))),
      problems.length === 0 && (warnings.length > 0 ? h("p", { class: "state-line" }, `The daemon works. ${count(warnings.length, "check")} below ${warnings.length === 1 ? "needs" : "need"} your attention.`)
        : h("p", { class: "well" }, "No problems.")),
      daemon.recovered.map((line) => h("p", { class: "problem" }, worded(line))),
      h("dl", { class: "figures" },
        figure("Live notes", stats.live.toLocaleString("en")), figure("Links", stats.edges.toLocaleString("en")),
        figure("Log", bytes(stats.log_bytes)), figure("Records", bytes(stats.record_bytes)), figure("Indexes", bytes(stats.index_bytes)),
        figure("Slowest index", stats.lag ? `${count(stats.lag, "change")} behind` : "up to date")),
      checked && findings(checked),
      h("div", { class: "halves" },
        checked && budgets(checked),
        checked && models(checked),
        table("Daemon", [
          ["Process", daemon.pid], ["Store", h("code", {}, daemon.store)], ["Socket", h("code", {}, daemon.socket)],
          ["REST", daemon.rest ?? "off"], ["MCP over HTTP", daemon.mcp ?? "off"], ["Page", daemon.page ?? location.origin],
          ["Running now", daemon.running.join(", ") || "nothing"], ["Next", daemon.next ? [daemon.next[0], " ", ago(daemon.next[1])] : "nothing"],
          ["Agents", Object.entries(daemon.agents).map(([state, number]) => `${number} ${state}`).join(", ")],
        ]),
        sharedLog(daemon.shared_log),
        graphShape(stats),
        shares("Notes by type", stats.by_type), shares("Links by kind", named(stats.by_edge_kind)),
        table("Backlog of agents", Object.entries(stats.backlog ?? {}).map(([name, notes]) => [h("a", { href: `/agents/${encodeURIComponent(name)}` }, name), notes?.toLocaleString("en") ?? "–"]),
          "Notes that each agent has not read yet, or has to read again."),
        table("Indexes", Object.entries(stats.lags ?? {}).map(([name, lag]) => [name, lag ? `${count(lag, "change")} behind` : "up to date"]))),
      checked && h("section", { "aria-labelledby": "log" }, h("h2", { id: "log" }, "Log"), checked.log.length
        ? h("pre", { class: "long", tabindex: "0", "aria-label": "Last lines of the log" }, h("bdi", {}, checked.log.map(logLine).join("\n")))
        : h("p", { class: "quiet" }, "There is no log file, or it is empty.")),
      !checked && h("p", { class: "quiet" }, "The checks, budgets and the log are shown to a person: ", h("code", {}, "poc-memory page"), " signs you in."),
    ];
  }
}

/** The colour of each state of a check. */
const TONES = { ok: "good", note: "", warning: "warn", failed: "bad" };

const findings = ({ findings: all }) => h("section", { "aria-labelledby": "checks" }, h("h2", { id: "checks" }, "Checks"),
  h("ul", { class: "rows" }, all.map(({ check, state, message, hint }) => h("li", {},
    h("span", { class: `status ${TONES[state]}` }, state), " ", h("strong", {}, check), ": ", h("bdi", {}, worded(message)),
    hint && h("p", { class: "quiet" }, h("bdi", {}, marked(hint)))))));

const budgets = ({ usd_today: today, max_usd_per_day: most, spending }) => table("Spent today", [
  ["All agents", `${dollars(today)} of ${dollars(most)}`],
  ...spending.map(({ agent, runs, max_runs_per_day: runsMost, usd, max_usd_per_day: usdMost }) => [
    h("a", { href: `/agents/${encodeURIComponent(agent)}` }, agent),
    `${runs}${runsMost ? ` of ${runsMost}` : ""} ${runs === 1 && !runsMost ? "run" : "runs"}, ${dollars(usd)}${usdMost ? ` of ${dollars(usdMost)}` : ""}`]),
], "Since midnight, with dry runs: what the budgets of the day count. The cost of a call whose model does not report its usage is estimated. Today shows the runs of the last 24 hours.");

const models = ({ models: all }) => table("Models", all.map(({ name, provider, missing, prices }) => [name,
  [provider, prices && `, per million tokens ${dollars(prices[0])} to read and ${dollars(prices[1])} to write`, missing ? [": ", h("span", { class: "quiet" }, marked(missing))] : ", ready"]]));

/** The log in a database, and who else uses it. */
const sharedLog = (log) => log && table("Shared log", [
  ["Address", h("code", {}, h("bdi", {}, log.address))], ["Last change", log.head.toLocaleString("en")],
  ["First change", log.first?.toLocaleString("en")], ["Newest snapshot", log.snapshot?.toLocaleString("en")],
  ["This daemon", log.behind ? `${count(log.behind, "change")} behind` : "up to date"], ["Conflicts", log.conflicts.toLocaleString("en")],
  ...(log.others ?? []).map(({ name, head, seconds_ago: seconds, has_lease: lease, has_claim: claim }) => [h("bdi", {}, name),
    `read up to change ${head.toLocaleString("en")}, seen ${count(seconds, "second")} ago${lease ? ", has a lease" : ""}${claim ? ", stores a snapshot" : ""}`]),
], "The log of this memory is in a database. Other daemons and commands that used it in the last 15 seconds are listed.");

const figure = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

const table = (name, rows, meaning) => h("section", { "aria-label": name }, h("h2", {}, name), meaning && h("p", { class: "quiet meaning" }, meaning), h("dl", { class: "facts" },
  rows.filter(([, value]) => value !== undefined && value !== null).map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)])));

function shares(name, numbers) {
  const entries = Object.entries(numbers ?? {}).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...entries.map(([, number]) => number));
  return h("section", { "aria-label": name }, h("h2", {}, name), entries.map(([key, number]) => h("div", { class: "share wide" },
    h("span", {}, key), h("div", {}, h("i", { style: { "--part": number / most } })), h("span", {}, number.toLocaleString("en")))));
}

/** What the shape of the graph means for search. */
function graphShape({ graph, live }) {
  if (!graph || live === 0) return null;
  const { components, largest, isolated } = graph;
  const all = components === 1 ? "All notes are connected with each other, directly or over other notes."
    : `${largest.toLocaleString("en")} of ${count(live, "note")} are connected with each other, directly or over other notes. The others are in ${count(components - 1, "separate part")}.`;
  const alone = isolated > 0 && `${count(isolated, "note")} ${isolated === 1 ? "has" : "have"} no link at all: only ${isolated === 1 ? "its" : "their"} own text finds ${isolated === 1 ? "it" : "them"}.`;
  return h("section", { "aria-label": "Graph" }, h("h2", {}, "Graph"), h("p", {}, all), alone && h("p", {}, alone));
}

/** Numbers of links with the names of their kinds. */
const named = (numbers) => Object.fromEntries(Object.entries(numbers ?? {}).map(([kind, number]) => [kindName(kind), number]));

function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let value = number ?? 0;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${value.toFixed(value < 10 && at > 0 ? 1 : 0)} ${units[at]}`;
}

customElements.define("health-screen", HealthScreen);
