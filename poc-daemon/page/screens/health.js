// Whether everything works: the daemon, the indexes, the sizes, the agents' budgets.

import { mayDecide, read } from "../api.js";
import { count, dollars, h, marked } from "../dom.js";
import { Screen } from "../frame.js";
import { onChange } from "../live.js";
import { ago, minute } from "../time.js";

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
    const { graph } = stats;
    return [
      h("div", { class: "title" }, h("h1", {}, "Health"), h("p", { class: "quiet" }, `poc-memory ${daemon.version}, running since `, minute(daemon.started))),
      problems.length > 0
        ? problems.map((problem) => h("p", { class: "problem", role: "alert" }, h("bdi", {}, marked(problem))))
        : h("p", { class: "well" }, "No problems."),
      daemon.recovered.map((line) => h("p", { class: "problem" }, marked(line))),
      h("dl", { class: "figures" },
        figure("Live notes", stats.live.toLocaleString("en")), figure("Edges", stats.edges.toLocaleString("en")),
        figure("Log", bytes(stats.log_bytes)), figure("Records", bytes(stats.record_bytes)), figure("Indexes", bytes(stats.index_bytes)),
        figure("Slowest index", stats.lag ? `${stats.lag} behind` : "up to date")),
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
        table("Graph", [
          ["Components", graph && count(graph.components, "component")], ["Largest", graph && count(graph.largest, "note")],
          ["Isolated", graph && count(graph.isolated, "note")], ["Clustering", graph?.clustering?.toFixed(2)],
          ["Path length", graph?.path_length?.toFixed(2)], ["Small world", graph?.small_world?.toFixed(2)],
          ["Average weight", stats.average_weight?.toFixed(2)], ["Embedder", stats.cosines?.embedder],
        ]),
        shares("Notes by type", stats.by_type), shares("Edges by kind", stats.by_edge_kind),
        table("Backlog of agents", Object.entries(stats.backlog ?? {}).map(([name, notes]) => [h("a", { href: `/agents/${encodeURIComponent(name)}` }, name), notes ?? "–"])),
        table("Index lag", Object.entries(stats.lags ?? {}).map(([name, lag]) => [name, lag ? `${lag} changes` : "up to date"]))),
      checked && h("section", { "aria-labelledby": "log" }, h("h2", { id: "log" }, "Log"), checked.log.length
        ? h("pre", { class: "long", tabindex: "0", "aria-label": "Last lines of the log" }, h("bdi", {}, checked.log.join("\n")))
        : h("p", { class: "quiet" }, "There is no log file, or it is empty.")),
      !checked && h("p", { class: "quiet" }, "The checks, budgets and the log are shown to a person: ", h("code", {}, "poc-memory page"), " signs you in."),
    ];
  }
}

/** The colour of each state of a check. */
const TONES = { ok: "good", note: "", warning: "waits", failed: "bad" };

const findings = ({ findings: all }) => h("section", { "aria-labelledby": "checks" }, h("h2", { id: "checks" }, "Checks"),
  h("ul", { class: "rows" }, all.map(({ check, state, message, hint }) => h("li", {},
    h("span", { class: `status ${TONES[state]}` }, state), " ", h("strong", {}, check), " ", h("bdi", {}, marked(message)),
    hint && h("p", { class: "quiet" }, h("bdi", {}, marked(hint)))))));

const budgets = ({ usd_today: today, max_usd_per_day: most, spending }) => table("Spent today", [
  ["All agents", `${dollars(today)} of ${dollars(most)}`],
  ...spending.map(({ agent, runs, max_runs_per_day: runsMost, usd, max_usd_per_day: usdMost }) => [
    h("a", { href: `/agents/${encodeURIComponent(agent)}` }, agent),
    `${runs}${runsMost ? ` of ${runsMost}` : ""} ${runs === 1 && !runsMost ? "run" : "runs"}, ${dollars(usd)}${usdMost ? ` of ${dollars(usdMost)}` : ""}`]),
]);

const models = ({ models: all }) => table("Models", all.map(({ name, provider, missing, prices }) => [name,
  [provider, prices && `, $${prices[0]} and $${prices[1]} per million tokens`, missing ? [": ", h("span", { class: "quiet" }, marked(missing))] : ", ready"]]));

const figure = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

const table = (name, rows) => h("section", { "aria-label": name }, h("h2", {}, name), h("dl", { class: "facts" },
  rows.filter(([, value]) => value !== undefined && value !== null).map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)])));

function shares(name, numbers) {
  const entries = Object.entries(numbers ?? {}).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...entries.map(([, number]) => number));
  return h("section", { "aria-label": name }, h("h2", {}, name), entries.map(([key, number]) => h("div", { class: "share wide" },
    h("span", {}, key), h("div", {}, h("i", { style: { "--part": number / most } })), h("span", {}, number.toLocaleString("en")))));
}

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
