//! Threads as logical spans, from calls with registers made by hand.

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ModuleId, RuntimeAddr, TraceNanos};
use ada_span::pthread::{PthreadSpan, ThreadEnd};
use ada_span::{FunctionTrait, FunctionTraits, NONE, Outcome, Reason, ReplayOptions, Role, Status, ThreadIndex};

use crate::memory::{InMemory, MemoryThread, tables_of};

const MAIN: u32 = 0;
const CREATE: u32 = 1;
const JOIN: u32 = 2;
const DETACH: u32 = 3;
const EXIT: u32 = 4;
const CANCEL: u32 = 5;
const START: u32 = 6;
const UNWIND: u32 = 7;
const BODY: u32 = 8;
const OTHER_BODY: u32 = 9;
const TRAMPOLINE: u32 = 10;
const JOIN_WITHIN: u32 = 11;
const JOIN_INT: u32 = 12;
const NAME: u32 = 13;
const SETUP: u32 = 14;
const TEARDOWN: u32 = 15;
const RETHROW: u32 = 16;

const OPTIONS: ReplayOptions = ReplayOptions::COMPLETE;

fn address(function: u32) -> u64 {
    0x40_0000 + 0x100 * u64::from(function)
}

fn traits() -> FunctionTraits {
    let role = |function: u32| match function {
        CREATE => Role::ThreadCreate,
        JOIN => Role::ThreadJoin,
        JOIN_INT => Role::ThreadJoinInt,
        NAME => Role::ThreadName,
        DETACH => Role::ThreadDetach,
        EXIT => Role::ThreadExit,
        CANCEL => Role::ThreadCancel,
        START => Role::ThreadStart,
        UNWIND => Role::ForcedUnwind,
        SETUP => Role::ThreadSetup,
        TEARDOWN => Role::ThreadTeardown,
        RETHROW => Role::Rethrow,
        _ => Role::Plain,
    };
    let of = |function: u32| FunctionTrait {
        role: role(function),
        is_skipped: false,
        is_entry_only: false,
        is_unnamed: false,
        is_runtime: matches!(function, CREATE..=UNWIND | TRAMPOLINE..),
        is_library: matches!(function, CREATE..=UNWIND | TRAMPOLINE..),
        address: Some(RuntimeAddr(address(function))),
        ..FunctionTrait::default()
    };
    let mut traits = FunctionTraits::default();
    traits.add_module(ModuleId(1), (0..=RETHROW).map(of).collect());
    traits
}

/// A thread that is written event by event, at times of the test's choosing.
struct Script {
    thread: MemoryThread,
    stack: Vec<u32>,
}

impl Script {
    fn new(id: u32) -> Self {
        Self { thread: MemoryThread::new(id, Vec::new()), stack: Vec::new() }
    }

    fn emit(&mut self, time: u64, kind: EventKind, function: u32) -> usize {
        self.thread.events.push(Event {
            timestamp: TraceNanos(time),
            function: FunctionId::new(ModuleId(1), function),
            thread: self.thread.info.id,
            kind,
            depth: self.stack.len() as u32,
            detail: DetailSeq::NONE,
        });
        self.thread.info.events += 1;
        self.thread.events.len() - 1
    }

    fn call(mut self, time: u64, function: u32) -> Self {
        self.emit(time, EventKind::CALL, function);
        self.stack.push(function);
        self
    }

    fn call_with(mut self, time: u64, function: u32, registers: [u64; 6]) -> Self {
        let seq = self.emit(time, EventKind::CALL, function);
        self.stack.push(function);
        self.thread.detail(seq, registers, &[]);
        self
    }

    fn end(mut self, time: u64, kind: EventKind) -> Self {
        let function = self.stack.pop().expect("something is open");
        self.emit(time, kind, function);
        self
    }

    fn back(self, time: u64) -> Self {
        self.end(time, EventKind::RETURN)
    }

    fn back_with(self, time: u64, result: u64, words: &[u64]) -> Self {
        let mut script = self.back(time);
        let last = script.thread.events.len() - 1;
        script.thread.detail(last, [result, 0, 0, 0, 0, 0], words);
        script
    }

