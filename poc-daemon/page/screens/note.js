// What is known about a note beside its text, which the daemon has rendered: links, origin, history. And edits.

import { mayDecide, mayWrite, path, program, read, remove, write } from "../api.js";
import { count, debounced, h, noteLink, strengthBar } from "../dom.js";
import { diff, lineDiff } from "../diff.js";
import { Screen, empty, form, goAndSay, keep, onKeys, say, sayError, taken } from "../frame.js";
import { LINK_KINDS, kindHeading } from "../link_kinds.js";
import { onChange } from "../live.js";
import { ago, minute, timeForm } from "../time.js";
import { pastHead, since, thenAndNow } from "../time_travel.js";
import { changedTogether, confirmUndo } from "../undo.js";
import { undoText } from "../undo_changes.js";

/** Notes that are suggested for a link, and the pause in typing after which they are asked for, in milliseconds. */
const SUGGESTED = 8;
const PAUSE = 150;

/** Edges of a kind shown at first. */
const SHOWN = 6;

class NoteScreen extends Screen {
  connectedCallback() {
    this.article = this.querySelector("article");
    if (!this.article) return;
    this.id = this.article.dataset.node;
    this.at = this.article.dataset.at;
    const columns = h("div", { class: "note-columns" }, h("div", {}, this.article.querySelector(".prose")), h("aside", { "aria-label": "About this note" }));
    this.article.append(columns);
    this.live = columns.querySelector("aside");
    this.actions = h("div", { class: "note-head" });
    this.article.querySelector("h1").after(this.actions);
    const may = () => mayWrite && this.note && !this.at;
    onKeys({ e: ["edit this note", () => may() && this.edit()], l: ["link this note", () => may() && this.link()] });
    super.connectedCallback();
    onChange(() => this.loadAndShow());
  }

  /** The note and its changes, or that it was deleted while this screen was open. */
  async load() {
    if (this.at) return thenAndNow(this.id, this.at);
    try {
      const [note, { changes }] = await Promise.all([read(path`/v1/nodes/${this.id}`, { all_edges: true }), write("/v1/history", { node: this.id })]);
      return { note, changes };
    } catch (error) {
      if (error.status !== 404) throw error;
      return { isDeleted: true };
    }
  }

  show({ note, changes, isDeleted, then, now }) {
    if (isDeleted) return this.showDeleted();
    // It is back, and the daemon renders its text.
    if (this.isGone) return location.reload();
    if (this.at) return this.showPast(then, now);
    this.note = note;
    if (this.shown === undefined && taken("changed elsewhere") === note.id) {
      this.actions.before(h("p", { class: "state-line", role: "status" }, "This note was changed elsewhere: this is its new version."));
    }
    this.shown ??= note.version;
    if (note.version !== this.shown && !this.acting) this.changedElsewhere(note);
    this.actions.replaceChildren(...head(this, note).flat().filter(Boolean));
    return [
      questions(note, this),
      h("section", { "aria-labelledby": "edges" }, h("h2", { id: "edges" }, "Links"), edges(note, this),
        h("p", { class: "graph-link" }, h("a", { href: `/graph?around=${encodeURIComponent(note.key)}` }, "Show around it in the graph"))),
      h("section", { "aria-labelledby": "origin" }, h("h2", { id: "origin" }, "Origin"), facts(note)),
      h("section", { "aria-labelledby": "history" }, h("h2", { id: "history" }, "History"), timeForm(null), changes.map((change) => changeRow(change, this)).reverse()),
    ];
  }

  /** Says that the note was deleted elsewhere. A dialog stays, with what was typed. */
  showDeleted() {
    if (this.acting) return [];
    this.isGone = true;
    this.note = null;
    this.article.replaceChildren(empty("This note was deleted", "It can be brought back: ", mayDecide ? [h("q", {}, "Undo"), " at the deletion on ", h("a", { href: "/activity" }, "Activity"), "."]
      : [h("code", {}, `${program} undo`), " with the number of the deletion does that."]));
    return [];
  }

  /** The note as it was: nothing can be changed there. */
  showPast(then, now) {
    this.past?.remove();
    this.past = pastHead(then, now, this.at);
    this.actions.before(this.past);
    this.actions.replaceChildren(...tags(then));
    return [
      h("section", { "aria-labelledby": "since" }, h("h2", { id: "since" }, "Changed since"), since(then, now)),
      questions(then, this),
      h("section", { "aria-labelledby": "edges" }, h("h2", { id: "edges" }, "Links then"), edges(then, this)),
      h("section", { "aria-labelledby": "origin" }, h("h2", { id: "origin" }, "Origin"), facts(then)),
      h("section", { "aria-labelledby": "history" }, h("h2", { id: "history" }, "History up to then"), then.history.map((change) => changeRow(change, this)).reverse()),
    ];
  }

