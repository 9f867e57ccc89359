//! Go's scheduler. Its functions have their arguments in other registers than C's, and the running goroutine in r14.
//!
//! Seen with Go 1.19 and 1.24; the functions have the same arguments in the sources of all versions since 1.18.

use ada_ring::probe::{Base, Read};

use crate::plan::probes::{Probe, Runtime, call_only, probe};

/// Where a goroutine's status and number are: the status is the first or the second of these words, and the number follows. Which
/// of them it is depends on the version, and the analysis finds out by what the status must be.
const HEAD: i16 = 0x90;
const HEAD_WORDS: u8 = 3;

const FIRST: [Read; 1] = [Read::words(Base::GoArgument1, HEAD, HEAD_WORDS)];
/// Of what a goroutine is to switch to: its first word is the goroutine that waits.
const SWITCHED: [Read; 1] = [Read::through(Base::GoArgument1, 0, HEAD, HEAD_WORDS)];
/// r14 is where Swift has its asynchronous context.
const PARKED: [Read; 3] = [
    Read::words(Base::AsyncContext, HEAD, HEAD_WORDS),
    Read::value(Base::GoArgument2),
    Read::callers(Base::FramePointer, 10),
];
/// Of a value of any type: the word of its type that ends with the kind, and the first two words of it; and if these are a text's
/// address and length, the text.
const ANY: [Read; 3] = [
    Read::words(Base::GoArgument1, 16, 1),
    Read::words(Base::GoArgument2, 0, 2),
    Read::text_behind(Base::GoArgument2, 17),
];
/// A text and its length.
const TEXT: [Read; 1] = [Read::bytes(Base::GoArgument1, Base::GoArgument2, 17)];

pub(super) const PROBES: &[Probe] = &[
    // Creation: the new goroutine's function, and then the goroutine.
    probe("runtime.newproc1", &[Read::words(Base::GoArgument1, 0, 1)], &[Read::words(Base::Result, HEAD, HEAD_WORDS)]),
    // Running, waiting and waking.
    call_only("runtime.execute", &FIRST),
    call_only("runtime.gopark", &PARKED),
    call_only("runtime.ready", &FIRST),
    call_only("runtime.coroswitch", &SWITCHED),
    call_only("runtime.coroexit", &SWITCHED),
    // The end.
    call_only("runtime.goexit0", &FIRST),
    call_only("runtime.printpanicval", &ANY),
    // The same before 1.20.
    call_only("runtime.printany", &ANY),
    call_only("runtime.throw", &TEXT),
    call_only("runtime.fatal", &TEXT),
];

/// Of these, all that are part of each goroutine's life.
pub(super) const SCHEDULER: &[&str] = &[
    "runtime.newproc1",
    "runtime.execute",
    "runtime.gopark",
    "runtime.ready",
    "runtime.coroswitch",
    "runtime.coroexit",
    "runtime.goexit0",
];

/// Calls by which the scheduler leaves a goroutine. Nothing is read there, but without them one would seem to run on.
pub(super) const TELLING: &[&str] = &[
    "runtime.park_m",
    "runtime.schedule",
    "runtime.gosched_m",
    "runtime.goschedguarded_m",
    "runtime.goyield_m",
    "runtime.gopreempt_m",
    "runtime.goschedImpl",
    "runtime.preemptPark",
    "runtime.exitsyscall0",
    "runtime.coroswitch_m",
    "runtime.Goexit",
];

pub(super) const RUNTIME: Runtime = Runtime {
    name: "Go",
    marks: &["runtime.newproc1", "runtime.gopark"],
    vital: &["runtime.newproc1", "runtime.execute", "runtime.gopark", "runtime.goexit0", "runtime.schedule"],
    needs: &[
        (&["runtime.newproc1"], "goroutines have no creators and no names"),
        (&["runtime.execute"], "no spans of goroutines: their running is not seen"),
        (&["runtime.gopark"], "what goroutines wait for is not known"),
        (&["runtime.ready"], "who woke a goroutine is not known"),
        (&["runtime.schedule"], "waits of goroutines begin when the next one runs"),
        (&["runtime.goexit0"], "the ends of goroutines are not seen"),
        (&["runtime.entersyscall"], "system calls of goroutines are not seen"),
        (&["runtime.exitsyscall"], "system calls of goroutines have no end"),
    ],
};
