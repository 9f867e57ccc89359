// Puts the page together.

import { about, learn } from "./about.js";
import { fromFragment, goToAddress, toFragment } from "./address.js";
import { KIND, json, numbers } from "./api.js";
import { arrowAt, arrowPoint, arrowsOfChosen } from "./arrows.js";
import { makeCalls } from "./calls.js";
import { callColour, keptTheme, learnColours, nextTheme, readTheme, setTheme } from "./colours.js";
import { makeCoverage } from "./coverage.js";
import { makeDetails } from "./details.js";
import { draw, drawn } from "./draw.js";
import { makeFlame } from "./flame.js";
import { counted, duration } from "./format.js";
import { makeFunction } from "./function.js";
import { help, legend } from "./help.js";
import { shapeAt } from "./hit.js";
import { arrowEnd, listen } from "./input.js";
import { listenToKeys } from "./keys.js";
import { arrange, lineOf, lineTop, place, reveal, rowTop, shownLines, sizes, timeAt, x } from "./layout.js";
import { learnLens, lookThrough } from "./lens.js";
import { watch } from "./live.js";
import { drawMinimap, fetchMinimap, listenToMinimap } from "./minimap.js";
import { found } from "./marks.js";
import { fetchNames, forgetNames, name, needNames } from "./names.js";
import { fetchNotes, makeNotes, noteAt, writeAt } from "./notes.js";
import { pointer } from "./overlay.js";
import { ask, isClosed, listenToTabs, show, togglePanel } from "./panel.js";
import { pointed } from "./pointed.js";
import { forgetPictures, isSettled, refresh, shown } from "./pictures.js";
import { isSought, makeSearch, result, search } from "./search.js";
import { makeSelection } from "./selection.js";
import { stateAt } from "./states.js";
import { meanThreadOf } from "./threads.js";
import { makeTip, point } from "./tip.js";
import { listenToFilter, makeTrackList, showFilter } from "./trackList.js";
import { choices } from "./tracks.js";
import { changed, look, lookAround, onChange, view } from "./view.js";

const byId = (id) => document.getElementById(id);
const timeline = byId("timeline");
const overlay = byId("overlay");
const minimap = byId("minimap");

/** Says something for a moment. */
let noteTimer = 0;
function note(words) {
  const box = byId("note");
  box.textContent = words;
  box.hidden = false;
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => { box.hidden = true; }, 5000);
}

function measure() {
  const box = timeline.getBoundingClientRect();
  sizes.ratio = window.devicePixelRatio || 1;
  sizes.width = Math.floor(box.width);
  sizes.height = Math.floor(box.height);
  sizes.gutter = Math.min(210, Math.round(box.width * 0.3));
  for (const canvas of [timeline, overlay]) {
    canvas.width = Math.round(sizes.width * sizes.ratio);
    canvas.height = Math.round(sizes.height * sizes.ratio);
  }
  document.documentElement.style.setProperty("--gutter-width", `${sizes.gutter}px`);
  place();
  changed();
}

/** Chooses a span, and brings it into view if it is elsewhere. */
async function goTo(reference, staysThere = false, keepsTab = false) {
  try {
    let answer = await json("span", { ref: reference });
    if (view.lens && answer.span && !answer.place) {
      await setLens(false);
      note("That is not among what is shown as your code: now all functions are shown. L goes back.");
      answer = await json("span", { ref: reference });
    }
    const span = answer.span;
    if (!span || !answer.place) {
      note(`${reference} is on no track`);
      view.chosen = { reference: answer.reference, track: -1, row: 0, start: 0, duration: 0 };
    } else {
      const [track, row] = answer.place;
      view.chosen = { reference: answer.reference, track, row, start: span.start, duration: span.duration };
      if (!staysThere) {
        const isSeen = span.start >= view.start && span.start + span.duration <= view.end
          && span.duration > (view.end - view.start) / 400;
        if (!isSeen) lookAround(span.start, span.duration);
        reveal(track, row);
      }
    }
    changed();
    if (!keepsTab) await show("details");
  } catch (error) {
    note(error.message);
  }
}

