// A function's page: how long its calls took, who calls it and what it calls, its slowest calls, and its source.

import { json } from "./api.js";
import { callColour, themed } from "./colours.js";
import { duration, moment, thousands } from "./format.js";
import { moduleOf, name, needNames } from "./names.js";
import { el, list, statusMark, swatch, tab, table } from "./panel.js";
import { share, shareOf } from "./share.js";
import { view } from "./view.js";

const HEIGHT = 110;

export function makeFunction(goTo, toFunction, searchFor) {
  tab("function", async (box, isWanted) => {
    if (view.function === null) {
      box.replaceChildren(el("p", { class: "faint" }, "Ctrl+click a call, or press I, to see all calls of its function."));
      return;
    }
    box.replaceChildren(el("p", { class: "faint" }, "counting…"));
    const answer = await json("function", { name: view.function });
    await needNames([view.function, ...[...answer.callers, ...answer.callees].map(([id]) => id).filter((id) => id !== null)]);
    if (!isWanted()) return;
    box.replaceChildren(...fill(view.function, answer, goTo, toFunction, searchFor));
    const canvas = box.querySelector("#durations");
    if (canvas) drawDurations(canvas, answer);
    box.scrollTop = 0;
  });
}

function fill(id, answer, goTo, toFunction, searchFor) {
  const { quantiles } = answer;
  const title = name(id) ?? "";
  const facts = list([
    ["module", moduleOf(id)], ["calls", thousands(answer.calls)],
    ["self", el("span", {}, duration(answer.self_ns), " ", shareOf(answer.self_ns))], ["total", duration(answer.total_ns)],
    ["shortest", answer.timed > 0 ? duration(answer.min_ns) : null],
    ["median", quantiles ? `≈ ${duration(quantiles[0])}` : null], ["95 %", quantiles ? `≈ ${duration(quantiles[1])}` : null],
    ["99 %", quantiles ? `≈ ${duration(quantiles[2])}` : null], ["longest", answer.timed > 0 ? duration(answer.max_ns) : null],
  ]);
  const looked = answer.looked < answer.all_calls
    ? el("p", { class: "faint" }, `Callers, callees and slowest calls are of the first ${thousands(answer.looked)} of ${thousands(answer.all_calls)} calls of the process.`) : null;
  const others = (rows, empty, whole) => table([">calls", ">time", "share", "function"], rows.map(([other, calls, time]) => ({
    cells: [thousands(calls), duration(time), share(time, whole), other === null ? empty : name(other) ?? ""],
    go: other === null ? undefined : () => toFunction(other),
  })));
  const whole = (rows) => rows.reduce((sum, [, , time]) => sum + time, 0);
  const slowest = table([">duration", ">start", "status", "thread", "span"], answer.slowest.map((span) => ({
    cells: [duration(span.duration), moment(span.start, 1), statusMark(span.status, span.reason), span.thread, span.reference],
    go: () => goTo(span.reference),
  })));
  slowest.id = "slowest";
  return [
    el("h2", { id: "function-name" }, swatch(callColour(id)), title, " ", el("button", { onclick: () => searchFor(title) }, "Search its calls")),
    el("div", { class: "columns" },
      el("div", {}, el("h3", {}, "All calls"), facts),
      answer.durations ? el("div", {}, el("h3", {}, "Durations"), el("canvas", { id: "durations", height: HEIGHT }))
        : el("div", {}, el("h3", {}, "Durations"), el("p", { class: "faint" }, "No histogram: too many functions were called to keep one for each.")),
      el("div", {}, el("h3", {}, `Called by (${answer.callers.length})`), others(answer.callers, "(outermost call)", whole(answer.callers))),
      el("div", {}, el("h3", {}, `Calls (${answer.callees.length})`), answer.callees.length > 0 ? others(answer.callees, "", answer.time_ns) : el("p", { class: "faint" }, "nothing that was recorded")),
      el("div", {}, el("h3", {}, `Slowest calls (${answer.slowest.length})`), slowest),
      el("div", {}, el("h3", {}, "Source"), source(answer.source))),
    looked,
  ].filter(Boolean);
}

/** The text around the function's line. */
function source(found) {
  if (!found) return el("p", { class: "faint" }, "No debug information says where it is.");
  const place = el("p", { class: "mono" }, `${found.file}:${found.line}`);
  if (!found.lines) return el("div", {}, place, el("p", { class: "faint" }, found.missing));
  const text = el("pre", { id: "source" }, found.lines.map((line, at) => {
    const number = found.first + at;
    return el("span", { class: number === found.line ? "line here" : "line" }, `${String(number).padStart(5)}  ${line}\n`);
  }));
  return el("div", {}, place, found.warning ? el("p", { class: "faint" }, found.warning) : null, text);
}

/** Columns as wide as their octave's part, on a scale of powers of ten. */
function drawDurations(canvas, { durations, quantiles }) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.style.height = `${HEIGHT}px`;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const colours = themed();
  const log = (nanos) => Math.log10(Math.max(nanos, 1));
  const [from, to] = [log(durations[0][0]), Math.max(log(durations.at(-1)[1]), log(durations[0][0]) + 0.3)];
  const at = (nanos) => 4 + ((log(nanos) - from) / (to - from)) * (width - 8);
  const most = Math.max(...durations.map(([, , count]) => count));
  const base = HEIGHT - 18;
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colours.mark;
  for (const [low, high, count] of durations) {
    const height = Math.max(1, (count / most) * (base - 16));
    pen.fillRect(at(low), base - height, Math.max(1, at(high) - at(low) - 0.5), height);
  }
  pen.fillStyle = colours.faint;
  pen.fillRect(0, base, width, 1);
  let free = 0;
  for (let power = Math.ceil(from); power <= to; power += 1) {
    const left = at(10 ** power);
    pen.fillRect(left, base, 1, 4);
    if (left < free || left > width - 40) continue;
    pen.fillText(duration(10 ** power).replace(/\.0+/, ""), left + 3, HEIGHT - 4);
    free = left + 60;
  }
  if (quantiles) {
    pen.fillStyle = colours.ink;
    pen.fillRect(at(quantiles[0]), 10, 1, base - 10);
    pen.fillText("median", at(quantiles[0]) + 3, 10);
  }
}
