// What is looked at. Everything that changes it goes through here, and everyone who draws hears of it.

import { about } from "./about.js";

export const view = {
  /** Nanoseconds since the session's start. */
  start: 0,
  end: 1,
  /** Pixels that the tracks are scrolled down. */
  scroll: 0,
  /** Whether only what the lens shows is looked at. */
  lens: false,
  /** The span that is chosen: reference, track, row, start, duration. */
  chosen: null,
  /** The time that is selected. */
  range: null,
  /** The only thread whose calls are summed up; none for all. */
  only: null,
  /** What is under the pointer: a shape, an arrow or a title. */
  hover: null,
  tab: "details",
  /** The number of the function whose page is shown last. */
  function: null,
};

const listeners = new Set();

/** Calls back, once a frame, after something has changed. */
export function onChange(listener) {
  listeners.add(listener);
}

let isPlanned = false;
export function changed() {
  if (isPlanned) return;
  isPlanned = true;
  requestAnimationFrame(() => {
    isPlanned = false;
    listeners.forEach((listener) => listener());
  });
}

/** The shortest time that is shown: fewer nanoseconds than this cannot be distinguished. */
const SHORTEST = 20;

/** Looks at another time, within the run and a little around it. */
export function look(start, end) {
  const most = about.length * 1.1;
  let length = Math.min(Math.max(end - start, SHORTEST), most);
  let from = start + (end - start - length) / 2;
  from = Math.min(Math.max(from, -about.length * 0.05), about.length * 1.05 - length);
  view.start = from;
  view.end = from + length;
  changed();
}

/** Zooms so that the moment under the pointer stays there. */
export function zoom(factor, at) {
  look(at - (at - view.start) * factor, at + (view.end - at) * factor);
}

export function pan(share) {
  const length = view.end - view.start;
  look(view.start + length * share, view.end + length * share);
}

/** Looks at a stretch with some room around it. */
export function lookAround(start, duration) {
  const room = Math.max(duration * 0.25, SHORTEST / 2);
  look(start - room, start + duration + room);
}
