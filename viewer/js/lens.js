// The lens: the program's own functions, or those that the command line asked for, or all. Tracks, crashes and sums are of what
// is seen; time in what is hidden belongs to who called it.

import { about } from "./about.js";
import { json } from "./api.js";
import { view } from "./view.js";

/** What there is without the lens, and with it. */
let all = null;
let through = null;

/** Remembers what a session has without the lens, and goes on looking as before. */
export async function learnLens(isOn) {
  all = { rows: about.tracks.map((track) => track.rows), crashes: about.crashes.map((crash) => crash.row), top: about.top, own_ns: about.own_ns };
  through = null;
  await lookThrough(isOn);
}

/** Looks through the lens or not. */
export async function lookThrough(isOn) {
  const isWanted = isOn && about.lens !== null;
  // The first time, the server takes a look at each call.
  if (isWanted) through ??= await json("lens");
  view.lens = isWanted;
  const seen = isWanted ? through : all;
  about.tracks.forEach((track, at) => {
    [track.seen, track.rows] = (isWanted && through.tracks[at]) || [track.spans, all.rows[at]];
  });
  about.crashes.forEach((crash, at) => { crash.row = seen.crashes[at]; });
  [about.top, about.own_ns] = [seen.top, seen.own_ns];
  const button = document.getElementById("lens");
  button.hidden = about.lens === null;
  button.setAttribute("aria-pressed", String(isWanted));
}

/** The title of a column of times that functions took themselves. */
export function selfTitle() {
  return view.lens ? ">self and hidden" : ">self";
}