  /** Shows a version that came from elsewhere, or says so in the dialog of an edit. */
  changedElsewhere(note) {
    if (this.warning) this.warning.hidden = false;
    if (document.querySelector("dialog[open]")) return;
    keep("changed elsewhere", note.id);
    location.reload();
  }

  /** Changes the note and shows it again. `changes` are the numbers of the changes that an answer names. */
  async act(run, done, changes = ({ seq }) => [seq ?? []].flat()) {
    this.acting = true;
    try {
      const answer = await run();
      goAndSay(done(answer), changes(answer));
    } catch (error) {
      this.acting = false;
      throw error;
    }
  }

  /** The name under which this tab keeps what was typed and not saved. */
  draftName() {
    return `draft of ${this.id}`;
  }

  /** What was typed before in this version of the note and was not saved; otherwise the note. */
  draft() {
    const { version, left } = JSON.parse(taken(this.draftName()) ?? "{}");
    return version === this.note.version ? left : this.note;
  }

  /** Edits a version of the note; `draft` is what was typed before. */
  edit(note = this.note, draft = this.draft()) {
    const typed = ({ title, body, keywords }) => ({ title, body, keywords: keywords.split(",").map((word) => word.trim()).filter(Boolean) });
    this.warning = h("p", { class: "problem", role: "status", hidden: true }, "This note was changed in the meantime. Both versions are shown when you save.");
    const isDraft = draft !== note && (draft.title !== note.title || draft.body !== note.body || draft.keywords.join() !== note.keywords.join());
    const discard = () => {
      dialog.close();
      taken(this.draftName());
      this.edit(note, note);
    };
    const dialog = form("Edit", [
      this.warning,
      isDraft && h("p", { class: "quiet" }, "This is what you typed before and did not save. ", h("button", { type: "button", class: "plain", onclick: discard }, "Discard it")),
      h("label", {}, "Title", h("input", { name: "title", value: draft.title, required: true })),
      h("label", {}, "Text, in Markdown", h("textarea", { name: "body", value: draft.body })),
      h("label", {}, "Keywords, separated by commas", h("input", { name: "keywords", value: draft.keywords.join(", ") })),
    ], "Save", (fields) => this.save(note, typed(fields)));
    dialog.addEventListener("close", () => {
      this.warning = null;
      const left = typed(Object.fromEntries(new FormData(dialog.querySelector("form"))));
      const isSame = left.title === note.title && left.body === note.body && left.keywords.join() === note.keywords.join();
      if ("done" in dialog.dataset || isSame) return;
      keep(this.draftName(), JSON.stringify({ version: note.version, left }));
      say("What you typed was not saved.", { name: "Go on editing", run: () => this.edit(note, left) });
    });
  }

  /** Saves an edit of the version that was read. If there is a newer one, the person decides. */
  save({ key, version }, draft) {
    return this.act(() => write("/v1/insert", { key, ...draft, update: true, if_version: version }),
      ({ updated }) => (updated ? "Saved as a new version" : "Nothing has changed")).catch((error) => {
      if (error.code === "conflict") return this.compare(draft);
      throw error;
    });
  }

  /** Shows what was typed beside the version that was saved in the meantime. */
  async compare(draft) {
    const theirs = await read(path`/v1/nodes/${this.id}`);
    const parts = [["title", theirs.title, draft.title], ["keywords", theirs.keywords.join(", "), draft.keywords.join(", ")]];
    form("This note was changed in the meantime", [
      h("p", {}, "Somebody else saved version ", theirs.version, ". Saving replaces it by yours; it stays in the history."),
      parts.filter(([, other, own]) => other !== own).map(([field, other, own]) => [h("p", { class: "field-name" }, field), diff(other, own)]),
      theirs.body !== draft.body && [h("p", { class: "field-name" }, "text"), lineDiff(theirs.body, draft.body, ["theirs", "yours"])],
      h("p", {}, h("button", { type: "button", onclick: (event) => { event.currentTarget.closest("dialog").close(); this.edit(theirs, draft); } }, "Go on editing")),
    ], "Save mine", () => this.save(theirs, draft));
  }

  link({ key } = this.note) {
    form("Link this note", [
      suggesting("to", "To: the key of a note, or words of its title", this.id),
      h("label", {}, "Reason", h("input", { name: "reason" })),
    ], "Link", ({ to, reason }) => this.act(
      () => write("/v1/link", { from: key, to, ...(reason && { reason }) }), ({ status }) => `Link ${status}`));
  }

