//! Swift's concurrency runtime: libswift_Concurrency and the two functions of libswiftCore that it calls for each task's
//! running and pausing. Seen with Swift 6.0.3 on Linux; 6.1 and 6.2 have the same functions in their sources.

use ada_ring::probe::{Base, Read};

use crate::plan::probes::{Probe, Runtime, call_only, probe};

/// Where a task's words begin that are read whole: flags and id, then up to its status, which is the last.
const HEAD: i16 = 0x20;
const HEAD_WORDS: u8 = 9;
/// The task that these two functions are about lies so far below their argument.
const LOCAL_CONTEXT: i16 = 0x50;

const fn task(base: Base) -> Read {
    Read::words(base, HEAD, HEAD_WORDS)
}

/// Flags and id alone.
const fn task_id(base: Base) -> Read {
    Read::words(base, HEAD, 1)
}

const RAN: [Read; 1] = [Read::words(Base::Argument1, HEAD - LOCAL_CONTEXT, HEAD_WORDS)];
const FIRST: [Read; 1] = [task(Base::Argument1)];
const FIRST_ID: [Read; 1] = [task_id(Base::Argument1)];
const SECOND_ID: [Read; 1] = [task_id(Base::Argument2)];
/// Of a new task: itself, and the function in its first context that will complete it.
const CREATED: [Read; 2] = [task(Base::Result), Read::words(Base::SecondResult, 8, 1)];

/// Of a continuation's context: the function that goes on, and that of the context below.
const AWAITED: [Read; 2] = [Read::words(Base::Argument1, 8, 1), Read::through(Base::Argument1, 0, 8, 1)];

/// The row of functions without names by which tasks end.
pub(super) const COMPLETION: &str = "(a task's completion)";
/// Words for the names of a type.
const TYPE_WORDS: u8 = 22;

/// An error's box has the metadata of its type behind its own head, then the conformance, then the error.
const fn error_type(base: Base) -> Read {
    Read::swift_type(base, 0x10, Some(0x20), TYPE_WORDS)
}

/// What a task has thrown, or 0; and its type.
const COMPLETED: [Read; 2] = [Read::value(Base::SwiftSelf), error_type(Base::SwiftSelf)];

pub(super) const PROBES: &[Probe] = &[
    // Running and pausing.
    probe("swift_task_enterThreadLocalContext", &RAN, &[]),
    probe("swift_task_exitThreadLocalContext", &RAN, &[]),
    probe("swift_job_run", &FIRST, &[]),
    probe("swift_job_run_on_task_executor", &FIRST, &[]),
    probe("swift_job_run_on_serial_and_task_executor", &FIRST, &[]),
    // Creation: the distance from the descriptor to the task's function; in the second, the function is an argument.
    probe("swift_task_create", &[Read::words(Base::Argument4, 0, 1)], &CREATED),
    probe("swift_task_create_common", &[], &CREATED),
    // Becoming ready to run, and where.
    probe("swift_task_enqueue", &FIRST, &[]),
    probe("swift_task_enqueueGlobal", &FIRST_ID, &[]),
    probe("swift_task_enqueueMainExecutor", &FIRST_ID, &[]),
    probe("swift_task_enqueueOnDispatchQueue", &FIRST_ID, &[]),
    probe("swift_task_enqueueGlobalWithDelay", &SECOND_ID, &[]),
    probe("swift_task_enqueueGlobalWithDeadline", &[task_id(Base::Argument6)], &[]),
    // What a task waits for.
    probe("swift_task_switch", &[], &[]),
    probe("swift_task_getMainExecutor", &[], &[]),
    probe("swift_continuation_init", &[], &[task_id(Base::Result)]),
    probe("swift_continuation_await", &AWAITED, &[]),
    probe("swift_continuation_resume", &FIRST, &[]),
    probe("swift_continuation_throwingResume", &FIRST, &[]),
    probe("swift_continuation_throwingResumeWithError", &FIRST, &[]),
    probe("swift_task_createNullaryContinuationJob", &SECOND_ID, &[]),
    probe("swift_task_future_wait", &SECOND_ID, &[]),
    probe("swift_task_future_wait_throwing", &SECOND_ID, &[]),
    probe("swift_asyncLet_begin", &[], &[]),
    probe("swift_asyncLet_get", &[], &[]),
    probe("swift_asyncLet_get_throwing", &[], &[]),
    probe("swift_asyncLet_finish", &[], &[]),
    probe("swift_taskGroup_initialize", &[], &[]),
    probe("swift_taskGroup_initializeWithFlags", &[], &[]),
    probe("swift_taskGroup_attachChild", &SECOND_ID, &[]),
    probe("swift_taskGroup_wait_next_throwing", &[], &[]),
    probe("swift_taskGroup_waitAll", &[], &[]),
    probe("swift_taskGroup_cancelAll", &[], &[]),
    probe("swift_taskGroup_destroy", &[], &[]),
    // Cancellation.
    probe("swift_task_cancel", &FIRST, &[]),
    // The end, with what was thrown; and the end of `main` by what it has thrown, which ends the process.
    call_only(COMPLETION, &COMPLETED),
    call_only("swift_errorInMain", &[Read::value(Base::Argument1), error_type(Base::Argument1)]),
    // A new actor: its type.
    call_only("swift_defaultActor_initialize", &[Read::swift_type(Base::Argument1, 0, None, TYPE_WORDS)]),
];

pub(super) const RUNTIME: Runtime = Runtime {
    name: "Swift concurrency",
    marks: &["swift_task_create", "swift_job_run", "swift_task_enqueueGlobal"],
    vital: &[
        "swift_task_enterThreadLocalContext",
        "swift_task_exitThreadLocalContext",
        "swift_job_run",
        "swift_task_create",
        "swift_task_enqueue",
    ],
    needs: &[
        (&["swift_task_enterThreadLocalContext"], "no spans of tasks: their running is not seen"),
        (&["swift_task_exitThreadLocalContext"], "no spans of tasks: their suspensions are not seen"),
        (
            &["swift_job_run", "swift_job_run_on_serial_and_task_executor"],
            "the ends of tasks are only known where another one runs next",
        ),
        (&["swift_task_create", "swift_task_create_common"], "tasks have no creators and no names"),
        (&["swift_task_enqueue"], "when a waiting task became ready to run is not known"),
        (&["swift_task_switch"], "changes of executors look like other suspensions"),
        (&["swift_continuation_init"], "continuations that are resumed look like orphans"),
        (&["swift_continuation_await"], "suspensions on continuations have no continuation"),
        (&["swift_continuation_resume"], "who resumed a continuation is not known"),
        (&["swift_continuation_throwingResume"], "who resumed a throwing continuation is not known"),
        (&["swift_task_future_wait"], "who asked for the results of tasks that cannot throw is not known"),
        (&["swift_task_future_wait_throwing"], "who asked for the results of tasks that can throw is not known"),
        (&["swift_defaultActor_initialize"], "actors have no names"),
        (&["swift_taskGroup_wait_next_throwing", "swift_taskGroup_waitAll"], "waits for groups look like other waits"),
        (&["swift_task_cancel"], "cancellations are not seen"),
    ],
};
