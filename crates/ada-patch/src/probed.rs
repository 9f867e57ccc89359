//! The runtime probe that a function is the subject of.

use ada_ring::probe::{Base, Extent, PROBE_WORDS, Read};

/// A probe's number, and when it is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The number in the recorder's table.
    pub number: u32,
    /// Without one it always is.
    pub guard: Option<Guard>,
    /// What the agent is called for, where there is no guard.
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
    /// At neither; the registers of both are kept.
    Nothing,
    /// The same, but only of so many calls in a while: the function may be called all the time.
    Seldom,
    /// At the call, but only for texts that are not where the stub can read them; the registers of both are kept.
    Texts(ArgumentTexts),
}

/// Arguments that are texts, in the order in which they are captured: a byte for each, the first one lowest. The low three bits
/// are the argument's number, the others how many words the text has in the record, its length among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentTexts(u32);

impl ArgumentTexts {
    /// What a probe reads at a call, if that is texts and nothing else.
    pub fn of(reads: impl IntoIterator<Item = Read>) -> Option<Self> {
        let (mut texts, mut count, mut words) = (0, 0, 0);
        for read in reads {
            let is_argument = read.base() <= Base::Argument6 as usize && read.steps() == (0, None);
            words += read.count();
            if read.extent() != Extent::Text || !is_argument || count == 4 || words > PROBE_WORDS {
                return None;
            }
            texts |= ((read.count() << 3 | read.base()) as u32) << (8 * count);
            count += 1;
        }
        (count > 0).then_some(Self(texts))
    }
}

/// How many words a stub reads behind a first argument.
pub const WORDS_BEHIND: usize = 4;

/// What the stub looks at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The probe is of interest only if one of two half words behind the first argument is another one, as far as these bits go,
    /// and then the registers of the call are kept. The function is about to read them too.
    Unlike {
        /// Where the half words are.
        offsets: [u32; 2],
        /// The bits.
        bits: u32,
        /// What they are where nothing is of interest.
        usual: u32,
    },
    /// If this is the first argument, the registers of call and return are kept. Otherwise the agent is called at both ends.
    FirstArgument(u32),
}

impl Probed {
    /// What fills the holes of a stub.
    pub(crate) fn words(self) -> [u32; 6] {
        let (first, second, bits, usual) = match self.guard {
            None => (0, 0, 0, 0),
            Some(Guard::Unlike { offsets: [first, second], bits, usual }) => (first, second, bits, usual),
            Some(Guard::FirstArgument(number)) => (number, 0, 0, 0),
        };
        let texts = if let AgentPart::Texts(ArgumentTexts(texts)) = self.part { texts } else { 0 };
        [self.number, first, second, bits, usual, texts]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_known_by_their_argument_and_room() {
        let text = |base, words| Read::text(base, words);
        let of = |reads: &[Read]| ArgumentTexts::of(reads.iter().copied()).map(|texts| texts.0);
        assert_eq!(of(&[text(Base::Argument1, 17)]), Some(17 << 3));
        assert_eq!(of(&[text(Base::Argument2, 12), text(Base::Argument6, 12)]), Some((12 << 3 | 5) << 8 | 12 << 3 | 1));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[text(Base::Argument1, 4); 5]), None);
        assert_eq!(of(&[text(Base::Argument1, 13); 2]), None);
        for other in
            [Read::text(Base::Slot, 3), Read::text_behind(Base::Argument1, 3), Read::words(Base::Argument1, 0, 3)]
        {
            assert_eq!(of(&[text(Base::Argument1, 4), other]), None);
        }
    }
}