  retire({ key } = this.note) {
    form("Replace by another note", [
      h("p", { class: "quiet" }, "This note leaves search and keeps its history; the other one gets its links, too. It can be undone."),
      suggesting("new", "Replacement: the key of a note, or words of its title", this.id),
      h("label", {}, "Reason", h("input", { name: "reason" })),
    ], "Replace", ({ new: other, reason }) => this.act(
      () => write("/v1/supersede", { old: key, new: other, ...(reason && { reason }) }), ({ new: key }) => `Replaced by ${key}`));
  }

  delete({ title, key } = this.note) {
    form("Delete this note?", [
      h("p", {}, "It and its links leave the memory, and so do facts and questions that were derived from it alone. The history keeps them: ", h("q", {}, "Undo"), " at this change on Activity brings them back."),
    ], "Delete", async () => {
      this.acting = true;
      try {
        const { seq } = await remove(path`/v1/nodes/${this.id}`);
        goAndSay(`${title || key} is deleted`, [seq], "/activity");
      } catch (error) {
        this.acting = false;
        throw error;
      }
    });
  }

  async undo(change) {
    try {
      const number = await changedTogether(change);
      confirmUndo({ ...change, number }, () => this.act(() => write("/v1/undo", { what: String(change.seq) }),
        (answer) => undoText(answer, "The change is undone"), ({ changes }) => changes).catch(sayError));
    } catch (error) {
      sayError(error);
    }
  }

  unlink(edge, kind) {
    const unlink = (from, to) => write("/v1/link", { from, to, kind, remove: true });
    const unlinked = async () => [edge.direction !== "in" && await unlink(this.note.key, edge.key), edge.direction !== "out" && await unlink(edge.key, this.note.key)];
    return this.act(unlinked, () => `The link with ${edge.title || edge.key} is removed`,
      (answers) => answers.filter(Boolean).map(({ seq }) => seq).filter(Boolean)).catch(sayError);
  }

  /** Takes back that this note answered a question. */
  takeBack(question) {
    return this.act(() => write("/v1/reinforce", { node: this.note.key, for: question.key, remove: true }),
      () => "Searches do not lead from this question to this note any more. Its weight stays").catch(sayError);
  }
}

/** A field for the key of a note. Notes for the words that are typed are listed below it; one of them is chosen. */
function suggesting(name, label, own) {
  const list = h("ul", { class: "suggestions", "aria-label": "Notes for these words", hidden: true });
  const field = h("input", { name, required: true, autocomplete: "off", spellcheck: "false", oninput: () => suggest() });
  const choose = (key) => {
    field.value = key;
    list.hidden = true;
    field.focus();
  };
  const suggest = debounced(PAUSE, async () => {
    const text = field.value.trim();
    const { results } = text ? await read("/v1/search", { text, top_k: SUGGESTED, derived: true }).catch(() => ({ results: [] })) : { results: [] };
    if (field.value.trim() !== text) return;
    list.hidden = results.length === 0;
    list.replaceChildren(...results.filter(({ id, type }) => id !== own && type !== "question").map(({ key, title }) => h("li", {}, h("button", { type: "button", class: "plain", onclick: () => choose(key) },
      h("bdi", {}, title || key), h("span", { class: "quiet" }, h("bdi", {}, key))))));
  });
  const box = h("div", {}, h("label", {}, label, field), list);
  box.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || list.hidden) return;
    event.preventDefault();
    const stops = [field, ...list.querySelectorAll("button")];
    stops[stops.indexOf(document.activeElement) + by]?.focus();
  });
  return box;
}

/** Type, keywords and state below the title. */
const tags = (note) => [
  h("span", { class: "tag" }, note.type),
  note.keywords.map((word) => h("a", { class: "tag", href: `/search?keyword=${encodeURIComponent(word)}` }, h("bdi", {}, word))),
  (note.state !== "active" || note.expired) && h("span", { class: "badge" }, note.expired ? "expired" : note.state),
  note.trust === "quarantined" && h("span", { class: "badge" }, "quarantined"),
].flat().filter(Boolean);

/** The same, and what can be done. */
function head(screen, note) {
  return [
    tags(note),
    h("span", { class: "spacer" }),
    mayWrite && [
      h("button", { onclick: () => screen.edit() }, "Edit", h("kbd", { "aria-hidden": "true" }, "e")),
      h("button", { onclick: () => screen.link() }, "Link", h("kbd", { "aria-hidden": "true" }, "l")),
      note.state === "active" && h("button", { onclick: () => screen.retire() }, "Replace"),
      mayDecide && h("button", { onclick: () => screen.delete() }, "Delete"),
    ],

  ];
}

