// Draws a graph on a canvas: pan, zoom, hover, select. It knows nothing of notes but places, sizes and colours.

/** The radius of the largest node, in units of the layout, in which linked notes are about 1 apart. */
const LARGEST = 0.32;

/** The radius beyond which nodes do not grow, in pixels. */
const WIDEST = 20;

/** Nodes smaller than this on the screen, in pixels, are drawn as squares, which is much faster. */
const SMALL = 1.6;

/** Labels drawn at most. */
const LABELS = 60;

/** Labels drawn however small the nodes are. */
const ALWAYS = 12;

const ZOOM = 1.25;

export class GraphCanvas {
  /** `nodes`: [{x, y, size: 0–1, color, label}], `edges`: [[from, to, strength]] as indexes of nodes. */
  constructor(canvas, { onhover, onselect }) {
    Object.assign(this, { canvas, onhover, onselect, nodes: [], edges: [], scale: 40, x: 0, y: 0, hovered: -1, selected: -1 });
    this.context = canvas.getContext("2d", { alpha: false });
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  /** Replaces the graph. With `fit` it is shown as a whole. */
  set(nodes, edges, fit = true) {
    Object.assign(this, { nodes, edges, hovered: -1, selected: -1 });
    this.byColor = new Map();
    nodes.forEach(({ color }, at) => this.byColor.get(color)?.push(at) ?? this.byColor.set(color, [at]));
    this.neighbors = nodes.map(() => []);
    for (const [from, to] of edges) {
      this.neighbors[from].push(to);
      this.neighbors[to].push(from);
    }
    this.ranked = [...nodes.keys()].sort((a, b) => nodes[b].size - nodes[a].size);
    if (fit) this.fit();
    this.draw();
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!this.nodes.length || !width) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { x, y } of this.nodes) {
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
    this.x = (left + right) / 2;
    this.y = (top + bottom) / 2;
    this.scale = Math.min(160, 0.92 * Math.min(width / (right - left + 1), height / (bottom - top + 1)));
    this.fitted = true;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (!this.moved) this.fit();
    this.draw();
  }

  /** Draws with the next frame. */
  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  paint() {
    const { context, nodes, scale } = this;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = devicePixelRatio || 1;
    const style = getComputedStyle(this.canvas);
    // `light-dark()` has a value only in a property that is a colour.
    const color = (name) => {
      this.canvas.style.color = `var(${name})`;
      return style.color;
    };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = color("--ground");
    context.fillRect(0, 0, width, height);
    const [dx, dy] = [width / 2 - this.x * scale, height / 2 - this.y * scale];
    const at = (index) => [nodes[index].x * scale + dx, nodes[index].y * scale + dy];
    const focus = this.selected >= 0 ? this.selected : this.hovered;
    const near = focus >= 0 ? new Set([focus, ...this.neighbors[focus]]) : null;
    this.paintEdges(at, width, height, color, focus);
    for (const [shade, indexes] of this.byColor ?? []) {
      context.fillStyle = shade;
      context.globalAlpha = near ? 0.25 : 0.9;
      context.beginPath();
      for (const index of indexes) {
        if (near?.has(index)) continue;
        this.addNode(at(index), this.radius(index), width, height);
      }
      context.fill();
      context.globalAlpha = 1;
      if (!near) continue;
      context.beginPath();
      for (const index of indexes) if (near.has(index)) this.addNode(at(index), this.radius(index), width, height);
      context.fill();
    }
    this.paintLabels(at, width, height, color, near, focus);
  }

  radius(index) {
    const grown = Math.min(LARGEST * this.scale, WIDEST);
    return Math.max(1, grown * Math.sqrt(0.06 + 0.94 * this.nodes[index].size));
  }

  addNode([x, y], radius, width, height) {
    if (x < -radius || y < -radius || x > width + radius || y > height + radius) return;
    if (radius < SMALL) {
      this.context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      return;
    }
    this.context.moveTo(x + radius, y);
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
  }