    fn jump(mut self, time: u64, function: u32) -> Self {
        self.stack.pop();
        self.call(time, function)
    }

    /// `pthread_create(&handle, 0, routine, argument)`.
    fn create(self, time: u64, routine: u32, argument: u64, handle: u64) -> Self {
        let arguments = [0x7000, 0, address(routine), argument, 0, 0];
        self.call_with(time, CREATE, arguments).back_with(time + 10, 0, &[handle])
    }

    fn one_argument(self, time: u64, end: u64, function: u32, argument: u64) -> Self {
        self.call_with(time, function, [argument, 0, 0, 0, 0, 0]).back_with(end, 0, &[])
    }

    fn first(mut self) -> MemoryThread {
        self.thread.info.is_first = true;
        self.thread
    }

    fn with_handle(mut self, handle: u64) -> MemoryThread {
        self.thread.info.handle = Some(handle);
        self.thread
    }

    fn done(self) -> MemoryThread {
        self.thread
    }
}

fn spans_of(threads: Vec<MemoryThread>) -> Vec<PthreadSpan> {
    tables_of(&InMemory { threads }, &traits(), OPTIONS).1.meta().pthreads.clone()
}

fn at(time: u64) -> Option<TraceNanos> {
    Some(TraceNanos(time))
}

fn index(number: u32) -> Option<ThreadIndex> {
    Some(ThreadIndex(number))
}

fn body(id: u32, start: u64) -> Script {
    Script::new(id).call(start - 5, START).call(start, BODY)
}

#[test]
fn a_thread_has_a_creator_a_routine_a_latency_and_a_join() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 0x55, 0x9000).one_argument(200, 900, JOIN, 0x9000);
    let spans = spans_of(vec![main.first(), body(2, 150).back(800).with_handle(0x9000)]);
    let [span] = spans[..] else { panic!("one thread: {spans:?}") };
    assert_eq!(
        (span.creator, span.create_seq, span.create_time, span.confidence),
        (index(0), Some(EventSeq(1)), at(100), 100)
    );
    assert_eq!((span.start, span.end, span.spawn_latency()), (TraceNanos(150), TraceNanos(800), Some(50)));
    assert_eq!((span.handle, span.routine_address, span.argument), (0x9000, Some(RuntimeAddr(address(BODY))), 0x55));
    assert_eq!((span.joiner, span.join_time, span.join_end, span.is_detached), (index(0), at(200), at(900), 0));
    assert_eq!((span.end_how(), span.outcome().status, span.level), (ThreadEnd::Return, Status::Completed, 1));
    assert!(!span.outcome().is_uncertain);
}

#[test]
fn handles_that_are_used_again_mean_the_thread_of_their_time() {
    let mut main = Script::new(1).call(0, MAIN);
    let mut threads = Vec::new();
    for round in 0..100 {
        let time = 1000 * round + 100;
        main = main.create(time, BODY, round, 0x9000).one_argument(time + 100, time + 800, JOIN, 0x9000);
        threads.push(body(2 + round as u32, time + 50).back(time + 700).with_handle(0x9000));
    }
    threads.insert(0, main.first());
    let spans = spans_of(threads);
    assert_eq!(spans.len(), 100);
    for (round, span) in (0..).zip(&spans) {
        let time = 1000 * round + 100;
        assert_eq!(
            (span.thread, span.create_time, span.join_time, span.argument),
            (ThreadIndex(round as u32 + 1), at(time), at(time + 100), round)
        );
        assert_eq!(span.confidence, 100);
    }
}