/** Whether an edge leads from a question that this note answered. */
const isQuestion = ({ type, direction }) => type === "question" && direction === "in";

/** The questions that the note answered, as somebody has said. */
function questions(note, screen) {
  const asked = (note.edges["derived-from"] ?? []).filter(isQuestion);
  return asked.length > 0 && h("section", { "aria-labelledby": "questions" }, h("h2", { id: "questions" }, "Questions that it answered"),
    h("p", { class: "quiet" }, "Similar questions find this note better."),
    asked.map((question) => h("div", { class: "edge" }, noteLink(question.key, question.title),
      h("span", { class: "reason" }, " by ", h("bdi", {}, question.provenance), ", ", ago(question.created),
        mayWrite && !screen.at && h("button", { class: "plain", onclick: () => screen.takeBack(question) }, "Take back")))));
}

function edges(note, screen) {
  const others = (kind) => (note.edges[kind] ?? []).filter((edge) => !isQuestion(edge));
  const kinds = [...new Set([...LINK_KINDS, ...Object.keys(note.edges)])].filter((kind) => others(kind).length);
  if (kinds.length === 0) return h("p", { class: "quiet" }, "No links yet.");
  return kinds.map((kind) => {
    const rows = paired(others(kind)).map((edge) => edgeRow(edge, kind, screen));
    const rest = rows.slice(SHOWN);
    return [h("h3", { class: "edge-kind" }, `${kindHeading(kind)} (${rows.length})`), rows.slice(0, SHOWN),
      rest.length > 0 && h("details", {}, h("summary", {}, `${rest.length} more`), rest)];
  });
}

/** Two edges between the same notes that differ only in their direction as one. */
function paired(edges) {
  const same = (edge) => [edge.id, edge.reason, edge.strength, edge.provenance].join("\n");
  const seen = new Map();
  for (const edge of edges) seen.set(same(edge), seen.has(same(edge)) ? { ...edge, direction: "both" } : edge);
  return [...seen.values()];
}

const ARROWS = { out: ["→", "to"], in: ["←", "from"], both: ["↔", "to and from"] };

const edgeRow = (edge, kind, screen) => h("div", { class: "edge" },
  h("span", { class: "arrow", role: "img", "aria-label": ARROWS[edge.direction][1] }, ARROWS[edge.direction][0]),
  noteLink(edge.key, edge.title),
  strengthBar(edge.strength),
  h("span", { class: "reason" }, edge.reason && h("bdi", {}, edge.reason), kind === "link" && [` by ${edge.provenance}, `, ago(edge.created)],
    kind === "link" && mayWrite && !screen.at && h("button", { class: "plain", onclick: () => screen.unlink(edge, kind) }, "Remove")));

function facts(note) {
  const rows = {
    Key: h("bdi", { class: "mono" }, note.key),
    "Former keys": note.aliases?.length && h("bdi", {}, note.aliases.join(", ")),
    "Written by": [h("bdi", {}, note.provenance), note.author && [", ", h("bdi", {}, note.author)]],
    Trust: note.trust,
    Source: note.source && h("bdi", {}, note.source),
    Created: minute(note.created),
    Changed: minute(note.modified),
    Expires: note.expires && minute(note.expires),
    Version: note.version,
    Weight: note.weight.toFixed(2),
    Used: count(note.accesses, "time"),
    "Read by": note.visits.length > 0 && note.visits.map(({ agent, at }, index) => [index > 0 && ", ", h("span", {}, agent, " ", ago(at))]),
  };
  return h("dl", { class: "facts" }, Object.entries(rows).filter(([, value]) => value || value === 0)
    .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** What a change did. A note that was imported may be older than its history. */
const didOf = ({ op, did }) => (op === "undo" || op === "agent undo" ? `${did} by an undo` : (op === "import" || op === "capture") && did === "created" ? "imported" : did);

const changeRow = (change, screen) => h("div", { class: change.undone ? "change undone" : "change" },
  h("header", {}, h("strong", {}, didOf(change)), h("span", { class: "quiet" }, ago(change.at), " by ", h("bdi", {}, change.actor)),
    h("a", { href: `?at=${encodeURIComponent(change.at)}`, title: "The note after this change" }, "As of then"),
    change.undone ? h("span", { class: "tag" }, "undone")
      : mayDecide && !screen.at && h("button", { class: "plain", onclick: () => screen.undo(change) }, "Undo")),
  (change.fields ?? change.changes ?? []).map(({ field, before, after }) => [h("p", { class: "field-name" }, field), diff(before, after)]));

customElements.define("note-screen", NoteScreen);
