//! The functions of Go's scheduler whose calls report what becomes of goroutines.

/// What such a function says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GoCall {
    /// A goroutine is made.
    Create,
    /// A goroutine begins to run, or goes on.
    Execute,
    /// The running goroutine is about to wait.
    Park,
    /// It waits from now on.
    Parked,
    /// A goroutine that waits can go on.
    Ready,
    /// The running goroutine is about to let others go first.
    Yield,
    /// It is about to be stopped.
    Preempt,
    /// Its system call is over, and it finds no processor.
    NoProcessor,
    /// The thread looks for another goroutine.
    Schedule,
    /// The running goroutine is about to switch to another one that waits for that.
    Switch,
    /// The same, and ends.
    SwitchAndEnd,
    /// It switches.
    Switched,
    /// A goroutine ends itself.
    Goexit,
    /// A goroutine has ended.
    End,
    /// A system call begins, or a call of C code.
    SystemCall,
    /// It is over.
    SystemCallEnd,
    /// The program's `main`.
    Main,
    /// The running goroutine panics, and nobody has recovered.
    Panic,
    /// The runtime gives up.
    Fatal,
    /// The process ends.
    ProcessExit,
}

impl GoCall {
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "main.main" => return Some(Self::Main),
            "os.Exit" => return Some(Self::ProcessExit),
            _ => (),
        }
        // Assembly has a name for each way to call it.
        let name = name.strip_prefix("runtime.")?;
        Some(match name.strip_suffix(".abi0").unwrap_or(name) {
            "newproc1" => Self::Create,
            "execute" => Self::Execute,
            "gopark" => Self::Park,
            "park_m" => Self::Parked,
            "ready" => Self::Ready,
            "gosched_m" | "goschedguarded_m" | "goyield_m" => Self::Yield,
            // The first calls the second, if it is not inlined; so do those that yield, and then it has been said already.
            "gopreempt_m" | "goschedImpl" | "preemptPark" => Self::Preempt,
            "exitsyscall0" => Self::NoProcessor,
            "schedule" => Self::Schedule,
            "coroswitch" => Self::Switch,
            "coroexit" => Self::SwitchAndEnd,
            "coroswitch_m" => Self::Switched,
            "Goexit" => Self::Goexit,
            "goexit0" => Self::End,
            "entersyscall" | "reentersyscall" | "entersyscallblock" => Self::SystemCall,
            "exitsyscall" => Self::SystemCallEnd,
            "fatalpanic" => Self::Panic,
            "throw" | "fatal" => Self::Fatal,
            "exit" => Self::ProcessExit,
            _ => return None,
        })
    }

    /// Whether this is a step of a goroutine's life. Without one of them, the others say what is false.
    pub const fn is_of_scheduler(self) -> bool {
        !matches!(
            self,
            Self::SystemCall | Self::SystemCallEnd | Self::Main | Self::Panic | Self::Fatal | Self::ProcessExit
        )
    }

    /// The states in which the runtime has a goroutine that the call is about; it gives up where it finds it in another one.
    pub(crate) const fn statuses(self) -> &'static [u32] {
        const RUNNABLE: u32 = 1;
        const RUNNING: u32 = 2;
        const WAITING: u32 = 4;
        match self {
            Self::Create => &[RUNNABLE, WAITING],
            Self::Execute => &[RUNNABLE],
            Self::Park | Self::End => &[RUNNING],
            Self::Ready | Self::Switch | Self::SwitchAndEnd => &[WAITING],
            _ => &[],
        }
    }
}
