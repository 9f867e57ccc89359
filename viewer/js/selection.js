// What was done in the selected time: sums, functions, endings; the flame graph and the call tree share them.

import { json } from "./api.js";
import { about, endingWords } from "./about.js";
import { counted, duration, moment, thousands } from "./format.js";
import { selfTitle } from "./lens.js";
import { name, needNames } from "./names.js";
import { el, list, tab, table } from "./panel.js";
import { rangeExport } from "./range.js";
import { share } from "./share.js";
import { meantThreads, threadChoice } from "./threads.js";
import { view } from "./view.js";

let kept = { key: "", sums: null };

/** The time that is meant: what is selected, or else what is seen. */
export function meant() {
  const range = view.range ?? { start: view.start, end: view.end };
  const start = Math.max(0, Math.floor(range.start));
  return { start, end: Math.max(start + 1, Math.min(Math.ceil(range.end), Math.ceil(about.length) + 1)), isSelected: view.range !== null };
}

/** The sums of that time on the threads that are meant; asked once for each. */
export async function sums() {
  const { start, end } = meant();
  const tracks = meantThreads().join(",");
  const key = `${about.number} ${view.lens} ${start} ${end} ${tracks}`;
  if (kept.key !== key) {
    const answer = await json("sums", { start, end, tracks });
    await needNames([...new Set([...answer.functions.map((it) => it[0]), ...answer.nodes.map((it) => it[0])])]);
    kept = { key, sums: answer };
  }
  return kept.sums;
}

/** What time a tab is about, in words. */
export function timeWords() {
  const { start, end, isSelected } = meant();
  return `${isSelected ? "Selected" : "Seen"}: ${duration(end - start)} from ${moment(start, 1)}`;
}

export function makeSelection(toFunction) {
  tab("selection", async (box, isWanted) => {
    box.replaceChildren(el("p", { class: "faint" }, "summing up…"));
    const answer = await sums();
    if (!isWanted()) return;
    const { start, end } = meant();
    const length = end - start;
    const rows = answer.functions.map(([id, calls, own, total, longest]) => ({
      cells: [thousands(calls), duration(own), share(own, answer.own_ns), duration(total), duration(longest), name(id) ?? ""],
      go: () => toFunction(id),
    }));
    box.replaceChildren(
      el("h2", {}, `${timeWords()}, of `, threadChoice()),
      el("div", { class: "columns" },
        list([["calls", thousands(answer.calls)], ["functions", thousands(answer.distinct_functions)], ["threads", String(answer.threads)],
          ["calls a second", thousands(Math.round(answer.calls / (length / 1e9)))]]),
        rangeExport(start, end),
        list(answer.endings.slice(0, 8).map((it) => [endingWords(it).replaceAll("_", " "), counted(it.count, "call")]))),
      el("h3", {}, "Functions by their own time"),
      table([">calls", selfTitle(), "share", ">total", ">longest", "name"], rows));
  });
}