#[test]
fn without_handles_the_routine_and_its_argument_decide() {
    let main = Script::new(1)
        .call(0, MAIN)
        .call_with(100, CREATE, [0, 0, address(OTHER_BODY), 7, 0, 0])
        .back(110)
        .call_with(120, CREATE, [0, 0, address(BODY), 8, 0, 0])
        .back(130);
    // The second thread is the faster one.
    let with_argument = |id: u32, start: u64, routine: u32, argument: u64| {
        let script = Script::new(id).call(start - 5, START);
        script.call_with(start, routine, [argument, 0, 0, 0, 0, 0]).back(start + 100).done()
    };
    let threads = vec![main.first(), with_argument(2, 300, OTHER_BODY, 7), with_argument(3, 200, BODY, 8)];
    let spans = spans_of(threads);
    let found: Vec<_> = spans.iter().map(|span| (span.thread, span.create_time, span.confidence)).collect();
    assert_eq!(found, [(ThreadIndex(2), at(120), 90), (ThreadIndex(1), at(100), 90)]);
}

#[test]
fn without_registers_time_decides_and_doubt_is_marked() {
    let main = || Script::new(1).call(0, MAIN);
    let alone = main().call(100, CREATE).back(110).call(1000, CREATE).back(1010);
    let spans = spans_of(vec![alone.first(), body(2, 200).back(300).done(), body(3, 1100).back(1200).done()]);
    assert_eq!(
        spans.iter().map(|it| (it.create_time, it.confidence)).collect::<Vec<_>>(),
        [(at(100), 60), (at(1000), 60)]
    );
    let together = main().call(100, CREATE).back(110).call(120, CREATE).back(130);
    let spans = spans_of(vec![together.first(), body(2, 200).back(300).done(), body(3, 210).back(300).done()]);
    assert_eq!(
        spans.iter().map(|it| (it.create_time, it.confidence)).collect::<Vec<_>>(),
        [(at(100), 30), (at(120), 30)]
    );
    assert!(spans.iter().all(|span| span.outcome().is_uncertain));
}

#[test]
fn a_creation_that_failed_made_nothing() {
    let arguments = [0, 0, address(BODY), 0, 0, 0];
    let main = Script::new(1).call(0, MAIN).call_with(100, CREATE, arguments).back_with(110, 11, &[0]);
    let main = main.create(200, BODY, 0, 0x9000);
    let spans = spans_of(vec![main.first(), body(2, 250).back(300).with_handle(0x9000)]);
    assert_eq!(spans[0].create_time, at(200));
}

#[test]
fn a_thread_ends_by_exit_by_cancellation_or_with_its_process() {
    let main = Script::new(1)
        .call(0, MAIN)
        .create(100, BODY, 0, 0xa)
        .create(200, BODY, 0, 0xb)
        .create(300, BODY, 0, 0xc)
        .one_argument(420, 430, CANCEL, 0xb)
        .one_argument(440, 450, DETACH, 0xc);
    let exiting = body(2, 150).call_with(160, EXIT, [0x77, 0, 0, 0, 0, 0]).call(170, UNWIND);
    let exiting = (0..3).fold(exiting, |script, n| script.end(180 + n, EventKind::EXCEPTION));
    let canceled = body(3, 250).call(435, UNWIND).end(440, EventKind::EXCEPTION).end(441, EventKind::EXCEPTION);
    let spans = spans_of(vec![
        main.first(),
        exiting.with_handle(0xa),
        canceled.with_handle(0xb),
        body(4, 350).with_handle(0xc),
    ]);
    let ends: Vec<_> = spans.iter().map(|span| (span.end_how(), span.outcome().status)).collect();
    assert_eq!(
        ends,
        [
            (ThreadEnd::Exit, Status::Exited),
            (ThreadEnd::Cancel, Status::Canceled),
            (ThreadEnd::ProcessEnd, Status::Unmatched)
        ]
    );
    assert_eq!((spans[0].exit_value, spans[0].end), (0x77, TraceNanos(182)));
    assert_eq!(spans[1].canceler, index(0));
    assert_eq!((spans[2].is_detached, spans[2].joiner), (1, None));
}

#[test]
fn the_programs_function_is_named_and_not_what_leads_to_it() {
    let main = Script::new(1).call(0, MAIN).create(100, TRAMPOLINE, 0, 0x9000);
    let thread = Script::new(2).call(145, START).call(150, TRAMPOLINE).call(160, OTHER_BODY).back(170).back(180);
    let spans = spans_of(vec![main.first(), thread.with_handle(0x9000)]);
    let [span] = spans[..] else { panic!("one thread") };
    assert_eq!(
        (span.function, span.routine_function),
        (Some(FunctionId((1 << 32) + 9)), Some(FunctionId((1 << 32) + 10)))
    );
    assert_eq!((span.start, span.end), (TraceNanos(150), TraceNanos(180)));
}

