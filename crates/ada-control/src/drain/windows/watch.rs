//! Which events are triggers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ada_event::{ProcessId, RuntimeAddr};
use ada_image::FunctionTable;
use ada_patch::Verdict;
use ada_process::Clock;
use ada_ring::marks::{MARK_CALL, MARK_SLOW};
use ada_ring::{Pool, RawRecord, RecordKind};

use super::tested_calls::{self, OpenValues, TestedFunction};
use super::trigger_list::TriggerList;
use crate::drain::detail_lane::ThreadDetails;
use crate::drain::own_stack::OwnStack;
use crate::function_pattern::matches_name;
use crate::install::function_numbers::ByNumber;
use crate::plan::module::Module;
use crate::plan::probes;
use crate::roll::Roll;
use crate::trigger::Trigger;

/// What is known of a function: which triggers it is about, from 1.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Mark {
    symbol: u8,
    slow: u8,
    is_handler: bool,
    is_signal_action: bool,
}

/// The triggers as the drain needs them: by function number.
pub(crate) struct Watch {
    list: Arc<TriggerList>,
    pool: Pool,
    clock: Clock,
    generation: u64,
    version: u32,
    triggers: Vec<Trigger>,
    marks: ByNumber<Mark>,
    /// Functions whose values are tested, by their numbers.
    tested: HashMap<u32, TestedFunction>,
    /// What is known of the functions of each file, by the address of its table: programs come by the thousand, and have
    /// files in common.
    files: HashMap<usize, KnownFile>,
    /// The modules that were taken up so far; only for handlers.
    loaded: Vec<LoadedModule>,
    /// Handlers that the program has registered, by address.
    handlers: HashSet<RuntimeAddr>,
    is_on: bool,
    /// When the process was attached to: what was open then was called earlier.
    attached_at: Option<u64>,
    /// The program that was started: its end is the recorder's to wait for.
    pub(crate) root: ProcessId,
}

/// What triggers make of the functions of a file.
struct KnownFile {
    /// PendingChunk so that no other table comes to lie at its address.
    _functions: Arc<FunctionTable>,
    marks: Vec<Mark>,
}

impl KnownFile {
    fn new(functions: Arc<FunctionTable>, triggers: &[Trigger]) -> Self {
        let mark = |index: usize| {
            let matching = |pattern_of: fn(&Trigger) -> Option<&str>| {
                let is_about = |trigger: &Trigger| {
                    pattern_of(trigger)
                        .is_some_and(|pattern| functions.names(index).any(|name| matches_name(pattern, name)))
                };
                triggers.iter().position(is_about).map_or(0, |position| position as u8 + 1)
            };
            let symbol = matching(|trigger| match trigger {
                Trigger::Symbol(pattern) => Some(pattern),
                _ => None,
            });
            let slow = matching(|trigger| match trigger {
                Trigger::Slow { pattern, .. } => Some(pattern),
                _ => None,
            });
            Mark { symbol, slow, is_handler: false, is_signal_action: probes::is_signal_action(&functions, index) }
        };
        let marks = (0..functions.len()).map(mark).collect();
        Self { marks, _functions: functions }
    }
}

/// Where a module's functions are.
struct LoadedModule {
    bias: u64,
    first_function: u32,
    functions: Arc<FunctionTable>,
    verdicts: Arc<[Verdict]>,
}

impl LoadedModule {
    fn of(module: &Module) -> Self {
        let Module { bias, first_function, functions, verdicts, .. } = module;
        Self { bias: *bias, first_function: *first_function, functions: functions.clone(), verdicts: verdicts.clone() }
    }

    /// The number of the hooked function that begins at an address.
    fn function_at(&self, address: RuntimeAddr) -> Option<u32> {
        let index = self.functions.index_at(address.in_image(self.bias))?;
        let is_hooked = !matches!(self.verdicts.get(index), None | Some(Verdict::Skipped(_)));
        is_hooked.then_some(self.first_function + index as u32)
    }
}

/// Calls of one thread that may turn out to take long.
#[derive(Default)]
pub(crate) struct OpenCalls {
    calls: Vec<OpenCall>,
    pub(in crate::drain) own_stack: OwnStack,
}

struct OpenCall {
    stack: u32,
    depth: u32,
    function: u32,
    /// By the time-stamp counter.
    began: u64,
}

