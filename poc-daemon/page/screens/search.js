// One field for words and pipelines. Words give ranked notes with the reason for each.

import { mayDecide, mayWrite, program, quoted, read, write } from "../api.js";
import { count, debounced, h, marked, noteLink } from "../dom.js";
import { Screen, empty, failed, loading, onKeys, say, sayError } from "../frame.js";
import { completing, isPipeline, mistakes } from "../pipeline_field.js";
import { ago, day } from "../time.js";

/** Hits shown at first, and further ones each time that more are asked for. */
const SHOWN = 30;

/** Hits of a filtered question for which the reasons are asked at least. */
const EXPLAINED = 100;

/** Hits of a question that filters are applied to. */
const RANKED = 256;

/** The parts of a score that a note has only if it shares a word or a name with the question. */
const LITERAL = ["words", "identifier", "named", "key"];

/** A pause in typing after which the search starts, in milliseconds: shorter than between two keys, longer than for a repeated key. */
const PAUSE = 20;

/** What the shares of a score are called. The others have names that explain themselves. */
const SIGNALS = { meaning: "meaning", words: "words", mention: "mention", shared: "shared name", link: "link", derived: "fact",
  window: "context", order: "neighbour", named: "its name", identifier: "identifier", alike: "similar", key: "key" };

/** What they mean. */
const MEANINGS = { meaning: "It means something similar", words: "It has words of the question", mention: "A good hit mentions it, or it mentions one",
  shared: "It shares a name with a good hit", link: "A good hit is linked to it", derived: "A note that was derived from it matches",
  window: "It and the messages around it match together", order: "The message before or after it matches", named: "Its title is in the question",
  identifier: "It has an identifier of the question", alike: "It is similar to good hits", key: "Its key is in the question" };

const TYPES = ["semantic", "episodic", "daily", "weekly", "monthly", "question"];
const AGES = [["1d", "a day"], ["7d", "a week"], ["30d", "a month"], ["365d", "a year"]];

class SearchScreen extends Screen {
  connectedCallback() {
    this.fields = new URLSearchParams(location.search);
    const given = (name) => this.fields.get(name) ?? "";
    const later = debounced(PAUSE, () => this.search());
    this.field = h("input", { type: "text", class: "question", name: "q", value: given("q"), "aria-label": "Words, or a pipeline",
      placeholder: "Words, a question, or a pipeline: all | type:episodic | sort:priority", autocomplete: "off", spellcheck: "false",
      autofocus: true, oninput: later });
    const select = (name, label, options) => h("label", {}, label, h("select", { name, onchange: () => this.search() },
      h("option", { value: "" }, "any"), options.map(([value, text]) =>
        h("option", { value, selected: given(name) === value }, text))));
    const text = (name, label, hint) => h("label", {}, label, h("input", { name, value: given(name), placeholder: hint, oninput: later }));
    this.form = h("form", { class: "search-form", action: "/search", role: "search", onsubmit: (event) => { event.preventDefault(); this.search(); } },
      h("div", {}, completing(this.field), h("button", { class: "primary" }, "Search")),
      h("div", { class: "filters" },
        select("type", "Type", TYPES.map((type) => [type, type])), select("age", "Changed within", AGES),
        text("keyword", "Keyword", "any"), text("by", "Written by", "any")));
    this.answer = h("div", { "aria-live": "polite" });
    this.replaceChildren(h("h1", { class: "hidden" }, "Search"), this.form, this.answer);
    onKeys({ j: ["next note", () => this.move(1)], k: ["previous note", () => this.move(-1)] });
    // A pipeline has completions below the field.
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" || this.isPipeline || !this.querySelector(".hit")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      this.move(1);
    }, { capture: true });
    this.answer.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by || !event.target.matches(".hit h2 a")) return;
      event.preventDefault();
      this.move(by);
    });
    addEventListener("reconnected", () => this.search());
    this.search();
  }

  /** Moves the focus by hits. */
  move(by) {
    const links = [...this.querySelectorAll(".hit h2 a")];
    const at = links.indexOf(document.activeElement);
    if (at === 0 && by < 0) this.field.focus();
    else links[Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
  }

  /** Searches without the filters. */
  clear() {
    for (const field of this.form.querySelectorAll(".filters [name]")) field.value = "";
    this.search();
  }

  /** Searches, and shows so many hits. */
  async search(shown = SHOWN) {
    this.running?.abort();
    this.running = new AbortController();
    const { signal } = this.running;
    const given = Object.fromEntries([...new FormData(this.form)].map(([name, value]) => [name, value.trim()]));
    const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value));
    history.replaceState(null, "", query.size ? `/search?${query}` : "/search");
    document.title = given.q ? `${given.q} · Search · poc-memory` : "Search · poc-memory";
    if (!this.answer.hasChildNodes()) this.answer.replaceChildren(loading());
    const started = performance.now();
    try {
      this.isPipeline = await isPipeline(given.q);
      const asked = questionOf(given, this.isPipeline, shown);
      const found = await asked.run(signal);
      const time = performance.now() - started;
      this.answer.replaceChildren(...this.show(given, asked, found, shown, time));
    } catch (error) {
      if (error.name === "AbortError") return;
      const shown = error.mistakes?.pipelines?.length ? mistakes(error.mistakes.pipelines) : failed(error.mistakes ?? error, () => this.search());
      this.answer.replaceChildren(shown);
    }
  }

  show(given, asked, { results, left_out: left, pairs, degraded }, shown, time) {
    const all = results.length + (left ?? 0);
    const line = h("p", { class: "answer-line" },
      `${sizeOf(asked, all, shown)} in ${time.toFixed(0)} ms`,
      degraded.length > 0 && [" · ", degraded.map(marked)], asked.question && h("span", { class: "side" }, "Why it was found"));
    const commandLine = h("div", { class: "command" }, "The same on the command line: ", h("code", {}, asked.command),
      h("button", { class: "plain", onclick: () => navigator.clipboard.writeText(asked.command).then(() => say("Copied")) }, "Copy"));
    if (pairs?.length) return [line, pairList(pairs), commandLine];
    if (results.length === 0) {
      return [asked.filtered ? empty("Nothing found", "No note passes all filters. ", h("button", { type: "button", onclick: () => this.clear() }, "Search without them"))
        : given.q ? empty("Nothing found", "Other words may help: a search by meaning needs whole words.")
        : empty("The memory is empty", h("code", {}, "poc-memory import FOLDER"), " takes in your notes."), commandLine];
    }
    const most = Math.max(...results.map((hit) => hit.score), 1e-9);
    const isFar = asked.question && results.every(({ shares }) => shares && !LITERAL.some((part) => shares[part] > 0));
    // A ranked answer is cut after the notes that were asked for, and does not say how many there are.
    const hasMore = all > shown || (asked.question && results.length === shown);
    return [line,
      isFar && h("p", { class: "quiet" }, "No note has a word of the question. These are the nearest in meaning, which may not be near."),
      h("div", { class: "hits" }, results.slice(0, shown).map((hit) => hitRow(hit, given.q, asked, most))),
      hasMore && h("p", {}, h("button", { onclick: () => this.search(shown + SHOWN) }, "Show more")),
      commandLine].filter(Boolean);
  }
}