/** Shows the program's own functions, or all; what is chosen stays so, where it is seen. */
async function setLens(isOn) {
  const { chosen } = view;
  await lookThrough(isOn);
  place();
  forgetPictures();
  view.chosen = null;
  if (chosen?.reference) {
    const { span, place: at } = await json("span", { ref: chosen.reference });
    if (span && at) view.chosen = { ...chosen, track: at[0], row: at[1] };
  }
  changed();
  fetchMinimap(minimap).catch((error) => note(error.message));
  await fetchNotes();
}

async function choose(seen) {
  if (seen.isLife) {
    if (seen.life.reference) await goTo(seen.life.reference, true);
    else actions.chooseNothing();
    return;
  }
  view.chosen = { reference: "", track: seen.track, row: seen.row, start: seen.start, duration: seen.duration };
  changed();
  const shape = await pointed(seen).catch((error) => note(error.message));
  if (!shape) return;
  if (shape.kind === KIND.anomaly) {
    const track = about.tracks[shape.track];
    const pid = about.processes.length > 1 ? `${about.processes[track.process].pid}/` : "";
    await goTo(`${pid}event:${track.thread_id}:${shape.seq}`, true);
    return;
  }
  view.chosen = { reference: "", track: shape.track, row: shape.row, start: shape.start, duration: shape.duration };
  changed();
  try {
    const answer = await json("span", { track: shape.track, seq: shape.seq });
    view.chosen = { ...view.chosen, reference: answer.reference };
    if (answer.span) [view.chosen.start, view.chosen.duration] = [answer.span.start, answer.span.duration];
    await show("details");
  } catch (error) {
    note(error.message);
  }
}

function searchFor(text) {
  byId("search").value = text;
  return search(text);
}

/** Shows a function's page. */
function toFunction(number) {
  view.function = number;
  return ask("function");
}

/** Enter searches, and then leads from one result to the next. */
async function searchOrGoOn(step) {
  const text = byId("search").value;
  if (!isSought(text) || !text.trim() || isClosed()) await searchFor(text);
  actions.result(step);
}