impl Watch {
    pub(crate) fn new(list: Arc<TriggerList>, pool: Pool, clock: Clock, root: ProcessId) -> Self {
        Self {
            list,
            pool,
            clock,
            generation: 0,
            version: 0,
            triggers: Vec::new(),
            marks: ByNumber::default(),
            tested: HashMap::new(),
            files: HashMap::new(),
            loaded: Vec::new(),
            handlers: HashSet::new(),
            is_on: false,
            attached_at: None,
            root,
        }
    }

    /// States when the process was attached to, by the time-stamp counter.
    pub(crate) fn attached_at(self, tsc: Option<u64>) -> Self {
        Self { attached_at: tsc, ..self }
    }

    pub(crate) fn pre_roll(&self) -> Roll {
        self.list.pre_roll
    }

    pub(crate) fn post_roll(&self) -> Roll {
        self.list.post_roll
    }

    /// Whether an event can be a trigger at all.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// The name of the trigger that a fatal signal is, if it is one.
    pub(crate) fn fatal(&self, signal: i32) -> Option<String> {
        let is = |wanted| self.triggers.contains(&wanted);
        if is(Trigger::Crash) {
            Some(format!("crash: signal {signal}"))
        } else {
            is(Trigger::Signal).then(|| format!("signal: {signal}"))
        }
    }

    /// The name of a trigger.
    pub(crate) fn name(&self, trigger: u8) -> String {
        self.triggers.get(usize::from(trigger).wrapping_sub(1)).map(ToString::to_string).unwrap_or_default()
    }

    /// Whether it matters where functions are: handlers are known by their addresses.
    pub(crate) fn is_by_address(&self) -> bool {
        self.triggers.contains(&Trigger::Signal)
    }

    /// Whether triggers have changed, or there are more functions than were known, by another version of them.
    pub(crate) fn is_stale(&self, version: u32) -> bool {
        (self.list.generation(), version) != (self.generation, self.version)
    }

    /// Takes up what has changed: triggers, and libraries that were loaded. `modules` only ever grows.
    pub(crate) fn refresh(&mut self, modules: &[Module], version: u32) {
        let generation = self.list.generation();
        if generation != self.generation || self.loaded.is_empty() {
            self.begin_anew();
        }
        (self.generation, self.version) = (generation, version);
        let known: Vec<RuntimeAddr> = self.handlers.iter().copied().collect();
        for module in &modules[self.loaded.len()..] {
            self.add_module(module);
            self.loaded.push(LoadedModule::of(module));
            for address in &known {
                self.mark_handler_in(self.loaded.len() - 1, *address);
            }
        }
        self.list.apply(self.generation);
    }

    fn begin_anew(&mut self) {
        self.triggers = self.list.all();
        self.triggers.truncate(usize::from(u8::MAX));
        self.marks.clear();
        self.tested.clear();
        self.files.clear();
        self.loaded.clear();
        self.is_on = self.triggers.contains(&Trigger::Signal);
        self.publish_limits();
    }

    /// The functions of a module whose values triggers ask for.
    fn add_tested(&mut self, module: &Module) {
        let patterns: Vec<(u8, &str)> = (1..)
            .zip(&self.triggers)
            .filter_map(|(number, trigger)| match trigger {
                Trigger::Values { pattern, .. } => Some((number, pattern.as_str())),
                _ => None,
            })
            .collect();
        if patterns.is_empty() {
            return;
        }
        for (index, verdict) in module.verdicts.iter().enumerate() {
            let is_about =
                |(_, pattern): &&(u8, &str)| module.functions.names(index).any(|name| matches_name(pattern, name));
            let triggers: Vec<u8> = patterns.iter().filter(is_about).map(|(number, _)| *number).collect();
            if triggers.is_empty() || matches!(verdict, Verdict::Skipped(_)) {
                continue;
            }
            let signature = module.captured.signature(index).cloned().map(Arc::new);
            let number = module.first_function + index as u32;
            self.tested.insert(number, TestedFunction { signature, triggers });
            self.is_on = true;
            let marks = &self.pool.orders().marks;
            if marks.set(number, MARK_CALL) {
                marks.is_on.store(1, Ordering::Release);
            }
        }
    }

    /// The records of a batch that fire by their values, by their numbers, with the numbers of the triggers.
    pub(crate) fn fired_by_values(
        &self,
        batch: &[RawRecord],
        details: &mut ThreadDetails,
        open: &mut OpenValues,
    ) -> HashMap<usize, u8> {
        tested_calls::fired(batch, details, &self.tested, &self.triggers, open)
    }

