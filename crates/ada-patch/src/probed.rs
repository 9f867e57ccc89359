//! The runtime probe that a function is the subject of.

use ada_ring::probe::{Base, Extent, PROBE_WORDS, Read, VECTORS};

/// A probe's number, and when it is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The number in the recorder's table.
    pub number: u32,
    /// Without one it always is.
    pub guard: Option<Guard>,
    /// What the agent is called for. Where a guard compares words, it is for none of them, and the stub keeps registers or words.
    pub part: AgentPart,
}

/// At which ends of a probed call the agent is needed: stubs keep registers, and the agent reads memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentPart {
    /// At both.
    BothEnds,
    /// At the call, and the return is as any other.
    CallOnly,
    /// At neither; the registers of the call are kept, and the return is as any other.
    CallRegisters,
    /// The same, with [`WORDS_BEHIND`] words from where the first argument points, which the function is about to use itself. The
    /// agent is called only where these lie in two pages.
    CallWords,
    /// At the call; the registers of the return are kept.
    Call,
    /// At neither; the registers of both are kept, and what a probe reads at the return that is no memory.
    Nothing,
    /// The same, but only of so many calls in a while: the function may be called all the time.
    Seldom,
    /// The same with all that the probe reads ([`are_stubs_reads`]); the agent is called only for what is not where stubs can read it.
    Reads {
        /// In how many places the reads at both ends look that may go away.
        in_memory: u8,
        /// Whether the reads at the return begin at arguments, which the stub keeps until then.
        keeps_arguments: bool,
    },
}

impl AgentPart {
    /// That of a probe whose reads, at the call and at the return, stubs make; `None` where they cannot.
    pub fn of_reads<Reads: Iterator<Item = Read>>(reads: impl Fn(bool) -> Reads) -> Option<Self> {
        const ENDS: [bool; 2] = [false, true];
        let in_memory = ENDS.iter().flat_map(|end| reads(*end)).map(places_in_memory).sum();
        let part = Self::Reads { in_memory, keeps_arguments: reads(true).any(begins_at_argument) };
        ENDS.iter().all(|end| are_stubs_reads(reads(*end), *end)).then_some(part)
    }
}

/// Whether stubs, or exits, can make all reads of a probe at one end of a call: of vector registers, `errno`, and memory behind what
/// that end has in registers, or behind arguments. Whether an exit has to look for these its first read tells.
fn are_stubs_reads(reads: impl IntoIterator<Item = Read>, is_return: bool) -> bool {
    let (mut words, mut has_arguments) = (0, None);
    reads.into_iter().all(|read| {
        words += read.count();
        let has_arguments = *has_arguments.get_or_insert(begins_at_argument(read));
        words <= PROBE_WORDS && if is_return { is_exits_read(read, has_arguments) } else { is_stubs_read(read) }
    })
}

fn begins_at_argument(read: Read) -> bool {
    !matches!(read.extent(), Extent::Vector(_)) && is_argument(read.base())
}

const fn is_argument(base: usize) -> bool {
    base <= Base::Argument6 as usize
}

/// In how many places a read looks that may go away.
fn places_in_memory(read: Read) -> u8 {
    let is_behind_pointer = ![Base::Errno as usize, Base::Slot as usize].contains(&read.base());
    match read.extent() {
        Extent::Vector(_) => 0,
        _ => u8::from(is_behind_pointer) + u8::from(read.steps().1.is_some()),
    }
}

fn is_stubs_read(read: Read) -> bool {
    match read.extent() {
        Extent::Vector(number) => number < VECTORS,
        Extent::Words | Extent::Text => is_argument(read.base()) || read.base() == Base::Slot as usize,
        Extent::Bytes(length) => is_argument(read.base()) && is_argument(length),
        _ => false,
    }
}

fn is_exits_read(read: Read, has_arguments: bool) -> bool {
    let is_result = |base: usize| [Base::Result as usize, Base::SecondResult as usize].contains(&base);
    let is_known = |base: usize| is_result(base) || has_arguments && is_argument(base);
    match read.extent() {
        Extent::Vector(number) => number < RESULT_VECTORS,
        Extent::Words if read.base() == Base::Errno as usize => read.steps() == (0, None) && read.count() == 1,
        Extent::Words | Extent::Text => is_known(read.base()),
        Extent::Bytes(length) => is_known(read.base()) && is_result(length),
        _ => false,
    }
}

