//! Leaks by value: descriptors and memory that were taken and never given back, as far as the calls' values were captured.

use std::collections::{BTreeMap, HashMap};

use ada_event::FunctionId;
use ada_span::table::FunctionIndex;
use serde_json::json;

use super::ledger::Ledger;
use super::pairs::hands_on;
use super::progress::{Progress, Times};
use super::survey::{NOBODY, Survey};
use super::{About, Finding};
use crate::captured_calls::CapturedCalls;
use crate::error::QueryError;
use crate::predicate::Ready;
use crate::span::{FrameSpan, Span};
use crate::trace::CallValues;

/// Fewer may be kept for the whole life of a program, of memory …
const FEW: u64 = 4;
/// … as many as these; and more hardly are.
const MANY: u64 = 16;
/// What is taken by a function that was called less often than this, and is less than this, need not grow.
const FEW_CALLS: u64 = 8;
const FEW_THINGS: u64 = 1000;
/// Of more calls than this the values are not looked at.
const MOST_CALLS: u64 = 2_000_000;
/// Kept things whose keepers are looked for.
const MOST_TRACED_BACK: usize = 512;
/// Functions that are told.
const MOST_TOLD: usize = 3;

/// What a call does with a descriptor or with memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Its result is the lowest descriptor that is free.
    Opens,
    /// One of its arguments is a descriptor that is free from now on, or another's.
    Closes(usize),
    /// Its result is memory, of as many bytes as these arguments say.
    Allocates(usize, Option<usize>),
    Reallocates,
    Frees,
}

impl Part {
    fn of(raw: &str) -> Option<Self> {
        Some(match raw.split('@').next().unwrap_or_default() {
            "open" | "open64" | "openat" | "openat64" | "creat" | "creat64" | "socket" | "accept" | "accept4"
            | "dup" | "epoll_create" | "epoll_create1" | "eventfd" | "timerfd_create" | "inotify_init"
            | "inotify_init1" | "memfd_create" => Self::Opens,
            "close" | "__close_nocancel" => Self::Closes(0),
            "dup2" | "dup3" => Self::Closes(1),
            "malloc" => Self::Allocates(0, None),
            "calloc" => Self::Allocates(0, Some(1)),
            "aligned_alloc" | "memalign" => Self::Allocates(1, None),
            "realloc" => Self::Reallocates,
            "free" => Self::Frees,
            _ => return None,
        })
    }
}

/// Something that was taken: by which call, and its bytes.
#[derive(Clone)]
struct Thing {
    call: Span,
    line: String,
    bytes: u64,
}

/// The leaks of a kind that values prove, and whether they are all that there are.
pub(super) struct Kept {
    pub(super) findings: Vec<Finding>,
    /// Whether every call of the kind was seen with its values: then nothing else leaks.
    is_all: bool,
}

impl Kept {
    /// Whether what calls' numbers suggest is of no use.
    pub(super) fn decides(&self) -> bool {
        self.is_all || !self.findings.is_empty()
    }
}

