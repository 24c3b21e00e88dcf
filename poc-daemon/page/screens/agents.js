// The agents, and one of them in detail.

import { mayDecide, mayWrite, path, read, write } from "../api.js";
import { count, dollars, h, marked } from "../dom.js";
import { diff } from "../diff.js";
import { Screen, empty, form, say, sayError } from "../frame.js";
import { onChange } from "../live.js";
import { runTable, status } from "../runs.js";
import { ago, minute } from "../time.js";
import { AgentEditor } from "../agent_editor.js";

class AgentsScreen extends Screen {
  connectedCallback() {
    this.agent = decodeURIComponent(location.pathname.split("/")[2] ?? "");
    super.connectedCallback();
    onChange(() => this.loadAndShow());
    addEventListener("agent-saved", () => this.loadAndShow());
  }

  async load() {
    if (!this.agent) return { all: await read("/v1/agents") };
    const [shown, explained, history] = await Promise.all([
      read(path`/v1/agents/${this.agent}`, { files: true }), read(path`/v1/agents/${this.agent}/explain`), read("/v1/runs", { agent: this.agent, limit: 20 }),
    ]);
    return { shown, explained, runs: history.runs };
  }

  show({ all, shown, explained, runs }) {
    if (all) return list(all);
    // The editor stays as it is while the rest is shown anew.
    this.editor ??= new AgentEditor();
    if (shown.files) this.editor.set(this.agent, shown.files);
    if (!this.editor.isConnected && shown.files) this.append(this.editor);
    return detail(this, shown, explained, runs);
  }

  async test() {
    try {
      const { agents: [tested] } = await read("/v1/agent/test", { agent: this.agent });
      this.tested = tested;
    } catch (error) {
      sayError(error);
    }
    await this.loadAndShow();
  }

  async act(run, done) {
    try {
      say(done(await run()));
    } catch (error) {
      sayError(error);
    }
    await this.loadAndShow();
  }

  run(options = {}) {
    return this.act(() => write(path`/v1/agents/${this.agent}/run`, options), (answer) => {
      this.outcome = options.dry_run ? answer : null;
      const applied = answer.applied.length;
      const did = options.dry_run ? `would change ${applied}` : `${answer.status}, ${count(applied, "change")}`;
      return `${this.agent}: ${did}${answer.message ? `: ${answer.message}` : ""}`;
    });
  }
}

/** Asks for the name of a new agent, and what to start with. */
const create = (agents) => form("New agent", [
  h("p", { class: "quiet" }, "The new agent is valid and runs only on demand. Its file explains every key."),
  h("label", {}, "Name", h("input", { name: "agent", required: true, pattern: "[\\p{L}\\p{N}_][\\p{L}\\p{N}_.\\-]*", title: "Letters, digits, “-”, “_” and “.”", autocomplete: "off", spellcheck: "false" })),
  h("label", {}, "Start with", h("select", { name: "from" }, h("option", { value: "" }, "a new agent that links and weighs notes"),
    agents.map(({ name, description }) => h("option", { value: name }, `a copy of ${name}${description ? `: ${description}` : ""}`)))),
], "Create", async ({ agent, from }) => {
  try {
    await write("/v1/agents", { agent, ...(from && { from }) });
    location.assign(`/agents/${encodeURIComponent(agent)}`);
  } catch (error) {
    sayError(error);
  }
});

/** The columns of the table of agents. */
const COLUMNS = [["Agent"], ["State"], ["Schedule"], ["Next run"], ["Last run"], ["Backlog", "Notes that it would read now"], ["Cost today"]];

const list = ({ agents, problems, consolidation }) => [
  h("div", { class: "title" }, h("h1", {}, "Agents"), h("p", { class: "quiet" }, count(agents.length, "agent"),
    consolidation?.next && [". Consolidation is due ", ago(consolidation.next)]),
  mayDecide && h("div", { class: "actions" }, h("button", { class: "primary", onclick: () => create(agents) }, "New agent"))),
  problems.map((problem) => h("p", { class: "problem", role: "alert" }, h("bdi", {}, marked(problem)))),
  agents.length === 0 ? empty("No agents", h("code", {}, "poc-memory agent new NAME"), " writes the file of a new one.") :
    h("div", { class: "table" }, h("table", {},
      h("thead", {}, h("tr", {}, COLUMNS.map(([name, meaning]) => h("th", { scope: "col", title: meaning }, name)))),
      h("tbody", {}, agents.map((agent) => h("tr", {}, cells(agent).map(([content, attributes], at) => h("td", { "data-label": COLUMNS[at][0], ...attributes }, content))))))),
];

/** The cells of an agent in the table. */
const cells = (agent) => [
  [[h("a", { href: `/agents/${encodeURIComponent(agent.name)}` }, h("strong", {}, agent.name)),
    agent.description && h("p", { class: "quiet" }, h("bdi", {}, agent.description)), agent.error && h("p", { class: "problem" }, marked(agent.error))]],
  [[status(agent.running ? "running" : agent.state), agent.paused && h("p", { class: "quiet" }, marked(agent.paused))]],
  [agent.schedule === "on-demand" ? "–" : agent.schedule],
  [agent.next ? ago(agent.next) : "–"],
  [agent.last ? [ago(agent.last), " ", status(agent.last_status)] : "never"],
  [agent.stale?.toLocaleString("en") ?? "–", { class: "number" }],
  [dollars(agent.usd_today), { class: "number", title: `${dollars(agent.usd_total)} in all` }],
];

