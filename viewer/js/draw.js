// Draws tracks: at most as many shapes as the server sends.

import { about, outcome, trackName } from "./about.js";
import { KIND, LIFE_ROW } from "./api.js";
import { drawArrows } from "./arrows.js";
import { drawAxis, drawGrid } from "./axis.js";
import { callColour, inkOn, isCrashed, isOdd, statusColour, themed } from "./colours.js";
import { crashOf, drawCrashes } from "./crashes.js";
import { duration, thousands } from "./format.js";
import { SIGNS, titleTop } from "./hit.js";
import { AXIS, ROW, TITLE, lineTop, region, rowHeight, rowTop, shownLines, sizes, visible, x } from "./layout.js";
import { drawLives } from "./lives.js";
import { drawFound, drawFoundTimes } from "./marks.js";
import { name } from "./names.js";
import { drawNotes } from "./notes.js";
import { shown } from "./pictures.js";
import { drawStates } from "./states.js";
import { drawStrips } from "./strips.js";
import { view } from "./view.js";

/** How many shapes the last drawing had, never more than the server sent; and how many drawings there were. */
export const drawn = { shapes: 0, times: 0 };

const FONT = "12px system-ui, sans-serif";

/** Labels that are drawn last. */
let labels = [];

export function draw(canvas) {
  drawn.shapes = 0;
  drawn.times += 1;
  const pen = canvas.getContext("2d");
  pen.setTransform(sizes.ratio, 0, 0, sizes.ratio, 0, 0);
  const colours = themed();
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.fillStyle = colours.ground;
  pen.fillRect(0, 0, sizes.width, sizes.height);
  drawGrid(pen);
  pen.save();
  pen.beginPath();
  pen.rect(0, AXIS, sizes.width, sizes.height - AXIS);
  pen.clip();
  drawOutside(pen);
  for (const isPinned of [false, true]) {
    within(pen, [sizes.gutter, sizes.width], region(isPinned), () => {
      drawLives(pen, isPinned, shortened);
      drawShapes(pen, isPinned);
      drawStates(pen, isPinned);
      drawFound(pen, isPinned);
      drawCrashes(pen, isPinned);
    });
  }
  within(pen, [sizes.gutter, sizes.width], [AXIS, sizes.height], () => {
    drawRange(pen);
    drawArrows(pen);
  });
  drawGutter(pen);
  pen.restore();
  drawAxis(pen);
  drawFoundTimes(pen);
  drawNotes(pen);
}

/** Draws something that must not leave a rectangle. */
function within(pen, [left, right], [top, bottom], drawIt) {
  if (bottom <= top) return;
  pen.save();
  pen.beginPath();
  pen.rect(left, top, right - left, bottom - top);
  pen.clip();
  drawIt();
  pen.restore();
}

/** What lies before and behind the run. */
function drawOutside(pen) {
  pen.fillStyle = themed().band;
  const [from, to] = [x(0), x(about.length)];
  if (from > sizes.gutter) pen.fillRect(sizes.gutter, AXIS, from - sizes.gutter, sizes.height);
  if (to < sizes.width) pen.fillRect(Math.max(to, sizes.gutter), AXIS, sizes.width, sizes.height);
}