/** How many notes an answer has. A ranked one is cut, so it does not say how many there are in all. */
function sizeOf({ question, filtered }, all, shown) {
  const part = all > shown ? `, of which ${shown.toLocaleString("en")} are shown,` : "";
  if (question && filtered) return `${all.toLocaleString("en")} of the ${RANKED} best notes pass the filters${part}`;
  return `${question ? "The first " : ""}${count(all, "note")}${part}`;
}

/** What the fields ask for, so many notes at least: a pipeline if one is typed, filtered notes, or notes for a question. */
function questionOf({ q, type, age, keyword, by }, typed, shown) {
  const explained = Math.max(shown, EXPLAINED);
  const filters = [type && `type:${word(type)}`, age && `age:<${age}`, keyword && `keyword:${word(keyword)}`, by && `provenance:${word(by)}`].filter(Boolean);
  const filtered = filters.length > 0;
  // Questions that notes answered are shown with these notes.
  const withoutQuestions = type ? [] : ["!type:question"];
  if (typed) {
    const pipeline = [q, ...filters].join(" | ");
    // Half-typed pipelines are normal here, so they are checked before they are run.
    const run = async (signal) => {
      const { pipelines: [checked] } = await read("/v1/pipeline/check", { pipelines: pipeline }, signal);
      if (!checked.sound) throw Object.assign(new Error("mistakes"), { mistakes: checked.problem });
      return read("/v1/pipeline", { pipeline }, signal);
    };
    return { pipeline, filtered, command: `${program} search -p ${quoted(pipeline)}`, run };
  }
  if (!q) {
    const pipeline = ["all", ...withoutQuestions, ...filters, "sort:timestamp"].join(" | ");
    return { pipeline, filtered, command: `${program} search -p ${quoted(pipeline)}`, run: (signal) => read("/v1/pipeline", { pipeline, top_k: explained }, signal) };
  }
  const ranked = (signal, top_k, derived = null) => read("/v1/search", { text: q, top_k, explain: true, derived }, signal);
  if (!filtered) {
    return { question: q, command: `${program} retrieve ${quoted(q)}`, run: (signal) => ranked(signal, shown) };
  }
  const pipeline = [`hybrid,k=${RANKED},derived=1`, ...withoutQuestions, ...filters].join(" | ");
  // The pipeline filters; the reasons come from the same ranking without filters.
  const run = async (signal) => {
    const [found, reasons] = await Promise.all([read("/v1/pipeline", { text: q, pipeline }, signal), ranked(signal, explained, true)]);
    const byId = new Map(reasons.results.map((hit) => [hit.id, hit]));
    return { ...found, results: found.results.map((hit) => byId.get(hit.id) ?? hit) };
  };
  return { question: q, filtered, command: `${program} search ${quoted(q)} -p ${quoted(pipeline)}`, run };
}