#[test]
fn a_thread_that_did_nothing_is_named_after_what_it_was_created_for() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 0, 0x9000);
    let thread = Script::new(2).call(150, START).with_handle(0x9000);
    let spans = spans_of(vec![main.first(), thread]);
    let [span] = spans[..] else { panic!("one thread") };
    let named = Some(FunctionId::new(ModuleId(1), BODY));
    assert_eq!((span.function, span.end_how(), span.creator), (named, ThreadEnd::ProcessEnd, index(0)));
    assert_eq!((span.routine_seq, span.outcome().is_uncertain), (None, false));
}

/// glibc's calls before and after the start routine.
fn set_up(id: u32, start: u64) -> Script {
    Script::new(id).call(start, START).call(start + 1, SETUP).back(start + 2)
}

fn torn_down(script: Script, time: u64) -> Script {
    script.call(time, TEARDOWN).back(time + 1)
}

#[test]
fn a_routine_without_a_hook_lasts_from_the_threads_set_up_to_its_teardown() {
    let main = (0..5).fold(Script::new(1).call(0, MAIN), |main, n| main.create(100 + 20 * n, BODY, n, 0xa + n));
    let called = |script: Script, time: u64| script.call(time, OTHER_BODY).back(time + 1);
    let returning = torn_down(called(set_up(2, 200), 250), 300);
    let exiting = set_up(3, 200).call_with(250, EXIT, [7, 0, 0, 0, 0, 0]).call(260, UNWIND);
    let exiting = exiting.end(270, EventKind::EXCEPTION).end(271, EventKind::EXCEPTION);
    let canceled = called(set_up(4, 200), 250).call(260, UNWIND).end(270, EventKind::EXCEPTION);
    let running = called(set_up(5, 200), 250);
    let joined = called(set_up(6, 200), 250);
    let main = main.one_argument(400, 450, JOIN, 0xe).back(900);
    let spans = spans_of(vec![
        main.first(),
        returning.with_handle(0xa),
        torn_down(exiting, 300).with_handle(0xb),
        torn_down(canceled, 300).with_handle(0xc),
        running.with_handle(0xd),
        joined.with_handle(0xe),
    ]);
    let said = |span: &PthreadSpan| (span.end_how(), span.outcome().status, span.outcome().is_uncertain, span.end.0);
    assert_eq!(
        spans.iter().map(said).collect::<Vec<_>>(),
        [
            (ThreadEnd::Return, Status::Completed, false, 300),
            (ThreadEnd::Exit, Status::Exited, false, 300),
            (ThreadEnd::Cancel, Status::Canceled, false, 300),
            (ThreadEnd::ProcessEnd, Status::Unmatched, false, 251),
            (ThreadEnd::Inferred, Status::Exited, true, 251),
        ]
    );
    for span in spans {
        assert_eq!((span.function, span.start), (Some(FunctionId::new(ModuleId(1), BODY)), TraceNanos(202)));
    }
}

#[test]
fn a_handler_that_throws_on_does_not_stop_the_end_of_a_thread() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 0, 0xa).create(110, BODY, 0, 0xb);
    let caught = |script: Script| {
        let script = script.call(270, RETHROW).call(271, RETHROW);
        torn_down((0..3).fold(script, |it, n| it.end(280 + n, EventKind::EXCEPTION)), 290)
    };
    let exiting = set_up(2, 200).call(210, BODY).call_with(220, EXIT, [7, 0, 0, 0, 0, 0]);
    let canceled = set_up(3, 200).call(210, BODY).call(220, UNWIND);
    let spans = spans_of(vec![
        main.first(),
        caught(exiting.end(230, EventKind::EXCEPTION)).with_handle(0xa),
        caught(canceled.end(230, EventKind::EXCEPTION)).with_handle(0xb),
    ]);
    let said = |span: &PthreadSpan| (span.end_how(), span.outcome().status, span.end.0);
    let ends = [(ThreadEnd::Exit, Status::Exited, 282), (ThreadEnd::Cancel, Status::Canceled, 282)];
    assert_eq!(spans.iter().map(said).collect::<Vec<_>>(), ends);
}