    fn add_module(&mut self, module: &Module) {
        self.add_tested(module);
        let file = self.files.entry(Arc::as_ptr(&module.functions).addr());
        let file = file.or_insert_with(|| KnownFile::new(module.functions.clone(), &self.triggers));
        for (number, (mark, verdict)) in (module.first_function..).zip(file.marks.iter().zip(module.verdicts.iter())) {
            if *mark == Mark::default() || matches!(verdict, Verdict::Skipped(_)) {
                continue;
            }
            *self.marks.get_mut(number) = *mark;
            let bits = if mark.symbol > 0 { MARK_CALL } else { 0 } | if mark.slow > 0 { MARK_SLOW } else { 0 };
            if bits != 0 {
                self.is_on = true;
                let marks = &self.pool.orders().marks;
                if marks.set(number, bits) {
                    marks.is_on.store(1, Ordering::Release);
                }
            }
        }
    }

    /// Lets the threads of the program know how far windows reach and what is slow, and that nothing is marked yet.
    fn publish_limits(&self) {
        let marks = &self.pool.orders().marks;
        marks.is_on.store(0, Ordering::Release);
        marks.clear();
        let ticks = |roll| match roll {
            Roll::Events(_) => 0,
            Roll::Time(time) => self.clock.ticks(time),
        };
        let events = match self.list.post_roll {
            Roll::Events(events) => events,
            Roll::Time(_) => 0,
        };
        marks.post_events.store(events, Ordering::Relaxed);
        marks.post_ticks.store(ticks(self.list.post_roll), Ordering::Relaxed);
        let slowest = self.triggers.iter().filter_map(slow_limit).min().unwrap_or(Duration::MAX);
        marks.slow_ticks.store(self.clock.ticks(slowest), Ordering::Relaxed);
    }

    /// Whether the function is one by which handlers are registered.
    pub(crate) fn is_signal_action(&self, function: u32) -> bool {
        self.marks.get(function).is_signal_action
    }

    /// The program has registered a handler.
    pub(crate) fn handler_registered(&mut self, address: RuntimeAddr) {
        // 0 and 1 stand for the default and for nothing.
        if address.0 > 1 && self.handlers.insert(address) {
            self.mark_handler(address);
        }
    }

    fn mark_handler(&mut self, address: RuntimeAddr) {
        // Several processes may have a function there.
        for module in 0..self.loaded.len() {
            self.mark_handler_in(module, address);
        }
    }

    fn mark_handler_in(&mut self, module: usize, address: RuntimeAddr) {
        let Some(number) = self.loaded[module].function_at(address) else { return };
        self.marks.get_mut(number).is_handler = true;
        let marks = &self.pool.orders().marks;
        if self.triggers.contains(&Trigger::Signal) && marks.set(number, MARK_CALL) {
            marks.is_on.store(1, Ordering::Release);
        }
    }

    /// The trigger that a record is, if it is one.
    pub(crate) fn fires(&self, record: &RawRecord, open: &mut OpenCalls) -> Option<u8> {
        let mark = self.marks.get(record.function);
        if mark == Mark::default() || record.kind() == RecordKind::Stack {
            return None;
        }
        let is_call = matches!(record.kind(), RecordKind::Call | RecordKind::EntryOnly);
        let is_call = is_call && Some(record.tsc) != self.attached_at;
        let mut fired = (is_call && mark.symbol > 0).then_some(mark.symbol);
        if is_call && mark.is_handler && fired.is_none() {
            let signal = self.triggers.iter().position(|trigger| *trigger == Trigger::Signal);
            fired = signal.map(|position| position as u8 + 1);
        }
        if mark.slow > 0 {
            let began = match record.kind() {
                RecordKind::Call => {
                    open.push(record);
                    None
                }
                RecordKind::Return | RecordKind::Unwound => open.pop(record),
                RecordKind::EntryOnly | RecordKind::Stack => None,
            };
            let limit = self.triggers.get(usize::from(mark.slow) - 1).and_then(slow_limit);
            if let (Some(began), Some(limit)) = (began, limit)
                && record.tsc.saturating_sub(began) > self.clock.ticks(limit)
            {
                fired = fired.or(Some(mark.slow));
            }
        }
        fired
    }
}

