// Fetches what the view needs: one question at a time, and what there is is drawn meanwhile.

import { json, picture } from "./api.js";
import { about } from "./about.js";
import { sizes, visible } from "./layout.js";
import { changed, view } from "./view.js";

/** The newest picture and arrows, and what they are of. */
export const shown = { shapes: null, arrows: [], states: {}, leftOut: 0, milliseconds: 0 };

/** So much of the view's length is fetched on each side, so that a small pan needs no question. */
const MARGIN = 0.25;

let isFetching = false;
let of = null;

function wish() {
  const seen = visible();
  const length = view.end - view.start;
  const pixels = Math.max(1, sizes.width - sizes.gutter);
  // Pixels of the picture are those of the screen, so that each of a strip's columns is one.
  const pixel = length / pixels;
  const most = Math.floor(pixels * MARGIN);
  const before = Math.min(most, Math.max(0, Math.floor(view.start / pixel)));
  // Whole nanoseconds, and never less than what is seen: else the picture would be asked for again and again.
  const start = Math.max(0, Math.floor(view.start - before * pixel));
  const behind = Math.min(most, Math.max(0, Math.ceil((about.length + 1 - view.end) / pixel)));
  const width = Math.max(1, Math.ceil((view.end + behind * pixel - start) / pixel));
  return {
    start,
    end: Math.max(Math.ceil(start + width * pixel), start + 1),
    width,
    tracks: seen.filter(({ first, last }) => last >= first).map(({ line, first, last }) => `${line.track.id}:${first}-${last}`).join(","),
    arrowTracks: seen.map(({ line }) => line.track.id).join(","),
    length,
    pixels: sizes.width,
    lens: view.lens,
  };
}

/** Whether the newest picture still has all that is seen, as fine as it can be. */
function isEnough(wanted) {
  if (!of || of.number !== about.number || of.tracks !== wanted.tracks || of.lens !== view.lens) return false;
  const isInside = Math.max(0, view.start) >= of.start && Math.min(about.length, view.end) <= of.end;
  return isInside && Math.abs(of.length / (view.end - view.start) - 1) < 0.01 && of.pixels === sizes.width;
}

/** Called when the view has changed. */
export async function refresh() {
  if (isFetching || sizes.width === 0) return;
  const wanted = wish();
  if (isEnough(wanted)) return;
  isFetching = true;
  const begun = performance.now();
  const number = about.number;
  try {
    const { start, end, width, tracks, arrowTracks } = wanted;
    const [shapes, arrows, states] = await Promise.all([
      picture({ start, end, width, tracks }),
      about.links > 0 ? json("arrows", { start, end, tracks: arrowTracks }) : { arrows: [], left_out: 0 },
      about.has_states ? json("states", { start, end, tracks: arrowTracks }) : { states: {} },
    ]);
    if (number === about.number && wanted.lens === view.lens) {
      shown.shapes = shapes;
      shown.arrows = arrows.arrows;
      shown.states = states.states;
      shown.leftOut = arrows.left_out;
      of = { ...wanted, number };
    }
    shown.milliseconds = performance.now() - begun;
  } finally {
    isFetching = false;
  }
  changed();
}

/** Nothing that was fetched holds any more. */
export function forgetPictures() {
  of = null;
}

/** Whether everything that is seen is there. */
export function isSettled() {
  return !isFetching && isEnough(wish());
}
