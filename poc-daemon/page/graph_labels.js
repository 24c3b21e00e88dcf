// Names beside notes, with an outline in the colour of the ground. Without a graphics card outlined text is slow to
// draw, so each name is drawn once and copied from then on.

/** Pictures that are kept. */
const KEPT = 600;

/** The height of a picture, and the width of the outline, in pixels. */
const HEIGHT = 20;
const OUTLINE = 3;

export class Labels {
  pictures = new Map();
  widths = new Map();
  measuring = new OffscreenCanvas(1, 1).getContext("2d");

  /** The width of a name with its outline, in pixels of CSS. Much cheaper than its picture. */
  width(name, font) {
    if (font !== this.font) {
      this.font = this.measuring.font = font;
      this.widths.clear();
    }
    if (!this.widths.has(name)) this.widths.set(name, Math.ceil(this.measuring.measureText(name).width) + 2 * OUTLINE);
    return this.widths.get(name);
  }

  /** Draws a name; `x` is its left end and `y` its middle. */
  draw(context, name, x, y, { font, ground, text, ratio }) {
    const key = [font, ground, text, ratio, name].join("\n");
    if (!this.pictures.has(key)) {
      if (this.pictures.size >= KEPT) this.pictures.clear();
      this.pictures.set(key, drawn(name, this.width(name, font), font, ground, text, ratio));
    }
    const aligned = (value) => Math.round(value * ratio) / ratio;
    context.drawImage(this.pictures.get(key), aligned(x), aligned(y - HEIGHT / 2), this.width(name, font), HEIGHT);
  }
}

function drawn(name, width, font, ground, text, ratio) {
  const picture = new OffscreenCanvas(Math.ceil(width * ratio), Math.ceil(HEIGHT * ratio));
  const context = picture.getContext("2d");
  context.scale(picture.width / width, picture.height / HEIGHT);
  Object.assign(context, { font, textBaseline: "middle", lineWidth: OUTLINE, lineJoin: "round", strokeStyle: ground, fillStyle: text });
  context.strokeText(name, OUTLINE, HEIGHT / 2);
  context.fillText(name, OUTLINE, HEIGHT / 2);
  return picture.transferToImageBitmap();
}
