// What is shown while no span is chosen: how the run ended, and where its time went.

import { about } from "./about.js";
import { duration, thousands } from "./format.js";
import { selfTitle } from "./lens.js";
import { name, needNames } from "./names.js";
import { moduleColour } from "./colours.js";
import { el, list, swatch, table } from "./panel.js";
import { shareOf } from "./share.js";
import { view } from "./view.js";

/** Processes that are listed. */
const PROCESSES = 20;
const MODULES = 60;

export async function overview(searchFor, toFunction) {
  await needNames(about.top.map(([id]) => id));
  const functions = about.top.map(([id, calls, own, total]) => ({
    cells: [thousands(calls), duration(own), shareOf(own), duration(total), name(id) ?? ""],
    go: () => toFunction(id),
  }));
  const more = about.processes.length - PROCESSES;
  const processes = about.processes.slice(0, PROCESSES).map((it) => [`process ${it.pid}`, [ending(it), it.command].filter(Boolean).join(" · ")]);
  const run = list([
    ["length", duration(about.length)], ["calls", thousands(about.spans)],
    ["opened on", about.opening.why], ...processes, ["and", more > 0 ? `${thousands(more)} more` : null],
  ]);
  return [
    el("p", { class: "faint" }, "Click a span for its arguments, registers, stack and source line. Drag on the times, or with Shift, to select a time. ? lists all keys."),
    el("div", { class: "columns" }, el("div", {}, el("h3", {}, "Run"), run),
      functions.length > 0 ? el("div", {}, el("h3", {}, view.lens ? "Most time, with what is hidden" : "Most time in themselves"), table([">calls", selfTitle(), "share", ">total", "name"], functions)) : null,
      about.modules.length > 0 ? el("div", {}, el("h3", {}, "Colours of modules"), modules(searchFor)) : null),
  ];
}

/** Each module's colour; a click searches for its calls. */
function modules(searchFor) {
  return el("div", { class: "modules" }, about.modules.slice(0, MODULES).map((module, at) =>
    el("a", { class: "go", role: "link", tabindex: 0, onclick: () => searchFor(`module:${module}`) }, swatch(moduleColour(at)), module)));
}

function ending({ exit_code: code, signal }) {
  if (signal !== null) return `ended by signal ${signal}`;
  return code === null ? (about.live ? "running" : "end not seen") : `exit code ${code}`;
}