/** A text as an argument of a stage. */
const word = (text) => (/^[\w./-]+$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`);

function hitRow(hit, q, asked, most) {
  const led = hit.linked ?? hit.derived ?? hit.led_by;
  const how = hit.linked ? "Linked with " : hit.derived ? "Known through " : hit.led_by?.names ? "Shares a name with " : "Mentioned with ";
  return h("article", { class: "hit" },
    h("div", {},
      h("h2", {}, noteLink(hit.key, isTitle(hit) ? highlighted(hit.title, asked.question) : hit.title)),
      h("p", { class: "about" }, h("span", { class: "tag" }, hit.type), h("bdi", {}, hit.key), day(hit.date)),
      hit.snippet && !isTitle(hit) && h("p", { class: "snippet" }, h("bdi", {}, highlighted(hit.snippet, asked.question))),
      led && h("p", { class: "led" }, how, noteLink(led.key, led.title), led.reason && `: ${led.reason}`, led.names && `: ${led.names.join(", ")}`)),
    h("div", { class: "why" },
      hit.shares ? sharesOf(hit, most) : asked.pipeline && h("p", {}, "Weight ", hit.weight.toFixed(2), h("br"), "Changed ", ago(hit.date)),
      asked.question && mayWrite && helpedButton(hit, q)));
}

/** Whether the snippet says no more than the title, as in short messages. */
const isTitle = (hit) => hit.title !== "" && hit.snippet?.trim() === hit.title.trim();

/** The greatest shares of a score as bars. */
function sharesOf(hit, most) {
  const shares = Object.entries(hit.shares).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 3);
  const title = `Score ${hit.score.toFixed(1)}, of which the greatest parts are shown`;
  const label = `Score ${hit.score.toFixed(1)}, its greatest parts: ` + shares.map(([name, share]) => `${SIGNALS[name] ?? name} ${share.toFixed(1)}`).join(", ");
  return h("div", { role: "img", "aria-label": label, title }, shares.map(([name, share]) =>
    h("div", { class: share < 0 ? "share minus" : "share", title: MEANINGS[name] }, h("span", {}, SIGNALS[name] ?? name),
      h("div", {}, h("i", { style: { "--part": Math.min(1, Math.abs(share) / most).toFixed(3) } })), h("span", {}, share.toFixed(1)))));
}

/** A text with the words of the question marked. */
function highlighted(text, question) {
  const words = (question ?? "").toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  if (words.length === 0) return text;
  const known = new Set(words);
  return text.split(/([\p{L}\p{N}]+)/u).map((part) => (known.has(part.toLowerCase()) ? h("mark", {}, part) : part));
}

/** A button that says, and takes back, that a hit answered the question. */
function helpedButton(hit, question) {
  const button = h("button", { class: "plain" });
  const show = (isNoted) => {
    button.textContent = isNoted ? "✓ This helped" : "This helped";
    button.setAttribute("aria-pressed", isNoted);
    button.classList.toggle("done", isNoted);
  };
  const isNoted = () => button.getAttribute("aria-pressed") === "true";
  const act = async (run) => {
    button.disabled = true;
    try {
      await run();
    } catch (error) {
      sayError(error);
    }
    button.disabled = false;
  };
  const toggle = async () => {
    const before = isNoted();
    const { question: noted, seq } = await write("/v1/reinforce", { node: hit.id, for: question, remove: before });
    show(Boolean(noted));
    const back = async () => {
      await write("/v1/undo", { what: String(seq) });
      show(before);
    };
    say(before ? "Similar questions do not lead to this note any more." : noted ? "Similar questions will find this note better." : "It gained weight. The question is not kept.",
      mayDecide && { name: "Undo", run: () => act(back) });
  };
  button.addEventListener("click", () => act(toggle));
  show(hit.derived?.title === question.replace(/\s+/g, " ").trim());
  return button;
}

const pairList = (pairs) => h("ul", { class: "rows" }, pairs.map(({ a, b, similarity }) =>
  h("li", {}, noteLink(a), " and ", noteLink(b), h("span", { class: "side" }, similarity.toFixed(2)))));

customElements.define("search-screen", SearchScreen);