/// By what is kept.
pub(super) fn find(about: &About<'_>, survey: &Survey) -> Result<BTreeMap<&'static str, Kept>, QueryError> {
    let meta = about.process.tables.meta();
    let part = |function| about.process.names.raw(function).and_then(Part::of);
    let parts: HashMap<FunctionId, (Part, u64)> =
        meta.functions.iter().filter_map(|it| Some((it.function, (part(it.function)?, it.spans)))).collect();
    let flags = meta.functions.iter().map(|it| parts.contains_key(&it.function)).collect();
    let mut found = BTreeMap::new();
    if parts.values().map(|(_, calls)| *calls).fold(0, u64::saturating_add) > MOST_CALLS {
        return Ok(found);
    }
    let (mut descriptors, mut memory) = (Ledger::default(), Ledger::default());
    let mut seen: HashMap<FunctionId, u64> = HashMap::new();
    let mut captured = CapturedCalls::new(about.trace, about.number, Ready::Function(flags));
    while let Some(calls) = captured.next(about.trace, about.cancel)? {
        for (span, values) in calls {
            let Some((function, frame)) = span.function(about.trace).zip(span.as_frame()) else { continue };
            let Some((part, _)) = parts.get(&function) else { continue };
            *seen.entry(function).or_default() += 1;
            add(*part, frame, &span, &values, &mut descriptors, &mut memory);
        }
    }
    let are_seen = |wanted: fn(Part) -> bool| {
        let mut of_kind = parts.iter().filter(|(_, (part, _))| wanted(*part));
        of_kind.all(|(function, (_, calls))| seen.get(function) == Some(calls))
    };
    // What is given back by a call that was not seen, or without its values, would look kept.
    let has_drops = about.trace.manifest(about.process).is_none_or(|it| it.drops.iter().any(|drop| drop.count > 0));
    if has_drops || about.process.switched.hides(|function| part(function).is_some()) {
        return Ok(found);
    }
    if are_seen(|part| matches!(part, Part::Closes(_))) {
        let is_all = are_seen(|part| part == Part::Opens);
        let findings = tell(about, survey, "descriptors", descriptors.kept_lowest_first())?;
        found.insert("descriptors", Kept { findings, is_all });
    }
    if are_seen(|part| matches!(part, Part::Frees | Part::Reallocates)) {
        let is_all = are_seen(|part| matches!(part, Part::Allocates(..)));
        found.insert("memory", Kept { findings: tell(about, survey, "memory", memory.kept())?, is_all });
    }
    Ok(found)
}

/// Adds what a call took and gave back.
fn add(
    part: Part,
    frame: &FrameSpan,
    span: &Span,
    values: &CallValues,
    descriptors: &mut Ledger<Thing>,
    memory: &mut Ledger<Thing>,
) {
    let argument = |index: usize| {
        let number = values.arguments().nth(index).and_then(|it| it.value.number());
        number.and_then(|number| u64::try_from(number).ok())
    };
    let result = values.result().and_then(|it| it.value.number()).and_then(|number| u64::try_from(number).ok());
    let thing = |bytes| Thing { call: *span, line: values.line(), bytes };
    match part {
        Part::Opens if values.error().is_none() => {
            if let Some(number) = result.filter(|number| i32::try_from(*number).is_ok()) {
                descriptors.take(frame.end(), number, thing(0));
            }
        }
        Part::Opens => {}
        Part::Closes(number) => argument(number).into_iter().for_each(|number| descriptors.give(frame.start(), number)),
        Part::Allocates(size, count) => {
            let bytes = argument(size).unwrap_or(0).saturating_mul(count.map_or(Some(1), argument).unwrap_or(1));
            if let Some(address) = result.filter(|address| *address != 0) {
                memory.take(frame.end(), address, thing(bytes));
            }
        }
        Part::Reallocates => {
            if let Some(address) = result.filter(|address| *address != 0) {
                argument(0).into_iter().for_each(|before| memory.give(frame.start(), before));
                memory.take(frame.end(), address, thing(argument(1).unwrap_or(0)));
            }
        }
        Part::Frees => argument(0).into_iter().for_each(|address| memory.give(frame.start(), address)),
    }
}

/// What one function keeps.
#[derive(Default)]
struct Share {
    count: u64,
    bytes: u64,
    last: Option<Thing>,
    evidence: Vec<String>,
    /// When it was taken.
    times: Times,
}

fn tell(
    about: &About<'_>,
    survey: &Survey,
    what: &'static str,
    kept: BTreeMap<u64, Thing>,
) -> Result<Vec<Finding>, QueryError> {
    let all = kept.len();
    let few = if what == "memory" { MANY } else { FEW };
    if all as u64 <= few {
        return Ok(Vec::new());
    }
    let mut shares: BTreeMap<FunctionIndex, Share> = BTreeMap::new();
    let step = all.div_ceil(MOST_TRACED_BACK);
    for thing in kept.into_values().step_by(step) {
        let share = shares.entry(keeper(about, survey, &thing.call)?).or_default();
        share.count += step as u64;
        share.bytes = share.bytes.saturating_add(thing.bytes.saturating_mul(step as u64));
        if let Some(frame) = thing.call.as_frame() {
            share.times.add(frame.start());
        }
        if share.evidence.len() < 5 {
            share.evidence.push(thing.call.reference(about.trace).to_string());
        }
        share.last = Some(thing);
    }
    // What is taken once, or at the start, is what the program needs until it ends.
    let progress = Progress::new(&survey.calls);
    let grows = |it: &Share| it.count > few && progress.parts(&it.times).go_on();
    let mut shares: Vec<(FunctionIndex, Share)> =
        shares.into_iter().filter(|(keeper, it)| grows(it) && is_no_supply(about, what, *keeper, it.count)).collect();
    shares.sort_by_key(|(keeper, it)| (std::cmp::Reverse(it.bytes.max(it.count)), *keeper));
    let finding = |(rank, (keeper, share)): (usize, (FunctionIndex, Share))| {
        let name = if keeper == NOBODY { "a library".to_owned() } else { about.name(keeper) };
        let about_all = if step > 1 { "about " } else { "" };
        let line = share.last.as_ref().map_or("", |it| it.line.as_str());
        let (things, size) = match what {
            "memory" => ("blocks of memory", format!(", {} bytes in all", share.bytes)),
            _ => ("descriptors", String::new()),
        };
        let title = format!("{name} took {about_all}{} {things} that were never given back{size}", share.count);
        let rationale = format!(
            "The last was {line}. {}",
            match what {
                "memory" =>
                    "No call of free or realloc got these addresses, and there were more and more of them until the end.",
                _ => "Nobody closed these numbers, and later calls got higher ones, so that these were still open.",
            }
        );
        // Some are kept on purpose; that they are kept is known.
        let base = match share.count {
            _ if keeper == NOBODY => 40.0,
            MANY.. => 85.0,
            _ => 62.0,
        };
        let mut finding = about.finding("leak", base - rank as f64, title, rationale);
        finding.function = (keeper != NOBODY).then_some(name);
        finding.facts = json!({
            "what": what, "kept": share.count, "bytes": share.bytes, "kept_in_all": all, "is_sample": step > 1, "last": line,
        });
        finding.evidence = share.evidence;
        finding
    };
    Ok(shares.into_iter().take(MOST_TOLD).enumerate().map(finding).collect())
}

/// Whether what a function keeps need not be what the program needs until it ends, as `main` takes it: two hundred blocks of memory in one
/// call of `setlocale`. Nobody needs so many descriptors, and a server's loop is called once.
fn is_no_supply(about: &About<'_>, what: &str, keeper: FunctionIndex, kept: u64) -> bool {
    let many = if what == "memory" { FEW_THINGS } else { MANY };
    keeper == NOBODY || about.calls(keeper) >= FEW_CALLS || kept >= many
}

/// The nearest function of the program's own above a call that does not only hand on what it gets.
fn keeper(about: &About<'_>, survey: &Survey, call: &Span) -> Result<FunctionIndex, QueryError> {
    let mut outermost = NOBODY;
    let mut at = call.as_frame().cloned();
    while let Some(frame) = at {
        let index = frame.function_index();
        if survey.is_own[index.as_usize()] {
            if !hands_on(&about.name(index)) {
                return Ok(index);
            }
            outermost = index;
        }
        at = match frame.parent_seq() {
            Some(parent) => FrameSpan::read(&about.process.tables, call.thread(about.trace), parent)?,
            None => None,
        };
    }
    Ok(outermost)
}
