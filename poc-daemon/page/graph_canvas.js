// Shows a graph: pan, zoom, hover, select. All it knows of notes are their positions, sizes, colours and labels.
//
// One canvas below shows everything, and is painted anew when the view changes. One canvas above shows what is in focus
// and the labels, and takes the pointer and the keyboard.

import { Renderer2D } from "./graph_2d.js";
import { RendererGL } from "./graph_gl.js";
import { Layers, radiusOf } from "./graph_layers.js";
import { Labels } from "./graph_labels.js";
import { h } from "./dom.js";

/** Labels drawn at most, those drawn however small the nodes are, and nodes in view for which there may be room for one. */
const LABELS = 60;
const ALWAYS = 12;
const TRIED = 300;

/** A label that would cover more nodes than this is left out, except for the first ones where all places are crowded. */
const COVERED = 1;
const CROWDED = 5;

/** The room that a label keeps from the middle of other nodes at most, in pixels. */
const ROOM = 10;

/** Letters of a label, and on a narrow canvas. */
const LETTERS = 36;
const FEW_LETTERS = 22;
const NARROW = 480;

const ZOOM = 1.25;

/** A view that has not moved for this long, in milliseconds, is painted with all its edges. */
const REST = 140;

/** Frames that are further apart than the first are slow, and closer than the second fast, in milliseconds. */
const SLOW = 26;
const FAST = 19;

/** Frames that are further apart than this do not belong to one movement, in milliseconds. */
const LONGEST = 1000;

export class GraphCanvas {
  /** `renderer`: `webgl2` also without a graphics card, `2d`, or what suits the machine. */
  constructor(place, { label, renderer, onhover, onselect }) {
    Object.assign(this, { place, renderer, onhover, onselect, nodes: [], edges: [], palette: [], scale: 40, x: 0, y: 0, hovered: -1, selected: -1, marked: [], frames: 0, labels: new Labels() });
    this.canvas = h("canvas", { class: "graph-top", tabindex: "0", role: "img", "aria-label": label });
    place.prepend(this.canvas);
    this.context = this.canvas.getContext("2d");
    this.begin();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(place);
  }

  /** Makes the canvas below. If WebGL2 is not there, or goes away, it is a 2-D canvas. */
  begin(plain = this.renderer === "2d") {
    this.base?.remove();
    this.base = h("canvas", { class: "graph-base", "aria-hidden": "true" });
    this.canvas.before(this.base);
    try {
      if (plain) throw new Error("not wanted");
      this.painter = new RendererGL(this.base, this.renderer === "webgl2");
      this.base.addEventListener("webglcontextlost", () => { this.begin(true); this.resize(); });
    } catch {
      // A canvas that was asked for WebGL2 gives no other context.
      const again = h("canvas", { class: "graph-base", "aria-hidden": "true" });
      this.base.replaceWith(again);
      this.base = again;
      this.painter = new Renderer2D(again);
    }
    this.place.dataset.renderer = this.painter instanceof RendererGL ? "webgl2" : "2d";
  }

