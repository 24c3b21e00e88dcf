// Times in the zone of the browser, with UTC in the tooltip.

import { h } from "./dom.js";

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

/** `14 Nov 2026`. */
export const day = (text) => element(text, (at) => DAY.format(at));

/** `14 Nov 2026, 08:15`. */
export const minute = (text) => element(text, (at) => MINUTE.format(at));

/** `3 hours ago`. */
export const ago = (text) => element(text, () => relative(text));
