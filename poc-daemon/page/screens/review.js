// Proposals of agents, one below the other like the changes of a pull request.

import { mayDecide, path, read, write } from "../api.js";
import { count, h, marked, noteLink } from "../dom.js";
import { diff } from "../diff.js";
import { Screen, empty, form, onKeys, say, sayError } from "../frame.js";
import { onChange } from "../live.js";
import { ago } from "../time.js";
import { areUndone, undoAndSay } from "../undo.js";

/** What a decision is called afterwards. */
const DONE = { apply: "Applied", reject: "Rejected", reopen: "Waits again" };

class ReviewScreen extends Screen {
  connectedCallback() {
    this.rejected = new URLSearchParams(location.search).has("rejected");
    onKeys({ j: ["next proposal", () => this.move(1)], k: ["previous proposal", () => this.move(-1)],
      ...(this.rejected ? { o: ["reopen", () => this.decide("reopen")] } : { a: ["apply", () => this.decide("apply")], r: ["reject", () => this.decide("reject")] }) });
    super.connectedCallback();
    onChange(() => this.loadAndShow());
  }

  async load() {
    if (!mayDecide) return null;
    return (await read("/v1/agent/review", { run: new URLSearchParams(location.search).get("run"), rejected: this.rejected || null })).proposals;
  }

  show(proposals) {
    if (proposals === null) {
      return [h("h1", {}, "Review"), empty("Only a person decides", "This browser was signed in with a token, which belongs to a program. ", h("code", {}, "poc-memory page"), " signs you in as yourself.")];
    }
    const runs = new Map();
    for (const proposal of proposals) runs.set(proposal.run, [...(runs.get(proposal.run) ?? []), proposal]);
    const filtered = location.search.includes("run=");
    const tooLate = this.rejected ? 0 : proposals.filter(({ stale }) => stale).length;
    const none = this.rejected ? empty("Nothing is rejected", "What you reject stays here, so that you can change your mind.")
      : empty("Nothing waits for your decision", "Agents with ", h("code", {}, 'mode = "propose"'), ", and those that replace notes, ask here first.");
    return [
      h("div", { class: "title" }, h("h1", {}, "Review"),
        h("p", { class: "quiet" }, proposals.length ? `${count(proposals.length, "proposal")} of ${count(runs.size, "run")}${tooLate ? `, ${tooLate.toLocaleString("en")} of them too late` : ""}` : this.rejected ? "Nothing is rejected" : "Nothing waits"),
        h("nav", { class: "choices", "aria-label": "Which proposals" }, h("a", { href: "/review", "aria-current": !this.rejected && !filtered && "true" }, "Waiting"),
          h("a", { href: "/review?rejected", "aria-current": this.rejected && !filtered && "true" }, "Rejected")),
        filtered && h("a", { href: this.rejected ? "/review?rejected" : "/review" }, "Show all runs")),
      proposals.length === 0 ? none
        : h("p", { class: "review-keys" }, [["j", "next"], ["k", "previous"], ...(this.rejected ? [["o", "reopen"]] : [["a", "apply"], ["r", "reject"]])].map(([key, name]) => h("span", {}, h("kbd", {}, key), ` ${name}`))),
      [...runs.values()].map((run) => this.run(run)),
    ];
  }

  run(proposals) {
    const { run, agent, made, tenant } = proposals[0];
    return h("section", { "aria-label": `Proposals of ${agent}`, "data-run": run },
      h("div", { class: "run-head" },
        h("h2", {}, agent, h("small", {}, tenant && `for ${tenant}, `, ago(made))),
        this.rejected ? h("button", { onclick: () => this.decideRun(run, "reopen") }, "Reopen all")
          : [h("button", { disabled: proposals.every(({ stale }) => stale), onclick: () => this.decideRun(run, "apply") }, "Apply all"),
            h("button", { onclick: () => this.decideRun(run, "reject") }, "Reject all")]),
      proposals.map((proposal) => this.proposal(proposal)));
  }

