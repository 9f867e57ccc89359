//! Which memory leads from one address to another without a gap, as one stack does.
//!
//! A stack may have thousands of frames, and each asks how far its stack reaches. What was found out for one holds for
//! the others, so that no page is asked for twice.

use core::ops::Range;

use crate::syscall;

const PAGE: u64 = 4096;
/// The longest stretch that counts as one stack.
const LONGEST: u64 = 16 << 20;

/// What is known of the memory, for as long as nobody has the time to change it.
#[derive(Default)]
pub(crate) struct Stretch {
    readable: Range<u64>,
    /// A page that cannot be read.
    gap: Option<u64>,
}

impl Stretch {
    /// Whether memory is readable all the way between two addresses.
    pub(crate) fn leads(&mut self, low: u64, high: u64) -> bool {
        self.leads_by(low, high, syscall::readable_pages)
    }

    /// `readable_pages` says how many of so many pages from an address on can be read before one cannot.
    fn leads_by(&mut self, low: u64, high: u64, mut readable_pages: impl FnMut(u64, usize) -> usize) -> bool {
        let (low, high) = (low & !(PAGE - 1), high & !(PAGE - 1));
        let Some(end) = high.checked_add(PAGE).filter(|_| high >= low && high - low <= LONGEST) else { return false };
        if self.gap.is_some_and(|gap| (low..end).contains(&gap)) {
            return false;
        }
        let mut at = low;
        while at < end {
            if self.readable.contains(&at) {
                at = self.readable.end;
                continue;
            }
            let until = if at < self.readable.start { end.min(self.readable.start) } else { end };
            let found = at + PAGE * readable_pages(at, ((until - at) / PAGE) as usize) as u64;
            self.learn(at..found);
            if found < until {
                self.gap = Some(found);
                return false;
            }
            at = until;
        }
        true
    }

    fn learn(&mut self, new: Range<u64>) {
        let known = &self.readable;
        let is_joined = new.start <= known.end && known.start <= new.end && !known.is_empty();
        if is_joined {
            self.readable = new.start.min(known.start)..new.end.max(known.end);
        } else if !new.is_empty() {
            self.readable = new;
        }
    }
}

/// The same for once.
pub(crate) fn is_one_stack(low: u64, high: u64) -> bool {
    Stretch::default().leads(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: u64 = 500;
    const PAGES: u64 = 2048;

    /// Memory of so many pages with one in it that cannot be read; counts the pages that were asked for.
    fn look(asked: &mut usize) -> impl FnMut(u64, usize) -> usize + '_ {
        |start, pages| {
            let first = start / PAGE;
            let readable = (first..first + pages as u64).take_while(|page| *page != GAP && *page < PAGES).count();
            *asked += (readable + 1).min(pages);
            readable
        }
    }

    #[test]
    fn no_page_is_asked_for_twice_however_many_frames_there_are() {
        let (mut stretch, mut asked) = (Stretch::default(), 0);
        let top = PAGES * PAGE - 8;
        // Frames of 64 bytes, newest first: those above the gap are on the stack of the top, and those below are not.
        for slot in (0..top).step_by(64) {
            assert_eq!(stretch.leads_by(slot, top, look(&mut asked)), slot / PAGE > GAP, "{slot:#x}");
        }
        assert!(asked as u64 <= PAGES, "{asked}");
    }

    #[test]
    fn a_stretch_grows_both_ways() {
        let (mut stretch, mut asked) = (Stretch::default(), 0);
        for (low, high) in [(700, 800), (600, 650), (600, 750), (600, 900), (1000, 1100), (600, 1100)] {
            assert!(stretch.leads_by(low * PAGE + 8, high * PAGE + 16, look(&mut asked)), "{low}..{high}");
        }
        assert!(!stretch.leads_by(400 * PAGE, 600 * PAGE, look(&mut asked)));
        assert!(!stretch.leads_by(1000 * PAGE, PAGES * PAGE, look(&mut asked)));
    }

    #[test]
    fn what_is_too_long_or_upside_down_is_no_stack() {
        let mut nobody_asks = |_: u64, _: usize| -> usize { panic!("nothing to ask for") };
        assert!(!Stretch::default().leads_by(PAGE, 0, &mut nobody_asks));
        assert!(!Stretch::default().leads_by(0, LONGEST + PAGE, &mut nobody_asks));
        assert!(!Stretch::default().leads_by(u64::MAX - 8, u64::MAX, &mut nobody_asks));
    }
}