function detail(screen, { definition, agent }, explained, runs) {
  const paused = agent.state.startsWith("paused");
  return [
    h("p", { class: "up" }, h("a", { href: "/agents" }, "Agents")),
    h("div", { class: "title" }, h("h1", {}, agent.name), status(agent.state),
      h("div", { class: "actions" },
        mayWrite && h("button", { onclick: () => screen.run({ dry_run: true }) }, "Dry run"),
        h("button", { onclick: () => screen.test() }, "Run its tests"),
        mayWrite && h("button", { class: "primary", onclick: () => screen.run() }, "Run now"),
        mayDecide && h("button", { onclick: () => screen.act(() => write(path`/v1/agents/${agent.name}/` + (paused ? "resume" : "pause")), () => (paused ? "Resumed" : "Paused")) },
          paused ? "Resume" : "Pause"))),
    agent.description && h("p", { class: "quiet" }, h("bdi", {}, agent.description)),
    (agent.errors.length ? agent.errors : [agent.error]).filter(Boolean).map((error) => h("p", { class: "problem" }, marked(error.message ?? error))),
    screen.outcome && dryRun(screen.outcome),
    screen.tested && tests(screen.tested),
    h("section", { "aria-labelledby": "next" }, h("h2", { id: "next" }, "Next run"), forecast(explained)),
    explained.finds && h("section", { "aria-labelledby": "finds" }, h("h2", { id: "finds" }, "What it would read"), stages(explained.finds)),
    h("section", { "aria-labelledby": "may" }, h("h2", { id: "may" }, "What it may do"), permit(explained)),
    h("section", { "aria-labelledby": "past" }, h("h2", { id: "past" }, "Past runs"), runs.length ? runTable(runs, false) : h("p", { class: "quiet" }, "It has not run yet.")),
  ];
}

const dryRun = ({ applied, proposed, rejected, notes, status, message, reason }) => h("article", { class: "card", "aria-label": "Dry run" },
  h("header", {}, h("h3", {}, "Dry run"), h("span", { class: "quiet" }, "Nothing was written. ", [...applied, ...proposed, ...rejected].length === 0 &&
    h("bdi", {}, marked(message ?? reason ?? status)), notes && [" ", h("bdi", {}, notes)])),
  h("ul", { class: "rows" }, [...applied, ...proposed.map((one) => ({ ...one, reason: "needs approval" })), ...rejected].map((action) => h("li", {},
    h("bdi", {}, marked(action.action)), " ", action.reason && h("span", { class: "tag" }, action.reason),
    (action.why || action.detail) && h("p", { class: "quiet" }, h("bdi", {}, marked(action.detail || action.why))),
    (action.changes ?? []).map(({ field, before, after }) => [h("p", { class: "field-name" }, field), diff(before, after)])))));

const tests = ({ tests: all, errors }) => h("article", { class: "card", "aria-label": "Tests" },
  h("header", {}, h("h3", {}, "Tests"), h("span", { class: "quiet" }, all.length === 0 && errors.length === 0
    ? ["This agent has no tests. ", h("code", {}, "[[tests]]"), " in its file describes notes, a reply and the expected result."]
    : `${all.filter(({ ok }) => ok).length} of ${all.length} passed. No model was called and the memory was not touched.`)),
  h("ul", { class: "rows" }, errors.map((error) => h("li", { class: "bad" }, h("span", { class: "tag" }, "error"), marked(error.message))),
    all.map(({ name, ok, differences }) => h("li", { class: ok ? null : "bad" }, h("span", { class: "tag" }, ok ? "passed" : "failed"), h("bdi", {}, name),
      differences.map(({ what, missing = [], unexpected = [], order }) => [h("p", { class: "field-name" }, what),
        diff(missing.join("\n"), unexpected.join("\n")), order && h("p", { class: "quiet" }, `In another order: ${order.join(", ")}`)])))));

const forecast = ({ would_run: would, obstacles, agent, costs, failures, pause_after: pause }) => [
  h("p", {}, agent.next ? ["Due ", ago(agent.next), ", ", minute(agent.next), ". "] : "It has no slot ahead. ",
    would ? "It would run now." : "It would not run now:"),
  obstacles.length > 0 && h("ul", { class: "rows" }, obstacles.map(({ reason, why }) => h("li", {}, h("span", { class: "tag" }, reason), marked(why)))),
  costs && h("p", { class: "quiet" }, `${count(costs.notes, "note")}, about ${count(costs.tokens, "token")}, model ${costs.models.map(({ name }) => name).join(", ")}`,
    `. Spent today: ${dollars(costs.usd_today)}${costs.max_usd_per_day ? ` of ${dollars(costs.max_usd_per_day)}` : ""}`,
    `, by all agents ${dollars(costs.usd_today_of_all)} of ${dollars(costs.max_usd_per_day_of_all)}.`),
  failures > 0 && h("p", { class: "problem" }, `${count(failures, "failure")} in a row; it pauses after ${pause}.`),
];

const stages = (finds) => [
  h("ol", { class: "stages" }, finds.stages.stages.map((stage) => h("li", {},
    h("code", {}, h("bdi", {}, stage.stage)), h("span", { class: "quiet" }, marked(stage.does)), h("span", { class: "number" }, stage.out.toLocaleString("en")),
    h("div", { class: "strength" }, h("i", { style: { "--part": stage.out / Math.max(1, ...finds.stages.stages.map(({ out }) => out)) } }))))),
  h("p", { class: "quiet" }, `${finds.never} never read, ${finds.changed} changed since, ${finds.old} due again, ${finds.fresh} fresh.`),
];

const permit = ({ may }) => may && h("ul", { class: "rows" }, may.actions.map(({ action, max, proposed }) => h("li", {},
  h("code", {}, action), ` at most ${max} in a run `, proposed && h("span", { class: "tag" }, "needs approval"))));

customElements.define("agents-screen", AgentsScreen);
