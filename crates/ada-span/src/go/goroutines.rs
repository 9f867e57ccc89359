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
mod tests {
    use super::*;
    use crate::outcome::{Outcome, Reason, Status};
    use crate::role::Role;

    const OPTIONS: ReplayOptions = ReplayOptions { end_time: TraceNanos(1000), ..ReplayOptions::COMPLETE };

    const CHAN_RECEIVE: u64 = 14;

    fn call(go: GoCall, thread: u32, time: u64, id: u64) -> LogicalCall {
        let status = go.statuses().first().map_or(0, |&status| status.into());
        let head = [status, id, 0];
        let words = match go {
            GoCall::Create => Words::NewGoroutine { entry: NONE, head },
            _ if id == 0 => Words::Nothing,
            _ => Words::Goroutine { head, key: 7, site: NONE },
        };
        LogicalCall {
            arguments: [NONE, NONE, NONE, CHAN_RECEIVE],
            words,
            ..LogicalCall::at(Role::Go(go), thread, time)
        }
    }

    /// The tables that calls lead to, with a loss before those that follow it.
    fn tables(calls: &[LogicalCall], losses: &[Loss], options: &ReplayOptions) -> TaskTables {
        let (traits, code) = (FunctionTraits::default(), CodeMap::default());
        let lost = Losses::new(losses.iter().map(|loss| (loss.from, loss.to)).collect());
        let mut goroutines = Goroutines::new(calls, &traits, &code, &lost).expect("a layout");
        let (mut contexts, mut losses) = (Contexts::default(), losses.iter().peekable());
        for call in calls {
            while let Some(loss) = losses.next_if(|loss| loss.from < call.time) {
                goroutines.lose(loss, &mut contexts);
            }
            let Role::Go(go) = call.role else { continue };
            goroutines.begin(call, go, &mut contexts);
        }
        losses.for_each(|loss| goroutines.lose(loss, &mut contexts));
        goroutines.finish(options)
    }

    #[test]
    fn nothing_is_said_of_goroutines_that_are_no_longer_followed() {
        let calls = [
            call(GoCall::Create, 0, 5, 2),
            call(GoCall::Create, 0, 6, 3),
            call(GoCall::Create, 0, 7, 4),
            call(GoCall::Execute, 0, 10, 2),
            call(GoCall::Execute, 1, 11, 3),
            call(GoCall::Park, 1, 12, 3),
            call(GoCall::Parked, 1, 13, 0),
        ];
        let (traits, code) = (FunctionTraits::default(), CodeMap::default());
        let lost = Losses::new(vec![(TraceNanos(20), TraceNanos::MAX)]);
        let mut goroutines = Goroutines::new(&calls, &traits, &code, &lost).expect("a layout");
        let mut contexts = Contexts::default();
        for call in &calls {
            let Role::Go(go) = call.role else { continue };
            goroutines.begin(call, go, &mut contexts);
        }
        goroutines.stop_following(TraceNanos(20), &mut contexts);
        let made = goroutines.finish(&OPTIONS);
        // One ran, one waited, and one had not begun.
        let dropped = Outcome::new(Status::Unmatched, Reason::Dropped);
        assert!(made.tasks.iter().all(|task| Outcome { is_uncertain: false, ..task.outcome() } == dropped));
        assert_eq!(made.tasks.iter().map(|task| task.end.0).collect::<Vec<u64>>(), [20, 13, 7]);
        assert!(made.suspensions.iter().all(|wait| wait.end.is_some()), "nobody is known to wait until the end");
    }

