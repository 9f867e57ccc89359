// Keys: those of Perfetto and Tracy, where they have one for it.

import { scrollTo, sizes, timeAt } from "./layout.js";
import { pointer } from "./overlay.js";
import { changed, pan, view, zoom } from "./view.js";

export function listenToKeys(canvas, actions) {
  const middle = () => (view.start + view.end) / 2;
  // At the pointer, where it is on the tracks.
  const around = () => (pointer.at && pointer.at[0] > sizes.gutter ? timeAt(pointer.at[0]) : middle());
  const scroll = (pixels) => () => { scrollTo(view.scroll + pixels()); changed(); };
  const [zoomIn, zoomOut] = [() => zoom(0.75, around()), () => zoom(1 / 0.75, around())];
  const byKey = {
    w: zoomIn, s: zoomOut, "+": zoomIn, "=": zoomIn, "-": zoomOut, _: zoomOut, a: () => pan(-0.15), d: () => pan(0.15),
    arrowleft: () => pan(-0.15), arrowright: () => pan(0.15),
    arrowup: scroll(() => -54), arrowdown: scroll(() => 54),
    pageup: scroll(() => -sizes.height * 0.8), pagedown: scroll(() => sizes.height * 0.8),
    0: actions.whole, home: actions.whole, f: actions.fit, m: actions.markChosen, g: actions.flame,
    p: actions.parent, n: () => actions.result(1), b: () => actions.result(-1),
    ",": () => actions.beside(-1), ".": () => actions.beside(1), "[": () => actions.linked(false), "]": () => actions.linked(true),
    i: actions.functionOfChosen, e: actions.note, q: actions.panel, l: actions.lens,
    c: actions.copyLink, t: actions.theme, "?": actions.help, "/": actions.search, escape: actions.escape,
  };
  const withControl = { f: actions.search, a: actions.selectAll };
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches?.("input, select, textarea");
    if (event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (isTyping && event.key !== "Escape") return;
    // In the panel, the browser's own keys search and select its text.
    const isInPanel = document.getElementById("panel").contains(document.activeElement);
    const action = event.ctrlKey ? !isInPanel && withControl[event.key.toLowerCase()] : byKey[event.key.toLowerCase()];
    if (!action) return;
    // Arrows scroll the panel while it has the focus, and move the splitter.
    if (event.key.startsWith("Arrow") && (isInPanel || document.activeElement?.id === "splitter")) return;
    event.preventDefault();
    if (isTyping) canvas.focus();
    action();
  });
}