/// The signal that cancels may hit a call that has returned, but for its record. Whoever clears the stack up writes it.
#[test]
fn a_return_that_a_cancellation_has_interrupted_does_not_stop_it() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 0, 0xa);
    let canceled = set_up(2, 200).call(210, BODY).call(215, OTHER_BODY).call(216, OTHER_BODY).call(220, UNWIND);
    let canceled = canceled.end(230, EventKind::EXCEPTION).back(231);
    let canceled = canceled.end(232, EventKind::EXCEPTION).end(233, EventKind::EXCEPTION);
    let spans = spans_of(vec![main.first(), torn_down(canceled, 240).with_handle(0xa)]);
    let [span] = spans[..] else { panic!("one thread: {spans:?}") };
    assert_eq!(
        (span.end_how(), span.end, span.outcome().status),
        (ThreadEnd::Cancel, TraceNanos(233), Status::Canceled)
    );
}

#[test]
fn a_thread_whose_first_events_were_lost_has_a_creator_and_says_so() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 0x55, 0x9000);
    let thread = set_up(2, 150).call(160, BODY).call(170, OTHER_BODY).call(180, OTHER_BODY).back(190);
    let mut thread = torn_down(thread.back(195).back(200), 210).with_handle(0x9000);
    thread.events.drain(..5);
    thread.info.events -= 5;
    thread.losses = vec![TraceNanos(180)];
    let tables = tables_of(&InMemory { threads: vec![main.first(), thread] }, &traits(), OPTIONS).1;
    let [span] = tables.meta().pthreads[..] else { panic!("one thread") };
    assert_eq!((span.creator, span.create_time, span.confidence), (index(0), at(100), 100));
    assert_eq!((span.function, span.end_how()), (Some(FunctionId::new(ModuleId(1), BODY)), ThreadEnd::Return));
    assert_eq!((span.start, span.end), (TraceNanos(180), TraceNanos(200)), "what is known of it");
    let outcome = span.outcome();
    assert_eq!((outcome.status, outcome.reason, outcome.is_uncertain), (Status::Unmatched, Reason::Dropped, true));
    let dropped = Outcome::new(Status::Unmatched, Reason::Dropped).to_byte();
    assert!(tables.meta().threads[1].outcomes.contains(&(dropped, 2)), "two calls whose beginnings were lost");
}

/// The end of one creation and the beginning of the other are among what was lost: what is left does not make one of both.
#[test]
fn an_end_behind_a_loss_says_nothing_of_a_call_before_it() {
    let arguments = [0x7000, 0, address(OTHER_BODY), 7, 0, 0];
    let main = Script::new(1).call(0, MAIN).call_with(100, CREATE, arguments).back_with(510, 0, &[0xb000]);
    let mut main = main.first();
    main.losses = vec![TraceNanos(505)];
    let spans = spans_of(vec![main, body(2, 550).back(600).with_handle(0xb000)]);
    let [span] = spans[..] else { panic!("one thread: {spans:?}") };
    assert!(span.confidence < 90 && span.outcome().is_uncertain, "{span:?}");
}

#[test]
fn a_creation_that_failed_says_why() {
    let arguments = [0, 0, address(BODY), 0, 0, 0];
    let main = Script::new(1).call(0, MAIN).call_with(100, CREATE, arguments).back_with(110, 0xffff_0000_000b, &[0]);
    let tables = tables_of(&InMemory { threads: vec![main.first()] }, &traits(), OPTIONS).1;
    let [failed] = tables.meta().failed_creations[..] else { panic!("one failed") };
    assert_eq!(
        (failed.error, failed.time, failed.routine_address),
        (11, TraceNanos(100), Some(RuntimeAddr(address(BODY))))
    );
}

