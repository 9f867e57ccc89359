//! Reads what the analysis needs from an ATF session.

use std::collections::HashMap;
use std::path::Path;

use ada_event::{DetailSeq, EventKind, EventSeq, FunctionId, ImageOffset, ModuleId, TraceNanos};
use ada_format::atf::{
    DetailRecord, Drops, EventVisitor, FunctionRow, HeldRecords, Module, Payload, Probes, Process, ThreadDetail,
    ThreadEntry, ThreadTrace, functions_file, read_functions,
};

use crate::analysis::ANALYSIS_VERSION;
use crate::detail::{DetailSource, EventDetail};
use crate::function_traits::{FunctionTrait, FunctionTraits};
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::role::Role;
use crate::source::{ProcessSource, ThreadInfo};
use crate::thread_index::ThreadIndex;

/// Detail records between two releases of their pages.
const RELEASE_EVERY: u32 = 1 << 15;

/// A process of a session.
pub struct ProcessTrace<'a>(pub &'a Process);

impl ProcessSource for ProcessTrace<'_> {
    fn threads(&self) -> Vec<ThreadInfo> {
        let manifest = self.0.manifest.as_ref();
        let listed: HashMap<u32, &ThreadEntry> =
            manifest.iter().flat_map(|manifest| &manifest.threads).map(|entry| (entry.id, entry)).collect();
        let first = self.0.threads.iter().find(|thread| Some(thread.id().0) == self.0.pid);
        // A fork's child keeps the id of the thread that forked; a trace from elsewhere may have any.
        // What a ring has kept may have no event of the first one.
        let is_cut = manifest.and_then(|it| it.ring.as_ref()).is_some_and(|ring| ring.let_go_events > 0);
        let earliest = || self.0.threads.iter().filter(|_| !is_cut).min_by_key(|thread| first_time(thread));
        let first = first.or_else(earliest);
        let to_info = |thread: &ThreadTrace| {
            let entry = listed.get(&thread.id().0);
            ThreadInfo {
                id: thread.id(),
                events: thread.event_count(),
                handle: entry.and_then(|entry| entry.handle).map(|handle| handle.0),
                tid: entry.and_then(|entry| entry.tid).map(u64::from),
                name: entry.and_then(|entry| entry.name.as_deref()).map(name_words),
                is_attached: manifest.is_some_and(|manifest| manifest.attached),
                is_first: first.is_some_and(|first| first.id() == thread.id()),
            }
        };
        self.0.threads.iter().map(to_info).collect()
    }

    fn visit(&self, thread: ThreadIndex, has_processor: bool, visitor: &mut impl EventVisitor) {
        self.0.threads[thread.place()].visit(has_processor, visitor);
    }

    fn details(&self, thread: ThreadIndex) -> Option<Box<dyn DetailSource + '_>> {
        let thread = &self.0.threads[thread.place()];
        let view = thread.detail().filter(|view| !view.is_empty())?;
        Some(Box::new(SessionDetails { thread, ahead: view.records(), view, next: 0 }))
    }

    fn losses(&self, thread: ThreadIndex) -> Vec<TraceNanos> {
        let id = self.0.threads[thread.place()].id().0;
        let gaps = self.0.manifest.iter().flat_map(|manifest| &manifest.gaps);
        let losses = gaps.filter(|gap| gap.thread == id && gap.lost > 0);
        let mut times: Vec<TraceNanos> = losses.map(|gap| TraceNanos(gap.time_ns)).collect();
        times.sort_unstable();
        times
    }

    fn event_detail(&self, thread: ThreadIndex, seq: u64) -> Option<EventDetail> {
        let thread = &self.0.threads[thread.place()];
        let link = thread.index().event(EventSeq(seq))?.detail.get()?;
        to_detail(&thread.detail()?.record(link)?.get())
    }
}

fn first_time(thread: &ThreadTrace) -> TraceNanos {
    thread.index().event(EventSeq(0)).map_or(TraceNanos(u64::MAX), |event| event.timestamp)
}

