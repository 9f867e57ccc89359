// Draws tracks: at most as many shapes as the server sends.

import { about, outcome, trackName } from "./about.js";
import { KIND } from "./api.js";
import { drawArrows } from "./arrows.js";
import { drawAxis, drawGrid } from "./axis.js";
import { callColour, inkOn, isOdd, statusColour, themed } from "./colours.js";
import { duration, thousands } from "./format.js";
import { AXIS, ROW, TITLE, allLines, rowTop, sizes, visible, x } from "./layout.js";
import { name } from "./names.js";
import { shown } from "./pictures.js";
import { drawStates } from "./states.js";
import { drawStrips } from "./strips.js";
import { view } from "./view.js";

/** How many shapes the last drawing had: never more than the server sent. */
export const drawn = { shapes: 0 };

const FONT = "12px system-ui, sans-serif";

/** Labels that are drawn last. */
let labels = [];

export function draw(canvas) {
  const pen = canvas.getContext("2d");
  pen.setTransform(sizes.ratio, 0, 0, sizes.ratio, 0, 0);
  const colours = themed();
  pen.font = FONT;
  pen.fillStyle = colours.ground;
  pen.fillRect(0, 0, sizes.width, sizes.height);
  drawGrid(pen);
  pen.save();
  pen.beginPath();
  pen.rect(0, AXIS, sizes.width, sizes.height - AXIS);
  pen.clip();
  drawOutside(pen);
  pen.save();
  pen.beginPath();
  pen.rect(sizes.gutter, AXIS, sizes.width - sizes.gutter, sizes.height - AXIS);
  pen.clip();
  drawShapes(pen);
  drawStates(pen);
  drawRange(pen);
  drawArrows(pen);
  pen.restore();
  drawGutter(pen);
  pen.restore();
  drawAxis(pen);
}

/** What lies before and behind the run. */
function drawOutside(pen) {
  pen.fillStyle = themed().band;
  const [from, to] = [x(0), x(about.length)];
  if (from > sizes.gutter) pen.fillRect(sizes.gutter, AXIS, from - sizes.gutter, sizes.height);
  if (to < sizes.width) pen.fillRect(Math.max(to, sizes.gutter), AXIS, sizes.width, sizes.height);
}

function drawShapes(pen) {
  const shapes = shown.shapes;
  drawn.shapes = 0;
  if (!shapes) return;
  const lines = new Map(visible().map(({ line }) => [line.track.id, line]));
  const perNano = (sizes.width - sizes.gutter) / (view.end - view.start);
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  // Parts that ran lie on their spans, and what is odd on everything else.
  const late = [];
  labels = [];
  for (let at = 0; at < shapes.count; at += 1) {
    const line = lines.get(shapes.track[at]);
    if (!line || shapes.row[at] >= line.rows) continue;
    const left = x(shapes.from[at]);
    const width = Math.max(shapes.painted[at] * perNano, 1);
    if (left > sizes.width || left + width < sizes.gutter) continue;
    drawn.shapes += 1;
    if (shapes.kind[at] === KIND.running || shapes.kind[at] === KIND.anomaly || isOdd(shapes.outcome[at])) {
      late.push([at, line, left, width]);
    } else {
      drawShape(pen, shapes, at, line, left, width);
    }
  }
  drawn.shapes += drawStrips(pen, shapes, lines, [KIND.call, KIND.logical]);
  for (const [at, line, left, width] of late) drawShape(pen, shapes, at, line, left, width);
  drawn.shapes += drawStrips(pen, shapes, lines, [KIND.running, KIND.anomaly]);
  labels.forEach((label) => label());
  drawChosen(pen, lines, perNano);
}

function drawShape(pen, shapes, at, line, left, width) {
  const top = rowTop(line, shapes.row[at]);
  const height = line.row - (line.row > 6 ? 1 : 0);
  const kind = shapes.kind[at];
  const byte = shapes.outcome[at];
  const odd = isOdd(byte);
  if (kind === KIND.anomaly) {
    drawAnomaly(pen, left, top);
    return;
  }
  const from = Math.max(left, sizes.gutter - 2);
  const to = Math.min(left + width, sizes.width + 2);
  // A hair of room between neighbours, where there is room for it.
  const inner = Math.max(to - from - (width > 3 ? 0.6 : 0), 0.8);
  pen.fillStyle = odd ? statusColour(byte) : callColour(shapes.name[at]);
  if (kind === KIND.logical && line.hasParts) {
    pen.globalAlpha = 0.35;
    pen.fillRect(from, top, inner, height);
    pen.globalAlpha = 1;
    if (inner > 6) {
      pen.strokeStyle = pen.fillStyle;
      pen.setLineDash([3, 3]);
      pen.strokeRect(from + 0.5, top + 0.5, inner - 1, height - 1);
      pen.setLineDash([]);
    }
  } else {
    pen.fillRect(from, top, inner, height);
  }
  if (odd && height > 6) drawCorner(pen, from, top, Math.min(inner, 6));
  if (height > 10 && inner > 24 && kind !== KIND.running) {
    const label = () => drawLabel(pen, shapes, at, from, top, inner, odd);
    // Parts that ran would be drawn over it.
    if (kind === KIND.logical && line.hasParts) labels.push(label);
    else label();
  }
}

