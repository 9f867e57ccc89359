// What follows the pointer: it is drawn on a canvas of its own, so that the picture below need not be drawn again.

import { drawArrow } from "./arrows.js";
import { themed } from "./colours.js";
import { drawFrame } from "./draw.js";
import { moment } from "./format.js";
import { AXIS, lineOf, region, sizes, timeAt } from "./layout.js";
import { view } from "./view.js";

/** The pointer on the timeline; nothing while it is elsewhere. */
export const pointer = { at: null };

export function drawOverlay(canvas) {
  const pen = canvas.getContext("2d");
  pen.setTransform(sizes.ratio, 0, 0, sizes.ratio, 0, 0);
  pen.clearRect(0, 0, sizes.width, sizes.height);
  if (pointer.at && pointer.at[0] > sizes.gutter) drawTime(pen, pointer.at[0]);
  const it = view.hover;
  if (it?.arrow) drawArrow(pen, it.arrow, true);
  const line = it && it.track !== undefined && lineOf(it.track);
  if (!line) return;
  const [top, bottom] = region(line.isPinned);
  pen.save();
  pen.beginPath();
  pen.rect(sizes.gutter, top, sizes.width - sizes.gutter, bottom - top);
  pen.clip();
  drawFrame(pen, line, it, (sizes.width - sizes.gutter) / (view.end - view.start), themed().hover, 1);
  pen.restore();
}

/** The time under the pointer, on the line of times. */
function drawTime(pen, left) {
  const colours = themed();
  const text = moment(Math.max(0, timeAt(left)), Math.max(1, (view.end - view.start) / sizes.width));
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const width = pen.measureText(text).width + 8;
  const from = Math.min(left, sizes.width - width);
  pen.fillStyle = colours.faint;
  pen.fillRect(left - 0.5, AXIS, 1, sizes.height);
  pen.fillStyle = colours.ink;
  pen.fillRect(from, 3, width, AXIS - 6);
  pen.fillStyle = colours.ground;
  pen.fillText(text, from + 4, AXIS / 2);
}
