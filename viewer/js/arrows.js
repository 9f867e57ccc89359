// Arrows from causes to effects: who created, submitted, resumed, joined, woke whom, and whose lock made whom wait.

import { LIFE_ROW } from "./api.js";
import { ARROW } from "./colours.js";
import { AXIS, lineOf, region, rowHeight, rowTop, sizes, x } from "./layout.js";
import { shown } from "./pictures.js";
import { view } from "./view.js";

/** An arrow as it lies on the screen; nothing if both ends are elsewhere. */
function curve(arrow) {
  const [kind, fromTrack, fromRow, fromTime, toTrack, toRow, toTime] = arrow;
  const [from, to] = [lineOf(fromTrack), lineOf(toTrack)];
  if (!from || !to) return null;
  // Rows that are not shown have no place that an arrow could lead to.
  const isHidden = (line, row) => !line.isFolded && row >= line.rows && row !== LIFE_ROW;
  if (isHidden(from, fromRow) || isHidden(to, toRow)) return null;
  // What has scrolled below the pinned tracks ends at their edge.
  const height = (line, row) => Math.max(rowTop(line, row) + rowHeight(line, row) / 2, line.isPinned ? 0 : region(false)[0]);
  const it = { kind, arrow, x0: x(fromTime), y0: height(from, fromRow), x1: x(toTime), y1: height(to, toRow) };
  if (Math.max(it.x0, it.x1) < sizes.gutter || Math.min(it.x0, it.x1) > sizes.width) return null;
  if (Math.max(it.y0, it.y1) < AXIS || Math.min(it.y0, it.y1) > sizes.height) return null;
  const bend = Math.min(60, Math.max(12, Math.abs(it.x1 - it.x0) / 2));
  it.c0 = it.x0 + bend;
  it.c1 = it.x1 - bend;
  return it;
}

/** These can be so many that nothing else is seen: then only those of the chosen span are shown. */
const MANY = ["callback", "wake", "hold"];
const FEW = 12;

let counted = { of: null, counts: {} };
function isShown(arrow) {
  if (!MANY.includes(arrow[0]) || touches(arrow, view.chosen)) return true;
  if (counted.of !== shown.arrows) {
    counted = { of: shown.arrows, counts: {} };
    for (const [kind] of shown.arrows) counted.counts[kind] = (counted.counts[kind] ?? 0) + 1;
  }
  return counted.counts[arrow[0]] <= FEW;
}

export function drawArrows(pen) {
  const arrows = shown.arrows.filter(isShown);
  for (const arrow of arrows) drawArrow(pen, arrow, touches(arrow, view.chosen), arrows.length > 60 ? 0.45 : 0.8);
}

export function drawArrow(pen, arrow, isChosen, alpha = 1) {
  const it = curve(arrow);
  if (!it) return;
  pen.strokeStyle = ARROW[it.kind] ?? ARROW.callback;
  pen.fillStyle = pen.strokeStyle;
  pen.globalAlpha = isChosen ? 1 : alpha;
  pen.lineWidth = isChosen ? 2.5 : 1.3;
  pen.beginPath();
  pen.moveTo(it.x0, it.y0);
  pen.bezierCurveTo(it.c0, it.y0, it.c1, it.y1, it.x1, it.y1);
  pen.stroke();
  pen.beginPath();
  pen.arc(it.x0, it.y0, 2, 0, 7);
  pen.fill();
  pen.beginPath();
  pen.moveTo(it.x1, it.y1);
  pen.lineTo(it.x1 - 7, it.y1 - 4);
  pen.lineTo(it.x1 - 7, it.y1 + 4);
  pen.fill();
  pen.globalAlpha = 1;
  pen.lineWidth = 1;
}

/** Which arrows lead to or from the chosen span. */
export function arrowsOfChosen() {
  const isAt = (arrow) => view.chosen && touches(arrow, view.chosen);
  return shown.arrows.filter(isAt);
}

function touches(arrow, span) {
  if (!span) return false;
  const [, fromTrack, fromRow, fromTime, toTrack, toRow, toTime] = arrow;
  const isAt = (track, row, time) => span.track === track && span.row === row && time >= span.start - 1
    && time <= span.start + span.duration + 1;
  return isAt(fromTrack, fromRow, fromTime) || isAt(toTrack, toRow, toTime);
}

/** A point of an arrow, from 0 at its cause to 1 at its effect. */
function pointOn(it, t) {
  const [a, b, c, d] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
  return [a * it.x0 + b * it.c0 + c * it.c1 + d * it.x1, a * it.y0 + b * it.y0 + c * it.y1 + d * it.y1];
}

/** The same of an arrow that is drawn; nothing of another. */
export function arrowPoint(arrow, t) {
  const it = curve(arrow);
  return it && pointOn(it, t);
}

/** The arrow nearest to a point, if one is near: it and which of its ends is the farther one. */
export function arrowAt(px, py) {
  let best = null;
  let least = 6;
  for (const arrow of shown.arrows.filter(isShown)) {
    const it = curve(arrow);
    if (!it) continue;
    for (let step = 0; step <= 24; step += 1) {
      const [cx, cy] = pointOn(it, step / 24);
      const away = Math.hypot(cx - px, cy - py);
      if (away < least) [best, least] = [{ arrow, toEnd: step < 12 }, away];
    }
  }
  return best;
}
