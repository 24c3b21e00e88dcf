// Draws a layer of a graph with WebGL2: nodes as points, edges as lines.

import { radiusOf } from "./graph_layers.js";

const NODES = [`#version 300 es
uniform vec4 view; uniform float ratio;
in vec2 place; in float radius; in vec3 color;
out vec3 shade; out float width;
void main() {
  gl_Position = vec4(place * view.xy + view.zw, 0.0, 1.0);
  gl_PointSize = 2.0 * radius * ratio + 1.0;
  shade = color; width = gl_PointSize;
}`, `#version 300 es
precision mediump float;
in vec3 shade; in float width;
out vec4 pixel;
void main() {
  float edge = 1.0 / width;
  float alpha = 1.0 - smoothstep(0.5 - edge, 0.5, length(gl_PointCoord - 0.5));
  pixel = vec4(shade, 0.9 * alpha);
}`];

const EDGES = [`#version 300 es
uniform vec4 view;
in vec2 place; in float alpha;
out float opacity;
void main() {
  gl_Position = vec4(place * view.xy + view.zw, 0.0, 1.0);
  opacity = alpha;
}`, `#version 300 es
precision mediump float;
uniform vec3 shade;
in float opacity;
out vec4 pixel;
void main() { pixel = vec4(shade, opacity); }`];

/** Renderers that work on the processor, also where the browser does not say so. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/** The name of the graphics card, as far as the browser gives it. */
function rendererOf(gl) {
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  return String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}

export class RendererGL {
  limits = { most: 150000, apart: 6, groups: 50000, edges: 400000, moving: 400000, fewest: 400000 };

  /** With `software`, WebGL2 without a graphics card is used, too; it is slower than a 2-D canvas. */
  constructor(canvas, software = false) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, failIfMajorPerformanceCaveat: !software });
    if (!gl || (!software && SOFTWARE.test(rendererOf(gl)))) throw new Error("no WebGL2 on a graphics card");
    Object.assign(this, { gl, nodes: program(gl, NODES), edges: program(gl, EDGES), radii: gl.createBuffer(), prepared: new Map() });
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Another graph or other colours: what was prepared is dropped. */
  reset() {
    for (const buffers of this.prepared.values()) Object.values(buffers).forEach((buffer) => this.gl.deleteBuffer(buffer));
    this.prepared.clear();
  }

  prepare(layer, palette) {
    const { gl } = this;
    const buffer = (data) => {
      const made = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, made);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      return made;
    };
    const { x, y, color, from, to, strength, count } = layer;
    const shades = palette.map(rgb);
    const [places, colors] = [new Float32Array(2 * count), new Float32Array(3 * count)];
    for (let at = 0; at < count; at += 1) {
      places.set([x[at], y[at]], 2 * at);
      colors.set(shades[color[at]], 3 * at);
    }
    const edges = Math.min(from.length, this.limits.edges);
    const [ends, alphas] = [new Float32Array(4 * edges), new Float32Array(2 * edges)];
    for (let at = 0; at < edges; at += 1) {
      ends.set([x[from[at]], y[from[at]], x[to[at]], y[to[at]]], 4 * at);
      alphas.fill(0.2 + 0.4 * Math.min(1, strength[at]), 2 * at, 2 * at + 2);
    }
    return { places: buffer(places), colors: buffer(colors), ends: buffer(ends), alphas: buffer(alphas) };
  }

  draw(layer, { width, height, ratio, scale, dx, dy, palette, ground, line }) {
    const { gl } = this;
    if (!this.prepared.has(layer)) this.prepared.set(layer, this.prepare(layer, palette));
    const { places, colors, ends, alphas } = this.prepared.get(layer);
    gl.viewport(0, 0, width * ratio, height * ratio);
    gl.clearColor(...rgb(ground), 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const view = [2 * scale / width, -2 * scale / height, 2 * dx / width - 1, 1 - 2 * dy / height];
    this.use(this.edges, { place: [ends, 2], alpha: [alphas, 1] });
    gl.uniform4f(this.edges.at("view"), ...view);
    gl.uniform3f(this.edges.at("shade"), ...rgb(line));
    gl.drawArrays(gl.LINES, 0, 2 * Math.min(layer.from.length, this.limits.edges));
    if (this.radiiOf !== layer || this.radiiAt !== scale) {
      Object.assign(this, { radiiOf: layer, radiiAt: scale });
      gl.bindBuffer(gl.ARRAY_BUFFER, this.radii);
      gl.bufferData(gl.ARRAY_BUFFER, Float32Array.from({ length: layer.count }, (_, at) => radiusOf(layer, at, scale)), gl.DYNAMIC_DRAW);
    }
    this.use(this.nodes, { place: [places, 2], radius: [this.radii, 1], color: [colors, 3] });
    gl.uniform4f(this.nodes.at("view"), ...view);
    gl.uniform1f(this.nodes.at("ratio"), ratio);
    gl.drawArrays(gl.POINTS, 0, layer.count);
  }

  use({ made }, columns) {
    const { gl } = this;
    gl.useProgram(made);
    for (let place = 0; place < 3; place += 1) gl.disableVertexAttribArray(place);
    for (const [name, [buffer, size]] of Object.entries(columns)) {
      const place = gl.getAttribLocation(made, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
    }
  }
}

function program(gl, [vertex, fragment]) {
  const made = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  return { made, at: (name) => gl.getUniformLocation(made, name) };
}

const known = new Map();

/** A colour of CSS as three numbers from 0 to 1: a pixel is painted and read. */
function rgb(color) {
  if (!known.has(color)) {
    const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    known.set(color, [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((part) => part / 255));
  }
  return known.get(color);
}
