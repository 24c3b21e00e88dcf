// A graph as layers: the notes themselves, and for views from far away groups of notes that are close together.

import { radii, setApart } from "./graph_groups.js";

/** The width of the cells of the first layer of groups, in units of the layout, in which linked notes are about 1 apart. */
const CELL = 0.75;

/** The parts of the grid by which the notes in view are found, along each axis. */
const PARTS = 64;

/** What is drawn together: places, sizes from 0 to 1, colours by index, and edges by index. */
export class Layer {
  constructor({ x, y, size, color, first, members, from, to, strength, radius = null, cell = 0 }) {
    Object.assign(this, { x, y, size, color, first, members, from, to, strength, radius, cell, count: x.length });
    this.ranked = Uint32Array.from(x.keys()).sort((a, b) => members[b] - members[a] || size[b] - size[a]);
    this.index();
  }

  /** Sorts the items into a grid. */
  index() {
    const { x, y, count } = this;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < count; at += 1) {
      left = Math.min(left, x[at]);
      right = Math.max(right, x[at]);
      top = Math.min(top, y[at]);
      bottom = Math.max(bottom, y[at]);
    }
    this.box = { left, right, top, bottom };
    this.step = [Math.max(1e-6, (right - left) / PARTS), Math.max(1e-6, (bottom - top) / PARTS)];
    const starts = new Uint32Array(PARTS * PARTS + 1);
    const parts = Uint16Array.from({ length: count }, (_, at) => this.part(y[at], top, 1) * PARTS + this.part(x[at], left, 0));
    for (const part of parts) starts[part + 1] += 1;
    for (let part = 0; part < PARTS * PARTS; part += 1) starts[part + 1] += starts[part];
    const [items, next] = [new Uint32Array(count), starts.slice()];
    parts.forEach((part, at) => {
      items[next[part]] = at;
      next[part] += 1;
    });
    Object.assign(this, { starts, items });
  }

  part(value, least, axis) {
    return Math.min(PARTS - 1, Math.max(0, Math.floor((value - least) / this.step[axis])));
  }

  /** Calls a function with the ranges of the grid that overlap a box. */
  rows({ left, right, top, bottom }, run) {
    if (this.count === 0) return;
    const [from, to] = [this.part(left, this.box.left, 0), this.part(right, this.box.left, 0)];
    for (let row = this.part(top, this.box.top, 1); row <= this.part(bottom, this.box.top, 1); row += 1) {
      run(this.starts[row * PARTS + from], this.starts[row * PARTS + to + 1]);
    }
  }

  /** How many items are about in a box. */
  countIn(box) {
    let count = 0;
    this.rows(box, (start, end) => { count += end - start; });
    return count;
  }

  /** How many items are in a box, but at most `most`. */
  countWithin({ left, right, top, bottom }, most) {
    let count = 0;
    this.rows({ left, right, top, bottom }, (start, end) => {
      for (let at = start; at < end && count < most; at += 1) {
        const [x, y] = [this.x[this.items[at]], this.y[this.items[at]]];
        if (x >= left && x <= right && y >= top && y <= bottom) count += 1;
      }
    });
    return count;
  }

  /** The items that are about in a box. */
  in(box) {
    const found = [];
    this.rows(box, (start, end) => { for (let at = start; at < end; at += 1) found.push(this.items[at]); });
    return found;
  }
}

/** All layers of a graph. Those of groups are made when they are first asked for. */
export class Layers {
  /** `nodes`: [{x, y, size, color}] with colours by index, `edges`: [[from, to, strength]] by index. */
  constructor(nodes, edges) {
    const column = (type, read) => type.from(nodes, read);
    this.notes = new Layer({
      x: column(Float32Array, ({ x }) => x), y: column(Float32Array, ({ y }) => y), size: column(Float32Array, ({ size }) => size),
      color: column(Uint8Array, ({ color }) => color), first: Uint32Array.from(nodes.keys()), members: new Uint32Array(nodes.length).fill(1),
      from: Uint32Array.from(edges, ([from]) => from), to: Uint32Array.from(edges, ([, to]) => to), strength: Float32Array.from(edges, ([, , strength]) => strength),
    });
    this.groups = new Map();
  }

  /**
   * The layer for a scale, in pixels for a unit: notes while there are at most `most` in the box, else groups at least
   * `apart` pixels wide, of which at most `groups` are in the box.
   */
  at(scale, box, { most, apart, groups }) {
    if (this.notes.count <= most || this.notes.countIn(box) <= most) return this.notes;
    let level = Math.max(0, Math.ceil(Math.log2(apart / (CELL * scale))));
    // Groups of a few cells are always few enough.
    while (this.level(level).countIn(box) > groups) level += 1;
    return this.level(level);
  }

  /** The groups of a level, whose cells are twice as wide as those of the one before. */
  level(level) {
    if (!this.groups.has(level)) this.groups.set(level, this.grouped(CELL * 2 ** level));
    return this.groups.get(level);
  }

  /** Notes of one colour in one cell as a group, in the middle of its notes; edges between groups as one. */
  grouped(cell) {
    const { x, y, size, color, count, from, to, strength } = this.notes;
    const [names, group] = [new Map(), new Uint32Array(count)];
    const sums = { x: [], y: [], size: [], color: [], first: [], members: [] };
    for (let at = 0; at < count; at += 1) {
      const name = ((Math.floor(x[at] / cell) + 32768) * 65536 + Math.floor(y[at] / cell) + 32768) * 64 + color[at];
      let number = names.get(name);
      if (number === undefined) {
        number = names.size;
        names.set(name, number);
        for (const [field, value] of [["x", 0], ["y", 0], ["size", 0], ["color", color[at]], ["first", at], ["members", 0]]) sums[field].push(value);
      }
      group[at] = number;
      sums.x[number] += x[at];
      sums.y[number] += y[at];
      sums.members[number] += 1;
      if (size[at] > sums.size[number]) {
        sums.size[number] = size[at];
        sums.first[number] = at;
      }
    }
    const number = names.size;
    const edges = new Map();
    for (let at = 0; at < from.length; at += 1) {
      const [a, b] = [group[from[at]], group[to[at]]];
      if (a === b) continue;
      const name = a < b ? a * number + b : b * number + a;
      edges.set(name, (edges.get(name) ?? 0) + strength[at]);
    }
    const strongest = [...edges].sort((a, b) => b[1] - a[1]);
    const middle = (sums) => (sum, at) => sum / sums[at];
    const placed = { x: Float32Array.from(sums.x, middle(sums.members)), y: Float32Array.from(sums.y, middle(sums.members)), radius: radii(sums.members, cell) };
    setApart(placed);
    return new Layer({
      ...placed, size: Float32Array.from(sums.size), color: Uint8Array.from(sums.color), first: Uint32Array.from(sums.first), members: Uint32Array.from(sums.members),
      from: Uint32Array.from(strongest, ([name]) => Math.floor(name / number)), to: Uint32Array.from(strongest, ([name]) => name % number),
      strength: Float32Array.from(strongest, ([, sum]) => Math.min(1, sum / 4)), cell,
    });
  }
}

/** The radius of the largest note, in units of the layout, and the radius beyond which notes do not grow, in pixels. */
const LARGEST = 0.32;
const WIDEST = 20;

/** The radius of an item of a layer, in pixels. */
export function radiusOf(layer, at, scale) {
  if (layer.radius) return Math.max(1.5, layer.radius[at] * scale);
  return Math.max(1, Math.min(LARGEST * scale, WIDEST) * Math.sqrt(0.06 + 0.94 * layer.size[at]));
}