struct SessionDetails<'a> {
    thread: &'a ThreadTrace,
    view: ThreadDetail<'a>,
    /// Records in the order of the file, the next one of which is `next` unless some cannot be read.
    ahead: HeldRecords<'a>,
    next: u32,
}

impl DetailSource for SessionDetails<'_> {
    fn detail(&mut self, seq: DetailSeq) -> Option<EventDetail> {
        let wanted = seq.get()?;
        // Events link to records in the order of both files, and nobody asks for all of them.
        const FAR: u32 = 64;
        let record = if wanted >= self.next && wanted - self.next < FAR {
            while self.next < wanted {
                self.next += 1;
                self.ahead.next()?.ok()?;
            }
            self.next += 1;
            match self.ahead.next()?.ok()? {
                record if record.position() == u64::from(wanted) => record,
                behind => {
                    self.next = u32::try_from(behind.position() + 1).ok()?;
                    self.view.record(wanted)?
                }
            }
        } else {
            self.view.record(wanted)?
        };
        let detail = to_detail(&record.get());
        if wanted % RELEASE_EVERY == RELEASE_EVERY - 1 {
            self.thread.release();
        }
        detail
    }

    fn count(&self) -> u64 {
        self.view.len()
    }

    fn all_arguments(&self, each: &mut dyn FnMut(FunctionId, &[u64])) {
        for (record, number) in self.view.records().map_while(Result::ok).zip(1_u32..) {
            if let Ok(Payload::X86Call(call)) = record.payload() {
                each(call.function, &call.arguments());
                if call.probes.is_some() {
                    each(call.function, &words(call.probes));
                }
            }
            if number.is_multiple_of(RELEASE_EVERY) {
                self.thread.release();
            }
        }
        self.thread.release();
    }

    fn probed(&self, each: &mut dyn FnMut(FunctionId, bool, &EventDetail)) {
        for (record, number) in self.view.records().map_while(Result::ok).zip(1_u32..) {
            let probed = match record.payload() {
                Ok(Payload::X86Call(call)) if call.probes.is_some() => Some((call.function, false)),
                Ok(Payload::X86Return(back)) if back.probes.is_some() => Some((back.function, true)),
                _ => None,
            };
            if let (Some((function, is_return)), Some(detail)) = (probed, to_detail(&record.get())) {
                each(function, is_return, &detail);
            }
            if number.is_multiple_of(RELEASE_EVERY) {
                self.thread.release();
            }
        }
        self.thread.release();
    }
}

fn words(probes: Option<Probes<'_>>) -> Vec<u64> {
    probes.map_or(Vec::new(), |probes| probes.values().collect())
}

fn to_detail(record: &DetailRecord<'_>) -> Option<EventDetail> {
    match record.payload().ok()? {
        Payload::X86Call(call) => Some(EventDetail { registers: call.arguments(), words: words(call.probes) }),
        Payload::X86Return(back) => {
            Some(EventDetail { registers: [back.rax, back.rdx, 0, 0, 0, 0], words: words(back.probes) })
        }
        Payload::Arm64Call(frame) | Payload::Arm64Return(frame) => {
            Some(EventDetail { registers: *frame.x.first_chunk()?, words: Vec::new() })
        }
        _ => None,
    }
}

/// What a process's function lists and manifest tell of its functions. Modules without a readable list are unknown.
/// A fork's child has its parent's images under the same numbers, and perhaps no lists of its own: then those of a
/// process `beside` it count.
pub fn function_traits(process: &Process, beside: &[Process]) -> FunctionTraits {
    let with_lists = std::iter::once(process).chain(beside).find(|it| has_lists(it)).unwrap_or(process);
    let mut traits = FunctionTraits::default();
    for module in with_lists.manifest.iter().flat_map(|manifest| &manifest.modules) {
        let text = std::fs::read_to_string(with_lists.path.join(functions_file(module.module_id))).unwrap_or_default();
        let rows = read_functions(&text).unwrap_or_default();
        let is_library = is_runtime_library(&module.path);
        traits.add_module(
            ModuleId(module.module_id),
            rows.iter().map(|row| function_trait(module, row, is_library)).collect(),
        );
    }
    for function in first_functions(process) {
        let known = traits.get(function);
        if known.role == Role::Plain && (known.is_runtime || known.is_unnamed) {
            traits.set_role(function, Role::ThreadStart);
        }
    }
    traits
}