function drawShapes(pen, isPinned) {
  const shapes = shown.shapes;
  if (!shapes) return;
  const lines = new Map(visible().filter(({ line }) => line.isPinned === isPinned).map(({ line }) => [line.track.id, line]));
  if (lines.size === 0) return;
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
  const crash = isCrashed(byte) ? crashOf(shapes.track[at], shapes.seq[at]) : null;
  // A crash marks the call that it hit. Those around it are only tinted.
  const isTinted = isCrashed(byte) && !crash;
  const odd = isOdd(byte) && !isTinted;
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
  if (isTinted) {
    pen.globalAlpha = 0.35;
    pen.fillStyle = statusColour(byte);
    pen.fillRect(from, top, inner, height);
    pen.globalAlpha = 1;
  }
  if (odd && height > 6) drawCorner(pen, from, top, Math.min(inner, 6));
  if (height > 10 && inner > 24 && kind !== KIND.running) {
    const label = () => drawLabel(pen, shapes, at, from, top, inner, odd, crash);
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

function drawLabel(pen, shapes, at, left, top, width, odd, crash) {
  const text = name(shapes.name[at]);
  if (!text) return;
  const { status, reason } = outcome(shapes.outcome[at]);
  const words = crash?.signal ?? (reason === "none" ? status : reason);
  const isPlain = ["completed", "tail_call", "entry_only", "exited", "crash"].includes(words);
  const ending = isPlain ? "" : ` · ${words.replaceAll("_", " ")}`;
  const room = width - (odd ? 10 : 6);
  pen.fillStyle = inkOn(odd);
  pen.fillText(shortened(pen, text + ending, room), left + (odd ? 8 : 4), top + ROW / 2);
}

/** As much of a text as there is room for. Letters are about this wide, so that few texts are measured. */
export function shortened(pen, text, room) {
  const most = Math.floor(room / 5.2);
  if (most < 2) return "";
  let cut = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  while (cut.length > 2 && pen.measureText(cut).width > room) cut = `${cut.slice(0, Math.floor(cut.length * 0.85) - 1)}…`;
  return cut;
}

function drawChosen(pen, lines, perNano) {
  const line = view.chosen && lines.get(view.chosen.track);
  if (line) drawFrame(pen, line, view.chosen, perNano, themed().mark, 2);
}

/** A frame around a span. */
export function drawFrame(pen, line, { row, start, duration: took }, perNano, colour, width) {
  if (row >= line.rows && row !== LIFE_ROW) return;
  const left = Math.max(x(start), sizes.gutter - 3);
  const right = Math.min(x(start) + Math.max(took * perNano, 2), sizes.width + 3);
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.strokeRect(left, rowTop(line, row), Math.max(right - left, 2), rowHeight(line, row) - 1);
  pen.lineWidth = 1;
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
  pen.strokeStyle = colours.line;
  pen.beginPath();
  pen.moveTo(sizes.gutter - 0.5, 0);
  pen.lineTo(sizes.gutter - 0.5, sizes.height);
  pen.stroke();
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  for (const isPinned of [false, true]) {
    within(pen, [0, sizes.gutter], region(isPinned), () => {
      pen.fillStyle = isPinned ? colours.band : colours.gutter;
      pen.fillRect(0, AXIS, sizes.gutter - 1, sizes.height);
      for (const line of shownLines().filter((it) => it.isPinned === isPinned)) drawTitle(pen, line, colours);
    });
  }
  const [, edge] = region(true);
  if (edge > AXIS) {
    pen.fillStyle = colours.faint;
    pen.fillRect(0, edge - 1, sizes.width, 1);
  }
}

function drawTitle(pen, line, colours) {
  const top = lineTop(line);
  if (top + line.height < 0 || top - TITLE > sizes.height) return;
  if (line.isFirst) {
    const process = about.processes[line.track.process];
    pen.fillStyle = colours.ink;
    pen.font = "600 12px system-ui, sans-serif";
    pen.fillText(shortened(pen, `${process.pid} ${process.command}`, sizes.gutter - 16), 8, top - TITLE / 2);
    pen.font = FONT;
  }
  const at = titleTop(line);
  const isPointed = view.hover?.title === line.track.id;
  pen.fillStyle = colours.faint;
  pen.fillText(line.isFolded ? "▸" : "▾", 6, at + ROW / 2);
  if (isPointed) pen.fillText("✕", sizes.gutter - SIGNS.hide + 4, at + ROW / 2);
  if (isPointed || line.isPinned) drawPin(pen, sizes.gutter - SIGNS.pin + 9, at + ROW / 2, line.isPinned);
  pen.fillStyle = colours.ink;
  const room = sizes.gutter - 26 - (isPointed || line.isPinned ? SIGNS.pin : 4);
  pen.fillText(shortTitle(pen, line.track, room), 20, at + ROW / 2);
  if (line.hidden > 0 && top + line.height < sizes.height + ROW) {
    pen.fillStyle = colours.mark;
    pen.fillText(`+ ${line.hidden} deeper rows`, 20, top + line.height - ROW / 2);
  }
  if (line.height > 2 * ROW && at + ROW * 2 <= top + line.height) {
    pen.fillStyle = colours.faint;
    pen.fillText(`${thousands(line.track.seen)} ${line.track.kind === "thread" ? "calls" : "spans"}`, 20, at + ROW * 1.5);
  }
}

/** A needle, full where the track is pinned. */
function drawPin(pen, left, middle, isFull) {
  pen.beginPath();
  pen.arc(left, middle - 2, 3.2, 0, 7);
  if (isFull) pen.fill();
  else {
    pen.strokeStyle = pen.fillStyle;
    pen.stroke();
  }
  pen.fillRect(left - 0.5, middle + 1, 1, 5);
}

/** A title with all of its number: threads of one name differ in nothing else. */
function shortTitle(pen, track, room) {
  const whole = trackName(track);
  if (pen.measureText(whole).width <= room) return whole;
  const number = track.thread_id === null ? "" : ` ${track.thread_id}`;
  if (!number || !whole.endsWith(number)) return shortened(pen, whole, room);
  return shortened(pen, whole.slice(0, -number.length), room - pen.measureText(number).width) + number;
}
