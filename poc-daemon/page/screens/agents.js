// The agents, and one of them in detail.

import { mayDecide, mayWrite, path, read, write } from "../api.js";
import { count, dollars, h, marked } from "../dom.js";
import { diff } from "../diff.js";
import { Screen, empty, form, say, sayError } from "../frame.js";
import { onChange } from "../live.js";
import { REASONS, actionText, budgetLine, isFailure, runTable, status } from "../runs.js";
import { ago, minute, worded } from "../time.js";
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
      return options.dry_run ? intent(answer) : summary(answer);
    });
  }

  /** Runs it without writing anything, after a question if that costs something. */
  dryRun({ costs }) {
    const run = () => this.run({ dry_run: true });
    if (!costs?.most_usd) return run();
    return form(`Dry run of ${this.agent}?`, [
      h("p", {}, `A dry run asks the model ${costs.models[0].name}, which costs up to ${dollars(costs.most_usd)}. Nothing is written to the memory.`),
      h("p", { class: "quiet" }, `The prompt has ${count(costs.notes, "note")}, about ${count(costs.tokens, "token")}. The cost counts towards the budget of the day: `,
        spentToday(costs)),
    ], "Dry run", () => void run());
  }

  /** Runs it now, after a question if that costs something. */
  runNow({ costs }) {
    if (!costs?.most_usd) return this.run();
    return form(`Run ${this.agent} now?`, [
      h("p", {}, `A run asks the model ${costs.models[0].name}, which costs up to ${dollars(costs.most_usd)}, and does what the agent may do.`),
      h("p", { class: "quiet" }, "The cost counts towards the budget of the day: ", spentToday(costs)),
    ], "Run", () => void this.run());
  }
}

/** What a dry run says that a run would do, as a sentence. */
function intent({ agent, status: name, reason, message, applied, proposed }) {
  if (name === "skipped" || isFailure(name)) return `${agent} ${name === "skipped" ? "would not run" : "failed"}: ${message ?? REASONS[reason] ?? reason}`;
  const parts = [applied.length && `make ${count(applied.length, "change")}`, proposed.length && `propose ${count(proposed.length, "change")}`].filter(Boolean);
  return `${agent} would ${parts.join(" and ") || "change nothing"}. Nothing was written.`;
}

/** What a run came to, as a sentence. */
function summary({ agent, status: name, reason, message, applied, proposed, rejected }) {
  const parts = [applied.length && `made ${count(applied.length, "change")}`, proposed.length && `made ${count(proposed.length, "proposal")} for you to decide`,
    rejected.length && `was refused ${count(rejected.length, "change")}`].filter(Boolean);
  const did = parts.length ? `${agent} ${parts.join(", ")}` : name === "noop" ? `${agent} read its notes and changed nothing`
    : reason ? `${agent} did not run: ${REASONS[reason] ?? reason}` : `${agent}: ${status(name).textContent}`;
  return message ? `${did}. ${message}` : `${did}.`;
}

/** When a new agent runs: a copy has the schedule of the other one. */
function whenItRuns(other) {
  if (!other) return "The new agent is valid and runs only on demand. Its file explains every key.";
  return other.schedule === "on-demand" ? "The copy runs only on demand, as the other agent does."
    : `The copy has the schedule of the other agent (${other.schedule}) and runs by itself from then on.`;
}

/** Asks for the name of a new agent, and what to start with. */
const create = (agents) => form("New agent", [
  h("p", { class: "quiet", role: "status" }, whenItRuns(null)),
  h("label", {}, "Name", h("input", { name: "agent", required: true, pattern: "[\\p{L}\\p{N}_][\\p{L}\\p{N}_.\\-]*", "data-problem": "A name has letters, digits, “-”, “_” and “.”, and begins with a letter, a digit or “_”.", autocomplete: "off", spellcheck: "false" })),
  h("label", {}, "Start with", h("select", { name: "from", onchange: ({ currentTarget: select }) => {
    select.form.querySelector("[role=status]").textContent = whenItRuns(agents.find(({ name }) => name === select.value));
  } }, h("option", { value: "" }, "a new agent that links and weighs notes"),
    agents.map(({ name, description }) => h("option", { value: name }, `a copy of ${name}${description ? `: ${description}` : ""}`)))),
], "Create", async ({ agent, from }) => {
  await write("/v1/agents", { agent, ...(from && { from }) });
  location.assign(`/agents/${encodeURIComponent(agent)}`);
});

