// Wheel, drag and touch.

import { arrowAt } from "./arrows.js";
import { about } from "./about.js";
import { shapeAt, titleAt } from "./hit.js";
import { AXIS, fold, lineAt, place, scrollTo, showAllRows, shownLines, sizes, timeAt } from "./layout.js";
import { noteAt } from "./notes.js";
import { pointer } from "./overlay.js";
import { point } from "./tip.js";
import { hide, move, pin } from "./tracks.js";
import { changed, look, pan, view, zoom } from "./view.js";

/** Pixels that a pointer may move and still have clicked. */
const STILL = 4;

/** `actions` has what other parts do: choose(shape), goTo(reference), follow(arrow), selected(), … */
export function listen(canvas, actions) {
  const placeOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [px] = placeOf(event);
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
    const [px, py] = placeOf(event);
    pointers.set(event.pointerId, [px, py]);
    hover(null);
    // The right button always moves the view; what the middle one goes over is zoomed to.
    const zooms = event.button === 1;
    const selects = !zooms && event.button === 0 && (event.shiftKey || (py < AXIS && px > sizes.gutter));
    const title = event.button === 0 ? titleAt(px, py) : null;
    drag = { zooms, button: event.button, title, px, py, start: view.start, end: view.end, scroll: view.scroll, selects, moved: false, from: timeAt(px) };
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = placeOf(event);
    if (!pointers.has(event.pointerId)) {
      hover([px, py]);
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
    // A title that is pulled: its track is put where it is let go.
    if (drag.title) {
      scrollTo(py < AXIS + 20 ? view.scroll - 8 : py > sizes.height - 20 ? view.scroll + 8 : view.scroll);
      changed();
      return;
    }
    if (drag.selects || drag.zooms) {
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
    const at = placeOf(event);
    if (ended.title && ended.moved) {
      drop(ended.title.line, at[1]);
    } else if (ended.zooms) {
      zoomTo(ended.moved, at);
    } else if (!ended.moved) {
      if (ended.button === 0) click(...at, event.ctrlKey || event.metaKey);
    } else if (ended.selects) {
      actions.selected();
    }
    if (event.pointerType === "mouse") hover(at);
  };
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => {
    const wasOnTitle = view.hover?.title !== undefined;
    hover(null);
    if (wasOnTitle) changed();
  });
  canvas.addEventListener("dblclick", (event) => {
    const [px, py] = placeOf(event);
    const shape = shapeAt(px, py);
    if (shape) actions.zoomTo(shape);
    else if (py < AXIS && px > sizes.gutter) actions.note(timeAt(px));
  });

  function pinch(before, after, other) {
    const [was, is] = [Math.abs(before[0] - other[0]), Math.abs(after[0] - other[0])];
    const middle = timeAt((before[0] + other[0]) / 2);
    if (was > 8 && is > 8) zoom(was / is, middle);
    scrollTo(view.scroll - (after[1] - before[1]) / 2);
    changed();
  }

  /** Zooms to what the middle button went over, or to the span that it clicked. */
  function zoomTo(hasMoved, at) {
    const range = view.range;
    view.range = null;
    if (hasMoved && range) {
      look(range.start, range.end);
      return;
    }
    const shape = shapeAt(...at);
    if (shape) actions.zoomTo(shape);
  }

  /** Puts a track before the one that is at a height. */
  function drop(line, py) {
    const lines = shownLines().filter((it) => it.isPinned === line.isPinned);
    const target = lineAt(py);
    const id = line.track.id;
    if (target === line) return;
    const down = target && lines.indexOf(target) > lines.indexOf(line);
    const before = target ? lines[lines.indexOf(target) + (down ? 1 : 0)]?.track.id ?? null : null;
    if (line.isPinned) actions.movePinned(id, before);
    else move(id, before);
    place();
    changed();
  }

  function click(px, py, wantsFunction) {
    const note = noteAt(px, py);
    if (note) {
      actions.goToNote(note);
      return;
    }
    const title = titleAt(px, py);
    if (title) {
      const { line, part } = title;
      if (part === "more") showAllRows(line);
      else if (part === "title") fold(line);
      else {
        (part === "pin" ? pin : hide)(line.track.id);
        place();
        actions.tracksChanged();
      }
      changed();
      return;
    }
    const arrow = arrowAt(px, py);
    if (arrow) {
      actions.follow(arrow.arrow, arrow.toEnd);
      return;
    }
    const shape = shapeAt(px, py);
    if (shape && wantsFunction && !shape.isLife && shape.kind === 0) actions.toFunction(shape.name);
    else if (shape) actions.choose(shape);
    else actions.chooseNothing();
  }

  function hover(at) {
    pointer.at = at;
    point();
  }
}

/** Where an arrow's end is, and what is there. */
export function arrowEnd(arrow, toEnd) {
  const [, fromTrack, fromRow, fromTime, toTrack, toRow, toTime, from, to] = arrow;
  return toEnd ? { track: toTrack, row: toRow, time: toTime, reference: to }
    : { track: fromTrack, row: fromRow, time: fromTime, reference: from };
}
