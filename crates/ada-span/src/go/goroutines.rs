//! What became of each goroutine, from the scheduler's calls in the order of their times.

use std::collections::HashMap;

use ada_event::{RuntimeAddr, TraceNanos};

use super::head::Layout;
use super::wait_reasons::{kind_of, minor_version};
use crate::NONE;
use crate::code_map::CodeMap;
use crate::concurrency::{Context, Contexts, Head, LogicalCall, Loss, Losses, Words};
use crate::function_traits::FunctionTraits;
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::role::{GoCall, GoPart, Role, SwiftCall};
use crate::task::{State, Suspension, TaskEnd, TaskKind, TaskLife, TaskRuntime, TaskTables, WaitKind};
use crate::thread_index::ThreadIndex;

struct Goroutine {
    life: TaskLife,
    /// Who woke it, where its pause is still to come.
    woken: Option<(LogicalCall, Context)>,
    /// It has called what ends it.
    is_ending_itself: bool,
    /// The one that has switched to it, and waits.
    partner: Option<u32>,
}

/// What is known of a thread.
#[derive(Clone, Copy, Default)]
struct Thread {
    /// The goroutine that runs on it.
    current: Option<u32>,
    /// What that one is about to wait for.
    wait: Option<Suspension>,
    /// The one that has just paused on it.
    paused: Option<u32>,
    /// The one that it is about to switch to, and whether the current one ends.
    next: Option<(u32, bool)>,
    /// Since when it is in a system call.
    system_call: Option<TraceNanos>,
}

/// All goroutines of a process.
pub(crate) struct Goroutines<'a> {
    layout: Layout,
    version: Option<u32>,
    traits: &'a FunctionTraits,
    code: &'a CodeMap,
    losses: &'a Losses,
    all: Vec<Goroutine>,
    indexes: HashMap<u64, u32>,
    threads: Vec<Thread>,
    /// Somebody is known to have ended the process, or code that is not Go's has.
    is_ended: bool,
}

impl<'a> Goroutines<'a> {
    /// No goroutines yet; nothing where it cannot be known which is which.
    pub(crate) fn new(
        calls: &[LogicalCall],
        traits: &'a FunctionTraits,
        code: &'a CodeMap,
        losses: &'a Losses,
    ) -> Option<Self> {
        Some(Self {
            layout: Layout::find(calls)?,
            version: traits.go_version().and_then(minor_version),
            traits,
            code,
            losses,
            all: Vec::new(),
            indexes: HashMap::new(),
            threads: Vec::new(),
            is_ended: calls.iter().any(|call| call.role == Role::Swift(SwiftCall::ProcessExit)),
        })
    }

