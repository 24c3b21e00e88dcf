// Sizes and places of groups of notes, so that no two cover each other.

/** The radius of the smallest and of the largest group, in widths of a cell. */
const SMALLEST = 0.16;
const LARGEST = 0.46;

/** How often groups that cover each other are pushed apart. What still covers another one then is drawn smaller. */
const ROUNDS = 12;

/** The radii of groups of so many notes, in units of the layout. */
export function radii(members, cell) {
  const most = members.reduce((most, number) => Math.max(most, number), 1);
  return Float32Array.from(members, (number) => cell * (SMALLEST + (LARGEST - SMALLEST) * Math.log2(1 + number) / Math.log2(1 + most)));
}

/** Moves groups apart that cover each other, and makes those smaller that have no room. */
export function setApart({ x, y, radius }) {
  const reach = 2 * radius.reduce((most, one) => Math.max(most, one), 0);
  if (!reach) return;
  for (let round = 0; round < ROUNDS; round += 1) {
    let moved = false;
    pairs({ x, y, radius }, reach, (a, b, dx, dy, far) => {
      moved = true;
      // The smaller one makes way. Groups at the same place go different ways.
      const missing = radius[a] + radius[b] - far;
      const share = radius[b] / (radius[a] + radius[b]);
      const [ux, uy] = far > 1e-6 ? [dx / far, dy / far] : [Math.cos(a), Math.sin(a)];
      x[a] -= ux * missing * share;
      y[a] -= uy * missing * share;
      x[b] += ux * missing * (1 - share);
      y[b] += uy * missing * (1 - share);
    });
    if (!moved) return;
  }
  pairs({ x, y, radius }, reach, (a, b, dx, dy, far) => {
    const fits = far / (radius[a] + radius[b]);
    radius[a] *= fits;
    radius[b] *= fits;
  });
}

/** Calls a function with every two circles that cover each other, and the way from one centre to the other. */
function pairs({ x, y, radius }, reach, run) {
  const cells = new Map();
  const name = (column, row) => (column + 32768) * 65536 + row + 32768;
  for (let at = 0; at < x.length; at += 1) {
    const cell = name(Math.floor(x[at] / reach), Math.floor(y[at] / reach));
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell).push(at);
  }
  for (let a = 0; a < x.length; a += 1) {
    const [column, row] = [Math.floor(x[a] / reach), Math.floor(y[a] / reach)];
    for (let down = -1; down <= 1; down += 1) {
      for (let across = -1; across <= 1; across += 1) {
        for (const b of cells.get(name(column + across, row + down)) ?? []) {
          if (b <= a) continue;
          const [dx, dy] = [x[b] - x[a], y[b] - y[a]];
          const far = Math.hypot(dx, dy);
          if (far < radius[a] + radius[b] - 1e-6 * reach) run(a, b, dx, dy, far);
        }
      }
    }
  }
}
