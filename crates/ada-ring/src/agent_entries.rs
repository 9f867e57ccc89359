//! The agent's entry points: one table that the agent exports, the recorder reads and every arena holds a copy of.

/// The table. It holds functions in the agent, and their addresses in the target everywhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct AgentEntries<Entry = u64> {
    /// Gives the calling thread a state.
    pub thread: Entry,
    /// Reserves a record when the chunk is full.
    pub chunk: Entry,
    /// Removes dead frames.
    pub fix: Entry,
    /// Hears of calls after which the stack is not what it was: `longjmp`, another context.
    pub stack_change: Entry,
    /// Waits until the recorder has seen the new libraries.
    pub loader: Entry,
    /// Reserves a detail record when the chunk is full.
    pub detail_chunk: Entry,
    /// Copies a stack window that crosses into a page which may not be there.
    pub stack: Entry,
    /// The same into the record of a probe.
    pub probe_stack: Entry,
    /// Keeps what a runtime probe sees of a call, and publishes the record.
    pub probe_call: Entry,
    /// Finishes an exit by `ret` that is not the newest frame's, or a probed call's.
    pub exited: Entry,
    /// Records an exit by other means than a plain `ret`; its slot is the first word of the stub's.
    pub exiting: Entry,
    /// Ends a frame that goes on in another function; its slot is the first word of the stub's.
    pub goes_on: Entry,
    /// Puts right what a signal handler is about to see of the code that it interrupts.
    pub handles: Entry,
    /// Makes the reads of a probe that the stub could not, into the record that it has reserved.
    pub reads: Entry,
}

/// An entry point. It takes the return slot and two words of the stub's, which mean something to some of them.
pub type AgentEntry = extern "C" fn(slot: *mut u64, first: u64, second: u64) -> u64;

/// The name under which the agent exports its table.
pub const AGENT_ENTRIES: &str = "ADA_ENTRIES";

impl AgentEntries {
    /// How many entry points there are.
    pub const COUNT: usize = size_of::<Self>() / size_of::<u64>();

    /// The table whose memory holds these words.
    pub const fn from_words(words: [u64; Self::COUNT]) -> Self {
        // SAFETY: the table is that many `u64`s in C's layout, for which all bit patterns are valid.
        unsafe { core::mem::transmute(words) }
    }

    /// The table as it lies in memory.
    pub const fn to_words(self) -> [u64; Self::COUNT] {
        // SAFETY: as above.
        unsafe { core::mem::transmute(self) }
    }
}

const _: () = assert!(size_of::<AgentEntries<AgentEntry>>() == size_of::<AgentEntries>());
