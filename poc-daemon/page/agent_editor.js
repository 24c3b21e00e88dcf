// The files of an agent in an editor: checked while they are typed, saved when they are valid.

import { mayDecide, path, read, write } from "./api.js";
import { debounced, h, marked } from "./dom.js";
import { lineDiff } from "./diff.js";
import { say, sayError } from "./frame.js";
import { mistakes } from "./pipeline_field.js";

/** A pause in typing after which the text is checked, in milliseconds. */
const PAUSE = 200;

/** The two files, as the ops name them. */
const PARTS = ["file", "prompt"];

/** A message begins with what is wrong; further lines show where, and need room that a line of the editor does not have. */
const firstLine = ({ message }) => message.split("\n", 1)[0];
const otherLines = ({ message }) => message.split("\n").slice(1).join("\n");

export class AgentEditor extends HTMLElement {
  /** Shows the files of an agent, as `agent show` answers them. What was typed and not saved stays. */
  set(agent, files) {
    this.agent = agent;
    const there = { file: files.agent, prompt: files.prompt };
    if (!this.files) return this.start(there);
    for (const part of PARTS) {
      const file = there[part];
      if (!file || this.files[part]?.version === file.version) continue;
      if (!this.files[part] || !this.isChanged(part) || this.texts[part] === file.text) this.take(part, file);
      else this.theirs[part] = file;
    }
    // The daemon answers again.
    if (this.failure) this.check();
    this.refresh();
  }

  start(there) {
    Object.assign(this, { files: there, texts: {}, theirs: {}, current: "file", found: { errors: [], warnings: [] } });
    for (const part of PARTS) if (there[part]) this.texts[part] = this.draft(part) ?? there[part].text;
    this.area = h("textarea", { class: "code", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", readonly: !mayDecide,
      "aria-label": "Text of the file", "aria-describedby": "agent-problems", oninput: () => this.typed(), onscroll: () => this.scrolled(),
      onkeydown: (event) => this.key(event) });
    this.mirror = h("pre", { class: "code mirror", "aria-hidden": "true" });
    this.gutter = h("div", { class: "code gutter", "aria-hidden": "true" });
    this.tabs = h("div", { class: "choices", role: "group", "aria-label": "File" });
    this.buttons = h("div", { class: "actions" });
    this.list = h("ul", { class: "rows problems", id: "agent-problems", "aria-live": "polite" });
    this.other = h("div", {});
    this.replaceChildren(h("section", { "aria-labelledby": "files" }, h("h2", { id: "files" }, "Files"),
      h("div", { class: "editor-head" }, this.tabs, this.buttons), this.other,
      h("div", { class: "code-editor" }, this.gutter, h("div", { class: "code-place" }, this.mirror, this.area)), this.list));
    this.check = debounced(PAUSE, () => this.checkNow());
    this.open("file");
    this.checkNow();
  }

  isChanged(part) {
    return this.files[part] !== null && this.texts[part] !== undefined && this.texts[part] !== this.files[part]?.text;
  }

  /** The file on disk takes the place of what is in the editor. */
  take(part, file) {
    this.files[part] = file;
    this.texts[part] = file.text;
    delete this.theirs[part];
    this.keepDraft(part);
    if (part === this.current && this.area.value !== file.text) this.area.value = file.text;
    this.check();
  }

  open(part) {
    this.current = part;
    this.area.value = this.texts[part];
    this.area.setAttribute("aria-label", `Text of ${this.files[part].file}`);
    this.refresh();
    this.scrolled();
  }

  typed() {
    this.texts[this.current] = this.area.value;
    this.keepDraft(this.current);
    this.refresh();
    this.check();
  }

