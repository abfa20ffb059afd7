// Draws slots and iterations: one row a slot, one column an iteration.

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The colour of a request; strong where its prompt is read. */
export function colourOf(number, isStrong) {
  const hue = (number * 137.5) % 360; // the golden angle: neighbours differ
  const light = dark.matches ? (isStrong ? 68 : 42) : (isStrong ? 42 : 74);
  return `hsl(${hue} ${isStrong ? 72 : 55}% ${light}%)`;
}

/** Draws columns, each a map from slot to cell, and where they fit the names of the slots. */
export function draw(canvas, columns, { numRows, height, width, left }) {
  const scale = devicePixelRatio || 1, gap = height > 8 ? 1 : .5;
  canvas.width = Math.round(canvas.clientWidth * scale);
  canvas.height = Math.round(numRows * height * scale);
  canvas.style.height = `${numRows * height}px`;
  const pen = canvas.getContext("2d"), { color: ink, outlineColor: grey } = getComputedStyle(canvas);
  pen.scale(scale, scale);
  pen.lineWidth = 2;
  for (const [at, cells] of columns.entries()) {
    for (const [slot, cell] of cells) {
      if (slot >= numRows) continue;
      const x = Math.round(left + at * width), wide = Math.round(left + (at + 1) * width) - x;
      const y = slot * height + gap, tall = height - 2 * gap;
      pen.fillStyle = cell.isWasted ? grey : colourOf(cell.number, cell.isPrompt);
      pen.fillRect(x, y, wide - (cell.isLast ? 3 : 0), tall);
      pen.fillStyle = pen.strokeStyle = ink;
      if (cell.isLast) pen.fillRect(x + wide - 3, y, 2, tall);
      if (cell.isJoined) pen.strokeRect(x + 1, y + 1, wide - 2, tall - 2);
    }
  }
  pen.fillStyle = ink;
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  pen.textBaseline = "middle";
  for (let slot = 0; height > 14 && slot < numRows; slot++) pen.fillText(`slot ${slot + 1}`, 0, (slot + .5) * height);
}
