// Two texts, with what differs between them marked.

import { h } from "./dom.js";

/** Words compared at most; beyond, only the common beginning and end are left unmarked. */
const MOST = 400;

/** Lines compared at most, and lines shown around a change. */
const MOST_LINES = 2000;
const AROUND = 2;

/** A line with what was, and a line with what is. A missing text has no line. */
export function diff(before, after) {
  const [old, now] = pieces(before ?? "", after ?? "");
  return h("div", { class: "diff" },
    before && line("minus", "−", "was", old), after && line("plus", "+", "is", now));
}

const line = (tone, sign, name, parts) => h("div", { class: tone },
  h("span", { "aria-hidden": "true" }, sign), h("span", {}, h("span", { class: "hidden" }, `${name}: `), h("bdi", {}, parts)));

function pieces(before, after) {
  const [a, b] = [before, after].map((text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s]/gu) ?? []);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [middleA, middleB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const same = middleA.length * middleB.length <= MOST * MOST ? common(middleA, middleB) : [new Set(), new Set()];
  const shown = (words, middle, kept) => [
    words.slice(0, start).join(""), marks(middle, kept), words.slice(words.length - end).join(""),
  ];
  return [shown(a, middleA, same[0]), shown(b, middleB, same[1])];
}

/** Two texts line by line: the lines that only one of them has, with some lines around. */
export function lineDiff(before, after, names = ["was", "is"]) {
  const [a, b] = [before, after].map((text) => text.replace(/\n$/, "").split("\n"));
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [middleA, middleB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const [inA, inB] = middleA.length * middleB.length <= MOST_LINES * MOST_LINES ? common(middleA, middleB) : [new Set(), new Set()];
  const rows = a.slice(0, start).map((text) => ({ text }));
  for (let i = 0, j = 0; i < middleA.length || j < middleB.length;) {
    if (i < middleA.length && !inA.has(i)) rows.push({ text: middleA[i++], tone: "minus" });
    else if (j < middleB.length && !inB.has(j)) rows.push({ text: middleB[j++], tone: "plus" });
    else {
      rows.push({ text: middleA[i] });
      i += 1;
      j += 1;
    }
  }
  rows.push(...a.slice(a.length - end).map((text) => ({ text })));
  const near = rows.map((_, at) => rows.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ tone }) => tone));
  const signs = { minus: "−", plus: "+" };
  return h("div", { class: "diff", role: "group", "aria-label": "Differences" }, rows.map(({ text, tone }, at) => near[at]
    ? h("div", { class: tone }, h("span", { "aria-hidden": "true" }, signs[tone] ?? ""),
      h("span", {}, tone && h("span", { class: "hidden" }, `${names[tone === "plus" ? 1 : 0]}: `), h("bdi", {}, text || " ")))
    : near[at - 1] && h("div", { class: "gap" }, h("span", { "aria-hidden": "true" }), h("span", {}, "…"))));
}

/** The positions of a longest common subsequence, by dynamic programming. */
function common(a, b) {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const [inA, inB] = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      inA.add(i);
      inB.add(j);
      i += 1;
      j += 1;
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return [inA, inB];
}

/** Runs of words, those that are not kept in a mark. */
function marks(words, kept) {
  const runs = [];
  words.forEach((word, at) => {
    const is = kept.has(at);
    const last = runs.at(-1);
    if (last && last.is === is) last.text += word;
    else runs.push({ is, text: word });
  });
  return runs.map(({ is, text }) => (is ? text : h("b", {}, text)));
}
