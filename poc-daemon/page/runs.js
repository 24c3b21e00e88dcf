// Rows of runs, which several screens list.

import { read } from "./api.js";
import { capitalized, count, dollars, h, marked, noteLink } from "./dom.js";
import { ago, worded } from "./time.js";

/** What the statuses of runs and the states of agents mean for the eye. */
const TONES = { failed: "bad", "timed-out": "bad", interrupted: "bad", reverted: "bad", invalid: "bad", ok: "good", "on-demand": "good", proposed: "waits", partial: "warn", refused: "warn",
  running: "waits", "last-good": "warn", paused: "warn", blocked: "bad" };

/** Those that do not explain themselves: what they are called here, and what they mean. */
const NAMES = {
  noop: ["no change needed", "The notes were read, and no change was asked for"],
  partial: ["partly refused", "Some actions were refused: its page says why"],
  refused: ["refused", "All actions were refused: its page says why"],
  proposed: ["waits for you", "Its actions wait for your decision"],
  skipped: ["skipped", "It was not run, for the reason given"],
  missed: ["missed", "Its time passed while no daemon ran"],
  interrupted: ["interrupted", "The daemon ended during the run"],
  reverted: ["reverted", "Search answered confirmed questions worse after it, so its actions were undone"],
  "timed-out": ["timed out", "The model did not reply in time"],
  blocked: ["blocked", "None of its models can be called: a key is missing, or the provider is suspended"],
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

/** The status of a run that applied and proposed so many actions. */
export const runStatus = (name, kept) => status(name === "partial" && kept === 0 ? "refused" : name);

/** Why a run was skipped or missed, as a sentence about its agent. */
export const REASONS = {
  "not-stale": "all notes that it selects were read recently and have not changed since",
  "too-few-results": "it selects too few notes",
  overlap: "it was already running",
  cooldown: "its last run ended too short a time ago",
  disabled: "it is switched off in its file",
  "catch-up-off": "its time passed while no daemon ran, and its file says not to catch up",
  "outside-window": "its time passed too long ago to catch up",
  "invalid-config": "its file, its model or the key of the model cannot be used",
  "provider-down": "the model did not answer, or is not asked for a while",
  "caught-up": "one run caught up on several times that had passed",
  paused: "it is paused",
  "over-budget": "the budget is used up",
  unparseable: "no reply of the model could be read",
  elsewhere: "this daemon does not run it",
};

/** When a run started: its id begins with the time in milliseconds, as a UUID of version 7. */
export const startOf = (run) => new Date(parseInt(run.slice(0, 12), 16)).toISOString();

/** Titles of notes by key, asked for once. */
const titles = new Map();

/** The title of a note, or null if there is none. */
function titleOf(key) {
  if (!titles.has(key)) {
    const glob = key.replace(/[*?[]/g, "[$&]").replaceAll('"', '""');
    titles.set(key, read("/v1/pipeline", { pipeline: `key:"${glob}"`, top_k: 1 })
      .then(({ results: [note] }) => note?.title || null).catch(() => null).then((title) => { titles.set(key, title); return title; }));
  }
  return titles.get(key);
}

/** A link to a note of which only the key is known. Its title takes the place of the key when it is there. */
export function keyLink(key) {
  const title = titleOf(key);
  const link = noteLink(key, typeof title === "string" ? title : key);
  if (title instanceof Promise) title.then((found) => { if (found) link.replaceWith(noteLink(key, found)); });
  return link;
}

/**
 * What an action does, with the notes that it names as links. Titles of new notes are in quotation marks; `created` is the
 * key of the note that it created.
 */
export function actionText(text, created) {
  const quote = text.indexOf('"');
  const [head, tail] = quote < 0 ? [text, ""] : [text.slice(0, quote), text.slice(quote)];
  const parts = head.split("`");
  const isUnknown = (index) => parts[index + 1]?.startsWith(" (unknown)");
  const title = tail.match(/^"([^]*)"$/)?.[1];
  return [parts.map((part, index) => (index % 2 === 0 ? part : isUnknown(index) ? h("code", {}, part) : keyLink(part))),
    created && title !== undefined ? noteLink(created, title) : marked(tail)];
}

/** Says that the budget of the day is used up, if it is. */
export const budgetLine = ({ budget_warning: warning }) => warning && h("p", { class: "problem", role: "status" }, marked(`${capitalized(warning)}.`));

/** What a run did, in few words. */
export function outcome(run) {
  const parts = [run.applied && count(run.applied, "change"), run.proposed && count(run.proposed, "proposal"), run.rejected && `${run.rejected.toLocaleString("en")} refused`,
    run.undone && `${run.undone.toLocaleString("en")} undone`, run.cost && dollars(run.cost, run.cost_at_most)];
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

/** What runs cost together, or null if nothing. */
function costOf(runs) {
  const cost = runs.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
  return cost > 0 ? dollars(cost, runs.some((run) => run.cost_at_most)) : null;
}

/** What one or several runs came to. */
function result(runs) {
  const [run] = runs;
  if (runs.length > 1) return [`${count(runs.length, "run")} in a row`, costOf(runs) && ` · ${costOf(runs)}`, ", the first ", ago(runs.at(-1).started)];
  return outcome(run) || (run.message || run.reason ? h("bdi", {}, run.message ? worded(run.message) : REASONS[run.reason] ?? run.reason) : "–");
}

/** A table of runs; the agent's name is left out on its own screen. */
export const runTable = (runs, withAgent = true) => h("div", { class: "table" }, h("table", {},
  h("thead", {}, h("tr", {}, ["Started", withAgent && "Agent", "Status", "Result"].filter(Boolean).map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", {}, folded(runs).map((same) => h("tr", {},
    h("td", { "data-label": "Started" }, h("a", { href: `/runs/${same[0].run}` }, ago(same[0].started))),
    withAgent && h("td", { "data-label": "Agent" }, h("div", {}, h("a", { href: `/agents/${encodeURIComponent(same[0].agent)}` }, same[0].agent), same[0].tenant && ` for ${same[0].tenant}`)),
    h("td", { "data-label": "Status" }, runStatus(same[0].status, same[0].applied + same[0].proposed)),
    h("td", { "data-label": "Result", class: outcome(same[0]) ? null : "quiet" }, h("div", {}, result(same))))))));