/** Colour is not all: what is odd also has a dark corner. */
function drawCorner(pen, left, top, size) {
  pen.fillStyle = "#14171c";
  pen.beginPath();
  pen.moveTo(left, top);
  pen.lineTo(left + size, top);
  pen.lineTo(left, top + size);
  pen.fill();
}

function drawAnomaly(pen, left, top) {
  pen.fillStyle = "#d55e00";
  pen.beginPath();
  pen.moveTo(left - 4, top - 1);
  pen.lineTo(left + 4, top - 1);
  pen.lineTo(left, top + 6);
  pen.fill();
}

function drawLabel(pen, shapes, at, left, top, width, odd) {
  const text = name(shapes.name[at]);
  if (!text) return;
  const { status, reason } = outcome(shapes.outcome[at]);
  const words = reason === "none" ? status : reason;
  const ending = ["completed", "tail_call", "entry_only", "exited"].includes(words) ? "" : ` · ${words.replaceAll("_", " ")}`;
  const many = shapes.spans[at] > 1 ? ` ×${thousands(shapes.spans[at])}` : "";
  const room = width - (odd ? 10 : 6);
  pen.fillStyle = inkOn(odd);
  pen.fillText(shortened(pen, text + ending + many, room), left + (odd ? 8 : 4), top + ROW / 2);
}

/** As much of a text as there is room for. Letters are about this wide, so that few texts are measured. */
function shortened(pen, text, room) {
  const most = Math.floor(room / 5.2);
  if (most < 2) return "";
  let cut = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  while (cut.length > 2 && pen.measureText(cut).width > room) cut = `${cut.slice(0, Math.floor(cut.length * 0.85) - 1)}…`;
  return cut;
}

function drawChosen(pen, lines, perNano) {
  for (const [it, colour] of [[view.hover, themed().hover], [view.chosen, themed().mark]]) {
    const line = it && lines.get(it.track);
    if (!line || it.row >= line.rows) continue;
    const left = Math.max(x(it.start), sizes.gutter - 3);
    const right = Math.min(x(it.start) + Math.max(it.duration * perNano, 2), sizes.width + 3);
    pen.strokeStyle = colour;
    pen.lineWidth = it === view.chosen ? 2 : 1;
    pen.strokeRect(left, rowTop(line, it.row), Math.max(right - left, 2), line.row - 1);
    pen.lineWidth = 1;
  }
}

function drawRange(pen) {
  if (!view.range) return;
  const [from, to] = [x(view.range.start), x(view.range.end)];
  const colours = themed();
  pen.fillStyle = colours.select;
  pen.fillRect(from, AXIS, to - from, sizes.height);
  pen.fillStyle = colours.mark;
  pen.fillRect(from - 0.5, AXIS, 1, sizes.height);
  pen.fillRect(to - 0.5, AXIS, 1, sizes.height);
  const text = duration(view.range.end - view.range.start);
  pen.textAlign = "center";
  pen.fillText(text, (Math.max(from, sizes.gutter) + Math.min(to, sizes.width)) / 2, sizes.height - 10);
  pen.textAlign = "left";
}

function drawGutter(pen) {
  const colours = themed();
  pen.fillStyle = colours.gutter;
  pen.fillRect(0, AXIS, sizes.gutter, sizes.height);
  pen.strokeStyle = colours.line;
  pen.beginPath();
  pen.moveTo(sizes.gutter - 0.5, 0);
  pen.lineTo(sizes.gutter - 0.5, sizes.height);
  pen.stroke();
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  for (const line of allLines()) {
    const top = AXIS + line.top - view.scroll;
    if (top + line.height < 0 || top - TITLE > sizes.height) continue;
    if (line.isFirst) {
      const process = about.processes[line.track.process];
      pen.fillStyle = colours.ink;
      pen.font = "600 12px system-ui, sans-serif";
      pen.fillText(shortened(pen, `${process.pid} ${process.command}`, sizes.gutter - 16), 8, top - TITLE / 2);
      pen.font = FONT;
    }
    // The title stays in sight as long as its track is.
    const at = Math.min(Math.max(top, AXIS), Math.max(top + line.height - ROW, top));
    pen.fillStyle = colours.faint;
    pen.fillText(line.isFolded ? "▸" : "▾", 6, at + ROW / 2);
    pen.fillStyle = colours.ink;
    pen.fillText(shortened(pen, trackName(line.track), sizes.gutter - 28), 20, at + ROW / 2);
    if (line.hidden > 0 && top + line.height < sizes.height + ROW) {
      pen.fillStyle = colours.mark;
      pen.fillText(`+ ${line.hidden} deeper rows`, 20, top + line.height - ROW / 2);
    }
    if (line.height > 2 * ROW) {
      pen.fillStyle = colours.faint;
      if (at + ROW * 2 <= top + line.height) pen.fillText(`${thousands(line.track.spans)} spans`, 20, at + ROW * 1.5);
    }
  }
}
