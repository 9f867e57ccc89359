//! Callbacks, from calls with registers made by hand.

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ModuleId, RuntimeAddr, ThreadId, TraceNanos};
use ada_span::callback::{CERTAIN, CallbackSpan, LIKELY, POSSIBLE, PROBABLE};
use ada_span::{FunctionTrait, FunctionTraits, ReplayOptions, Role, ThreadIndex};

use crate::memory::{InMemory, MemoryThread, tables_of};

const OPTIONS: ReplayOptions = ReplayOptions::COMPLETE;

/// The program has module 1, the library module 2.
const MAIN: FunctionId = FunctionId::new(ModuleId(1), 0);
const CALLBACK: FunctionId = FunctionId::new(ModuleId(1), 1);
const WRAPPER: FunctionId = FunctionId::new(ModuleId(1), 2);
const SORT: FunctionId = FunctionId::new(ModuleId(2), 0);
const SORT_WITHIN: FunctionId = FunctionId::new(ModuleId(2), 1);
const REGISTER: FunctionId = FunctionId::new(ModuleId(2), 2);
const RUN_REGISTERED: FunctionId = FunctionId::new(ModuleId(2), 3);
const SIGNAL: FunctionId = FunctionId::new(ModuleId(2), 4);
const RESOLVE: FunctionId = FunctionId::new(ModuleId(2), 5);

fn address(function: FunctionId) -> u64 {
    u64::from(function.module().0) * 0x1_0000_0000 + 0x100 * u64::from(function.symbol_index())
}

fn traits() -> FunctionTraits {
    let mut traits = FunctionTraits::default();
    for module in [1, 2] {
        let of = |symbol: u32| {
            let function = FunctionId::new(ModuleId(module), symbol);
            FunctionTrait {
                role: match function {
                    SIGNAL => Role::SignalHandler,
                    RESOLVE => Role::LazyBinding,
                    _ => Role::Plain,
                },
                address: Some(RuntimeAddr(address(function))),
                ..FunctionTrait::default()
            }
        };
        traits.add_module(ModuleId(module), (0..6).map(of).collect());
    }
    traits
}

enum Line {
    Call(FunctionId, [u64; 6]),
    Jump(FunctionId, [u64; 6]),
    Back,
}
use Line::{Back, Call, Jump};

const NOTHING: [u64; 6] = [0; 6];

fn thread(id: u32, begin: u64, lines: &[Line]) -> MemoryThread {
    let mut thread = MemoryThread::new(id, Vec::new());
    let mut stack: Vec<FunctionId> = Vec::new();
    for (line, time) in lines.iter().zip((begin..).step_by(10)) {
        let (kind, function, registers) = match *line {
            Call(function, registers) => (EventKind::CALL, function, Some(registers)),
            Jump(function, registers) => {
                stack.pop();
                (EventKind::CALL, function, Some(registers))
            }
            Back => (EventKind::RETURN, stack.pop().expect("something is open"), None),
        };
        let (timestamp, depth) = (TraceNanos(time), stack.len() as u32);
        let thread_id = ThreadId(id);
        thread.events.push(Event { timestamp, function, thread: thread_id, kind, depth, detail: DetailSeq::NONE });
        if let Some(registers) = registers {
            stack.push(function);
            thread.detail(thread.events.len() - 1, registers, &[]);
        }
    }
    thread.info.events = thread.events.len() as u64;
    thread
}

fn callbacks(threads: Vec<MemoryThread>) -> Vec<CallbackSpan> {
    tables_of(&InMemory { threads }, &traits(), OPTIONS).1.meta().callbacks.clone()
}

fn holding(function: FunctionId) -> [u64; 6] {
    [1, 2, 3, address(function), 0, 0]
}

#[test]
fn a_function_that_runs_inside_the_call_that_was_handed_it_is_certain() {
    let lines = [
        Call(MAIN, NOTHING),
        Call(SORT, holding(CALLBACK)),
        Call(SORT_WITHIN, holding(CALLBACK)),
        Call(CALLBACK, NOTHING),
        Back,
        Call(CALLBACK, NOTHING),
        Back,
        Back,
        Back,
        Call(CALLBACK, NOTHING),
        Back,
    ];
    let found = callbacks(vec![thread(1, 1000, &lines)]);
    let expected = |seq: u64, close_seq: u64| CallbackSpan {
        thread: ThreadIndex(0),
        seq: EventSeq(seq),
        start: TraceNanos(1000 + 10 * seq),
        end: TraceNanos(1000 + 10 * close_seq),
        outcome: 0,
        close_seq: Some(EventSeq(close_seq)),
        function: CALLBACK,
        initiator_thread: ThreadIndex(0),
        initiator_seq: EventSeq(1),
        initiator_time: TraceNanos(1010),
        initiator_function: SORT,
        confidence: CERTAIN,
    };
    // The third call is the program's own.
    assert_eq!(found, [expected(3, 4), expected(5, 6)]);
}

#[test]
fn recursion_is_not_a_second_callback() {
    let recursion = [Call(CALLBACK, NOTHING), Call(CALLBACK, NOTHING), Back, Back];
    let mut lines = vec![Call(MAIN, NOTHING), Call(SORT, holding(CALLBACK))];
    lines.extend(recursion);
    lines.extend([Back, Back]);
    assert_eq!(callbacks(vec![thread(1, 0, &lines)]).iter().map(|it| it.seq.0).collect::<Vec<_>>(), [2]);
}