  /** `nodes`: [{x, y, size: 0–1, color: index in the palette, label}], `edges`: [[from, to, strength]] as indexes of nodes. */
  set(nodes, edges, palette, fit = true) {
    const same = this.edges === edges;
    Object.assign(this, { nodes, edges, palette, hovered: -1, selected: -1, marked: [], layers: new Layers(nodes, edges) });
    if (!same) {
      this.neighbors = nodes.map(() => []);
      for (const [from, to] of edges) {
        this.neighbors[from].push(to);
        this.neighbors[to].push(from);
      }
    }
    this.ranked = this.layers.notes.ranked;
    this.painter.reset?.();
    if (fit) this.fit();
    this.draw();
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!this.nodes.length || !width) return;
    const { left, right, top, bottom } = this.layers.notes.box;
    this.x = (left + right) / 2;
    this.y = (top + bottom) / 2;
    this.scale = Math.min(160, 0.92 * Math.min(width / (right - left + 1), height / (bottom - top + 1)));
    this.fitted = this.scale;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.place;
    const ratio = devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.base]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    if (!this.moved) this.fit();
    // At once: a canvas of a new size is empty.
    this.paint();
  }

  /** Draws with the next frame; after the last of several moves, again with everything. */
  draw(moving = false) {
    this.moving = moving;
    clearTimeout(this.rest);
    if (moving) this.rest = setTimeout(() => this.draw(), REST);
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  /** The part of the layout that is in view. */
  box() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [halfWidth, halfHeight] = [width / 2 / this.scale, height / 2 / this.scale];
    return { left: this.x - halfWidth, right: this.x + halfWidth, top: this.y - halfHeight, bottom: this.y + halfHeight };
  }

  paint() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!this.layers || !width || !height) return;
    const color = this.color();
    const [dx, dy] = [width / 2 - this.x * this.scale, height / 2 - this.y * this.scale];
    const layer = this.layers.at(this.scale, this.box(), this.painter.limits);
    this.layer = layer;
    this.painter.draw(layer, { width, height, ratio: devicePixelRatio || 1, scale: this.scale, dx, dy, palette: this.palette,
      ground: color("--ground"), line: color("--line-strong"), moving: this.moving });
    this.frames += 1;
    this.pace();
    this.paintTop(dx, dy, color);
  }

  /** Draws fewer edges while the view moves if frames take long, and more if they do not. */
  pace() {
    const { limits } = this.painter;
    const [now, before] = [performance.now(), this.paintedAt];
    this.paintedAt = now;
    if (!this.moving || !(now - before < LONGEST)) return;
    this.gap = 0.8 * (this.gap ?? SLOW) + 0.2 * (now - before);
    if (this.gap > SLOW) limits.moving = Math.max(limits.fewest, Math.round(0.8 * limits.moving));
    else if (this.gap < FAST) limits.moving = Math.min(limits.edges, Math.round(1.1 * limits.moving));
  }

  /** What is in focus, and the labels. */
  paintTop(dx, dy, color) {
    const { context, layer, scale } = this;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const focus = this.selected >= 0 ? this.selected : this.hovered;
    const { marked } = this;
    this.base.classList.toggle("dimmed", focus >= 0 || marked.length > 0);
    const { notes } = this.layers;
    const at = (one, item) => [one.x[item] * scale + dx, one.y[item] * scale + dy];
    let [labelled, source] = [layer.ranked, layer];
    const filled = (item) => {
      context.fillStyle = this.palette[notes.color[item]];
      context.beginPath();
      context.arc(...at(notes, item), radiusOf(notes, item, scale), 0, 2 * Math.PI);
      context.fill();
    };
    const ringed = (item, width) => {
      context.strokeStyle = color("--accent");
      context.lineWidth = width;
      context.beginPath();
      context.arc(...at(notes, item), radiusOf(notes, item, scale) + 1 + width, 0, 2 * Math.PI);
      context.stroke();
    };
    for (const item of marked) {
      filled(item);
      ringed(item, 1.5);
    }
    if (marked.length > 0) [labelled, source] = [marked, notes];
    if (focus >= 0) {
      const near = [...new Set(this.neighbors[focus])];
      context.strokeStyle = color("--accent");
      context.lineWidth = 1.2;
      context.beginPath();
      for (const item of near) {
        context.moveTo(...at(notes, focus));
        context.lineTo(...at(notes, item));
      }
      context.stroke();
      [...near, focus].forEach(filled);
      ringed(focus, 2.5);
      [labelled, source] = [[focus, ...near], notes];
    }
    this.paintLabels(labelled, source, { at: (item) => at(source, item), color, focus: source === notes ? focus : -1, chosen: source === notes && (focus >= 0 || marked.length > 0) });
  }

  /** Names beside items, each at the place where it covers the fewest others. `chosen`: all of them are in focus or marked. */
  paintLabels(labelled, source, { at, color, focus, chosen }) {
    const { context, layer, scale } = this;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [ground, text, quiet, ratio] = [color("--ground"), color("--text"), color("--quiet"), devicePixelRatio || 1];
    const font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
    const letters = width < NARROW ? FEW_LETTERS : LETTERS;
    const marked = new Set(this.marked);
    const [taken, placed] = [[], new Set()];
    const { left: west, top: north } = this.box();
    const covered = ([left, top, length, tall], room) => layer.countWithin({ left: west + (left - room) / scale, right: west + (left + length + room) / scale,
      top: north + (top - room) / scale, bottom: north + (top + tall + room) / scale }, COVERED + 1);
    const place = (item, most) => {
      if (placed.has(item)) return;
      const [[x, y], radius, label] = [at(item), radiusOf(source, item, scale), this.labelOf(source, item, letters)];
      const length = this.labels.width(label, font);
      const [, best] = [[x + radius + 4, y - 8], [x - radius - 4 - length, y - 8], [x - length / 2, y - radius - 19], [x - length / 2, y + radius + 3]]
        .map(([left, top]) => [left, top, length, 16])
        .filter((box) => box[0] >= 0 && box[0] + length <= width && box[1] >= 0 && box[1] + 16 <= height && !taken.some((other) => overlap(box, other)))
        .map((box) => [covered(box, Math.min(ROOM, radius + 2)), box])
        .filter(([over]) => chosen || over <= most)
        .reduce((least, one) => (one[0] < least[0] ? one : least), [Infinity, null]);
      // What is in focus always has its name.
      const box = best ?? (item === focus ? [Math.max(0, Math.min(width - length, x + radius + 4)), y - 8, length, 16] : null);
      if (!box) return;
      placed.add(item);
      taken.push(box);
      this.labels.draw(context, label, box[0], box[1] + 8, { font, ground, ratio, text: item === focus || marked.has(item) ? text : quiet });
    };
    const candidates = [];
    for (const item of labelled) {
      if (candidates.length >= TRIED) break;
      const [x, y] = at(item);
      if (x >= 0 && y >= 0 && x <= width && y <= height) candidates.push(item);
    }
    for (const item of candidates) {
      if (taken.length >= LABELS || (!chosen && radiusOf(source, item, scale) < 4 && taken.length >= ALWAYS)) break;
      place(item, COVERED);
    }
    for (const item of candidates) {
      if (taken.length >= CROWDED) break;
      place(item, Infinity);
    }
  }

  /** The name of a note; of a group that of its first note and the number of the others. */
  labelOf(layer, item, letters) {
    const others = layer.members[item] - 1;
    return shortened(this.nodes[layer.first[item]].label, letters) + (others > 0 ? ` +${others.toLocaleString("en")}` : "");
  }

  listen() {
    const { canvas } = this;
    const pointers = new Map();
    let travelled = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, event);
      if (pointers.size === 1) travelled = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return this.hover(this.find(event.offsetX, event.offsetY));
      const others = [...pointers.values()].filter((other) => other.pointerId !== event.pointerId);
      if (others.length === 1) {
        const distance = (one) => Math.hypot(one.offsetX - others[0].offsetX, one.offsetY - others[0].offsetY);
        this.zoom(distance(event) / Math.max(1, distance(before)), event.offsetX, event.offsetY);
      } else {
        this.pan(before.offsetX - event.offsetX, before.offsetY - event.offsetY);
        travelled += Math.hypot(before.offsetX - event.offsetX, before.offsetY - event.offsetY);
      }
      pointers.set(event.pointerId, event);
    });
    const release = (event) => {
      if (!pointers.delete(event.pointerId) || event.type !== "pointerup" || travelled >= 4) return;
      const found = this.find(event.offsetX, event.offsetY);
      // A group opens; a note is selected.
      if (found >= 0 && this.group) this.zoom(4, event.offsetX, event.offsetY);
      else this.select(found);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 60;
      const run = {
        ArrowLeft: () => this.pan(-step, 0), ArrowRight: () => this.pan(step, 0), ArrowUp: () => this.pan(0, -step), ArrowDown: () => this.pan(0, step),
        "+": () => this.zoom(ZOOM), "=": () => this.zoom(ZOOM), "-": () => this.zoom(1 / ZOOM), 0: () => { this.fit(); this.draw(); }, Escape: () => this.select(-1),
      }[event.key];
      if (!run) return;
      event.preventDefault();
      run();
    });
  }

  pan(x, y) {
    this.x += x / this.scale;
    this.y += y / this.scale;
    this.moved = true;
    this.draw(true);
  }

  /** Zooms around a place on the canvas, by default its centre. */
  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(400, Math.max(Math.min(0.5, (this.fitted ?? 0.5) / 2), this.scale * factor));
    const [fromX, fromY] = [x - this.canvas.clientWidth / 2, y - this.canvas.clientHeight / 2];
    this.x += fromX / this.scale - fromX / scale;
    this.y += fromY / this.scale - fromY / scale;
    this.scale = scale;
    this.moved = true;
    this.draw(true);
  }

  /** The note at a place, or -1. In a layer of groups it is the first note of the group, and `group` is how many it has. */
  find(x, y) {
    const { layer, scale } = this;
    if (!layer) return -1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [across, down] = [(x - width / 2) / scale + this.x, (y - height / 2) / scale + this.y];
    const reach = Math.max(25 / scale, layer.cell);
    let [best, least] = [-1, Infinity];
    for (const item of layer.in({ left: across - reach, right: across + reach, top: down - reach, bottom: down + reach })) {
      const distance = Math.hypot(layer.x[item] - across, layer.y[item] - down) * scale - radiusOf(layer, item, scale);
      if (distance < least) [best, least] = [item, distance];
    }
    if (least >= 5) best = -1;
    this.group = best >= 0 && layer.members[best] > 1 ? layer.members[best] : 0;
    return best < 0 ? -1 : layer.first[best];
  }

  hover(index) {
    this.canvas.style.cursor = index >= 0 ? "pointer" : "grab";
    // A group has no neighbours of its own to show.
    this.onhover?.(index, this.group);
    const shown = this.group ? -1 : index;
    if (shown === this.hovered) return;
    this.hovered = shown;
    this.drawTop();
  }

  select(index, show = false) {
    this.selected = index;
    if (show && index >= 0) {
      Object.assign(this, { x: this.nodes[index].x, y: this.nodes[index].y, scale: Math.max(this.scale, 40), moved: true });
      this.draw();
    }
    this.onselect?.(index);
    this.drawTop();
  }

  /** Marks notes, and shows all of them if some are out of view. */
  mark(indexes) {
    this.marked = indexes;
    const { left, right, top, bottom } = this.box();
    const isHidden = ({ x, y }) => x < left || x > right || y < top || y > bottom;
    if (indexes.some((index) => isHidden(this.nodes[index]))) {
      this.fit();
      this.draw();
    }
    this.drawTop();
  }

  /** Draws the canvas above alone with the next frame. */
  drawTop() {
    if (this.pending || this.pendingTop || !this.layer) return;
    this.pendingTop = requestAnimationFrame(() => {
      this.pendingTop = 0;
      const { clientWidth: width, clientHeight: height } = this.canvas;
      this.paintTop(width / 2 - this.x * this.scale, height / 2 - this.y * this.scale, this.color());
    });
  }

  /** Reads colours of the style sheet: `light-dark()` has a value only in a property that is a colour. */
  color() {
    const style = getComputedStyle(this.base);
    return (name) => {
      this.base.style.color = `var(${name})`;
      return style.color;
    };
  }
}

const shortened = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1).trimEnd()}…` : text);

const overlap = (a, b) => a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3];