/** The columns of the table of agents. */
const COLUMNS = [["Agent"], ["State"], ["Schedule"], ["Next run"], ["Last run"], ["Backlog", "Notes that it would read now", "number"], ["Cost today", "Since midnight, with dry runs. The cost of a call whose model does not report its usage is estimated", "number"]];

const list = ({ agents, problems, consolidation, ...budget }) => [
  h("div", { class: "title" }, h("h1", {}, "Agents"), h("p", { class: "quiet" }, count(agents.length, "agent"),
    consolidation?.next && [". Consolidation is due ", ago(consolidation.next)]),
  mayDecide && h("div", { class: "actions" }, h("button", { class: "primary", onclick: () => create(agents) }, "New agent"))),
  budgetLine(budget),
  problems.map((problem) => h("p", { class: "problem", role: "alert" }, h("bdi", {}, marked(problem)))),
  agents.length === 0 ? empty("No agents", h("code", {}, "poc-memory agent new NAME"), " writes the file of a new one.") :
    h("div", { class: "table" }, h("table", {},
      h("thead", {}, h("tr", {}, COLUMNS.map(([name, meaning, kind]) => h("th", { scope: "col", title: meaning, class: kind }, name)))),
      h("tbody", {}, agents.map((agent) => h("tr", {}, cells(agent).map(([content, attributes], at) => h("td", { "data-label": COLUMNS[at][0], ...attributes }, h("div", {}, content)))))))),
];

/** The cells of an agent in the table. */
const cells = (agent) => [
  [[h("a", { href: `/agents/${encodeURIComponent(agent.name)}` }, h("strong", {}, agent.name)),
    agent.description && h("p", { class: "quiet" }, h("bdi", {}, agent.description)), agent.error && h("p", { class: "problem" }, marked(agent.error))]],
  [[status(agent.running ? "running" : agent.state), agent.paused && h("p", { class: "quiet" }, pauseOf(agent))]],
  [agent.schedule === "on-demand" ? "–" : agent.schedule],
  [agent.next ? ago(agent.next) : "–"],
  [agent.last ? [h("div", {}, ago(agent.last)), status(agent.last_status)] : "never"],
  [agent.stale?.toLocaleString("en") ?? "–", { class: "number" }],
  [dollars(agent.usd_today), { class: "number", title: `${dollars(agent.usd_total)} in all` }],
];

