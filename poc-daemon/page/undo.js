// Undoing a change of notes, after a question if it changed more than one.

import { read } from "./api.js";
import { count, h } from "./dom.js";
import { form } from "./frame.js";

/** Changes among which the one is looked up that a note's change is a part of: the most that the route lists. */
const LISTED = 1000;

/** How many notes were changed together with a note's change; null if that was too long ago to be listed. */
export async function changedTogether({ seq, actor, op }) {
  const { changes } = await read("/v1/changes", { limit: LISTED });
  // A change that was made in parts has the number of its last part. The newest change comes first.
  const whole = changes.findLast((change) => change.seq >= seq);
  return whole?.actor === actor && whole.op === op ? whole.count ?? whole.nodes.length : null;
}

/** Undoes a change of one note at once, and asks before more are undone. */
export function confirmUndo({ actor, number }, undo) {
  if (number === 1) return undo();
  form("Undo the whole change?", [
    h("p", {}, number === null ? "This change may have changed other notes too." : `This change was made to ${count(number, "note")} together, by `,
      number !== null && [h("bdi", {}, actor), "."]),
    h("p", { class: "quiet" }, "It is undone for all of them. Notes that were changed since stay as they are and are named. The undo can be undone on Activity."),
  ], number === null ? "Undo" : `Undo for ${count(number, "note")}`, undo);
}