/// What the threads that somebody created begin with. Without debug files, the C library's first function has no name.
fn first_functions(process: &Process) -> impl Iterator<Item = FunctionId> {
    let infos = ProcessTrace(process).threads();
    // A thread that was there before begins with whatever it called next.
    let created = process.threads.iter().zip(infos).filter(|(_, info)| !info.is_first && !info.is_attached);
    let firsts = created.filter_map(|(thread, _)| thread.index().event(EventSeq(0)));
    firsts.filter(|event| event.depth == 0 && event.kind == EventKind::CALL).map(|event| event.function)
}

fn has_lists(process: &Process) -> bool {
    let modules = process.manifest.iter().flat_map(|manifest| &manifest.modules);
    modules.into_iter().any(|module| process.path.join(functions_file(module.module_id)).is_file())
}

fn function_trait(module: &Module, row: &FunctionRow, is_library: bool) -> FunctionTrait {
    let role = match Role::of(&row.name) {
        // Most of its functions have no names, and few are called by programs.
        Role::Plain if is_loader(&module.path) => Role::LazyBinding,
        role => role,
    };
    FunctionTrait {
        role,
        is_unnamed: row.name.is_empty(),
        is_entry_only: row.verdict == "entry_only",
        is_runtime: is_library || is_runtime_name(&row.name),
        address: module.load_base.map(|base| ImageOffset(row.offset).at_bias(base.0)),
    }
}

/// Whether a module is the dynamic loader, and nothing else: musl's is the C library too.
fn is_loader(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux"))
}

/// Whether a module is part of a language's or the system's runtime.
fn is_runtime_library(path: &str) -> bool {
    const LIBRARIES: [&str; 13] = [
        "libswift",
        "libdispatch",
        "libBlocksRuntime",
        "libc.so",
        "libc-",
        "libc.musl",
        "ld-linux",
        "ld-musl",
        "libpthread",
        "libstdc++",
        "libgcc_s",
        "libm.so",
        "linux-vdso",
    ];
    let file = Path::new(path).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    LIBRARIES.iter().any(|library| file.starts_with(library))
}

/// Whether a function leads from a thread's start to what the program meant it to run: by what its mangled name has.
fn is_runtime_name(raw: &str) -> bool {
    // A lambda or functor that `std::thread` runs is often inlined into the runner, which then bears its name.
    if raw.contains("_State_impl") || raw.contains("_Async_state") || raw.contains("_Deferred_state") {
        return raw.contains("IJPF") || raw.contains("_M_dispose") || raw.ends_with("D2Ev") || raw.ends_with("D0Ev");
    }
    const PARTS: [&str; 14] = [
        "execute_native_thread_routine",
        "_ZNSt",
        "_ZSt",
        "_ZNKSt",
        "_ZN9__gnu_cxx",
        "_ZN3std",
        "_ZN4core",
        "_ZN5alloc",
        "core..ops..function",
        "std..thread",
        "alloc..boxed..Box",
        "NtCs3std",
        "__rust_",
        "__cxa_",
    ];
    PARTS.iter().any(|part| raw.contains(part))
        || is_rust_v0_runtime(raw)
        || is_swift_runtime(raw)
        || matches!(raw, "start" | "start_c11" | "_init" | "call_init")
}

/// Swift's own functions, where they are part of the program, and the thunks that lead from one kind of closure to
/// another.
fn is_swift_runtime(raw: &str) -> bool {
    const BEGINNINGS: [&str; 6] = ["$ss", "$sSc", "swift_", "_swift_", "dispatch_", "_dispatch_"];
    // A thunk's name has types alone; all else begins with the name of its module.
    let is_thunk = raw
        .strip_prefix("$s")
        .is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_ascii_digit()) && rest.contains("TR"));
    // The runtime is C++, and its functions are about its own types.
    let is_of_runtime = raw.starts_with("_Z") && raw.contains("5swift");
    is_thunk || is_of_runtime || BEGINNINGS.iter().any(|beginning| raw.starts_with(beginning))
}

