// Undoing changes of notes, after a question if more than one note is changed, and bringing back what was undone.

import { read } from "./api.js";
import { count, h } from "./dom.js";
import { form, say, sayError } from "./frame.js";
import { undoChanges, undoText } from "./undo_changes.js";

/** Changes that the route lists at most. */
export const MOST_CHANGES = 1000;

/** How many notes were changed together with a note's change; null if that was too long ago to be listed. */
export async function changedTogether({ seq, actor, op }) {
  // What `recall` learned is listed only on request.
  const { changes } = await read("/v1/changes", { limit: MOST_CHANGES, all: op === "recall" || null });
  // A change that was made in parts has the number of its last part. The newest change comes first.
  const whole = changes.findLast((change) => change.seq >= seq);
  return whole?.actor === actor && whole.op === op ? whole.count ?? whole.nodes.length : null;
}

/** Undoes a change of one note at once, and asks before more are undone. */
export function confirmUndo({ actor, number, op = "" }, undo) {
  if (number === 1) return undo();
  if (op.endsWith("undo")) {
    return form("Bring back what was undone?", [
      h("p", {}, number === null ? "The undo may have changed other notes too." : `The undo changed ${count(number, "note")}.`),
      h("p", { class: "quiet" }, "What it undid is done again. Of several undos, the latest is brought back first."),
    ], "Bring back", () => void undo());
  }
  form("Undo the whole change?", [
    h("p", {}, number === null ? "This change may have changed other notes too." : `This change was made to ${count(number, "note")} together, by `,
      number !== null && [h("bdi", {}, actor), "."]),
    h("p", { class: "quiet" }, "It is undone for all of them. Notes that were changed since stay as they are and are named. What is undone can be brought back on Activity."),
  ], number === null ? "Undo" : `Undo for ${count(number, "note")}`, () => void undo());
}

/** How many changes are undone, in a sentence. */
export const areUndone = ({ length }) => count(length, "change") + (length === 1 ? " is undone" : " are undone");

/**
 * Undoes by `run`, says what came of it, and offers to bring it back. `done` names what was undone, from the answer. At the
 * end `refresh` shows the screen anew.
 */
export async function undoAndSay(run, done, refresh, back = "Bring back") {
  try {
    const answer = await run();
    const changes = answer.changes ?? [answer.seq ?? []].flat();
    say(undoText(answer, done(answer)), changes.length > 0 && { name: back, run: () => bringBack(changes, refresh) });
  } catch (error) {
    sayError(error);
  }
  await refresh();
}

/** Brings back what undos with these numbers have undone. */
export const bringBack = (changes, refresh) => undoAndSay(() => undoChanges(changes), () => "It is brought back", refresh, "Undo again");
