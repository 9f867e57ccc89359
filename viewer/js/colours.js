// Colours. Calls are quiet, with a hue for each module; what ended oddly is not. Status colours are those of Okabe and Ito.

import { outcome } from "./about.js";
import { keep, kept } from "./kept.js";
import { PLAIN, moduleHues } from "./modules.js";

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
    found: value("--found"), note: value("--note"),
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

/** The modules' hues, and by which module and name functions are coloured (`names.rs` has the layout). */
let ofModules = [];
let keys = new Uint32Array(0);

/** Takes the colours of a session: the names of its modules, and the functions' keys. */
export function learnColours(modules, colourKeys) {
  ofModules = moduleHues(modules);
  keys = colourKeys;
  number += 1;
  cache.clear();
}

/** The colour of a call, by its module and name. In words, and as a pixel. */
function ofCall(name) {
  let colour = cache.get(name);
  if (colour === undefined) {
    const key = keys[name];
    // What is no function has no module.
    const { hue, saturation, ring } = key === undefined ? PLAIN : ofModules[key >>> 16] ?? PLAIN;
    const shade = ((key ?? name * 7) & 0xff) / 255 - 0.5;
    const light = isDark ? 38 + 7 * ring + 7 * shade : 79 - 9 * ring + 7 * shade;
    colour = { words: `hsl(${hue} ${saturation}% ${light}%)`, pixel: pixelOf(hue, saturation / 100, light / 100) };
    cache.set(name, colour);
  }
  return colour;
}

/** The colour of a module, for a list of them. */
export function moduleColour(at) {
  const { hue, saturation, ring } = ofModules[at] ?? PLAIN;
  return `hsl(${hue} ${saturation}% ${isDark ? 38 + 7 * ring : 79 - 9 * ring}%)`;
}

/** Mixed with a status's colour: what a crash ended further out. */
export function tintedPaint(pixel, byte) {
  const status = statusPaint(byte);
  const mix = (shift) => (((pixel >>> shift) & 255) * 0.65 + ((status >>> shift) & 255) * 0.35) << shift;
  return ((255 << 24) | mix(16) | mix(8) | mix(0)) >>> 0;
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

/** Whether a signal ended the process while it was open. */
export function isCrashed(byte) {
  return outcome(byte).reason === "crash";
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
  if (theme !== "auto") keep("theme", theme);
  readTheme();
}

export function keptTheme() {
  const theme = kept("theme");
  return ["light", "dark"].includes(theme) ? theme : "auto";
}
