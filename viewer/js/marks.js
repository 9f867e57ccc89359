// What was searched for, marked on the timeline and in the minimap.

import { NOTHING } from "./api.js";
import { themed } from "./colours.js";
import { AXIS, lineOf, rowHeight, rowTop, sizes, x } from "./layout.js";
import { shown } from "./pictures.js";
import { view } from "./view.js";

/** Spans that were found, and the names that all calls are marked of. */
export const found = { spans: [], names: new Set(), at: -1 };

/** The call that the search is at just now. */
export function current() {
  return found.spans[found.at] ?? null;
}

/** Marks spans, and every call of these names. What the lens hides is among them, and shown when somebody goes there. */
export function mark(spans, names) {
  found.spans = spans.filter((span) => span.place || view.lens);
  found.names = new Set(names);
  found.at = -1;
}

/** A line below each call that is drawn and has such a name, and a frame around the spans of the list. */
export function drawFound(pen, isPinned) {
  const colour = themed().found;
  const perNano = (sizes.width - sizes.gutter) / (view.end - view.start);
  pen.fillStyle = colour;
  if (found.names.size > 0 && shown.shapes) {
    underlineShapes(pen, shown.shapes, isPinned, perNano);
    underlineStrips(pen, shown.shapes, isPinned);
  }
  pen.strokeStyle = colour;
  for (const { place, start, duration } of found.spans) {
    if (!place) continue;
    const [track, row] = place;
    const line = lineOf(track);
    if (!line || line.isPinned !== isPinned || (row >= line.rows && row < 256) || start > view.end || start + duration < view.start) continue;
    const left = Math.max(x(start), sizes.gutter - 4);
    const right = Math.min(x(start + duration), sizes.width + 4);
    pen.lineWidth = 1.5;
    pen.strokeRect(left - 0.5, rowTop(line, row) - 0.5, Math.max(right - left, 2), rowHeight(line, row));
  }
  pen.lineWidth = 1;
}

function underline(pen, line, row, left, width) {
  pen.fillRect(left, rowTop(line, row) + rowHeight(line, row) - (line.isFolded ? 2 : 4), Math.max(width, 1.5), line.isFolded ? 2 : 3);
}

function underlineShapes(pen, shapes, isPinned, perNano) {
  for (let at = 0; at < shapes.count; at += 1) {
    if (!found.names.has(shapes.name[at])) continue;
    const line = lineOf(shapes.track[at]);
    if (!line || line.isPinned !== isPinned || shapes.row[at] >= line.rows) continue;
    const left = Math.max(x(shapes.from[at]), sizes.gutter - 2);
    underline(pen, line, shapes.row[at], left, Math.min(x(shapes.from[at]) + shapes.painted[at] * perNano, sizes.width + 2) - left);
  }
}

function underlineStrips(pen, { strips, start, end, width }, isPinned) {
  const perColumn = (end - start) / width;
  let offset = 0;
  for (let strip = 0; strip < strips.count; strip += 1) {
    const line = lineOf(strips.track[strip]);
    for (let column = 0; line && line.isPinned === isPinned && strips.row[strip] < line.rows && column < strips.length[strip]; column += 1) {
      const name = strips.name[offset + column];
      if (name === NOTHING || !found.names.has(name)) continue;
      underline(pen, line, strips.row[strip], x(start + (strips.first[strip] + column) * perColumn), 1);
    }
    offset += strips.length[strip];
  }
}

/** Ticks on the line of times, at the spans that were found. */
export function drawFoundTimes(pen) {
  pen.fillStyle = themed().found;
  for (const { start } of found.spans) {
    const left = x(start);
    if (left >= sizes.gutter && left <= sizes.width) pen.fillRect(left - 1, AXIS - 7, 2, 7);
  }
}

/** The same in the minimap. */
export function drawFoundInMinimap(pen, scale) {
  pen.fillStyle = themed().found;
  for (const { start } of found.spans) pen.fillRect(start * scale - 1, 0, 2, 8);
}
