// What is looked at. Everything that changes it goes through here, and everyone who draws hears of it.

import { about } from "./about.js";

export const view = {
  /** Nanoseconds since the session's start. */
  start: 0,
  end: 1,
  /** Pixels that the tracks are scrolled down. */
  scroll: 0,
  /** The span that is chosen: reference, track, row, start, duration. */
  chosen: null,
  /** The time that is selected. */
  range: null,
  /** The shape under the pointer. */
  hover: null,
  tab: "details",
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

/** The shortest time that is shown: fewer nanoseconds than this cannot be told apart. */
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

// The address holds the view, so that a colleague can be sent to it.

export function toFragment() {
  const parts = new URLSearchParams();
  parts.set("start", String(Math.round(view.start)));
  parts.set("end", String(Math.round(view.end)));
  if (view.scroll > 0) parts.set("scroll", String(Math.round(view.scroll)));
  if (view.chosen) parts.set("span", view.chosen.reference);
  if (view.range) parts.set("range", `${Math.round(view.range.start)}-${Math.round(view.range.end)}`);
  if (view.tab !== "details") parts.set("tab", view.tab);
  return `#${parts}`;
}

/** What an address asks for; nothing if it asks for no view. */
export function fromFragment(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const [start, end] = [Number(parts.get("start")), Number(parts.get("end"))];
  if (!parts.has("start") || !(end > start)) return null;
  const range = /^(-?\d+)-(-?\d+)$/.exec(parts.get("range") ?? "");
  return {
    start,
    end,
    scroll: Math.max(0, Number(parts.get("scroll")) || 0),
    span: parts.get("span"),
    range: range && Number(range[2]) > Number(range[1]) ? { start: Number(range[1]), end: Number(range[2]) } : null,
    tab: parts.get("tab") ?? "details",
  };
}
