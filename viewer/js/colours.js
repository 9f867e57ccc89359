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
  callback: "#999999",
};

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
  cache.clear();
}

export function themed() {
  return styles;
}

const cache = new Map();

/** The colour of a call, by its name: blues, teals and greys, which no status has. */
export function callColour(name) {
  let colour = cache.get(name);
  if (colour === undefined) {
    const mixed = Math.imul(name ^ (name >>> 15), 0x2c1b3c6d) >>> 0;
    const hue = 190 + (mixed % 80);
    const saturation = 18 + ((mixed >>> 8) % 30);
    const light = isDark ? 34 + ((mixed >>> 16) % 16) : 70 + ((mixed >>> 16) % 14);
    colour = `hsl(${hue} ${saturation}% ${light}%)`;
    cache.set(name, colour);
  }
  return colour;
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
