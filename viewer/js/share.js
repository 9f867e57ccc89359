// Shares, all drawn to one scale: a full bar is all time that calls took in themselves.

import { about } from "./about.js";
import { el } from "./panel.js";

/** The width of all. */
const FULL = 80;

/** A part of a whole: its bar, and its percentage. */
export function share(part, whole) {
  const value = whole > 0 ? Math.min(part / whole, 1) : 0;
  const bar = el("span", { class: "bar" });
  bar.style.width = `${value * FULL}px`;
  const scale = el("span", { class: "scale" }, bar);
  scale.style.width = `${FULL}px`;
  return el("span", { class: "share" }, scale, ` ${(value * 100).toFixed(1)} %`);
}

/** The same of the whole run. */
export function shareOf(part) {
  return share(part, about.own_ns);
}
