// Draws a layer of a graph on a 2-D canvas, where there is no WebGL2 on a graphics card.

import { radiusOf } from "./graph_layers.js";

/** Nodes smaller than this on the screen, in pixels, are drawn as squares, which is much faster. */
const SMALL = 1.6;

/** Bands of strength: one path each is much faster than one path an edge. */
const BANDS = [[0, 0.4, 0.28], [0.4, 0.7, 0.42], [0.7, Infinity, 0.6]];

export class Renderer2D {
  /**
   * The most notes that are drawn one by one, how far groups are apart in pixels and how many there are, edges drawn at rest, and edges drawn
   * while the view moves, which change with the time that frames take, but not below the fewest.
   */
  limits = { most: 12000, apart: 9, groups: 3000, edges: 40000, moving: 3000, fewest: 300 };

  constructor(canvas) {
    this.context = canvas.getContext("2d", { alpha: false });
  }

  draw(layer, { width, height, ratio, scale, dx, dy, palette, ground, line, moving }) {
    const { context } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = ground;
    context.fillRect(0, 0, width, height);
    const { x, y, from, to, strength, color, count } = layer;
    context.strokeStyle = line;
    context.lineWidth = Math.min(1.5, Math.max(0.4, scale / 60));
    const edges = Math.min(from.length, moving ? this.limits.moving : this.limits.edges);
    for (const [low, high, alpha] of BANDS) {
      context.globalAlpha = alpha;
      context.beginPath();
      for (let at = 0; at < edges; at += 1) {
        if (strength[at] < low || strength[at] >= high) continue;
        const [a, b] = [from[at], to[at]];
        const [ax, ay, bx, by] = [x[a] * scale + dx, y[a] * scale + dy, x[b] * scale + dx, y[b] * scale + dy];
        if ((ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax > width && bx > width) || (ay > height && by > height)) continue;
        context.moveTo(ax, ay);
        context.lineTo(bx, by);
      }
      context.stroke();
    }
    context.globalAlpha = 0.9;
    const paths = palette.map(() => null);
    for (let at = 0; at < count; at += 1) {
      const [px, py, radius] = [x[at] * scale + dx, y[at] * scale + dy, radiusOf(layer, at, scale)];
      if (px < -radius || py < -radius || px > width + radius || py > height + radius) continue;
      const path = (paths[color[at]] ??= new Path2D());
      if (radius < SMALL) path.rect(px - radius, py - radius, 2 * radius, 2 * radius);
      else {
        path.moveTo(px + radius, py);
        path.arc(px, py, radius, 0, 2 * Math.PI);
      }
    }
    paths.forEach((path, at) => {
      if (!path) return;
      context.fillStyle = palette[at];
      context.fill(path);
    });
    context.globalAlpha = 1;
  }
}