#[test]
fn a_routine_that_jumps_to_another_function_goes_on_in_it() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 0, 0x9000);
    let thread = body(2, 150).call(160, OTHER_BODY).back(170).jump(200, OTHER_BODY).jump(300, BODY);
    let thread = thread.call(310, OTHER_BODY).back(320).back_with(800, 7, &[]).with_handle(0x9000);
    let spans = spans_of(vec![main.first(), thread]);
    let [span] = spans[..] else { panic!("one thread: {spans:?}") };
    assert_eq!((span.start, span.end, span.exit_value), (TraceNanos(150), TraceNanos(800), 7));
    assert_eq!((span.end_how(), span.outcome().status), (ThreadEnd::Return, Status::Completed));
    assert_eq!(span.routine_function, Some(FunctionId::new(ModuleId(1), BODY)));
}

#[test]
fn a_thread_from_before_the_recording_has_no_creator_and_is_named_by_what_returned() {
    let mut thread =
        body(2, 150).call(160, OTHER_BODY).call(170, BODY).back(180).back(500).back(600).with_handle(0x9000);
    thread.events.drain(..3);
    let main = Script::new(1).call(0, MAIN).call_with(140, CREATE, [0; 6]).back_with(145, 0, &[0x8000]);
    let spans = spans_of(vec![main.first(), thread]);
    let [span] = spans[..] else { panic!("one thread: {spans:?}") };
    assert_eq!((span.creator, span.function), (None, Some(FunctionId::new(ModuleId(1), BODY))));
    assert_eq!((span.end, span.end_how()), (TraceNanos(600), ThreadEnd::Return));
    assert_eq!((span.outcome().status, span.outcome().reason), (Status::Unmatched, Reason::AttachedMidway));
}

#[test]
fn threads_of_a_process_that_was_attached_to_may_have_been_there_before() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 0x55, 0x9000);
    let mut before = Script::new(2).call(50, OTHER_BODY).back(60).call(70, BODY).back(80).with_handle(0x8000);
    let mut after = body(3, 150).back(800).with_handle(0x9000);
    (before.info.is_attached, after.info.is_attached) = (true, true);
    let spans = spans_of(vec![main.first(), before, after]);
    let [before, after] = spans[..] else { panic!("two threads: {spans:?}") };
    assert_eq!((before.function, before.creator, before.end_how()), (None, None, ThreadEnd::ProcessEnd));
    assert_eq!(
        (before.start, before.end, before.outcome().reason),
        (TraceNanos(50), TraceNanos(80), Reason::ProcessExit)
    );
    assert_eq!((after.create_time, after.end_how(), after.end), (at(100), ThreadEnd::Return, TraceNanos(800)));
}

#[test]
fn threads_that_create_threads_have_levels() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 0, 2);
    let mut threads = vec![main.first()];
    for id in 2..7 {
        let start = 100 * u64::from(id);
        threads.push(body(id, start).create(start + 50, BODY, 0, u64::from(id) + 1).back(5000).with_handle(id.into()));
    }
    let spans = spans_of(threads);
    assert_eq!(spans.iter().map(|span| span.level).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(spans.iter().map(|span| span.creator).collect::<Vec<_>>(), [0, 1, 2, 3, 4].map(index));
}

#[test]
fn exit_values_come_from_joins_and_names_from_the_program() {
    let name = [u64::from_le_bytes(*b"worker-o"), u64::from_le_bytes(*b"ne\0\xff\xff\xff\xff\xff")];
    let main = Script::new(1)
        .call(0, MAIN)
        .create(100, BODY, 0, 0xa)
        .create(200, BODY, 0, 0xb)
        .call_with(300, JOIN, [0xa, 0x8000, 0, 0, 0, 0])
        .back_with(900, 0, &[0x77])
        .call_with(910, JOIN_INT, [0xb, 0x8000, 0, 0, 0, 0])
        .back_with(920, 0, &[0x5555_0000_0003]);
    let mut naming = body(2, 150);
    naming = naming.call_with(160, NAME, [0xa, 0x8100, 0, 0, 0, 0]).back_with(165, 0, &[]).back(800);
    naming.thread.details[0].0.words = name.to_vec();
    let spans = spans_of(vec![main.first(), naming.with_handle(0xa), body(3, 250).back(850).with_handle(0xb)]);
    assert_eq!((spans[0].exit_value, spans[1].exit_value), (0x77, 3));
    assert_eq!((spans[0].given_name().as_deref(), spans[1].given_name()), (Some("worker-one"), None));
}

