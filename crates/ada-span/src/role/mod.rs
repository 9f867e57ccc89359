//! The parts that functions play for others' spans, known by their names.

mod gcd_call;
mod go_call;
mod go_part;
mod io_call;
mod once_call;
mod spin_call;
mod swift_call;
mod sync_call;

pub use gcd_call::{GcdCall, How, Submit};
pub use go_call::GoCall;
pub use go_part::GoPart;
pub use io_call::IoCall;
pub use once_call::OnceCall;
pub use spin_call::SpinCall;
pub use swift_call::SwiftCall;
pub use sync_call::SyncCall;

/// A part that a function plays for others' spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// None.
    #[default]
    Plain,
    /// Begins an exception or a panic.
    Throw,
    /// Begins it again in a handler.
    Rethrow,
    /// Goes on with the unwinding that is under way.
    Resume,
    /// Unwinds a whole thread.
    ThreadUnwind,
    /// Unwinds frames until somebody stops it: what the other one calls.
    ForcedUnwind,
    /// Jumps over frames.
    Jump,
    /// Ends its thread.
    ThreadExit,
    /// The C library's first function of a thread, which never returns.
    ThreadStart,
    /// What that one calls before the start routine.
    ThreadSetup,
    /// What that one calls after it, however the thread has ended.
    ThreadTeardown,
    /// Makes a thread.
    ThreadCreate,
    /// Waits for a thread.
    ThreadJoin,
    /// The same in C11, whose threads give an `int`.
    ThreadJoinInt,
    /// Names a thread.
    ThreadName,
    /// Lets a thread go.
    ThreadDetach,
    /// Asks a thread to end.
    ThreadCancel,
    /// Names the function that a signal will call.
    SignalHandler,
    /// Takes one function, and runs it now or later: which argument that is.
    TakesFunction(u8),
    /// Finds a function at its first call, with that call's arguments still in the registers.
    LazyBinding,
    /// Copies and destroys a closure of C++: called through a pointer, but not what the program meant.
    ClosureManager,
    /// Runs another program instead of this one.
    Exec,
    /// Calls `main`.
    ProgramStart,
    /// The program's `main`.
    Main,
    /// Reports Swift's tasks.
    Swift(SwiftCall),
    /// Reports dispatched blocks.
    Gcd(GcdCall),
    /// Waits for other threads, or wakes them.
    Sync(SyncCall),
    /// Runs something once, or waits for who does.
    Once(OnceCall),
    /// Takes a lock that threads spin for, or lets go of one.
    Spin(SpinCall),
    /// Reports goroutines.
    Go(GoCall),
}

impl Role {
    /// Whether the function is a step of Go's scheduler, without which goroutines cannot be followed.
    pub const fn is_step_of_goroutine(self) -> bool {
        matches!(self, Self::Go(call) if call.is_of_scheduler())
    }

