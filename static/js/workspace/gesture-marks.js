// A selected gesture over the picture: the initiator's box as it was proposed, and a ray from the hand to what it is about.

const HEAD_PX = 10;

/**
 * Draw what a gesture's details say. `x` and `y` turn normalised coordinates into pixels of the canvas.
 * @param {CanvasRenderingContext2D} pen
 * @param {{initiator_box?: number[], ray?: number[]}} details
 */
export function drawGesture(pen, details, { x, y, colour, font }) {
  const { initiator_box: box, ray } = details;
  if (box) drawBox(pen, [x(box[0]), y(box[1]), x(box[2]), y(box[3])], colour, font);
  if (ray) drawRay(pen, [x(ray[0]), y(ray[1])], [x(ray[2]), y(ray[3])], colour);
}

function twice(pen, colour, width, draw) {
  for (const [stroke, extra] of [
    ["rgb(0 0 0 / 45%)", 2],
    [colour, 0],
  ]) {
    pen.strokeStyle = stroke;
    pen.lineWidth = width + extra;
    pen.beginPath();
    draw();
    pen.stroke();
  }
}

function drawBox(pen, [x0, y0, x1, y1], colour, font) {
  pen.setLineDash([8, 5]);
  twice(pen, colour, 1.5, () => pen.rect(x0, y0, x1 - x0, y1 - y0));
  pen.setLineDash([]);
  const words = "initiator";
  pen.font = `600 10px ${font}`;
  const width = pen.measureText(words).width + 8;
  pen.fillStyle = "rgb(0 0 0 / 65%)";
  pen.fillRect(x1 - width, y1 - 15, width, 15);
  pen.fillStyle = "#fff";
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.fillText(words, x1 - width + 4, y1 - 7);
}

function drawRay(pen, [x0, y0], [x1, y1], colour) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 2) return;
  const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
  const side = HEAD_PX / 2;
  twice(pen, colour, 2.5, () => {
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.moveTo(x1 - HEAD_PX * ux + side * uy, y1 - HEAD_PX * uy - side * ux);
    pen.lineTo(x1, y1);
    pen.lineTo(x1 - HEAD_PX * ux - side * uy, y1 - HEAD_PX * uy + side * ux);
  });
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(x0, y0, 4, 0, 7);
  pen.fill();
}