const actions = {
  choose,
  zoomTo: async (seen) => {
    const shape = await pointed(seen).catch((error) => note(error.message));
    if (shape) lookAround(shape.start, shape.duration);
  },
  chooseNothing: () => { view.chosen = null; show(); },
  follow: async (arrow, toEnd) => {
    const end = arrowEnd(arrow, toEnd);
    const length = view.end - view.start;
    if (end.time < view.start || end.time > view.end) look(end.time - length / 2, end.time + length / 2);
    reveal(end.track, end.row);
    await goTo(end.reference, true);
  },
  selected: () => show(["flame", "calls", "selection"].includes(view.tab) ? view.tab : "selection"),
  selectAll: () => {
    view.range = { start: 0, end: about.length };
    actions.selected();
  },
  goTo,
  toFunction,
  /** The page of a function, by its name without arguments. */
  functionNamed: async (wanted) => {
    const { functions } = await json("search", { q: wanted });
    await needNames(functions.map(([id]) => id));
    const isIt = ([id]) => name(id) === wanted || name(id)?.startsWith(`${wanted}(`);
    const [id] = functions.find(isIt) ?? functions[0] ?? [];
    if (id === undefined) note(`${wanted} was not called in this run`);
    else await toFunction(id);
  },
  functionOfChosen: async () => {
    if (!view.chosen?.reference) return;
    const answer = await json("span", { ref: view.chosen.reference });
    if (answer.function !== null) await toFunction(answer.function);
  },
  lens: async () => {
    if (!about.lens) return;
    await setLens(!view.lens);
    await show();
  },
  panel: togglePanel,
  movePinned: (id, before) => {
    const others = choices.pinned.filter((it) => it !== id);
    const at = others.indexOf(before);
    others.splice(at < 0 ? others.length : at, 0, id);
    choices.pinned = others;
  },
  tracksChanged: () => { if (view.tab === "tracks") show(); },
  /** Writes a note: on a time, on the chosen span, or on the time under the pointer. */
  note: async (time) => {
    if (time === undefined && view.chosen?.reference) {
      await ask("details");
      document.querySelector("#content textarea.note")?.focus();
      return;
    }
    const seen = pointer.at && pointer.at[0] > sizes.gutter ? timeAt(pointer.at[0]) : (view.start + view.end) / 2;
    writeAt(time ?? seen);
    await ask("notes");
  },
  goToNote: async (it) => {
    if (it.span) await goTo(it.span);
    else {
      const length = view.end - view.start;
      if (it.time < view.start || it.time > view.end) look(it.time - length / 2, it.time + length / 2);
      writeAt(it.time);
      await ask("notes");
    }
  },
  /** The next or previous call of the same row, of those that are drawn. */
  beside: (step) => {
    const { shapes } = shown;
    if (!view.chosen || !shapes) return;
    let best = -1;
    for (let at = 0; at < shapes.count; at += 1) {
      if (shapes.track[at] !== view.chosen.track || shapes.row[at] !== view.chosen.row || shapes.kind[at] > KIND.logical) continue;
      const away = (shapes.starts[at] - view.chosen.start) * step;
      if (away > 0 && (best < 0 || away < (shapes.starts[best] - view.chosen.start) * step)) best = at;
    }
    if (best < 0) return;
    choose({
      track: shapes.track[best], row: shapes.row[best], start: shapes.starts[best], duration: shapes.duration[best],
      seq: shapes.seq[best], kind: shapes.kind[best], spans: 1,
    });
    const [from, to] = [shapes.starts[best], shapes.starts[best] + shapes.duration[best]];
    const length = view.end - view.start;
    if (from < view.start || to > view.end) look((from + to - length) / 2, (from + to + length) / 2);
  },
  /** What an arrow leads to from the chosen span, or where one comes from. */
  linked: (toEnd) => {
    const { track, row, start, duration: took } = view.chosen ?? {};
    const isAt = ([, fromTrack, fromRow, fromTime, toTrack, toRow, toTime]) => (toEnd
      ? fromTrack === track && fromRow === row && fromTime >= start - 1 && fromTime <= start + took + 1
      : toTrack === track && toRow === row && toTime >= start - 1 && toTime <= start + took + 1);
    const arrow = arrowsOfChosen().find(isAt);
    if (arrow) actions.follow(arrow, toEnd);
  },
  whole: () => look(-about.length * 0.01, about.length * 1.01),
  fit: () => {
    if (view.range) lookAround(view.range.start, view.range.end - view.range.start);
    else if (view.chosen && view.chosen.track >= 0) lookAround(view.chosen.start, view.chosen.duration);
  },
  markChosen: () => {
    if (!view.chosen || view.chosen.track < 0) return;
    view.range = { start: view.chosen.start, end: view.chosen.start + Math.max(1, view.chosen.duration) };
    meanThreadOf(view.chosen);
    actions.selected();
  },
  flame: () => ask("flame"),
  parent: async () => {
    if (!view.chosen) return;
    const answer = await json("span", { ref: view.chosen.reference });
    if (answer.details.parent_span_id) await goTo(answer.details.parent_span_id);
  },
  result: (step) => {
    const span = result(step);
    if (span) goTo(span.reference, false, view.tab === "search");
  },
  copyLink: async () => {
    const address = location.origin + location.pathname + location.search + toFragment();
    try {
      await navigator.clipboard.writeText(address);
      note("The address of this view is copied.");
    } catch {
      note(address);
    }
  },
  theme: () => { nextTheme(); changed(); show(); },
  help,
  search: () => { byId("search").focus(); byId("search").select(); },
  escape: () => {
    if (view.range) [view.range, view.only] = [null, null];
    else view.chosen = null;
    show();
  },
};

function paint() {
  draw(timeline);
  drawMinimap(minimap, sizes.ratio);
  byId("busy").hidden = isSettled();
  showFilter();
  point();
  refresh().catch((error) => note(error.message));
  fetchNames().catch((error) => note(error.message));
  keepAddress();
}

let addressTimer = 0;
function keepAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => history.replaceState(null, "", toFragment()), 200);
}

