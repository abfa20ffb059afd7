// Draws slots and iterations: one row a slot, one column an iteration, the newest at the right.

const CELL = 9, GAP = 1, MOST_ROWS = 32;
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Returns an iteration as the server sends it, with maps by slot. */
export function columnOf([ms, began, decoding, ended], before) {
  const column = { ms, began: new Map(), decoding: new Map(), ended: new Map(), taken: new Set() };
  for (const [slot, number] of began) column.began.set(slot, number);
  for (let at = 0; at < decoding.length; at += 2) column.decoding.set(decoding[at], decoding[at + 1]);
  for (let at = 0; at < ended.length; at += 3) column.ended.set(ended[at], ended[at + 1]);
  for (const slot of column.began.keys()) if (before?.ended.has(slot)) column.taken.add(slot);
  return column;
}

export class Lanes {
  constructor(parent, name) {
    this.columns = [];
    this.rows = 1;
    const figure = parent.appendChild(document.createElement("div"));
    figure.className = "worker";
    this.title = figure.appendChild(document.createElement("h3"));
    this.title.textContent = name;
    this.canvas = figure.appendChild(document.createElement("canvas"));
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `Slots of worker ${name} by iteration; the figures below say it in numbers.`);
  }

  add(column) {
    this.columns.push(column);
    const slots = [...column.began.keys(), ...column.decoding.keys()];
    this.rows = Math.min(MOST_ROWS, Math.max(this.rows, ...slots.map((slot) => slot + 1)));
    if (this.columns.length > 600) this.columns.splice(0, this.columns.length - 600);
  }

  draw() {
    const { canvas, rows } = this, scale = devicePixelRatio || 1;
    const height = Math.max(9, Math.min(18, Math.round(300 / rows)));
    const width = canvas.clientWidth;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== rows * height * scale) {
      canvas.width = Math.round(width * scale);
      canvas.height = rows * height * scale;
      canvas.style.height = `${rows * height}px`;
    }
    const pen = canvas.getContext("2d"), style = getComputedStyle(canvas);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, rows * height);
    const ink = style.color, room = Math.ceil(width / CELL);
    for (const [at, column] of this.columns.slice(-room).entries()) {
      const x = width - (Math.min(room, this.columns.length) - at) * CELL;
      for (const [cells, isPrompt] of [[column.decoding, false], [column.began, true]]) {
        for (const [slot, number] of cells) {
          if (slot >= rows) continue;
          const y = slot * height;
          pen.fillStyle = colour(number, isPrompt);
          pen.fillRect(x, y + GAP, CELL - (column.ended.has(slot) ? 3 : 0), height - 2 * GAP);
          if (column.ended.has(slot)) {
            pen.fillStyle = ink;
            pen.fillRect(x + CELL - 3, y + GAP, 2, height - 2 * GAP);
          }
          if (column.taken.has(slot)) {
            pen.strokeStyle = ink;
            pen.lineWidth = 1.5;
            pen.strokeRect(x + 1, y + GAP + .75, CELL - 2, height - 2 * GAP - 1.5);
          }
        }
      }
    }
  }
}

function colour(number, isPrompt) {
  const hue = (number * 137.5) % 360; // the golden angle: neighbours differ
  const light = dark.matches ? (isPrompt ? 68 : 42) : (isPrompt ? 42 : 74);
  return `hsl(${hue} ${isPrompt ? 72 : 55}% ${light}%)`;
}