    /// The part that a function of this name plays, as linkers spell it.
    pub fn of(raw_name: &str) -> Self {
        // glibc's internal aliases and versioned names are the same functions.
        match raw_name.split('@').next().unwrap_or_default() {
            "_Unwind_RaiseException" | "__cxa_throw" => Self::Throw,
            "__cxa_rethrow" | "_Unwind_Resume_or_Rethrow" => Self::Rethrow,
            "_Unwind_Resume" => Self::Resume,
            "__pthread_unwind" | "__pthread_unwind_next" => Self::ThreadUnwind,
            "_Unwind_ForcedUnwind" => Self::ForcedUnwind,
            "longjmp" | "_longjmp" | "siglongjmp" | "__longjmp_chk" | "____longjmp_chk" | "__libc_longjmp"
            | "__libc_siglongjmp" | "__longjmp" => Self::Jump,
            "pthread_exit" | "__pthread_exit" | "thrd_exit" => Self::ThreadExit,
            "start_thread" => Self::ThreadStart,
            "__ctype_init" | "_setjmp" | "__sigsetjmp" | "__sigjmp_save" => Self::ThreadSetup,
            "__call_tls_dtors" | "__nptl_deallocate_tsd" | "__libc_thread_freeres" => Self::ThreadTeardown,
            "pthread_create" | "__pthread_create" | "__pthread_create_2_1" | "thrd_create" => Self::ThreadCreate,
            "pthread_join"
            | "__pthread_join"
            | "___pthread_join"
            | "pthread_timedjoin_np"
            | "__pthread_timedjoin_np64"
            | "pthread_clockjoin_np"
            | "pthread_tryjoin_np"
            | "__pthread_clockjoin_ex" => Self::ThreadJoin,
            "thrd_join" => Self::ThreadJoinInt,
            "pthread_setname_np" => Self::ThreadName,
            "pthread_detach" | "__pthread_detach" | "___pthread_detach" | "thrd_detach" => Self::ThreadDetach,
            "pthread_cancel" | "__pthread_cancel" => Self::ThreadCancel,
            "signal" | "bsd_signal" | "ssignal" | "sysv_signal" | "__sysv_signal" | "sigaction" | "__sigaction"
            | "__libc_sigaction" | "sigset" => Self::SignalHandler,
            "qsort" | "qsort_r" | "__qsort_r" => Self::TakesFunction(3),
            "bsearch" => Self::TakesFunction(4),
            "atexit" | "__cxa_atexit" | "on_exit" | "at_quick_exit" | "__cxa_at_quick_exit" => Self::TakesFunction(0),
            "execve" | "__execve" | "execveat" | "fexecve" => Self::Exec,
            "main" => Self::Main,
            "_dl_fixup" | "_dl_profile_fixup" | "_dl_runtime_resolve" => Self::LazyBinding,
            "__libc_start_main" | "__libc_start_call_main" | "__libc_start_main_impl" => Self::ProgramStart,
            name if name.starts_with("_dl_runtime_resolve_") || name.starts_with("_dl_runtime_profile_") => {
                Self::LazyBinding
            }
            name if name.contains("10_M_managerE") => Self::ClosureManager,
            name => {
                let swift = SwiftCall::of(name).map(Self::Swift);
                let other = || GcdCall::of(name).map(Self::Gcd).or_else(|| SyncCall::of(name).map(Self::Sync));
                let once = || OnceCall::of(name).map(Self::Once).or_else(|| SpinCall::of(name).map(Self::Spin));
                swift.or_else(other).or_else(once).or_else(|| GoCall::of(name).map(Self::Go)).unwrap_or_default()
            }
        }
    }

    /// Whether it reports tasks, blocks or goroutines.
    pub const fn is_concurrency(self) -> bool {
        matches!(self, Self::Swift(_) | Self::Gcd(_) | Self::Go(_))
    }

    /// Whether function addresses in its registers are not handed to it as callbacks.
    pub const fn hands_nothing_over(self) -> bool {
        self.is_thread_call()
            || self.is_concurrency()
            || matches!(
                self,
                Self::LazyBinding | Self::Exec | Self::ProgramStart | Self::Main | Self::Sync(_) | Self::Spin(_)
            )
    }

    /// Whether an argument can be a function that is handed over. Positions from 6 on are words that a probe has read.
    /// Registers after a call's last argument hold older values.
    pub const fn may_hand_over(self, argument: usize) -> bool {
        match self {
            Self::TakesFunction(own) => argument == own as usize,
            Self::Once(OnceCall::TakesFunction) => argument == 1,
            // `signal` has it in a register, `sigaction` in memory.
            Self::SignalHandler => argument == 1 || argument == 6,
            _ => !self.hands_nothing_over(),
        }
    }

    /// Whether the function is one whose registers the thread correlator wants.
    pub const fn is_thread_call(self) -> bool {
        matches!(
            self,
            Self::ThreadCreate
                | Self::ThreadJoin
                | Self::ThreadJoinInt
                | Self::ThreadName
                | Self::ThreadDetach
                | Self::ThreadCancel
                | Self::ThreadExit
                | Self::ThreadUnwind
                | Self::ForcedUnwind
        )
    }
}