    #[test]
    fn a_wait_ends_where_another_thread_goes_on_with_it() {
        let made = tables(
            &[
                call(GoCall::Create, 0, 5, 2),
                call(GoCall::Execute, 0, 10, 2),
                call(GoCall::Park, 0, 18, 2),
                call(GoCall::Parked, 0, 20, 0),
                call(GoCall::Schedule, 0, 21, 0),
                call(GoCall::Create, 0, 22, 3),
                call(GoCall::Execute, 0, 25, 3),
                call(GoCall::Ready, 0, 30, 2),
                call(GoCall::Execute, 1, 40, 2),
                call(GoCall::SystemCall, 1, 42, 0),
                call(GoCall::SystemCallEnd, 1, 45, 0),
                call(GoCall::End, 1, 50, 2),
            ],
            &[],
            &OPTIONS,
        );
        let (task, wait) = (made.tasks[0], made.suspensions[0]);
        assert_eq!((task.running_ns, task.suspended_ns, task.end - task.start), (20, 20, 40));
        assert_eq!((task.outcome(), task.end_how(), task.runs), (Outcome::default(), TaskEnd::Return, 2));
        assert_eq!((task.system_calls, task.system_call_ns), (1, 3));
        assert_eq!(
            (wait.kind(), wait.key, wait.start, wait.end),
            (WaitKind::ChanReceive, 7, TraceNanos(20), Some(TraceNanos(40)))
        );
        assert_eq!((wait.resumer(), wait.resume_time), (Context::Task(1), Some(TraceNanos(30))));
        // The other one still ran when the process ended.
        assert_eq!(made.tasks[1].outcome(), ProcessEnd::Exited.outcome());
    }

    #[test]
    fn what_was_there_before_the_recording_has_no_beginning() {
        let calls = [
            call(GoCall::Park, 0, 10, 2),
            call(GoCall::Parked, 0, 12, 0),
            call(GoCall::Ready, 1, 20, 3),
            call(GoCall::Execute, 1, 25, 3),
            call(GoCall::End, 1, 30, 3),
        ];
        let made = tables(&calls, &[], &ReplayOptions { is_attached: true, end: ProcessEnd::Alive, ..OPTIONS });
        let midway = Outcome::new(Status::Unmatched, Reason::AttachedMidway);
        assert!(made.tasks.iter().all(|task| task.outcome() == midway), "{:?}", made.tasks);
        assert_eq!((made.tasks[0].start, made.tasks[1].start), (TraceNanos(10), TraceNanos(25)));
        assert_eq!(made.suspensions.len(), 1, "a wait that began before is not known");
    }

    #[test]
    fn nothing_is_said_of_what_happened_among_lost_events() {
        let loss = |thread, from, to| Loss { thread: ThreadIndex(thread), from: TraceNanos(from), to: TraceNanos(to) };
        let calls = [
            call(GoCall::Create, 0, 5, 2),
            call(GoCall::Create, 0, 6, 3),
            call(GoCall::Execute, 0, 10, 2),
            call(GoCall::Execute, 1, 10, 3),
            call(GoCall::Park, 1, 18, 3),
            call(GoCall::Parked, 1, 20, 0),
            call(GoCall::Schedule, 1, 21, 0),
            // Thread 0 loses events from 25 to 60, and has another goroutine then.
            call(GoCall::Park, 0, 60, 4),
            call(GoCall::Parked, 0, 61, 0),
        ];
        let made = tables(&calls, &[loss(0, 25, 60)], &OPTIONS);
        let dropped = Outcome::new(Status::Unmatched, Reason::Dropped);
        let of = |id: u64| made.tasks.iter().find(|task| task.id == id).expect("a goroutine");
        // The one that ran may have ended; the one that waited may have gone on.
        for (id, end) in [(2, 25), (3, 20)] {
            let outcome = Outcome { is_uncertain: false, ..of(id).outcome() };
            assert_eq!((outcome, of(id).end), (dropped, TraceNanos(end)), "{id}");
        }
        assert_eq!(of(4).outcome().reason, Reason::Dropped, "its beginning may be among them");
        let is_open =
            made.suspensions.iter().filter(|wait| wait.end.is_none()).map(|wait| made.tasks[wait.task as usize].id);
        assert_eq!(is_open.collect::<Vec<_>>(), [4], "only what was seen to wait afterwards still does");
    }