function announce() {
  document.title = `${about.session} · ada`;
  byId("session").textContent = about.session;
  const [program, ...words] = (about.processes[0]?.command ?? "").split(" ");
  const command = [program.split("/").pop(), ...words].join(" ");
  byId("facts").textContent = `${duration(about.length)} · ${counted(about.spans, "call")} · `
    + `${counted(about.tracks.filter((track) => track.kind === "thread").length, "thread")}${command ? ` · ${command}` : ""}`;
}

/** Whether the page opens on something in particular. */
function hasReason() {
  return about.opening.kind !== "whole_run";
}

async function load(isLens) {
  learn(await json("session"));
  await learnLens(isLens ?? about.lens?.is_first ?? false);
  learnColours(about.modules, await numbers("colours"));
  forgetNames();
  forgetPictures();
  arrange(about.opening.track, hasReason());
  byId("empty").hidden = about.spans > 0;
  announce();
  fetchMinimap(minimap).catch((error) => note(error.message));
}

/** A trace that grows: what was at its end stays there. */
async function reload() {
  const before = about.length;
  const follows = view.end >= before * 0.98 && view.start <= before * 0.05;
  await load(view.lens);
  if (follows) look(view.start, about.length * 1.02);
  changed();
}

async function open() {
  const asked = fromFragment(location.hash);
  await load(asked?.lens);
  const { start, end, track } = about.opening;
  measure();
  if (asked) {
    goToAddress(asked);
  } else {
    // A crash is at the end of all; its mark has room behind it.
    look(start, end + (end - start) * 0.03);
    if (hasReason()) reveal(track, 0);
    if (about.spans === 0) view.tab = "coverage";
  }
  const wanted = view.tab;
  const span = asked ? asked.span : about.opening.span;
  if (span) await goTo(span, true);
  if (!span || wanted !== "details") await show(wanted);
  if (!asked && about.opening.kind === "crash") note(`Opened on ${about.opening.why}.`);
  watch(reload);
  await fetchNotes();
}

setTheme(keptTheme());
legend();
makeDetails((reference) => goTo(reference), searchFor, toFunction);
makeSearch((reference) => goTo(reference), toFunction);
makeSelection(toFunction);
makeFlame(toFunction);
makeCalls(toFunction);
makeFunction((reference) => goTo(reference), toFunction, searchFor);
makeTrackList();
makeNotes((it) => actions.goToNote(it));
makeCoverage((reference) => goTo(reference));
listenToTabs();
makeTip({ timeline, overlay, tip: byId("tip") });
listen(timeline, actions);
listenToKeys(timeline, actions);
listenToFilter(changed);
listenToMinimap(minimap);
onChange(paint);
window.addEventListener("resize", measure);
window.addEventListener("hashchange", () => {
  const asked = fromFragment(location.hash);
  if (!asked) return;
  if (asked.lens !== null && asked.lens !== view.lens) setLens(asked.lens).catch((error) => note(error.message));
  goToAddress(asked);
  if (asked.span && asked.span !== view.chosen?.reference) goTo(asked.span, true);
  else show(asked.tab);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); changed(); });
byId("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  searchOrGoOn(1).catch((error) => note(error.message));
});
byId("search").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.shiftKey) return;
  event.preventDefault();
  searchOrGoOn(-1).catch((error) => note(error.message));
});
byId("lens").addEventListener("click", actions.lens);
byId("whole").addEventListener("click", actions.whole);
byId("link").addEventListener("click", actions.copyLink);
byId("theme").addEventListener("click", actions.theme);
byId("help").addEventListener("click", help);
byId("panel-toggle").addEventListener("click", togglePanel);
byId("panel-close").addEventListener("click", togglePanel);

// What tests look at: the same numbers that are drawn.
window.ada = {
  about, view, shown, drawn, sizes, isSettled, x, lineOf, lineTop, rowTop, name, actions, arrowAt, arrowPoint, shapeAt, stateAt, reveal,
  shownLines, choices, found, noteAt, callColour,
};

open().catch((error) => note(error.message));
