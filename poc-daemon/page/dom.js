// Builds elements. Text is always text: nothing here or elsewhere parses markup.

/**
 * An element with attributes and children. `on…` attributes are listeners, `true` and `false` set and omit an
 * attribute, other children than elements become text, `null` and `false` are left out.
 */
export function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [property, to] of Object.entries(value)) element.style.setProperty(property, to);
    else if (key === "value" || key === "checked") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The path of a note's screen. */
export const notePath = (key) => "/notes/" + key.split("/").map(encodeURIComponent).join("/");

/** A link to a note. `bdi` keeps text of another direction from moving its surroundings. */
export const noteLink = (key, title) => h("a", { href: notePath(key), class: "note-link" }, h("bdi", {}, title || key));

/** A number with its noun: `1 note`, `2 notes`. */
export function count(number, noun, plural = noun + "s") {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

/** An amount in US dollars, marked if it is an estimate; less than a cent with four digits. */
export const dollars = (amount, isEstimate = false) => `${isEstimate ? "about " : ""}$${amount.toFixed(amount && amount < 0.01 ? 4 : 2)}`;

/** A strength from 0 to 1 as a bar. */
export function strengthBar(strength) {
  const label = `Strength ${strength.toFixed(2)}`;
  return h("div", { class: "strength", role: "img", "aria-label": label, title: label }, h("i", { style: { "--part": Math.min(1, strength) } }));
}

/** Text with its backticks as code elements. */
export function marked(text) {
  return String(text).split("`").map((part, at) => (at % 2 ? h("code", {}, h("bdi", {}, part)) : part));
}

/** A text with a capital letter at its beginning. */
export const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

/** Runs a function after the last of several calls in quick succession. */
export function debounced(milliseconds, run) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), milliseconds);
  };
}
