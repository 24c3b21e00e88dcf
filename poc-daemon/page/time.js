// Times in the zone of the browser, with UTC in the tooltip.

import { h, marked } from "./dom.js";

const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const MINUTE = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
});
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" });

const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

/** How long ago or ahead an instant is, in words. */
export function relative(text, now = Date.now()) {
  const seconds = (new Date(text).getTime() - now) / 1000;
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return Math.abs(seconds) < 60 ? "just now" : RELATIVE.format(Math.trunc(seconds / length), unit);
}

function element(text, shown) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return h("span", {}, String(text));
  return h("time", { datetime: at.toISOString(), title: at.toISOString().replace(".000", "") + " (UTC)" }, shown(at));
}

/** `14 Nov 2026`, as text. */
export const dayText = (text) => DAY.format(new Date(text));

/** `14 Nov 2026`. */
export const day = (text) => element(text, (at) => DAY.format(at));

/** `14 Nov 2026, 08:15`. */
export const minute = (text) => element(text, (at) => MINUTE.format(at));

/** `3 hours ago`. */
export const ago = (text) => element(text, () => relative(text));

/** Instants in a text of the daemon, as it writes them: in UTC. */
const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A text with its backticks as code, and its instants in the zone of the browser. */
export const worded = (text) => String(text).split(INSTANT).map((part, index) => (index % 2 ? minute(part) : marked(part)));

const SECOND = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A line of the log with its time in the zone of the browser. */
export const logLine = (line) => line.split(INSTANT).map((part, index) => (index % 2 ? SECOND.format(new Date(part)) : part)).join("");

/** An instant as the value of a field of the type `datetime-local`, to the minute. */
export function localValue(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/** The instant of such a field, in UTC. */
export const fromLocalValue = (value) => new Date(value).toISOString();

/** A form that leads to the same screen as of another time. `keep` are the other fields of its address. */
export function timeForm(at, keep = {}) {
  const go = (value) => {
    const fields = new URLSearchParams(Object.entries(keep).filter(([, kept]) => kept));
    if (value) fields.set("at", value);
    location.assign(fields.size ? `?${fields}` : location.pathname);
  };
  const field = h("input", { type: "datetime-local", name: "time", required: true, max: localValue(Date.now()), value: at ? localValue(at) : "", "aria-label": "Date and time" });
  return h("form", { class: "time-form", onsubmit: (event) => { event.preventDefault(); if (field.value) go(fromLocalValue(field.value)); } },
    field, h("button", {}, "Show as of then"), at && h("button", { type: "button", onclick: () => go("") }, "Now"));
}