function detail(screen, { definition, agent }, explained, runs) {
  const paused = agent.state.startsWith("paused");
  return [
    h("p", { class: "up" }, h("a", { href: "/agents" }, "Agents")),
    h("div", { class: "title" }, h("h1", {}, agent.name), status(agent.state),
      h("div", { class: "actions" },
        mayWrite && h("button", { onclick: () => screen.dryRun(explained) }, "Dry run"),
        h("button", { onclick: () => screen.test() }, "Run its tests"),
        mayWrite && h("button", { class: "primary", onclick: () => screen.runNow(explained) }, "Run now"),
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

const dryRun = ({ applied, proposed, rejected, notes, cost, cost_at_most: isEstimate, message, reason }) => h("article", { class: "card", "aria-label": "Dry run" },
  h("header", {}, h("h3", {}, "Dry run"), h("span", { class: "quiet" }, "Nothing was written. ", cost && `The model cost ${dollars(cost, isEstimate)}. `, [...applied, ...proposed, ...rejected].length === 0 &&
    h("bdi", {}, message ? worded(message) : reason ? [`It would not run: ${REASONS[reason] ?? reason}.`] : "It would change nothing."), notes && [" ", h("bdi", {}, notes)])),
  [...applied, ...proposed, ...rejected].length > 0 && h("ul", { class: "rows" }, [...applied, ...proposed.map((one) => ({ ...one, reason: "needs approval" })), ...rejected].map((action) => h("li", {},
    h("bdi", {}, actionText(action.action)), " ", action.reason && h("span", { class: "tag" }, action.reason),
    (action.why || action.detail) && h("p", { class: "quiet" }, h("bdi", {}, marked(action.detail || action.why))),
    (action.changes ?? []).map(({ field, before, after }) => [h("p", { class: "field-name" }, field), diff(before, after)])))));

const tests = ({ tests: all, errors }) => h("article", { class: "card", "aria-label": "Tests" },
  h("header", {}, h("h3", {}, "Tests"), h("span", { class: "quiet" }, all.length === 0 && errors.length === 0
    ? ["This agent has no tests. ", h("code", {}, "[[tests]]"), " in its file describes notes, a reply and the expected result."]
    : `${all.filter(({ ok }) => ok).length} of ${all.length} passed. No model was called and the memory was not touched.`)),
  errors.length + all.length > 0 && h("ul", { class: "rows" }, errors.map((error) => h("li", { class: "bad" }, h("span", { class: "tag" }, "error"), marked(error.message))),
    all.map(({ name, ok, differences }) => h("li", { class: ok ? null : "bad" }, h("span", { class: "tag" }, ok ? "passed" : "failed"), h("bdi", {}, name),
      differences.map(({ what, missing = [], unexpected = [], order, refused = [] }) => [h("p", { class: "field-name" }, what),
        diff(missing.join("\n"), unexpected.join("\n")), order && h("p", { class: "quiet" }, `In another order: ${order.join(", ")}`),
        refused.map((action) => h("p", { class: "quiet" }, "Refused: ", h("bdi", {}, action)))])))));

/** Since when and why an agent is paused. The button beside it resumes it, so the command that does is left out. */
const pauseOf = ({ paused }) => worded(paused.replace(/[;,]? ?`poc-memory [^`]*agent resume [^`]*` resumes it/, ""));

const forecast = ({ would_run: would, obstacles, agent, costs, failures, pause_after: pause }) => {
  const others = obstacles.filter(({ reason }) => reason !== "paused");
  return [
    agent.paused ? h("p", {}, "It is ", pauseOf(agent), ", and its schedule does not run it until it is resumed. “Run now” runs it in spite of the pause.")
      : h("p", {}, agent.next ? ["It is due ", ago(agent.next), ", ", minute(agent.next), "."] : "It has no schedule: it runs when somebody runs it.",
        would && " There are notes for it to read."),
    others.length > 0 && [h("p", {}, "If its time came now, it would not run, because:"),
      h("ul", { class: "rows" }, others.map(({ reason, why }) => h("li", {}, worded(why || REASONS[reason] || reason))))],
    costs && h("p", { class: "quiet" }, `A run would send ${count(costs.notes, "note")}, about ${count(costs.tokens, "token")}, to the model ${costs.models.map(({ name }) => name).join(", ")}`,
      costs.most_usd > 0 && `, which costs up to ${dollars(costs.most_usd)}, also in a dry run`, ". Since midnight it spent ", spentToday(costs)),
    failures > 0 && h("p", { class: "problem" }, `${count(failures, "run")} in a row failed, or had all changes refused`, pause > 0 ? `; after ${pause} it is paused.` : "."),
  ];
};

const spentToday = (costs) => `${dollars(costs.usd_today)}${costs.max_usd_per_day ? ` of ${dollars(costs.max_usd_per_day)}` : ""}`
  + `, and all agents together ${dollars(costs.usd_today_of_all)} of ${dollars(costs.max_usd_per_day_of_all)}.`;

const stages = (finds) => [
  h("ol", { class: "stages" }, finds.stages.stages.map((stage) => h("li", {},
    h("code", {}, h("bdi", {}, stage.stage)), h("span", { class: "quiet" }, marked(stage.does)), h("span", { class: "number" }, stage.out.toLocaleString("en")),
    h("div", { class: "strength" }, h("i", { style: { "--part": stage.out / Math.max(1, ...finds.stages.stages.map(({ out }) => out)) } }))))),
  h("p", { class: "quiet" }, readStates(finds)),
];

/** What a run would read of the notes that it selects, as a sentence. */
function readStates({ never, changed, old, fresh }) {
  const parts = [never && `${count(never, "note")} that it has never read`, changed && `${count(changed, "note")} that ${changed === 1 ? "has" : "have"} changed since`,
    old && `${count(old, "note")} that it read long ago`].filter(Boolean);
  return parts.length ? `It would read ${parts.join(", and ")}.` : fresh > 0 ? "Nothing is due: it has read all of these notes, and they have not changed since." : "It selects no notes.";
}

/** What the actions of agents do, by the names that their files use. */
const ACTIONS = { "link-add": "Link notes", weight: "Change the weights of notes", insert: "Write new notes", supersede: "Replace and rename notes" };

const permit = ({ may }) => may && h("ul", { class: "rows" }, may.actions.map(({ action, max, proposed }) => h("li", {},
  `${ACTIONS[action] ?? action}, at most ${max.toLocaleString("en")} in a run `, proposed && h("span", { class: "tag" }, "needs approval"))));

customElements.define("agents-screen", AgentsScreen);