  proposal(proposal) {
    const { run, number, action, why, changes = [], notes = [], stale, with: partner, note } = proposal;
    const act = (verb) => () => this.decideOne(run, number, verb);
    return h("article", { class: "card proposal", tabindex: "-1", "data-run": run, "data-number": number, "data-stale": stale, "aria-label": `Proposal ${number}` },
      h("header", {}, h("span", { class: "number" }, number), h("h3", {}, h("bdi", {}, marked(action)))),
      h("div", {},
        why && h("p", {}, h("bdi", {}, marked(why))),
        changes.map(({ field, before, after }) => h("div", {}, h("p", { class: "field-name" }, field), diff(before, after))),
        notes.length > 0 && h("div", {}, h("p", { class: "field-name" }, "Notes"), h("ul", { class: "rows about" }, notes.map(aboutRow))),
        partner && h("p", { class: "quiet" }, `Decided together with number ${partner}.`),
        note && h("p", {}, "Rejected: ", h("bdi", {}, note)),
        stale && h("p", { class: "problem" }, "Too late: ", marked(stale))),
      h("footer", {}, this.rejected ? h("button", { onclick: act("reopen") }, "Reopen") : [
        h("button", { class: "primary", disabled: Boolean(stale), onclick: act("apply") }, "Apply"),
        h("button", { onclick: act("reject") }, "Reject")]));
  }

  cards() {
    return [...this.querySelectorAll(".proposal")];
  }

  current() {
    return document.activeElement?.closest?.(".proposal");
  }

  move(by) {
    const cards = this.cards();
    const at = cards.indexOf(this.current());
    const next = cards[at === -1 ? (by > 0 ? 0 : cards.length - 1) : Math.min(cards.length - 1, Math.max(0, at + by))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  decide(verb) {
    const card = this.current();
    if (!card) return;
    if (verb === "apply" && card.dataset.stale) say(`It can no longer be applied: ${card.dataset.stale}`);
    else this.decideOne(card.dataset.run, Number(card.dataset.number), verb);
  }

  /** Decides one proposal, and those that are decided together with it. */
  async decideOne(run, number, verb) {
    const card = this.querySelector(`[data-run="${run}"][data-number="${number}"]`);
    const cards = this.cards();
    const next = cards[cards.indexOf(card) + 1] ?? cards[cards.indexOf(card) - 1];
    await this.send(run, verb, [number]);
    const place = next && this.querySelector(`[data-run="${next.dataset.run}"][data-number="${next.dataset.number}"]`);
    (place ?? this.cards()[0] ?? this.querySelector("h1"))?.focus?.();
  }

  decideRun(run, verb) {
    const cards = this.cards().filter((card) => card.dataset.run === run);
    // What can no longer be applied stays, to be rejected.
    const meant = cards.filter((card) => verb !== "apply" || !card.dataset.stale).map((card) => Number(card.dataset.number));
    if (verb !== "reject") return this.send(run, verb, meant);
    const waiting = cards.length;
    return form("Reject all?", [h("p", {}, `${count(waiting, "proposal")} of this run will be rejected. Agents propose them again only after one of their notes has changed. You can reopen them under Rejected.`)],
      "Reject all", () => void this.send(run, verb, meant));
  }

  async send(run, verb, only) {
    const body = only.length ? { only } : {};
    try {
      const { applied, rejected, reopened, refused = [] } = await write(path`/v1/runs/${run}/` + verb, body);
      const done = applied ?? rejected ?? reopened;
      const text = [done.length && `${DONE[verb]}: ${done[0]}${done.length > 1 ? ` and ${done.length - 1} more` : ""}`,
        refused.length && `Not applied: ${refused[0].action}: ${refused[0].reason}`].filter(Boolean).join(". ");
      const back = { apply: () => this.undo(run, body), reject: () => this.send(run, "reopen", only) }[verb];
      // An undo of some actions names only such that were applied.
      say(text || "Nothing was left to decide", done.length > 0 && refused.length === 0 && back && { name: "Undo", run: back });
    } catch (error) {
      sayError(error);
    }
    await this.loadAndShow();
  }

  undo(run, body) {
    return undoAndSay(() => write(path`/v1/runs/${run}/undo`, body), ({ undone }) => (undone.length === 1 ? `${undone[0]} is undone and waits again` : `${areUndone(undone)} and wait again`), () => this.loadAndShow());
  }
}

/** A note with the beginning of its text, so that a decision needs no other screen. */
const aboutRow = ({ key, title, text }) => h("li", {}, noteLink(key, title), text && text !== title && h("p", { class: "quiet" }, h("bdi", {}, text)));

customElements.define("review-screen", ReviewScreen);