/// How many vector registers have results.
pub(crate) const RESULT_VECTORS: usize = 2;
/// How many words a stub reads behind a first argument.
pub const WORDS_BEHIND: usize = 4;

/// What the stub looks at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The probe is of interest only if one of two half words behind the first argument is another one, as far as these bits go,
    /// and then the registers of the call are kept, with the words behind the first argument where the part says so. The function is about to read them too.
    Unlike {
        /// Where the half words are.
        offsets: [u32; 2],
        /// The bits.
        bits: u32,
        /// What they are where nothing is of interest.
        usual: u32,
    },
    /// The first argument is a mutex of glibc's whose lock word is its owner's id, and it is contended or in disorder: that word, or the
    /// one for the owner, has one of these bits. Or a call about it has found so lately ([`ada_ring::contention`]).
    /// The registers of the call are kept then, with the mutex's words. The function is about to read these too.
    OwnedMutex {
        /// The bits.
        bits: u32,
    },
    /// If this is the first argument, the registers of call and return are kept. Otherwise the agent is called at both ends.
    FirstArgument(u32),
}

impl Probed {
    /// What fills the holes of a stub.
    pub(crate) fn words(self) -> [u32; 5] {
        let (first, second, bits, usual) = match self.guard {
            None => (0, 0, 0, 0),
            Some(Guard::Unlike { offsets: [first, second], bits, usual }) => (first, second, bits, usual),
            Some(Guard::OwnedMutex { bits }) => (0, 0, bits, 0),
            Some(Guard::FirstArgument(number)) => (number, 0, 0, 0),
        };
        [self.number, first, second, bits, usual]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_read_what_an_end_of_a_call_has_in_registers() {
        use ada_ring::probe::Failed;
        let at_call = |reads: &[Read]| are_stubs_reads(reads.iter().copied(), false);
        let at_return = |reads: &[Read]| are_stubs_reads(reads.iter().copied(), true);
        let text = Read::text(Base::Argument6, 12);
        assert!(at_call(&[]) && at_call(&[text, text]) && at_call(&[Read::vector(7), Read::words(Base::Slot, 8, 2)]));
        assert!(!at_call(&[text, text, text]), "there is no room");
        assert!(at_call(&[
            Read::text_behind_at(Base::Argument1, 8, 4),
            Read::bytes(Base::Argument1, Base::Argument2, 4)
        ]));
        assert!(
            !at_call(&[Read::bytes(Base::Argument1, Base::Result, 4)]) && !at_call(&[Read::value(Base::Argument1)])
        );
        assert!(!at_call(&[Read::long_text(Base::Argument1)]) && !at_call(&[Read::text(Base::GoArgument1, 4)]));
        let errno = Read::errno(Failed::MinusOne32);
        assert!(at_return(&[Read::vector(0), Read::vector(1), errno, Read::text(Base::Result, 17)]));
        assert!(!at_return(&[Read::vector(2)]) && !at_call(&[errno]));
        let read = Read::bytes(Base::Argument2, Base::Result, 4);
        assert!(at_return(&[text]) && at_return(&[read, errno]) && at_return(&[text, Read::text(Base::Result, 4)]));
        assert!(!at_return(&[errno, read]), "the first read tells whether there are arguments");
        assert!(!at_return(&[Read::bytes(Base::Argument2, Base::Argument3, 4)]) && at_return(&[Read::vector(1)]));
        let part =
            |call: &[Read], back: &[Read]| AgentPart::of_reads(|end| if end { back } else { call }.iter().copied());
        assert_eq!(part(&[text], &[errno]), Some(AgentPart::Reads { in_memory: 1, keeps_arguments: false }));
        assert_eq!(part(&[Read::vector(0)], &[text]), Some(AgentPart::Reads { in_memory: 1, keeps_arguments: true }));
        assert_eq!(part(&[errno], &[]), None);
        let places =
            [errno, Read::vector(0), text, Read::words(Base::Slot, 8, 1), Read::text_behind(Base::Argument1, 3)];
        assert_eq!(places.map(places_in_memory), [0, 0, 1, 0, 2]);
    }
}