  /** Edges in three bands of strength: one path each is much faster than one path an edge. */
  paintEdges(at, width, height, color, focus) {
    const { context } = this;
    const bands = [[0, 0.4, 0.4], [0.4, 0.7, 0.6], [0.7, Infinity, 0.85]];
    context.strokeStyle = color("--line-strong");
    context.lineWidth = Math.min(1.5, Math.max(0.4, this.scale / 60));
    for (const [low, high, alpha] of bands) {
      context.globalAlpha = alpha * (focus >= 0 ? 0.25 : 0.7);
      context.beginPath();
      for (const [from, to, strength] of this.edges) {
        if (strength >= low && strength < high) this.addEdge(at(from), at(to), width, height);
      }
      context.stroke();
    }
    if (focus >= 0) {
      context.globalAlpha = 1;
      context.strokeStyle = color("--accent");
      context.lineWidth = 1.2;
      context.beginPath();
      for (const [from, to] of this.edges) if (from === focus || to === focus) this.addEdge(at(from), at(to), width, height);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  addEdge([x, y], [toX, toY], width, height) {
    if ((x < 0 && toX < 0) || (y < 0 && toY < 0) || (x > width && toX > width) || (y > height && toY > height)) return;
    this.context.moveTo(x, y);
    this.context.lineTo(toX, toY);
  }

  /** Labels of the largest nodes, and of what is in focus, where they do not overlap. */
  paintLabels(at, width, height, color, near, focus) {
    const { context } = this;
    context.font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
    context.textBaseline = "middle";
    const taken = [];
    const candidates = near ? [focus, ...[...near].filter((index) => index !== focus)] : this.ranked;
    let drawn = 0;
    for (const index of candidates) {
      if (drawn >= LABELS) break;
      const [x, y] = at(index);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const radius = this.radius(index);
      if (!near && radius < 4 && drawn >= ALWAYS) break;
      const text = shortened(this.nodes[index].label);
      const length = context.measureText(text).width + 6;
      const left = x + radius + 3;
      const box = [left + length > width ? x - radius - 3 - length : left, y - 8, length, 16];
      if (index !== focus && taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      drawn += 1;
      context.lineWidth = 3;
      context.lineJoin = "round";
      context.strokeStyle = color("--ground");
      context.strokeText(text, box[0] + 3, y);
      context.fillStyle = color(index === focus ? "--text" : "--quiet");
      context.fillText(text, box[0] + 3, y);
    }
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
      if (pointers.delete(event.pointerId) && event.type === "pointerup" && travelled < 4) this.select(this.find(event.offsetX, event.offsetY));
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
    this.draw();
  }

  /** Zooms around a place on the canvas, by default its centre. */
  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(400, Math.max(0.5, this.scale * factor));
    const [fromX, fromY] = [x - this.canvas.clientWidth / 2, y - this.canvas.clientHeight / 2];
    this.x += fromX / this.scale - fromX / scale;
    this.y += fromY / this.scale - fromY / scale;
    this.scale = scale;
    this.moved = true;
    this.draw();
  }

  /** The node at a place, or -1. */
  find(x, y) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [at, down] = [(x - width / 2) / this.scale + this.x, (y - height / 2) / this.scale + this.y];
    let [best, least] = [-1, Infinity];
    for (const [index, node] of this.nodes.entries()) {
      const distance = Math.hypot(node.x - at, node.y - down) * this.scale - this.radius(index);
      if (distance < least) [best, least] = [index, distance];
    }
    return least < 5 ? best : -1;
  }

  hover(index) {
    if (index === this.hovered) return;
    this.hovered = index;
    this.canvas.style.cursor = index >= 0 ? "pointer" : "grab";
    this.onhover?.(index);
    this.draw();
  }

  select(index, show = false) {
    this.selected = index;
    if (show && index >= 0) Object.assign(this, { x: this.nodes[index].x, y: this.nodes[index].y, scale: Math.max(this.scale, 40), moved: true });
    this.onselect?.(index);
    this.draw();
  }
}

const shortened = (text) => (text.length > 36 ? `${text.slice(0, 35)}…` : text);

const overlap = (a, b) => a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3];