/// `_R…` names, by the first crate that they name: Rust's own crates, but for the function that bears a closure's name.
fn is_rust_v0_runtime(raw: &str) -> bool {
    if !raw.starts_with("_R") {
        return false;
    }
    if raw.contains("rust_begin_short_backtrace") {
        return !raw.contains("NC");
    }
    // A crate is `C`, a disambiguator from `s` to `_`, the length of its name, and the name.
    let Some((_, rest)) = raw.split_once("Cs") else { return false };
    let Some((_, rest)) = rest.split_once('_') else { return false };
    let name = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let length: usize = rest[..rest.len() - name.len()].parse().unwrap_or(0);
    let name = name.trim_start_matches('_');
    matches!(name.get(..length.min(name.len())), Some("std" | "core" | "alloc")) || name.starts_with("rustc")
}

/// How the process ended, and what was lost.
pub fn replay_options(process: &Process, timeout_ns: u64) -> ReplayOptions {
    let manifest = process.manifest.as_ref();
    let exit = manifest.and_then(|manifest| manifest.exit.as_ref());
    let crash = manifest.and_then(|manifest| manifest.crashes.iter().map(|crash| TraceNanos(crash.time_ns)).max());
    let end = match exit {
        Some(exit) if exit.signal.is_some() => ProcessEnd::Killed,
        Some(exit) if exit.code.is_some() => ProcessEnd::Exited,
        _ if crash.is_some() => ProcessEnd::Killed,
        Some(_) => ProcessEnd::Exited,
        None => ProcessEnd::Alive,
    };
    let last_times = process.threads.iter().filter_map(|thread| thread.index().events().next_back());
    let last_time = last_times.map(|event| event.timestamp).max().unwrap_or_default();
    let end_time = match crash.filter(|_| end == ProcessEnd::Killed) {
        Some(crash) => crash,
        None => last_time.max(manifest.map_or(TraceNanos(0), |it| TraceNanos(it.time_end_ns))),
    };
    let has_drops = manifest.is_some_and(|it| it.drops.iter().any(is_missing_anywhere));
    ReplayOptions { has_drops, end, end_time, timeout_ns }
}

/// Whether drops can have left holes that no gap of the manifest tells of.
fn is_missing_anywhere(drops: &Drops) -> bool {
    // Threads without a state record nothing at all; what is lost of registers leaves the event.
    let makes_holes = drops.lane == "index" && !matches!(drops.reason.as_str(), "states_exhausted" | "detail_lost");
    makes_holes && drops.unplaced.unwrap_or(drops.count) > 0
}

/// A name in the words that a span has it in.
fn name_words(name: &str) -> [u64; 2] {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| u64::from_le_bytes(half.try_into().expect("eight bytes")))
}

/// The fingerprint of what a process's tables are made from: its files, their sizes and checksums, the manifest, the
/// function lists, the analysis's version and its options.
pub fn content_key(process: &Process, timeout_ns: u64) -> u64 {
    let mut hash = Fnv::default();
    hash.number(ANALYSIS_VERSION).number(timeout_ns);
    let mut file = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        hash.number(bytes.len() as u64).number(crc32fast::hash(&bytes).into());
    };
    file(&process.path.join("manifest.json"));
    for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
        file(&process.path.join(functions_file(module.module_id)));
    }
    for thread in &process.threads {
        let index = thread.index();
        hash.number(thread.id().0.into()).number(index.len()).number(index.fingerprint());
        if let Some(detail) = thread.detail() {
            hash.number(detail.len()).number(thread.byte_count());
            hash.number(detail.fingerprint());
        }
    }
    hash.0
}

/// The hash of Fowler, Noll and Vo, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn number(&mut self, number: u64) -> &mut Self {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }
}
