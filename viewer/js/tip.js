// The words beside the pointer. They are made anew whenever the pointer or the picture below it moves, and when a name
// arrives, so that they never are of something else.

import { about, outcomeWords } from "./about.js";
import { KIND } from "./api.js";
import { arrowAt } from "./arrows.js";
import { crashOf } from "./crashes.js";
import { isCrashed } from "./colours.js";
import { duration, thousands } from "./format.js";
import { shapeAt, titleAt } from "./hit.js";
import { AXIS, sizes } from "./layout.js";
import { lifeWords } from "./lives.js";
import { moduleOf, name } from "./names.js";
import { noteAt } from "./notes.js";
import { drawOverlay, pointer } from "./overlay.js";
import { stateAt } from "./states.js";
import { changed, view } from "./view.js";

let parts = null;

/** `timeline`, `overlay` and `tip`: the elements. */
export function makeTip(elements) {
  parts = elements;
}

/** Looks again at what is under the pointer. */
export function point() {
  const { timeline, overlay, tip } = parts;
  if (!pointer.at) {
    view.hover = null;
    tip.hidden = true;
    drawOverlay(overlay);
    return;
  }
  const [px, py] = pointer.at;
  const note = noteAt(px, py);
  const title = titleAt(px, py);
  const arrow = note || title ? null : arrowAt(px, py);
  const shape = note || title || arrow ? null : shapeAt(px, py);
  const before = view.hover?.title;
  view.hover = title ? { title: title.line.track.id } : arrow ? { arrow: arrow.arrow } : shape;
  timeline.style.cursor = note || arrow || shape || title ? "pointer" : py < AXIS ? "col-resize" : "default";
  // A title's signs are part of the picture.
  if (before !== view.hover?.title) changed();
  const words = note ? note.text : title ? titleWords(title) : arrow ? arrowWords(arrow.arrow)
    : shape ? shapeWords(shape) : stateWords(stateAt(px, py));
  put(tip, words, px, py);
  drawOverlay(overlay);
}

function put(tip, words, px, py) {
  tip.hidden = !words;
  if (!words) return;
  if (tip.textContent !== words) tip.textContent = words;
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const left = Math.max(4, Math.min(px + 14, sizes.width - width - 8));
  const top = py + 18 + height > sizes.height ? Math.max(0, py - height - 10) : py + 18;
  tip.style.transform = `translate(${left}px, ${top}px)`;
}

function titleWords({ line, part }) {
  if (part === "pin") return line.isPinned ? "unpin" : "pin: stays above while the others scroll";
  return part === "hide" ? "hide this track" : "";
}

function arrowWords([kind, , , from, , , to]) {
  return `${kind}\n${duration(Math.max(0, to - from))} from cause to effect; click to follow`;
}

function stateWords(part) {
  return part ? `${part.state} for ${duration(part.duration)}` : "";
}

function shapeWords(shape) {
  if (shape.isLife) return lifeWords(about.tracks[shape.track], shape.life);
  if (shape.kind === KIND.anomaly) return `anomaly: ${name(shape.name) ?? "…"}`;
  const others = shape.spans - 1;
  const many = others > 0 ? `\nand ${thousands(others)} shorter, too near to be drawn apart` : "";
  const odd = shape.odd && shape.odd !== shape.outcome ? `\nwith one ${outcomeWords(shape.odd)}` : "";
  const from = moduleOf(shape.name);
  const ending = endingOf(shape);
  return `${name(shape.name) ?? "…"}\n${duration(shape.took ?? shape.duration)}${ending ? ` · ${ending}` : ""}${from ? ` · ${from}` : ""}${many}${odd}`;
}

/** How it ended. A crash hit one call; the others were open around it, or on other threads. */
function endingOf(shape) {
  if (!isCrashed(shape.outcome)) return outcomeWords(shape.outcome);
  const crash = crashOf(shape.track, shape.seq);
  return crash ? `${crash.signal} hit it here` : "open when a signal ended the process";
}
