// What every screen shares: the tools in the bar, messages, the states of a screen, and the keyboard.

import { ApiError, mayDecide, mayWrite, read, scope } from "./api.js";
import { capitalized, h } from "./dom.js";
import { onReadOnly } from "./live.js";
import { worded } from "./time.js";
import { undoChanges, undoText } from "./undo_changes.js";

/** Asks again this often while the daemon does not answer. */
const RETRY = 2000;

/** A screen: a custom element that loads and shows, with a state for everything that can go wrong. */
export class Screen extends HTMLElement {
  connectedCallback() {
    this.loadAndShow();
    addEventListener("reconnected", () => this.loadAndShow());
  }

  /** Loads what the screen shows. Overridden. */
  async load() {}

  /** The elements that show it. Overridden. */
  show() {}

  /**
   * Loads and shows. What is being loaded may be older than this call, so another load follows it: of two at the same
   * time, the older could be shown last.
   */
  loadAndShow() {
    if (this.loadInProgress) {
      this.nextLoad ??= this.loadInProgress.catch(() => {}).then(() => {
        this.nextLoad = null;
        return this.loadAndShow();
      });
      return this.nextLoad;
    }
    this.loadInProgress = this.loadOnce().finally(() => { this.loadInProgress = null; });
    return this.loadInProgress;
  }

  async loadOnce() {
    if (!this.loaded) this.place().replaceChildren(loading());
    this.setAttribute("aria-busy", "true");
    try {
      const loaded = await this.load();
      this.loaded = true;
      this.fill(this.show(loaded));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!this.loaded || error.code !== "offline") this.place().replaceChildren(failed(error, () => this.loadAndShow()));
      if (!(error instanceof ApiError)) throw error;
    } finally {
      this.removeAttribute("aria-busy");
    }
  }

  /** Shows new content. What is equal stays, and so do the focus and what is open. */
  fill(content) {
    const place = this.place();
    const next = h("div", {}, content);
    const [old, now] = [[...place.childNodes], [...next.childNodes]];
    if (old.length === now.length && now.every((node, at) => node.isEqualNode(old[at]))) return;
    const focusable = () => [...place.querySelectorAll("a, button, input, select, summary, [tabindex]")];
    const focused = focusable().indexOf(document.activeElement);
    const open = new Set([...place.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
    place.replaceChildren(...now);
    for (const summary of place.querySelectorAll("details > summary")) {
      if (open.has(summary.textContent)) summary.parentElement.open = true;
    }
    if (focused >= 0) focusable()[focused]?.focus({ preventScroll: true });
  }

  /** Where the script shows what it loaded. Content of the daemon stays. */
  place() {
    this.live ??= this.appendChild(h("div", { class: "live" }));
    return this.live;
  }
}

/** What a screen shows while it waits: lines in the place of text. */
export const loading = () =>
  h("div", { class: "loading", role: "status" }, h("span", { class: "hidden" }, "Loading"), h("i"), h("i"), h("i"));

/** What a screen shows when there is nothing, and what would change that. */
export const empty = (title, ...hint) => h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, ...hint));

/** What a screen shows when something failed. */
export const failed = (error, retry) =>
  h("div", { class: "failed", role: "alert" },
    h("h2", {}, error.code === "offline" ? "Offline" : error.code === "signed-out" ? "Signed out" : "This did not work"),
    h("p", {}, worded(error.message)),
    error.hint && h("p", { class: "quiet" }, worded(error.hint)),
    error.code === "signed-out" ? h("p", {}, h("a", { href: "/sign-in" }, "Sign in")) : retry && h("button", { onclick: retry }, "Try again"));

/** Shows a message for some seconds, with an action if there is one. */
export function say(text, action) {
  const status = document.querySelector("page-status");
  const line = h("div", { class: "toast" }, h("span", {}, worded(text)));
  if (action) line.append(h("button", { onclick: () => { line.remove(); action.run(); } }, action.name));
  status.append(line);
  setTimeout(() => line.remove(), action ? 15000 : 6000);
}

/** Leaves a message for the next screen, with an undo of the changes with these numbers, and goes there; by default loads this screen again. */
export function goAndSay(text, changes, to) {
  keep("said", JSON.stringify({ text, changes }));
  if (to) location.assign(to);
  else location.reload();
}

/** Shows the message that the screen before has left. */
function sayKept() {
  const { text, changes } = JSON.parse(taken("said") ?? "{}");
  const undo = async () => {
    try {
      const answer = await undoChanges(changes);
      const done = undoText(answer, "The change is undone");
      if (answer.changes.length > 0) goAndSay(done, answer.changes);
      else say(done);
    } catch (error) {
      sayError(error);
    }
  };
  if (text) say(text, mayDecide && changes.length > 0 && { name: "Undo", run: undo });
}

/** Keeps a text for the next screen of this tab. */
export function keep(name, text) {
  try {
    sessionStorage.setItem(name, text);
  } catch {
    // The next screen does without it.
  }
}

/** Takes the text that was kept; null if there is none. */
export function taken(name) {
  try {
    const text = sessionStorage.getItem(name);
    sessionStorage.removeItem(name);
    return text;
  } catch {
    return null;
  }
}

/** Shows why an action failed. */
export const sayError = (error) => say(sentences(error.message, error.hint));

/** A message and its hint as two sentences. */
const sentences = (message, hint) => (hint ? `${message.replace(/\.$/, "")}. ${capitalized(hint)}` : message);

