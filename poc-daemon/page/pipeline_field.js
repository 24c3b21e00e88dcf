// A field in which pipelines are typed, with completion from the tables of the language.

import { read } from "./api.js";
import { debounced, h, marked } from "./dom.js";

/** A pause in typing after which completions are asked for, in milliseconds. */
const PAUSE = 40;

/** Completions shown at most. */
const SHOWN = 50;

const bytes = new TextEncoder();
const text = new TextDecoder();

/** The mistakes of pipelines, each under its place. Offsets count bytes of UTF-8. */
export const mistakes = (pipelines) => h("div", { class: "mistake", role: "alert" }, pipelines.map(({ text: typed, problems }) => {
  const encoded = bytes.encode(typed);
  const letters = (from, to) => [...text.decode(encoded.slice(from, to))].length;
  return h("pre", { tabindex: "0" }, typed, problems.map(({ offset, length, message, hint }) => ["\n", " ".repeat(letters(0, offset)),
    h("b", {}, "^".repeat(Math.max(1, letters(offset, offset + length)))), " ", marked(message), hint && ["; ", marked(hint)]]));
}));

/** The words that stages begin with, asked for once; those that need a value end with `:`. */
let words = null;
const vocabulary = () => (words ??= read("/v1/pipeline/complete").then(({ items }) => new Set(items.map((item) => item.text))).catch(() => {
  words = null;
  return new Set();
}));

/** Whether a text is a pipeline: it has a `|`, is a saved pipeline, or begins with a stage and its mark. */
export async function isPipeline(typed) {
  if (typed.includes("|") || typed.startsWith("@")) return true;
  const [, word, mark] = /^!?\s*([a-z-]+)\s*([:,]|$)/.exec(typed) ?? [];
  if (word === undefined) return false;
  const known = await vocabulary();
  return known.has(word) || (mark !== "" && known.has(`${word}:`));
}

let fields = 0;

/**
 * Adds completion to a field. `always`: the field takes nothing but pipelines. The list opens while one is typed, and
 * with the arrow down or Ctrl+Space.
 */
export function completing(field, { always = false } = {}) {
  const id = `completions-${fields += 1}`;
  const list = h("ul", { role: "listbox", id, "aria-label": "Completions" });
  const about = h("p", { class: "completion-about" });
  const box = h("div", { class: "completions", hidden: true }, about, list);
  let [found, chosen, running] = [null, -1, null];
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": id, "aria-haspopup": "listbox" })) {
    field.setAttribute(name, value);
  }
  const close = () => {
    running?.abort();
    box.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (at) => {
    const options = [...list.children];
    options[chosen]?.setAttribute("aria-selected", "false");
    chosen = options.length ? (at + options.length) % options.length : -1;
    const option = options[chosen];
    if (!option) return;
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  };
  const accept = (at) => {
    const encoded = bytes.encode(field.value);
    const before = text.decode(encoded.slice(0, found.offset)) + found.items[at].text;
    field.value = before + text.decode(encoded.slice(found.offset + found.length));
    field.setSelectionRange(before.length, before.length);
    close();
    field.focus();
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  };
  const show = () => {
    const { items, signature, expects } = found;
    // A word that is complete needs no completion.
    const typed = text.decode(bytes.encode(field.value).slice(found.offset, found.offset + found.length));
    const open = items.filter((item) => item.text !== typed).length > 0 || signature || expects;
    if (!open || document.activeElement !== field) return close();
    about.replaceChildren(...[signature && h("code", {}, signature), expects && [" ", marked(expects)]].flat(Infinity).filter(Boolean));
    about.hidden = !signature && !expects;
    list.replaceChildren(...items.slice(0, SHOWN).map((item, at) => h("li", { role: "option", id: `${id}-${at}`, "aria-selected": "false",
      onpointerdown: (event) => { event.preventDefault(); accept(at); } },
    h("code", {}, h("bdi", {}, item.text)), h("span", { class: "tag" }, item.kind), h("span", { class: "quiet" }, h("bdi", {}, marked(item.about))))));
    list.hidden = items.length === 0;
    box.hidden = false;
    chosen = -1;
    field.setAttribute("aria-expanded", String(items.length > 0));
  };
  const ask = async (asked) => {
    running?.abort();
    if (!asked && !always && !(await isPipeline(field.value.trim()))) return close();
    running = new AbortController();
    const at = bytes.encode(field.value.slice(0, field.selectionStart)).length;
    try {
      found = await read("/v1/pipeline/complete", { pipeline: field.value, at }, running.signal);
      show();
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  };
  const later = debounced(PAUSE, () => document.activeElement === field && ask(false));
  field.addEventListener("input", later);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const { key } = event;
    if ((key === " " && event.ctrlKey) || (key === "ArrowDown" && box.hidden)) {
      event.preventDefault();
      ask(true);
    } else if (box.hidden) return;
    else if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      choose(chosen === -1 && key === "ArrowUp" ? -1 : chosen + (key === "ArrowDown" ? 1 : -1));
    } else if (key === "Escape") {
      event.preventDefault();
      close();
    } else if ((key === "Enter" || key === "Tab") && chosen >= 0) {
      event.preventDefault();
      accept(chosen);
    } else if (key === "Enter") close();
  });
  return h("div", { class: "completing" }, field, box);
}
