// Wheel, drag, keys and touch.

import { arrowAt } from "./arrows.js";
import { about, outcomeWords } from "./about.js";
import { KIND } from "./api.js";
import { duration, thousands } from "./format.js";
import { shapeAt, titleAt } from "./hit.js";
import { AXIS, fold, scrollTo, showAllRows, sizes, timeAt } from "./layout.js";
import { moduleOf, name } from "./names.js";
import { stateAt } from "./states.js";
import { changed, look, pan, view, zoom } from "./view.js";

/** Pixels that a pointer may move and still have clicked. */
const STILL = 4;

/** `actions` has what other parts do: choose(shape), goTo(reference), follow(arrow), selected(), … */
export function listen(canvas, tip, actions) {
  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [px] = point(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
    if (px < sizes.gutter || event.altKey) {
      scrollTo(view.scroll + dy);
      changed();
    } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      pan((event.shiftKey && dx === 0 ? dy : dx) / (sizes.width - sizes.gutter));
    } else {
      zoom(Math.exp(Math.min(Math.max(dy, -300), 300) * 0.0022), timeAt(px));
    }
  }, { passive: false });

  const pointers = new Map();
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const [px, py] = point(event);
    pointers.set(event.pointerId, [px, py]);
    tip.hidden = true;
    const selects = event.shiftKey || (py < AXIS && px > sizes.gutter);
    drag = { px, py, start: view.start, end: view.end, scroll: view.scroll, selects, moved: false, from: timeAt(px) };
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = point(event);
    if (!pointers.has(event.pointerId)) {
      hover(px, py);
      return;
    }
    const before = pointers.get(event.pointerId);
    pointers.set(event.pointerId, [px, py]);
    if (pointers.size === 2) {
      pinch(before, [px, py], [...pointers.entries()].find(([id]) => id !== event.pointerId)[1]);
      if (drag) drag.moved = true;
      return;
    }
    if (!drag || pointers.size > 2) return;
    if (!drag.moved && Math.hypot(px - drag.px, py - drag.py) < STILL) return;
    drag.moved = true;
    if (drag.selects) {
      const [a, b] = [drag.from, timeAt(px)].sort((one, other) => one - other);
      view.range = { start: Math.max(0, a), end: Math.min(Math.max(b, a + 1), about.length) };
      changed();
      return;
    }
    const nanos = ((drag.px - px) / (sizes.width - sizes.gutter)) * (drag.end - drag.start);
    scrollTo(drag.scroll + drag.py - py);
    look(drag.start + nanos, drag.end + nanos);
  });
  const release = (event) => {
    const wasAlone = pointers.size === 1;
    pointers.delete(event.pointerId);
    const ended = drag;
    if (pointers.size === 0) drag = null;
    if (!ended || !wasAlone || event.type === "pointercancel") return;
    if (!ended.moved) click(...point(event));
    else if (ended.selects) actions.selected();
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
    if (view.hover) {
      view.hover = null;
      changed();
    }
  });
  canvas.addEventListener("dblclick", (event) => {
    const shape = shapeAt(...point(event));
    if (shape) actions.zoomTo(shape);
  });

  function pinch(before, after, other) {
    const [was, is] = [Math.abs(before[0] - other[0]), Math.abs(after[0] - other[0])];
    const middle = timeAt((before[0] + other[0]) / 2);
    if (was > 8 && is > 8) zoom(was / is, middle);
    scrollTo(view.scroll - (after[1] - before[1]) / 2);
    changed();
  }

  function click(px, py) {
    const title = titleAt(px, py);
    if (title) {
      if (title.isMore) showAllRows(title.line);
      else fold(title.line);
      changed();
      return;
    }
    const arrow = arrowAt(px, py);
    if (arrow) {
      actions.follow(arrow.arrow, arrow.toEnd);
      return;
    }
    const shape = shapeAt(px, py);
    if (shape) actions.choose(shape);
    else actions.chooseNothing();
  }

  function hover(px, py) {
    const arrow = arrowAt(px, py);
    const shape = arrow ? null : shapeAt(px, py);
    canvas.style.cursor = arrow || shape || titleAt(px, py) ? "pointer" : py < AXIS ? "col-resize" : "default";
    view.hover = arrow ? { arrow: arrow.arrow } : shape;
    changed();
    const words = arrow ? arrowWords(arrow.arrow) : shape ? shapeWords(shape) : stateWords(stateAt(px, py));
    tip.hidden = !words;
    if (!words) return;
    tip.textContent = words;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(px + 14, sizes.width - box.width - 8))}px`;
    tip.style.top = `${py + 18 + box.height > sizes.height ? Math.max(0, py - box.height - 10) : py + 18}px`;
  }

  keys(canvas, actions);
}

function arrowWords([kind, , , from, , , to]) {
  return `${kind}\n${duration(Math.max(0, to - from))} from cause to effect; click to follow`;
}

function stateWords(part) {
  return part ? `${part.state} for ${duration(part.duration)}` : "";
}

function shapeWords(shape) {
  if (shape.kind === KIND.anomaly) return `anomaly: ${name(shape.name) ?? "…"}`;
  const many = shape.spans > 1 ? `\nthe longest of ${thousands(shape.spans)} here` : "";
  const odd = shape.odd && shape.odd !== shape.outcome ? `\nwith one ${outcomeWords(shape.odd)}` : "";
  const ending = outcomeWords(shape.outcome);
  const from = moduleOf(shape.name);
  return `${name(shape.name) ?? "…"}\n${duration(shape.took ?? shape.duration)}${ending ? ` · ${ending}` : ""}${from ? ` · ${from}` : ""}${many}${odd}`;
}

function keys(canvas, actions) {
  const middle = () => (view.start + view.end) / 2;
  const around = () => (view.hover && !view.hover.arrow && view.hover.start >= view.start && view.hover.start <= view.end
    ? view.hover.start : middle());
  const byKey = {
    w: () => zoom(0.75, around()), s: () => zoom(1 / 0.75, around()), a: () => pan(-0.15), d: () => pan(0.15),
    arrowleft: () => pan(-0.15), arrowright: () => pan(0.15),
    arrowup: () => { scrollTo(view.scroll - 54); changed(); }, arrowdown: () => { scrollTo(view.scroll + 54); changed(); },
    pageup: () => { scrollTo(view.scroll - sizes.height * 0.8); changed(); },
    pagedown: () => { scrollTo(view.scroll + sizes.height * 0.8); changed(); },
    0: actions.whole, home: actions.whole, f: actions.fit, m: actions.markChosen, g: actions.flame,
    p: actions.parent, n: () => actions.result(1), b: () => actions.result(-1),
    c: actions.copyLink, t: actions.theme, "?": actions.help, "/": actions.search, escape: actions.escape,
  };
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (isTyping && event.key !== "Escape") return;
    const action = byKey[event.key.toLowerCase()];
    if (!action) return;
    // Arrows scroll the panel while it has the focus.
    if (event.key.startsWith("Arrow") && document.activeElement?.id === "content") return;
    event.preventDefault();
    if (isTyping) canvas.focus();
    action();
  });
}

/** Where an arrow's end is, and what is there. */
export function arrowEnd(arrow, toEnd) {
  const [, fromTrack, fromRow, fromTime, toTrack, toRow, toTime, from, to] = arrow;
  return toEnd ? { track: toTrack, row: toRow, time: toTime, reference: to }
    : { track: fromTrack, row: fromRow, time: fromTime, reference: from };
}
