// Rows of runs, which several screens list.

import { count, dollars, h, marked } from "./dom.js";
import { ago } from "./time.js";

/** What the statuses of runs and the states of agents mean for the eye. */
const TONES = { failed: "bad", "timed-out": "bad", interrupted: "bad", reverted: "bad", invalid: "bad", ok: "good", "on-demand": "good", proposed: "waits", partial: "good",
  running: "waits", "last-good": "waits", paused: "waits" };

/** Those that do not explain themselves: what they are called here, and what they mean. */
const NAMES = {
  noop: ["nothing to do", "The notes were read, and no change was asked for"],
  partial: ["partly refused", "Some or all actions were refused: its page says why"],
  proposed: ["waits for you", "Its actions wait for your decision"],
  skipped: ["skipped", "It was not run, for the reason given"],
  missed: ["missed", "Its time passed while no daemon ran"],
  interrupted: ["interrupted", "The daemon ended during the run"],
  reverted: ["reverted", "Search answered confirmed questions worse after it, so its actions were undone"],
  "timed-out": ["timed out", "The model did not reply in time"],
  "on-demand": ["on demand", "It runs when somebody runs it"],
  "last-good": ["earlier version", "Its file has mistakes, so the last valid version is used"],
};

/** Statuses of runs that failed, and of those that failed or did something. */
export const FAILED = ["failed", "timed-out", "interrupted", "reverted"];
export const WITH_RESULT = ["running", "ok", "partial", "proposed", "rejected", ...FAILED];

export const isFailure = (name) => FAILED.includes(name);

/** A status as a dot and a word. The tooltip has the word that the command line uses. */
export function status(name) {
  const [text, meaning] = NAMES[name] ?? [name];
  return h("span", { class: `status ${TONES[name] ?? ""}`, title: meaning && `${name}: ${meaning}` }, text);
}

/** What a run did, in few words. */
export function outcome(run) {
  const parts = [run.applied && count(run.applied, "change"), run.proposed && count(run.proposed, "proposal"), run.rejected && `${run.rejected} refused`,
    run.undone && `${run.undone} undone`, run.cost && dollars(run.cost)];
  return parts.filter(Boolean).join(" · ");
}

/** Runs with those of one agent that found nothing to do, one after the other, as one row. */
function folded(runs) {
  const rows = [];
  for (const run of runs) {
    const last = rows.at(-1);
    if (last && run.status === "noop" && [last[0].status, last[0].agent, last[0].tenant].join() === ["noop", run.agent, run.tenant].join()) last.push(run);
    else rows.push([run]);
  }
  return rows;
}

const cost = (runs) => runs.reduce((sum, { cost }) => sum + (cost ?? 0), 0);

/** What one or several runs came to. */
function result(runs) {
  const [run] = runs;
  if (runs.length > 1) return [`${count(runs.length, "run")} in a row`, cost(runs) > 0 && ` · ${dollars(cost(runs))}`, ", the first ", ago(runs.at(-1).started)];
  return outcome(run) || (run.message || run.reason ? h("bdi", {}, marked(run.message ?? run.reason)) : "–");
}

/** A table of runs; the agent's name is left out on its own screen. */
export const runTable = (runs, withAgent = true) => h("div", { class: "table" }, h("table", {},
  h("thead", {}, h("tr", {}, ["Started", withAgent && "Agent", "Status", "Result"].filter(Boolean).map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", {}, folded(runs).map((same) => h("tr", {},
    h("td", { "data-label": "Started" }, h("a", { href: `/runs/${same[0].run}` }, ago(same[0].started))),
    withAgent && h("td", { "data-label": "Agent" }, h("a", { href: `/agents/${encodeURIComponent(same[0].agent)}` }, same[0].agent), same[0].tenant && ` for ${same[0].tenant}`),
    h("td", { "data-label": "Status" }, status(same[0].status)),
    h("td", { "data-label": "Result", class: outcome(same[0]) ? null : "quiet" }, result(same)))))));