#[test]
fn the_call_that_jumped_on_is_the_initiator() {
    let lines = [
        Call(MAIN, NOTHING),
        Call(SORT, holding(CALLBACK)),
        Jump(SORT_WITHIN, holding(CALLBACK)),
        Call(CALLBACK, NOTHING),
        Back,
        Back,
    ];
    let found = callbacks(vec![thread(1, 0, &lines)]);
    assert_eq!(found.iter().map(|it| (it.seq.0, it.initiator_seq.0)).collect::<Vec<_>>(), [(3, 1)]);
    assert_eq!((found[0].initiator_function, found[0].confidence), (SORT, CERTAIN));
}

#[test]
fn a_registered_function_is_found_when_the_library_runs_it() {
    let lines = [
        Call(MAIN, NOTHING),
        Call(WRAPPER, [address(CALLBACK), 0, 0, 0, 0, 0]),
        Call(REGISTER, [address(CALLBACK), 0, 0, 0, 0, 0]),
        Back,
        Back,
        Back,
        Call(RUN_REGISTERED, NOTHING),
        Call(CALLBACK, NOTHING),
        Back,
        Back,
    ];
    let found = callbacks(vec![thread(1, 0, &lines)]);
    let found: Vec<_> = found.iter().map(|it| (it.seq.0, it.initiator_seq.0, it.confidence)).collect();
    assert_eq!(found, [(7, 1, PROBABLE)]);
}

#[test]
fn a_plain_call_within_the_program_is_no_callback() {
    let lines =
        [Call(MAIN, NOTHING), Call(REGISTER, [address(CALLBACK), 0, 0, 0, 0, 0]), Back, Call(CALLBACK, NOTHING), Back];
    assert_eq!(callbacks(vec![thread(1, 0, &lines)]), []);
}

#[test]
fn a_context_that_comes_back_on_another_thread_makes_a_match_likely() {
    let context = 0x7fff_1234_0000;
    let first = [
        Call(MAIN, NOTHING),
        Call(REGISTER, [address(CALLBACK), 0x7fff_0000_0000, 0, 0, 0, 0]),
        Back,
        Call(REGISTER, [address(CALLBACK), context, 0, 0, 0, 0]),
        Back,
        Call(REGISTER, [address(CALLBACK), 0x7fff_1111_0000, 0, 0, 0, 0]),
        Back,
    ];
    let second = [Call(RUN_REGISTERED, NOTHING), Call(CALLBACK, [context, 0, 0, 0, 0, 0]), Back, Back];
    let found = callbacks(vec![thread(1, 0, &first), thread(2, 1000, &second)]);
    let [span] = found[..] else { panic!("one: {found:?}") };
    assert_eq!((span.thread, span.initiator_thread, span.initiator_seq), (ThreadIndex(1), ThreadIndex(0), EventSeq(3)));
    assert_eq!(span.confidence, LIKELY);
}

#[test]
fn several_registrations_without_a_context_leave_doubt() {
    let lines = [
        Call(MAIN, NOTHING),
        Call(REGISTER, [address(CALLBACK), 0, 0, 0, 0, 0]),
        Back,
        Call(REGISTER, [address(CALLBACK), 0, 0, 0, 0, 0]),
        Back,
        // What an earlier call put in a later register is not what the call was handed.
        Call(REGISTER, [0, 0, 0, 0, 0, address(CALLBACK)]),
        Back,
        Back,
        Call(RUN_REGISTERED, NOTHING),
        Call(CALLBACK, NOTHING),
        Back,
        Back,
    ];
    let found = callbacks(vec![thread(1, 0, &lines)]);
    let found: Vec<_> = found.iter().map(|it| (it.seq.0, it.initiator_seq.0, it.confidence)).collect();
    assert_eq!(found, [(9, 3, POSSIBLE)]);
}

#[test]
fn a_signal_handler_interrupts_anything() {
    let lines = [
        Call(MAIN, NOTHING),
        Call(SIGNAL, [10, address(CALLBACK), 0, 0, 0, 0]),
        Back,
        Call(WRAPPER, NOTHING),
        Call(CALLBACK, [10, 0, 0, 0, 0, 0]),
        Back,
        Back,
    ];
    let found = callbacks(vec![thread(1, 0, &lines)]);
    let found: Vec<_> = found.iter().map(|it| (it.seq.0, it.initiator_seq.0, it.confidence)).collect();
    assert_eq!(found, [(4, 1, LIKELY)]);
}

#[test]
fn nothing_runs_before_it_is_handed_over_and_lazy_binding_hands_nothing_over() {
    let lines = [
        Call(MAIN, NOTHING),
        Call(RUN_REGISTERED, NOTHING),
        Call(CALLBACK, NOTHING),
        Back,
        Back,
        Call(RESOLVE, [address(CALLBACK), 0, 0, 0, 0, 0]),
        Back,
        Call(RUN_REGISTERED, NOTHING),
        Call(CALLBACK, NOTHING),
        Back,
        Back,
        Call(REGISTER, [address(CALLBACK), 0, 0, 0, 0, 0]),
        Back,
    ];
    assert_eq!(callbacks(vec![thread(1, 0, &lines)]), []);
}
