// The line of times above the tracks.

import { themed } from "./colours.js";
import { moment } from "./format.js";
import { AXIS, sizes, x } from "./layout.js";
import { view } from "./view.js";

/** Pixels between two ticks, at least. */
const APART = 110;

/** A step of 1, 2 or 5 times a power of ten. */
function niceStep(length, pixels) {
  const least = (length * APART) / Math.max(pixels, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => power * factor >= least);
}

export function ticks() {
  const step = Math.max(1, niceStep(view.end - view.start, sizes.width - sizes.gutter));
  const all = [];
  for (let at = Math.ceil(view.start / step) * step; at <= view.end; at += step) if (at >= 0) all.push(at);
  return { step, all };
}

export function drawAxis(pen) {
  const { step, all } = ticks();
  const colours = themed();
  pen.fillStyle = colours.gutter;
  pen.fillRect(0, 0, sizes.width, AXIS);
  pen.fillStyle = colours.faint;
  pen.strokeStyle = colours.line;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.beginPath();
  for (const at of all) {
    const pixel = Math.round(x(at)) + 0.5;
    if (pixel < sizes.gutter) continue;
    pen.moveTo(pixel, 0);
    pen.lineTo(pixel, AXIS);
    pen.fillText(moment(at, step), pixel + 4, AXIS / 2);
  }
  pen.moveTo(0, AXIS - 0.5);
  pen.lineTo(sizes.width, AXIS - 0.5);
  pen.stroke();
}

/** Faint lines through the tracks. */
export function drawGrid(pen) {
  pen.strokeStyle = themed().line;
  pen.globalAlpha = 0.5;
  pen.beginPath();
  for (const at of ticks().all) {
    const pixel = Math.round(x(at)) + 0.5;
    if (pixel < sizes.gutter) continue;
    pen.moveTo(pixel, AXIS);
    pen.lineTo(pixel, sizes.height);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}