/** The text of an error. A hint that names a command is left out: nobody can run it in a dialog. */
const withoutCommand = ({ message, hint }) => sentences(message, hint?.includes("`poc-memory ") ? null : hint);

/**
 * A form in a dialog. If `run` returns a promise, the dialog stays until it is fulfilled, and an error is shown in it, so
 * that what was typed is kept. A dialog that has done its work has the attribute `data-done` when it closes.
 */
export function form(title, fields, action, run) {
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const show = (...text) => {
    problem.replaceChildren(...text);
    problem.hidden = false;
  };
  const submit = async (event) => {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const wrong = [...elements].find((field) => !field.checkValidity());
    if (wrong) {
      show(wrong.value ? wrong.dataset.problem ?? wrong.validationMessage : `${wrong.closest("label").firstChild.textContent} is missing.`);
      return wrong.focus();
    }
    const button = dialog.querySelector("button.primary");
    button.disabled = true;
    try {
      await run(Object.fromEntries(new FormData(event.currentTarget)));
      dialog.dataset.done = "";
      dialog.close();
    } catch (error) {
      show(...worded(withoutCommand(error)).flat());
      if (!(error instanceof ApiError)) throw error;
    } finally {
      button.disabled = false;
    }
  };
  const dialog = openDialog(title, { novalidate: true, onsubmit: submit }, fields, problem,
    h("div", { class: "actions" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), h("button", { class: "primary" }, action)));
  return dialog;
}

/** Opens a dialog with a form that has these attributes. It is gone once it is closed. */
function openDialog(title, attributes, ...content) {
  const dialog = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => dialog.remove() },
    h("form", { method: "dialog", ...attributes }, h("h2", { id: "dialog-title" }, title), content));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** The keys of this screen, and what they do. */
const known = new Map();

/** Keys that something else listens to: they are only listed. */
export function listKeys(keys) {
  for (const [key, what] of Object.entries(keys)) known.set(key, what);
}

/** Runs the listeners of keys while nobody types. `keys`: {key: [what it does, listener]}. */
export function onKeys(keys) {
  for (const [key, [what]] of Object.entries(keys)) known.set(key, what);
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const run = keys[event.key]?.[1];
    if (run) {
      event.preventDefault();
      run(event);
    }
  });
}

/** Shows the keys of this screen. */
const showKeys = () => openDialog("Keys", {},
  h("dl", { class: "facts" }, [...known].map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
  h("div", { class: "actions" }, h("button", { class: "primary" }, "Close")));

class PageTools extends HTMLElement {
  connectedCallback() {
    const field = h("input", {
      type: "search", name: "q", placeholder: "Search notes", "aria-label": "Search notes", "aria-keyshortcuts": "/",
      autocomplete: "off", spellcheck: "false",
    });
    const search = location.pathname === "/search" ? null
      : h("form", { action: "/search", role: "search", class: "quick-search" }, field, h("kbd", { "aria-hidden": "true" }, "/"));
    const keys = h("button", { class: "icon", title: "Keys", "aria-label": "Keys", "aria-keyshortcuts": "?", onclick: showKeys }, "?");
    const theme = h("button", { class: "icon", title: "Light or dark", "aria-label": "Light or dark", onclick: switchTheme }, "◐");
    const leave = h("form", { action: "/sign-out", method: "post" },
      h("input", { type: "hidden", name: "csrf", value: document.documentElement.dataset.csrf }),
      h("button", { class: "plain" }, "Sign out"));
    const badge = mayDecide ? null : h("span", { class: "badge", title: scopeHint() }, mayWrite ? "token" : "read-only");
    const store = h("span", { class: "badge bad", role: "status", hidden: true }, "store is read-only");
    onReadOnly((reason) => {
      store.hidden = reason === null;
      store.title = reason ?? "";
    });
    this.replaceChildren(...[search, store, badge, keys, theme, leave].filter(Boolean));
    const find = () => {
      const shown = [document.querySelector("main [name=q]"), field].find((one) => one?.checkVisibility());
      if (shown) shown.focus();
      else location.assign("/search");
    };
    onKeys({ "/": ["search", find], "?": ["show these keys", showKeys] });
  }
}

const scopeHint = () => scope === "read-only" ? "This session may only read" : "This session was started with a token: it decides nothing";

function switchTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const root = document.documentElement;
  const next = (root.dataset.theme ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  try {
    localStorage.setItem("theme", next);
  } catch {
    // It holds for this screen then.
  }
}

class PageStatus extends HTMLElement {
  connectedCallback() {
    addEventListener("connection", ({ detail: online }) => (online ? this.online() : this.offline()));
    sayKept();
  }

  offline() {
    if (this.banner) return;
    this.banner = h("div", { class: "offline" }, "Offline: the daemon does not answer. Trying again…");
    this.append(this.banner);
    document.documentElement.toggleAttribute("data-offline", true);
    this.timer = setInterval(() => read("/v1/stats").catch(() => {}), RETRY);
  }

  online() {
    if (!this.banner) return;
    clearInterval(this.timer);
    this.banner.remove();
    this.banner = null;
    document.documentElement.toggleAttribute("data-offline", false);
    dispatchEvent(new CustomEvent("reconnected"));
  }
}

customElements.define("page-tools", PageTools);
customElements.define("page-status", PageStatus);
