// A note as of a past time, and what has changed since.

import { path, read } from "./api.js";
import { count, h, noteLink } from "./dom.js";
import { diff, lineDiff } from "./diff.js";
import { minute, timeForm } from "./time.js";

/** The fields that are compared, with the names that readers see. */
const FIELDS = { key: "key", title: "title", type: "type", state: "state", trust: "trust", author: "author", source: "source", expires: "expires" };

/** The kinds of edges that somebody made; the others are derived from texts and use. */
const STATED = ["link", "derived-from", "supersedes", "contradicts"];

/** The note as of a time and as it is now; now is null if it was deleted. */
export async function thenAndNow(id, at) {
  const [then, now] = await Promise.all([
    read(path`/v1/nodes/${id}`, { at, all_edges: true }),
    read(path`/v1/nodes/${id}`).catch((error) => {
      if (error.status === 404) return null;
      throw error;
    }),
  ]);
  return { then, now };
}

/** Says which time is shown, and leads back to the present. */
export const pastHead = (then, now, at) => h("div", { class: "state-line" },
  h("p", {}, "This is the note as of ", minute(then.as_of.at), `, version ${then.version}. `,
    !now ? "It has been deleted since." : now.version === then.version ? "That is still its version." : `Now it is version ${now.version}.`),
  h("div", { class: "actions" }, h("a", { href: `/graph?around=${encodeURIComponent(then.key)}&at=${encodeURIComponent(at)}` }, "The graph as of then"), timeForm(then.as_of.at)));

/** What has changed since then, by field and by link. */
export function since(then, now) {
  if (!now) return h("p", { class: "quiet" }, "It has been deleted since.");
  const fields = Object.entries(FIELDS).filter(([field]) => (then[field] ?? "") !== (now[field] ?? ""))
    .map(([field, name]) => [h("p", { class: "field-name" }, name), diff(String(then[field] ?? ""), String(now[field] ?? ""))]);
  const words = [then.keywords.join(", "), now.keywords.join(", ")];
  const edges = (note) => new Map(STATED.flatMap((kind) => (note.edges[kind] ?? []).map((edge) => [`${kind} ${edge.direction} ${edge.id}`, { kind, ...edge }])));
  const [before, after] = [edges(then), edges(now)];
  const only = (one, other) => [...one].filter(([name]) => !other.has(name)).map(([, edge]) => edge);
  const rows = [...only(after, before).map((edge) => ({ edge, did: "new" })), ...only(before, after).map((edge) => ({ edge, did: "gone" }))];
  const parts = [
    fields,
    words[0] !== words[1] && [h("p", { class: "field-name" }, "keywords"), diff(...words)],
    then.body !== now.body && [h("p", { class: "field-name" }, "text"), lineDiff(then.body, now.body, ["then", "now"])],
    rows.length > 0 && [h("p", { class: "field-name" }, count(rows.length, "link")), h("ul", { class: "rows" }, rows.map(({ edge, did }) => h("li", {},
      h("span", { class: "tag" }, did), `${edge.kind} ${edge.direction === "out" ? "→" : "←"} `, noteLink(edge.key, edge.title))))],
  ].flat(2).filter(Boolean);
  return parts.length ? parts : h("p", { class: "quiet" }, "Nothing has changed.");
}
