// Rows of runs, which several screens list.

import { count, h, marked } from "./dom.js";
import { ago } from "./time.js";

/** What a status means for the eye. */
const TONES = { failed: "bad", "timed-out": "bad", interrupted: "bad", reverted: "bad", ok: "good", proposed: "waits", partial: "good", running: "waits" };

/** A status as a dot and a word. */
export const status = (name) => h("span", { class: `status ${TONES[name] ?? ""}` }, name);

/** What a run did, in few words. */
export function outcome(run) {
  const parts = [run.applied && count(run.applied, "change"), run.proposed && count(run.proposed, "proposal"), run.rejected && `${run.rejected} refused`,
    run.undone && `${run.undone} undone`, run.cost && `$${run.cost.toFixed(4)}`];
  return parts.filter(Boolean).join(" · ");
}

/** A table of runs; the agent's name is left out on its own screen. */
export const runTable = (runs, withAgent = true) => h("div", { class: "table" }, h("table", {},
  h("thead", {}, h("tr", {}, ["Started", withAgent && "Agent", "Status", "Result"].filter(Boolean).map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", {}, runs.map((run) => h("tr", {},
    h("td", {}, h("a", { href: `/runs/${run.run}` }, ago(run.started))),
    withAgent && h("td", {}, h("a", { href: `/agents/${encodeURIComponent(run.agent)}` }, run.agent), run.tenant && ` for ${run.tenant}`),
    h("td", {}, status(run.status)),
    h("td", {}, outcome(run) || h("span", { class: "quiet" }, h("bdi", {}, marked(run.message ?? run.reason ?? "nothing to do")))))))));
