// Which hue a module has: the same in every session, and apart from those of the other modules.

/** At least 26 degrees apart. The first is the program's own. */
const HUES = [212, 262, 300, 338, 12, 40, 66, 100, 145, 176];

/** What is of no module. */
export const PLAIN = { hue: 220, saturation: 8, ring: 0 };

/** The C library and the loader are everywhere, and grey. */
const SYSTEM = /^(libc|ld-linux|ld-musl|ld|libpthread|linux-vdso)\b/;

function hash(text) {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return value;
}

/**
 * The hue that a module's name leads to, or the next free one where another module of the session has it: so a program's
 * modules have the same hues each time, and a library has mostly the same in all programs. Once all hues are taken, they
 * are taken again in a darker ring.
 */
export function moduleHues(modules) {
  const taken = new Set();
  // Versions do not count: an update leaves the colours as they are.
  const stem = (module) => module.split(".so")[0];
  const isProgram = (module) => !module.includes(".so") && !SYSTEM.test(module);
  const found = new Map();
  const order = [...modules].sort((a, b) => Number(isProgram(b)) - Number(isProgram(a)) || (a < b ? -1 : 1));
  for (const module of order) {
    if (SYSTEM.test(module)) {
      found.set(module, { hue: 220, saturation: 5, ring: module.startsWith("libc") ? 0 : 1 });
      continue;
    }
    let slot = isProgram(module) ? 0 : 1 + (hash(stem(module)) % (HUES.length - 1));
    let ring = 0;
    for (let tried = 0; taken.has(`${ring} ${slot}`); tried += 1) {
      slot = (slot + 1) % HUES.length;
      if (tried % HUES.length === HUES.length - 1) ring += 1;
    }
    taken.add(`${ring} ${slot}`);
    found.set(module, { hue: HUES[slot], saturation: 42, ring: Math.min(ring, 2) });
  }
  return modules.map((module) => found.get(module));
}