fn slow_limit(trigger: &Trigger) -> Option<Duration> {
    match trigger {
        Trigger::Slow { longer_than, .. } => Some(*longer_than),
        _ => None,
    }
}

impl OpenCalls {
    fn push(&mut self, record: &RawRecord) {
        let (stack, depth) = (self.own_stack.stack_of(record), record.depth());
        self.calls.retain(|call| call.stack != stack || call.depth < depth);
        self.calls.push(OpenCall { stack, depth, function: record.function, began: record.tsc });
    }

    /// Ends a call, and says when it began.
    fn pop(&mut self, record: &RawRecord) -> Option<u64> {
        let (stack, depth) = (self.own_stack.stack_of(record), record.depth());
        let is_ended = |call: &OpenCall| call.stack == stack && call.depth == depth && call.function == record.function;
        let ended = self.calls.iter().rposition(is_ended).map(|at| self.calls[at].began);
        self.calls.retain(|call| call.stack != stack || call.depth < depth);
        ended
    }
}

#[cfg(test)]
mod tests {
    use ada_event::ModuleId;
    use ada_image::{Image, UnwindTable};
    use ada_patch::SkipReason;
    use ada_ring::{DetailMode, OnFull};

    use super::*;
    use crate::install::shared_memory::SharedMemory;
    use crate::program_id::ProgramId;
    use ada_process::maps::LoadedFile;

    const PATTERN: &str = "main";

    fn own_functions() -> Arc<FunctionTable> {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(path).unwrap();
        let image = Image::parse(&bytes).unwrap();
        Arc::new(FunctionTable::discover(&image, &UnwindTable::parse(&image), &[]))
    }

    /// The n-th program that has loaded the file.
    fn module(n: u32, functions: &Arc<FunctionTable>, verdict: Verdict) -> Module {
        let count = functions.len();
        Module {
            id: ModuleId(n),
            program: ProgramId(n),
            file: LoadedFile { path: "/program".into(), start: RuntimeAddr(0), end: RuntimeAddr(0) },
            bias: u64::from(n) << 32,
            other_biases: Vec::new(),
            build_id: None,
            functions: functions.clone(),
            table_hash: 0,
            verdicts: vec![verdict; count].into(),
            first_function: n * count as u32,
            captured: Arc::default(),
        }
    }

    #[test]
    fn programs_that_come_later_have_their_marks_too() {
        let functions = own_functions();
        let index = functions.find(PATTERN).unwrap() as u32;
        let (count, start) = (functions.len() as u32, functions.functions()[index as usize].start.0);
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let symbol = Trigger::Symbol(PATTERN.into());
        let list = Arc::new(TriggerList::new(vec![symbol.clone()], Roll::Events(1), Roll::Events(1)));
        let mut watch = Watch::new(list.clone(), shared.pool(), Clock::begin().finish(None), ProcessId(1));
        let skipped = Verdict::Skipped(SkipReason::TooShort);
        let modules = [module(0, &functions, Verdict::Hooked), module(1, &functions, skipped)];
        watch.refresh(&modules, 2);
        let marks = |watch: &Watch| -> Vec<u8> { (0..3).map(|n| watch.marks.get(n * count + index).symbol).collect() };
        assert_eq!(marks(&watch), [1, 0, 0]);
        let at = |n: u32| RuntimeAddr((u64::from(n) << 32) + start);
        (0..3).for_each(|n| watch.handler_registered(at(n)));
        let modules = [modules, [module(2, &functions, Verdict::Hooked), module(3, &functions, skipped)]];
        let modules = modules.as_flattened();
        watch.refresh(modules, 4);
        assert_eq!(marks(&watch), [1, 0, 1]);
        assert_eq!(shared.pool().orders().marks.of(2 * count + index), MARK_CALL);
        let handlers: Vec<u32> =
            watch.marks.iter().filter(|(_, mark)| mark.is_handler).map(|(number, _)| number).collect();
        assert_eq!(handlers, [index, 2 * count + index]);

        list.change(&[symbol], vec![]).unwrap();
        assert!(watch.is_stale(4));
        watch.refresh(modules, 4);
        assert_eq!((marks(&watch), watch.is_on()), (vec![0, 0, 0], false));
        assert_eq!(shared.pool().orders().marks.of(2 * count + index), 0);
    }
}