    #[test]
    fn coroutines_switch_without_the_scheduler() {
        let made = tables(
            &[
                call(GoCall::Create, 0, 5, 2),
                call(GoCall::Execute, 0, 10, 2),
                call(GoCall::Create, 0, 12, 3),
                call(GoCall::Switch, 0, 20, 3),
                call(GoCall::Switched, 0, 21, 0),
                call(GoCall::Switch, 0, 30, 2),
                call(GoCall::Switched, 0, 31, 0),
                call(GoCall::Switch, 0, 40, 3),
                call(GoCall::Switched, 0, 41, 0),
                // It ends: nothing is said before it.
                call(GoCall::Switched, 0, 50, 0),
                call(GoCall::End, 0, 60, 2),
            ],
            &[],
            &OPTIONS,
        );
        assert!(made.tasks.iter().all(|task| task.outcome() == Outcome::default()), "{:?}", made.tasks);
        let times: Vec<(u64, u64)> = made.tasks.iter().map(|task| (task.running_ns, task.suspended_ns)).collect();
        assert_eq!(times, [(11 + 10 + 10, 10 + 9), (10 + 9, 10)]);
        assert!(made.suspensions.iter().all(|wait| wait.kind() == WaitKind::Coroutine && wait.resume_time.is_some()));
    }

    #[test]
    fn one_that_does_not_wait_after_all_has_not_paused() {
        let made = tables(
            &[
                call(GoCall::Create, 0, 5, 2),
                call(GoCall::Execute, 0, 10, 2),
                call(GoCall::Park, 0, 18, 2),
                call(GoCall::Parked, 0, 20, 0),
                call(GoCall::Execute, 0, 22, 2),
                call(GoCall::Goexit, 0, 25, 0),
                call(GoCall::End, 0, 30, 2),
            ],
            &[],
            &OPTIONS,
        );
        assert_eq!((made.suspensions.len(), made.runs.len(), made.tasks[0].running_ns), (0, 1, 20));
        assert_eq!(made.tasks[0].end_how(), TaskEnd::Goexit);
    }

    #[test]
    fn one_that_paused_elsewhere_has_paused() {
        // The scheduler's calls are not recorded: both threads have last paused the same one.
        let made = tables(
            &[
                call(GoCall::Execute, 0, 10, 2),
                call(GoCall::Park, 0, 18, 2),
                call(GoCall::Parked, 0, 20, 0),
                call(GoCall::Execute, 1, 30, 2),
                call(GoCall::Park, 1, 38, 2),
                call(GoCall::Parked, 1, 40, 0),
                call(GoCall::Execute, 0, 50, 2),
                call(GoCall::Park, 0, 58, 2),
                call(GoCall::Parked, 0, 60, 0),
                // It was woken, if by the thread that goes on with it.
                call(GoCall::Ready, 0, 70, 2),
                call(GoCall::Execute, 0, 80, 2),
                call(GoCall::End, 0, 90, 2),
            ],
            &[],
            &OPTIONS,
        );
        let runs: Vec<_> = made.runs.iter().map(|run| (run.thread.as_usize(), run.start.0, run.end.0)).collect();
        assert_eq!(runs, [(0, 10, 20), (1, 30, 40), (0, 50, 60), (0, 80, 90)]);
    }

    #[test]
    fn one_whose_pause_was_not_seen_runs_on_one_thread_at_a_time() {
        let made = tables(
            &[
                call(GoCall::Execute, 0, 10, 2),
                call(GoCall::Execute, 1, 20, 2),
                // It left this thread before it went on there.
                call(GoCall::Execute, 0, 30, 3),
                call(GoCall::End, 1, 40, 2),
                call(GoCall::Execute, 1, 41, 4),
            ],
            &[],
            &ReplayOptions { is_attached: true, ..OPTIONS },
        );
        let runs: Vec<_> =
            made.runs.iter().map(|run| (run.task, run.thread.as_usize(), run.start.0, run.end.0)).collect();
        assert_eq!(runs, [(0, 0, 10, 20), (0, 1, 20, 40), (1, 0, 30, 1000), (2, 1, 41, 1000)]);
        assert!(made.tasks[0].outcome().is_uncertain && made.suspensions.is_empty());
    }
}
