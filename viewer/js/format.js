// Numbers and times as people read them.

/** A duration in nanoseconds with a unit that fits. */
export function duration(nanos) {
  if (nanos < 1e3) return `${Math.round(nanos)} ns`;
  if (nanos < 1e6) return `${(nanos / 1e3).toFixed(2)} µs`;
  if (nanos < 1e9) return `${(nanos / 1e6).toFixed(2)} ms`;
  return `${(nanos / 1e9).toFixed(3)} s`;
}

/** A number with a gap between each three digits. */
export function thousands(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A moment since the session's start, as exact as the step between two ticks needs. */
export function moment(nanos, step) {
  const [unit, size] = nanos >= 1e9 || step >= 1e8 ? ["s", 1e9] : nanos >= 1e6 || step >= 1e5 ? ["ms", 1e6]
    : nanos >= 1e3 || step >= 100 ? ["µs", 1e3] : ["ns", 1];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(nanos / size).toFixed(Math.min(digits, 9))} ${unit}`;
}

/** `1 call`, `20 calls`. */
export function counted(number, what) {
  return `${thousands(number)} ${what}${number === 1 ? "" : "s"}`;
}
