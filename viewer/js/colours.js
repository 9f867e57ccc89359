// Colours. Calls are quiet; what ended oddly is not. Status colours are those of Okabe and Ito.

import { outcome } from "./about.js";

export const STATUS = {
  unmatched: "#d55e00",
  canceled: "#cc79a7",
  open: "#56b4e9",
  pending: "#f0e442",
  exited: "#009e73",
  entry_only: "#999999",
  completed: "#e69f00",
};

export const ARROW = {
  create: "#009e73",
  task: "#009e73",
  submit: "#e69f00",
  resume: "#0072b2",
  join: "#cc79a7",
  wake: "#56b4e9",
  hold: "#d55e00",
  callback: "#999999",
};

/** On or off the processor. */
export const STATE = { running: "#009e73", ready: "#e69f00", blocked: "#9aa3ad" };

let isDark = false;
let styles = {};

/** Reads the theme's colours again. */
export function readTheme() {
  const read = getComputedStyle(document.documentElement);
  const value = (name) => read.getPropertyValue(name).trim();
  styles = {
    ground: value("--ground"), ink: value("--ink"), faint: value("--faint"), line: value("--line"),
    gutter: value("--gutter"), band: value("--band"), select: value("--select"), mark: value("--mark"), hover: value("--hover"),
  };
  const theme = document.documentElement.dataset.theme;
  isDark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  number += 1;
  cache.clear();
}

let number = 0;

/** Another one each time that colours have changed. */
export function themeNumber() {
  return number;
}

export function themed() {
  return styles;
}

const cache = new Map();

/** The colour of a call, by its name: blues, teals and greys, which no status has. In words, and as a pixel. */
function ofCall(name) {
  let colour = cache.get(name);
  if (colour === undefined) {
    const mixed = Math.imul(name ^ (name >>> 15), 0x2c1b3c6d) >>> 0;
    const hue = 190 + (mixed % 80);
    const saturation = 18 + ((mixed >>> 8) % 30);
    const light = isDark ? 34 + ((mixed >>> 16) % 16) : 70 + ((mixed >>> 16) % 14);
    colour = { words: `hsl(${hue} ${saturation}% ${light}%)`, pixel: pixelOf(hue, saturation / 100, light / 100) };
    cache.set(name, colour);
  }
  return colour;
}

export function callColour(name) {
  return ofCall(name).words;
}

export function callPaint(name) {
  return ofCall(name).pixel;
}

/** A colour as the bytes of a picture have it: alpha, blue, green, red from the highest. */
function pixelOf(hue, saturation, light) {
  const part = (shift) => {
    const at = (shift + hue / 30) % 12;
    const value = light - saturation * Math.min(light, 1 - light) * Math.max(-1, Math.min(at - 3, 9 - at, 1));
    return Math.round(value * 255);
  };
  return ((255 << 24) | (part(4) << 16) | (part(8) << 8) | part(0)) >>> 0;
}

/** The same of a status. */
export function statusPaint(byte) {
  const [red, green, blue] = statusColour(byte).match(/[0-9a-f]{2}/g).map((it) => parseInt(it, 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Whether a span did not end as most do (`item.rs` has the same rule). */
export function isOdd(byte) {
  const { status, reason } = outcome(byte);
  if (reason === "tail_call" || reason === "process_exit") return false;
  return reason !== "none" || !["completed", "entry_only", "exited"].includes(status);
}

/** The colour of a status in words; what returned has none. */
export function markColour(status, reason) {
  const isPlain = ["completed", "entry_only", "exited"].includes(status) && (!reason || reason === "none");
  return isPlain || reason === "tail_call" || reason === "process_exit" ? "transparent" : STATUS[status] ?? STATUS.unmatched;
}

export function statusColour(byte) {
  return STATUS[outcome(byte).status] ?? STATUS.unmatched;
}

/** What is readable on a call's or status's colour. */
export function inkOn(odd) {
  return odd || !isDark ? "#14171c" : "#f0f2f5";
}

/** Between light, dark and what the system has. */
export function nextTheme() {
  const order = isDark ? ["light", "dark"] : ["dark", "light"];
  setTheme(order[0]);
}

export function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("ada-theme", theme);
  } catch {
    // A browser that keeps nothing shows the system's theme next time.
  }
  readTheme();
}

export function keptTheme() {
  try {
    const kept = localStorage.getItem("ada-theme");
    return ["light", "dark"].includes(kept) ? kept : "auto";
  } catch {
    return "auto";
  }
}