    fn thread(&mut self, thread: ThreadIndex) -> &mut Thread {
        let thread = thread.as_usize();
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Thread::default());
        }
        &mut self.threads[thread]
    }

    fn life(&mut self, index: u32) -> &mut TaskLife {
        &mut self.all[index as usize].life
    }

    /// The goroutine that a call is about.
    fn find_or_add(&mut self, go: GoCall, head: Head, call: &LogicalCall) -> Option<u32> {
        let id = self.layout.id_at(go, head)?;
        let next = self.all.len() as u32;
        let index = *self.indexes.entry(id).or_insert(next);
        if index == next {
            let life = TaskLife::new(index, TaskRuntime::Go, id, call);
            self.all.push(Goroutine { life, woken: None, is_ending_itself: false, partner: None });
            let span = &mut self.life(index).span;
            (span.system_calls, span.system_call_ns) = (0, 0);
        }
        self.all[index as usize].life.see(call.time, self.losses);
        Some(index)
    }

    /// A call begins.
    pub(crate) fn begin(&mut self, call: &LogicalCall, go: GoCall, contexts: &mut Contexts) {
        let about = match call.words {
            Words::Goroutine { head, .. } | Words::NewGoroutine { head, .. } => self.find_or_add(go, head, call),
            _ => None,
        };
        let current = self.thread(call.thread).current;
        match (go, about) {
            (GoCall::Create, Some(index)) => self.create(call, index, contexts),
            (GoCall::Execute, Some(index)) => self.execute(call, index, contexts),
            (GoCall::Park, Some(index)) => self.park(call, index, contexts),
            (GoCall::Ready, Some(index)) => self.wake(call, index, contexts),
            (GoCall::End, Some(index)) => {
                self.find_running(call, index, contexts);
                let is_own = self.all[index as usize].is_ending_itself;
                self.complete(call, if is_own { TaskEnd::Goexit } else { TaskEnd::Return }, contexts);
            }
            (GoCall::Switch | GoCall::SwitchAndEnd, Some(index)) => {
                self.thread(call.thread).next = Some((index, go == GoCall::SwitchAndEnd));
            }
            (GoCall::Switched, _) => self.switch(call, contexts),
            (GoCall::Parked, _) => self.pause(call, None, contexts),
            (GoCall::Yield, _) => self.pause(call, Some(WaitKind::Yield), contexts),
            (GoCall::Preempt, _) => self.pause(call, Some(WaitKind::Preempted), contexts),
            (GoCall::NoProcessor, _) => self.pause(call, Some(WaitKind::Processor), contexts),
            (GoCall::Schedule, _) => {
                self.pause(call, None, contexts);
                self.thread(call.thread).paused = None;
            }
            (GoCall::SystemCall, _) => self.begin_system_call(call, current),
            (GoCall::SystemCallEnd, _) => self.end_system_call(call.thread, call.time, current),
            (GoCall::Goexit, _) => {
                if let Some(index) = current {
                    self.all[index as usize].is_ending_itself = true;
                }
            }
            (GoCall::Main, _) => {
                if let Some(index) = current.filter(|&index| self.life(index).span.kind() == TaskKind::Main) {
                    self.life(index).span.function = Some(call.function);
                }
            }
            (GoCall::Panic, _) => self.complete(call, TaskEnd::Panic, contexts),
            (GoCall::Fatal, _) => self.complete(call, TaskEnd::Fatal, contexts),
            (GoCall::ProcessExit, _) => self.complete(call, TaskEnd::Exit, contexts),
            // What probes could not read says nothing of any goroutine.
            _ => (),
        }
    }

    fn create(&mut self, call: &LogicalCall, index: u32, contexts: &mut Contexts) {
        let Words::NewGoroutine { entry, .. } = call.words else { return };
        let function = self.code.beginning_at(RuntimeAddr(entry));
        let is_runtimes = function.is_some_and(|function| self.traits.get(function).go_part == GoPart::Runtime);
        let back = Some(RuntimeAddr(call.arguments[3]));
        let made_in = back.and_then(|back| self.code.around(back));
        let parent = contexts.now(call.thread);
        let span = &mut self.life(index).span;
        span.kind = match function {
            _ if span.id == 1 => TaskKind::Main,
            _ if is_runtimes => TaskKind::Helper,
            _ => TaskKind::Go,
        } as u64;
        span.function = function;
        (span.create_thread, span.create_seq) = (Some(call.thread), Some(call.seq));
        span.create_time = Some(call.time);
        span.create_function = made_in;
        span.create_address = back.filter(|_| made_in.is_some());
        span.parent = parent.to_word();
    }

    fn execute(&mut self, call: &LogicalCall, index: u32, contexts: &mut Contexts) {
        let thread = *self.thread(call.thread);
        if thread.current.is_some_and(|current| current != index) {
            // Its pause was not seen.
            self.pause(call, None, contexts);
        } else if thread.current.is_some() {
            return;
        }
        self.leave_other_thread(index, contexts);
        let state = self.thread(call.thread);
        state.current = Some(index);
        state.paused = None;
        contexts.push(call.thread, Context::Task(index));
        self.all[index as usize].woken = None;
        let life = self.life(index);
        match life.state {
            // What it was about to wait for had happened: nobody woke it, and it has not been elsewhere.
            State::Suspended if thread.paused == Some(index) && life.has_just_paused(call.thread) => {
                life.has_not_paused();
            }
            _ => life.run(call),
        }
    }

    /// A goroutine that goes on elsewhere has left the thread that it was last seen on: its pause there was not seen.
    fn leave_other_thread(&mut self, index: u32, contexts: &mut Contexts) {
        let life = self.life(index);
        let run = life.runs.last().filter(|_| life.state == State::Running);
        let Some(thread) = run.map(|run| run.thread) else { return };
        if self.thread(thread).current == Some(index) {
            *self.thread(thread) = Thread::default();
            contexts.leave(thread, Context::Task(index));
        }
    }

    fn park(&mut self, call: &LogicalCall, index: u32, contexts: &mut Contexts) {
        self.find_running(call, index, contexts);
        let Words::Goroutine { key, site, .. } = call.words else { return };
        let kind = kind_of(self.version, call.arguments[3] as u8);
        let site = Some(RuntimeAddr(site)).filter(|site| site.0 != NONE);
        let awaiting = site.and_then(|site| self.code.around(site));
        self.thread(call.thread).wait =
            Some(Suspension { kind: kind as u64, key, awaiting, await_address: site, ..Suspension::default() });
    }

    /// A goroutine is seen to run on a thread, where its start may not have been seen.
    fn find_running(&mut self, call: &LogicalCall, index: u32, contexts: &mut Contexts) {
        let current = self.thread(call.thread).current;
        if current == Some(index) {
            return;
        }
        if current.is_some() {
            self.pause(call, None, contexts);
        }
        if let Some(wait) = self.life(index).open_wait() {
            wait.is_cut = 1;
            self.life(index).mark_uncertain();
        }
        self.thread(call.thread).paused = None;
        self.execute(call, index, contexts);
    }

    /// The thread's goroutine stops running.
    fn pause(&mut self, call: &LogicalCall, kind: Option<WaitKind>, contexts: &mut Contexts) {
        let Some(index) = self.thread(call.thread).current else { return };
        self.end_system_call(call.thread, call.time, Some(index));
        let thread = self.thread(call.thread);
        let wait = thread.wait.take();
        (thread.current, thread.paused) = (None, Some(index));
        contexts.leave(call.thread, Context::Task(index));
        let unknown = Suspension { kind: WaitKind::Unknown as u64, ..Suspension::default() };
        let wait = match kind {
            Some(kind) => Suspension { kind: kind as u64, ..unknown },
            None => wait.unwrap_or(unknown),
        };
        let woken = self.all[index as usize].woken.take();
        let life = self.life(index);
        life.pause(call, wait);
        if let (Some((call, waker)), Some(wait)) = (woken, life.open_wait()) {
            note_waker(wait, &call, waker);
        }
    }

    fn wake(&mut self, call: &LogicalCall, index: u32, contexts: &mut Contexts) {
        let waker = contexts.now(call.thread);
        let goroutine = &mut self.all[index as usize];
        match goroutine.life.open_wait() {
            Some(wait) => note_waker(wait, call, waker),
            None => goroutine.woken = Some((*call, waker)),
        }
    }

    /// One goroutine goes on instead of another, with no scheduler between them.
    fn switch(&mut self, call: &LogicalCall, contexts: &mut Contexts) {
        let Thread { current, next, .. } = *self.thread(call.thread);
        self.thread(call.thread).next = None;
        // The function by which one ends is inlined where it is called: nothing has been said then.
        let partner = current.and_then(|current| self.all[current as usize].partner.take());
        let next = next.or(partner.map(|partner| (partner, true)));
        match next {
            Some((_, true)) => self.complete(call, TaskEnd::Return, contexts),
            _ => self.pause(call, Some(WaitKind::Coroutine), contexts),
        }
        let Some((index, _)) = next else { return };
        let waker = current.map_or(Context::Thread, Context::Task);
        if let Some(wait) = self.life(index).open_wait() {
            note_waker(wait, call, waker);
        }
        self.all[index as usize].partner = current;
        self.execute(call, index, contexts);
    }

    fn complete(&mut self, call: &LogicalCall, how: TaskEnd, contexts: &mut Contexts) {
        let Some(index) = self.thread(call.thread).current else { return };
        self.end_system_call(call.thread, call.time, Some(index));
        *self.thread(call.thread) = Thread::default();
        contexts.leave(call.thread, Context::Task(index));
        self.is_ended |= matches!(how, TaskEnd::Panic | TaskEnd::Fatal | TaskEnd::Exit);
        self.life(index).complete(call.thread, call.time, Some(call.seq), how);
    }

    fn begin_system_call(&mut self, call: &LogicalCall, current: Option<u32>) {
        let Some(index) = current else { return };
        let since = &mut self.thread(call.thread).system_call;
        // One function of the runtime calls the other.
        if since.is_none() {
            *since = Some(call.time);
            self.life(index).span.system_calls += 1;
        }
    }

    fn end_system_call(&mut self, thread: ThreadIndex, time: TraceNanos, current: Option<u32>) {
        if let (Some(since), Some(index)) = (self.thread(thread).system_call.take(), current) {
            self.life(index).span.system_call_ns += time.since(since);
        }
    }

    /// Events of a thread are missing: what it ran then may have gone on anywhere.
    pub(crate) fn lose(&mut self, loss: &Loss, contexts: &mut Contexts) {
        let current = self.thread(loss.thread).current;
        self.end_system_call(loss.thread, loss.from, current);
        *self.thread(loss.thread) = Thread::default();
        contexts.lose(loss.thread);
        if let Some(index) = current {
            let unknown = Suspension { kind: WaitKind::Unknown as u64, ..Suspension::default() };
            self.life(index).lose(loss, unknown);
        }
    }

    /// The scheduler's calls are not recorded from a time on: whatever runs then may go on anywhere.
    pub(crate) fn stop_following(&mut self, from: TraceNanos, contexts: &mut Contexts) {
        for thread in ThreadIndex::all(self.threads.len()) {
            self.lose(&Loss { thread, from, to: TraceNanos::MAX }, contexts);
        }
    }

    /// Where nobody else has ended the process, `main` has, by returning: what ends the process then cannot be hooked.
    fn end_main(&mut self, options: &ReplayOptions) {
        let is_known = options.end == ProcessEnd::Exited && !options.has_drops && !options.is_cut_short;
        let main = self.indexes.get(&1).map(|&index| &mut self.all[index as usize].life);
        if let Some(main) = main.filter(|main| is_known && !self.is_ended && main.state == State::Running)
            && let Some(thread) = main.runs.last().map(|run| run.thread)
        {
            main.complete(thread, options.end_time, None, TaskEnd::Exit);
        }
    }

    /// Ends what is open, and gives the tables.
    pub(crate) fn finish(mut self, options: &ReplayOptions) -> TaskTables {
        for thread in ThreadIndex::all(self.threads.len()) {
            let current = self.thread(thread).current;
            self.end_system_call(thread, options.end_time, current);
        }
        self.end_main(options);
        let mut tables = TaskTables::default();
        for goroutine in self.all {
            goroutine.life.finish(false, self.losses, options, &mut tables);
        }
        tables
    }
}

fn note_waker(wait: &mut Suspension, call: &LogicalCall, waker: Context) {
    if wait.resume_time.is_none() {
        (wait.resume_time, wait.ready_time) = (Some(call.time), Some(call.time));
        (wait.resume_thread, wait.resume_seq) = (Some(call.thread), Some(call.seq));
        wait.resumer = waker.to_word();
    }
}

#[cfg(test)]
mod tests;
