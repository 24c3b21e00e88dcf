// What agents did since yesterday, what waits, what failed, and how large the memory is.

import { mayDecide, read } from "../api.js";
import { count, dollars, h, marked } from "../dom.js";
import { Screen, empty } from "../frame.js";
import { onChange } from "../live.js";
import { ago, minute } from "../time.js";

/** Actions shown of one agent at first. */
const SHOWN = 8;

class TodayScreen extends Screen {
  connectedCallback() {
    super.connectedCallback();
    onChange(() => this.loadAndShow());
  }

  async load() {
    const since = new URLSearchParams(location.search).get("since") ?? "24h";
    const [night, stats] = await Promise.all([read("/v1/night", { since }), read("/v1/stats")]);
    return { night, stats, since };
  }

  show({ night, stats, since }) {
    const agents = Object.entries(night.agents);
    const actions = agents.reduce((sum, [, agent]) => sum + agent.actions.length, 0);
    const failures = agents.flatMap(([name, agent]) => agent.failures.map((failure) => ({ name, ...failure })));
    const waiting = night.waiting.reduce((sum, { count }) => sum + count, 0);
    const busy = agents.filter(([, agent]) => agent.actions.length || agent.failures.length || agent.proposed || agent.refused);
    const idle = agents.filter((entry) => !busy.includes(entry));
    return [
      h("div", { class: "title" },
        h("h1", {}, "Today"),
        h("p", { class: "quiet" }, "Since ", minute(night.since)),
        periods(since)),
      h("dl", { class: "figures" },
        figure("Notes", stats.live, stats.nodes > stats.live && `${count(stats.nodes - stats.live, "retired note")}`),
        figure("Links", stats.edges),
        figure("Changes by agents", actions),
        figure("Waiting for you", waiting, null, waiting && "/review"),
        figure("Failures", failures.length, null, null, failures.length && "bad"),
        figure("Cost", dollars(night.cost))),
      stats.degraded.length > 0 && h("div", { class: "problem", role: "alert" }, stats.degraded.map((line) => h("p", {}, marked(line)))),
      waiting > 0 && h("section", { "aria-labelledby": "waiting" },
        h("h2", { id: "waiting" }, "Waiting for your decision"),
        h("ul", { class: "rows" }, night.waiting.map(waitingRow)),
        !mayDecide && h("p", { class: "quiet" }, "This session decides nothing. ", h("code", {}, "poc-memory page"), " signs you in as yourself.")),
      failures.length > 0 && h("section", { "aria-labelledby": "failures" },
        h("h2", { id: "failures" }, "Failed"),
        h("ul", { class: "rows" }, failures.map(failureRow))),
      busy.length > 0 && h("section", { "aria-labelledby": "did" },
        h("h2", { id: "did" }, "What agents did"),
        busy.map(agentCard)),
      agents.length === 0 && empty("No agent ran", "Agents run on schedule while ", h("code", {}, "poc-daemon"), " runs. ",
        h("code", {}, "poc-memory agent run linker"), " runs one now."),
      night.consolidation?.length > 0 && h("section", { "aria-labelledby": "consolidation" },
        h("h2", { id: "consolidation" }, "Consolidation"),
        h("ul", { class: "rows" }, night.consolidation.map(consolidationRow))),
      idle.length > 0 && h("section", { "aria-labelledby": "idle" },
        h("h2", { id: "idle" }, "Found nothing to do"),
        h("ul", { class: "rows" }, idle.map(idleRow))),
    ];
  }
}

const periods = (since) => h("nav", { class: "choices", "aria-label": "Period" },
  [["24h", "Day"], ["7d", "Week"], ["30d", "Month"]].map(([value, name]) =>
    h("a", { href: value === "24h" ? "/" : `/?since=${value}`, "aria-current": since === value && "true" }, name)));

function figure(name, value, note, href, tone) {
  const shown = typeof value === "number" ? value.toLocaleString("en") : value;
  return h("div", { class: tone || null }, h("dt", {}, name),
    h("dd", {}, href ? h("a", { href }, shown) : shown, note && h("small", {}, note)));
}

const waitingRow = ({ agent, count: number, run, tenant }) => h("li", {},
  h("a", { href: `/review?run=${run}` }, count(number, "proposal")), h("span", { class: "quiet" }, " by ", agent, tenant && ` for ${tenant}`));

const failureRow = ({ name, at, status, message, run }) => h("li", { class: "bad" },
  h("span", { class: "tag" }, status), h("strong", {}, name), " ", h("bdi", {}, marked(message)), h("span", { class: "side" }, ago(at)));

const consolidationRow = ({ at, status, message }) => h("li", { class: status === "failed" && "bad" },
  h("span", { class: "tag" }, status), h("bdi", {}, marked(message)), h("span", { class: "side" }, ago(at)));

function agentCard([name, agent]) {
  const undone = agent.actions.filter((action) => action.undone).length;
  const facts = [
    count(agent.actions.length, "change"),
    agent.proposed && count(agent.proposed, "proposal"),
    agent.refused && `${agent.refused} refused`,
    undone && `${undone} undone`,
    `${count(agent.visited, "note")} read`,
    agent.tokens && count(agent.tokens, "token"),
    agent.cost && `$${agent.cost.toFixed(4)}`,
  ].filter(Boolean);
  const rows = agent.actions.map(actionRow);
  const rest = rows.slice(SHOWN);
  return h("article", { class: "card" },
    h("header", {}, h("h3", {}, name), h("span", { class: "quiet" }, facts.join(" · "))),
    rows.length > 0 && h("ul", { class: "rows" }, rows.slice(0, SHOWN)),
    rest.length > 0 && h("details", {}, h("summary", {}, `${count(rest.length, "more change")}`), h("ul", { class: "rows" }, rest)));
}

const actionRow = ({ action, why, undone }) => h("li", { class: undone && "undone" },
  h("span", {}, h("bdi", {}, marked(action)), undone && h("span", { class: "tag" }, "undone")),
  why && h("p", { class: "quiet" }, h("bdi", {}, marked(why))));

const idleRow = ([name, agent]) => h("li", {}, h("strong", {}, name), " ",
  h("span", { class: "quiet" }, agent.nothing ? marked(agent.nothing) : agent.visited ? `read ${count(agent.visited, "note")}` : skipped(agent)));

const skipped = (agent) => Object.entries(agent.skipped ?? {}).map(([reason, times]) => `${reason} (${times})`).join(", ");

customElements.define("today-screen", TodayScreen);
