// Where a crash hit: a mark that is seen at any zoom, on the call that was running.

import { about } from "./about.js";
import { STATUS } from "./colours.js";
import { lineOf, rowHeight, rowTop, sizes, x } from "./layout.js";

/** The crash that hit a call of a track; nothing for all others. */
export function crashOf(track, seq) {
  return about.crashes.find((it) => it.track === track && it.seq === seq) ?? null;
}

/** A cross at the end of each call that crashed. */
export function drawCrashes(pen, isPinned) {
  for (const crash of about.crashes) {
    const line = lineOf(crash.track);
    if (!line || line.isPinned !== isPinned || crash.row === null) continue;
    const [left, row] = [x(crash.time), Math.min(crash.row, Math.max(0, line.rows - 1))];
    if (left < sizes.gutter - 6 || left > sizes.width + 6) continue;
    const middle = rowTop(line, row) + rowHeight(line, row) / 2;
    pen.lineWidth = 5;
    pen.strokeStyle = "#14171c";
    cross(pen, left, middle);
    pen.lineWidth = 2.5;
    pen.strokeStyle = STATUS.unmatched;
    cross(pen, left, middle);
    pen.lineWidth = 1;
  }
}

function cross(pen, left, middle) {
  pen.beginPath();
  for (const way of [-1, 1]) {
    pen.moveTo(left - 5, middle - 5 * way);
    pen.lineTo(left + 5, middle + 5 * way);
  }
  pen.stroke();
}
