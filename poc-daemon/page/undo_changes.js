// Undoes changes by their numbers.

import { write } from "./api.js";

/** Undoes changes one after the other, the last first. What fails is left and named, unless the daemon cannot be asked. */
export async function undoChanges(numbers) {
  const whole = { undone: [], refused: [], changes: [] };
  for (const number of numbers.toReversed()) {
    try {
      const answer = await write("/v1/undo", { what: String(number) });
      for (const part of Object.keys(whole)) whole[part].push(...answer[part] ?? []);
    } catch (error) {
      if (error.code === "offline" || error.code === "signed-out") throw error;
      whole.refused.push({ action: `change ${number}`, reason: error.message });
    }
  }
  return whole;
}

/** What an undo came to, in a sentence. `done` is said if something was undone. */
export function undoText({ undone, refused }, done) {
  const left = refused.length && `Left as it is: ${refused[0].action}: ${refused[0].reason}${refused.length > 1 ? ` (and ${(refused.length - 1).toLocaleString("en")} more)` : ""}`;
  return [undone.length && done, left].filter(Boolean).join(". ") || "Nothing was left to undo";
}
