//! The functions of Swift's runtime whose calls report what becomes of tasks.

/// What such a function says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SwiftCall {
    /// A task begins to run, or goes on.
    Enter,
    /// It pauses.
    Exit,
    /// An executor runs a job, which may be several tasks in turn.
    JobRun,
    /// A task is made.
    Create,
    /// The same, further inside.
    CreateInside,
    /// A task has nothing more to do. No symbol: its address is in each new task.
    Complete,
    /// A task can run.
    Enqueue,
    /// The same, as it goes to the pool of threads.
    EnqueueInPool,
    /// The same, to the main thread.
    EnqueueOnMain,
    /// A task is about to change its executor.
    Switch,
    /// A continuation is made.
    ContinuationInit,
    /// A task is about to wait for its continuation.
    ContinuationAwait,
    /// A continuation is resumed.
    Resume,
    /// The same with an error.
    ResumeWithError,
    /// A task lets others go first.
    Yield,
    /// A task is about to wait for another one.
    FutureWait,
    /// The same, for one that `async let` made.
    AsyncLetWait,
    /// A task is about to wait for a group.
    GroupWait,
    /// A task is asked to end.
    Cancel,
    /// Somebody asks for the main thread's executor.
    MainExecutor,
    /// An actor is made.
    ActorMade,
    /// A program's own executor takes a task over: the function by which its type conforms.
    TakeOver,
    /// `main` has thrown, and nobody is left who could catch.
    ErrorInMain,
    /// The process ends, which is how an asynchronous `main` does.
    ProcessExit,
}

impl SwiftCall {
    pub(crate) fn of(name: &str) -> Option<Self> {
        if name == "exit" {
            return Some(Self::ProcessExit);
        }
        // The protocol is `SerialExecutor`, and what conforms is a type of the program's.
        if name.starts_with("$s") && name.ends_with("TW") && name.contains("Scf7enqueue") {
            return Some(Self::TakeOver);
        }
        Some(match name.strip_prefix("swift_")? {
            "task_enterThreadLocalContext" => Self::Enter,
            "task_exitThreadLocalContext" => Self::Exit,
            "job_run" | "job_run_on_task_executor" | "job_run_on_serial_and_task_executor" => Self::JobRun,
            "task_create" => Self::Create,
            "task_create_common" => Self::CreateInside,
            "task_enqueue" => Self::Enqueue,
            "task_enqueueGlobal"
            | "task_enqueueGlobalWithDelay"
            | "task_enqueueGlobalWithDeadline"
            | "task_enqueueOnDispatchQueue" => Self::EnqueueInPool,
            "task_enqueueMainExecutor" => Self::EnqueueOnMain,
            "task_switch" => Self::Switch,
            "continuation_init" => Self::ContinuationInit,
            "continuation_await" => Self::ContinuationAwait,
            "continuation_resume" | "continuation_throwingResume" => Self::Resume,
            "continuation_throwingResumeWithError" => Self::ResumeWithError,
            "task_createNullaryContinuationJob" => Self::Yield,
            "task_future_wait" | "task_future_wait_throwing" => Self::FutureWait,
            "asyncLet_get" | "asyncLet_get_throwing" | "asyncLet_finish" => Self::AsyncLetWait,
            "taskGroup_wait_next_throwing" | "taskGroup_waitAll" => Self::GroupWait,
            "task_cancel" => Self::Cancel,
            "task_getMainExecutor" => Self::MainExecutor,
            "defaultActor_initialize" => Self::ActorMade,
            "errorInMain" => Self::ErrorInMain,
            _ => return None,
        })
    }
}