#[test]
fn attributes_say_whether_a_thread_starts_detached() {
    let with_attributes = |script: Script, time: u64, handle: u64, flags: u64| {
        let mut script = script.call_with(time, CREATE, [0x7000, 0x6000, address(BODY), 0, 0, 0]);
        let last = script.thread.details.len() - 1;
        script.thread.details[last].0.words = vec![flags, u64::MAX, u64::MAX];
        script.back_with(time + 10, 0, &[handle])
    };
    let main = with_attributes(Script::new(1).call(0, MAIN), 100, 0xa, 1);
    let main = with_attributes(main, 200, 0xb, 0).create(300, BODY, 0, 0xc);
    let main = with_attributes(main, 400, 0xd, u64::MAX);
    let thread = |id: u32| body(id, 100 * u64::from(id) - 50).back(900).with_handle(8 + u64::from(id));
    let spans = spans_of(vec![main.first(), thread(2), thread(3), thread(4), thread(5)]);
    assert_eq!(spans.iter().map(|span| span.is_detached).collect::<Vec<_>>(), [1, 0, 0, NONE]);
}

#[test]
fn two_threads_under_one_id_are_two_spans() {
    let main = Script::new(1).call(0, MAIN).create(100, BODY, 1, 0xa).create(1000, OTHER_BODY, 2, 0xa);
    let first = body(2, 150).back(300);
    let mut both = first.call(305, BODY).back(306);
    both.stack.clear();
    let both = both.call(1050, START).call(1060, OTHER_BODY).call_with(1070, EXIT, [0x55, 0, 0, 0, 0, 0]).done();
    let spans = spans_of(vec![main.first(), both]);
    let [first, second] = spans[..] else { panic!("two: {spans:?}") };
    let life = |span: &PthreadSpan| (span.thread, span.begin_seq, span.create_time, span.start);
    assert_eq!(life(&first), (ThreadIndex(1), EventSeq(0), at(100), TraceNanos(150)));
    assert_eq!(life(&second), (ThreadIndex(1), EventSeq(5), at(1000), TraceNanos(1060)));
    assert_eq!(first.end, TraceNanos(300));
    assert_eq!((first.exit_value, second.exit_value), (NONE, 0x55), "what a call says is of the life that it is in");
    assert_eq!(first.end_how(), ThreadEnd::Return);
}

#[test]
fn a_join_that_jumps_to_another_function_ends_when_that_does() {
    let main = Script::new(1)
        .call(0, MAIN)
        .create(100, BODY, 0, 0x9000)
        .call_with(200, JOIN, [0x9000, 0, 0, 0, 0, 0])
        .jump(201, JOIN_WITHIN)
        .back(900);
    let spans = spans_of(vec![main.first(), body(2, 150).back(800).with_handle(0x9000)]);
    assert_eq!((spans[0].join_time, spans[0].join_end), (at(200), at(900)));
}

#[test]
fn ten_thousand_threads_find_their_creators() {
    let mut main = Script::new(1).call(0, MAIN);
    let mut threads = Vec::new();
    for number in 0..10_000_u64 {
        let time = 100 * number + 100;
        main = main.create(time, BODY, number, 0x9000 + number % 50);
        threads.push(body(2 + number as u32, time + 40).back(time + 60).with_handle(0x9000 + number % 50));
    }
    threads.insert(0, main.first());
    let spans = spans_of(threads);
    assert!((0..).zip(&spans).all(|(number, span)| (span.argument, span.confidence) == (number, 100)));
    assert_eq!(spans.len(), 10_000);
}
