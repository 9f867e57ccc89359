// The selected time as a file for other tools.

import { bytes } from "./api.js";
import { about } from "./about.js";
import { el } from "./panel.js";

/** Formats and how the names of their files end (`range_export.rs` has the same). */
const FORMATS = {
  perfetto: "pftrace", chrome: "trace.json", firefox: "firefox.json", speedscope: "speedscope.json", folded: "folded", pprof: "pb", heph: "heph",
};

/** Something to save the calls with that begin between two moments. */
export function rangeExport(start, end) {
  const format = el("select", { "aria-label": "Format" }, Object.keys(FORMATS).map((it) => el("option", { value: it }, it)));
  const said = el("span", { class: "faint" });
  const button = el("button", {
    id: "export",
    onclick: async () => {
      said.textContent = " writing…";
      try {
        download(await bytes("export", { format: format.value, start, end }), `${about.session}.${FORMATS[format.value]}`);
        said.textContent = " saved: what begins in this time";
      } catch (error) {
        said.textContent = ` ${error.message}`;
      }
    },
  }, "Export this time for");
  return el("div", {}, button, " ", format, said);
}

function download(content, name) {
  const address = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