  key(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      if (this.canSave()) this.save();
    }
  }

  scrolled() {
    const { scrollTop, scrollLeft } = this.area;
    this.gutter.scrollTop = scrollTop;
    this.mirror.scrollTop = scrollTop;
    this.mirror.scrollLeft = scrollLeft;
  }

  /** What `agent check` says about both texts together. */
  async checkNow() {
    const asked = JSON.stringify(this.texts);
    try {
      const { agents: [found] } = await write("/v1/agent/check", { agent: this.agent, ...this.texts });
      if (asked !== JSON.stringify(this.texts)) return;
      this.found = found;
      this.failure = null;
    } catch (error) {
      this.failure = error;
    }
    this.refresh();
  }

  canSave() {
    const changed = PARTS.some((part) => this.isChanged(part));
    return mayDecide && changed && !this.failure && this.found.errors.length === 0 && !PARTS.some((part) => this.theirs[part]);
  }

  async save(texts = this.texts) {
    const changed = PARTS.filter((part) => this.files[part] && texts[part] !== undefined && texts[part] !== this.files[part].text);
    const fields = Object.fromEntries(changed.map((part) => [part, texts[part]]));
    const versions = { version: this.files.file.version, prompt_version: this.files.prompt?.version };
    try {
      const { files } = await write(path`/v1/agents/${this.agent}/files`, { ...fields, ...versions });
      for (const part of PARTS) {
        const file = files[part === "file" ? "agent" : "prompt"];
        if (file && (changed.includes(part) || !this.files[part])) this.take(part, file);
      }
      this.refresh();
      say(`Saved: ${changed.map((part) => this.files[part].file).join(", ")}`);
      dispatchEvent(new CustomEvent("agent-saved"));
    } catch (error) {
      sayError(error);
      if (error.code === "conflict") await this.reread();
    }
  }

  /** After somebody else has changed a file: its text as it is now, beside the one in the editor. */
  async reread() {
    const { files } = await read(path`/v1/agents/${this.agent}`, { files: true }).catch(() => ({}));
    if (files) this.set(this.agent, files);
  }

  /** The text before the last save, again. */
  restore() {
    const { previous } = this.files[this.current];
    this.texts[this.current] = previous;
    this.area.value = previous;
    return this.save();
  }

  refresh() {
    const { current: part, files, theirs } = this;
    const own = (problem) => problem.file === undefined || files[part].file.endsWith(problem.file);
    const problems = [...this.found.errors.map((one) => ({ ...one, tone: "bad" })), ...this.found.warnings.map((one) => ({ ...one, tone: "warn" }))];
    const lines = this.area.value.split("\n");
    const at = new Map();
    for (const problem of problems.filter(own)) if (problem.line && !at.has(problem.line)) at.set(problem.line, problem);
    this.gutter.replaceChildren(...lines.map((_, index) => h("span", { class: at.get(index + 1)?.tone }, String(index + 1))), h("span", {}, " "));
    this.mirror.replaceChildren(...lines.map((line, index) => {
      const problem = at.get(index + 1);
      return problem ? h("span", { class: problem.tone }, h("i", {}, line || " "), h("b", {}, `  ${firstLine(problem)}`), "\n") : h("i", {}, `${line}\n`);
    }));
    const row = (problem) => h("li", { class: problem.tone },
      h("span", { class: "tag" }, problem.tone === "bad" ? "error" : "warning"),
      problem.line && own(problem) && h("button", { class: "plain", onclick: () => this.jump(problem) }, `line ${problem.line}`),
      !own(problem) && h("span", { class: "quiet" }, `${problem.file}${problem.line ? `, line ${problem.line}` : ""}: `),
      h("bdi", {}, marked(firstLine(problem))), problem.hint && !problem.pipelines?.length && h("span", { class: "quiet" }, ": ", h("bdi", {}, marked(problem.hint))),
      problem.pipelines?.length ? mistakes(problem.pipelines) : otherLines(problem) && h("pre", { class: "long" }, otherLines(problem)));
    this.list.replaceChildren(...(this.failure ? [h("li", { class: "bad" }, marked(this.failure.message))]
      : problems.length ? problems.map(row) : [h("li", { class: "quiet" }, "No errors: it can be used as it is.")]));
    this.tabs.replaceChildren(...PARTS.filter((name) => files[name]).map((name) => h("button", { "aria-pressed": String(name === part), onclick: () => this.open(name) },
      files[name].file, this.isChanged(name) && h("span", { title: "Not saved" }, " •"))));
    this.other.replaceChildren(...(theirs[part] ? [this.conflict(theirs[part])] : []));
    this.buttons.replaceChildren(...[
      files[part].bundled && h("span", { class: "tag" }, "bundled"),
      mayDecide && this.isChanged(part) && h("button", { onclick: () => this.take(part, files[part]) || this.refresh() }, "Discard"),
      mayDecide && files[part].previous && !this.isChanged(part) && h("button", { onclick: () => this.restore() }, "Restore previous version"),
      mayDecide && h("button", { class: "primary", disabled: !this.canSave(), "aria-keyshortcuts": "Control+S", onclick: () => this.save() }, "Save"),
    ].filter(Boolean));
  }

  /** Both versions of a file that was changed on disk while it was edited here. */
  conflict(file) {
    const { current: part } = this;
    return h("div", { class: "state-line", role: "alert" },
      h("p", {}, h("strong", {}, `${file.file} was changed on disk in the meantime. `), "Below is what is on disk (−) and what is here (+)."),
      lineDiff(file.text, this.texts[part], ["on disk", "here"]),
      h("div", { class: "actions" },
        h("button", { onclick: () => { this.take(part, file); this.refresh(); } }, "Use the version on disk"),
        h("button", { onclick: () => { this.files[part] = file; delete this.theirs[part]; this.keepDraft(part); this.refresh(); } }, "Keep my version")));
  }

  jump({ line, column }) {
    const lines = this.area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    const offset = [...(lines[line - 1] ?? "")].slice(0, (column ?? 1) - 1).join("").length;
    this.area.focus();
    this.area.setSelectionRange(start + offset, start + (lines[line - 1]?.length ?? 0));
    this.area.scrollTop = (line - 3) * parseFloat(getComputedStyle(this.area).lineHeight);
    this.scrolled();
  }

  draftName(part) {
    return `draft ${this.agent} ${part}`;
  }

  /** What was typed before the page was left. */
  draft(part) {
    try {
      return sessionStorage.getItem(this.draftName(part));
    } catch {
      return null;
    }
  }

  keepDraft(part) {
    try {
      if (this.isChanged(part)) sessionStorage.setItem(this.draftName(part), this.texts[part]);
      else sessionStorage.removeItem(this.draftName(part));
    } catch {
      // Storage may be switched off or full; the text is still here.
    }
  }
}

customElements.define("agent-editor", AgentEditor);
