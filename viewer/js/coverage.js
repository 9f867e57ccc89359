// What the trace has and what it lacks.

import { endingWords } from "./about.js";
import { json } from "./api.js";
import { duration, moment, thousands } from "./format.js";
import { el, list, tab, table } from "./panel.js";

export function makeCoverage(goTo) {
  tab("coverage", async (box, isWanted) => {
    box.replaceChildren(el("p", { class: "faint" }, "…"));
    const answer = await json("coverage");
    if (!isWanted()) return;
    box.replaceChildren(...answer.damage.map((words) => el("p", {}, `Damaged: ${words}`)),
      ...answer.processes.flatMap((process) => ofProcess(process, goTo)));
  });
}

function ofProcess(process, goTo) {
  const modules = process.modules ?? [];
  const drops = process.drops ?? [];
  const dropped = drops.reduce((sum, drop) => sum + drop.count, 0);
  const sums = modules.reduce((sum, { coverage = {} }) => ({
    found: sum.found + (coverage.found ?? 0), hooked: sum.hooked + (coverage.hooked ?? 0),
  }), { found: 0, hooked: 0 });
  const facts = list([
    ["functions found", thousands(sums.found)],
    ["hooked", `${thousands(sums.hooked)}${sums.found ? ` (${((sums.hooked / sums.found) * 100).toFixed(1)} %)` : ""}`],
    ["events dropped", dropped === 0 ? "none" : thousands(dropped)],
    ["threads waited", process.waited_ns ? duration(process.waited_ns) : null],
    ["functions switched off", process.switches ? thousands(process.switches) : null],
    ["let go by the ring", process.ring?.let_go_events ? thousands(process.ring.let_go_events) : null],
    ["windows of detail", process.windows ? thousands(process.windows) : null],
    ["attached", process.attached ? "it ran already: calls open before are missing" : null],
    ["unfinished", process.finished === false ? "the recording has not ended, or was killed" : null],
  ]);
  const parts = [el("h2", {}, `Process ${process.pid}`), facts];
  if (dropped > 0) {
    parts.push(el("h3", {}, "Drops"), table(["lane", ">events", "reason"],
      drops.map((drop) => ({ cells: [drop.lane, thousands(drop.count), drop.reason] }))));
  }
  for (const crash of process.crashes ?? []) parts.push(el("p", {}, `Crash: signal ${crash.signal} on thread ${crash.thread}`));
  if (process.anomalies.length > 0) {
    parts.push(el("h3", {}, "Anomalies"), table([">count", ">thread", ">first", "kind"], process.anomalies.map((it) => ({
      cells: [thousands(it.count), String(it.thread_id), moment(it.time, 1), it.kind.replaceAll("_", " ")],
      go: () => goTo(it.first),
    }))));
  }
  if (process.endings.length > 0) {
    parts.push(el("h3", {}, "How calls ended"),
      list(process.endings.map((it) => [endingWords(it).replaceAll("_", " "), thousands(it.count)])));
  }
  if ((process.limits ?? []).length > 0) {
    parts.push(el("h3", {}, "Not recorded"), ...process.limits.map((limit) =>
      el("p", {}, typeof limit === "string" ? limit : JSON.stringify(limit))));
  }
  if (modules.length > 0) {
    parts.push(el("h3", {}, "Modules"), table([">found", ">hooked", ">entry only", ">skipped", "module"], modules.map((module) => ({
      cells: [...["found", "hooked", "entry_only", "skipped"].map((key) => shownCount(module.coverage?.[key])), module.path],
    }))));
  }
  return parts;
}

function shownCount(count) {
  if (count && typeof count === "object") return thousands(Object.values(count).reduce((sum, it) => sum + it, 0));
  return count === undefined ? "" : thousands(count);
}
