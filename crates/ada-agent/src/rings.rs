//! Looks at the rings that the program shares with the kernel (`io_uring`): what was asked for, and what is done.
//!
//! A look is a row of words: for how many completions the call waits; the descriptor, with what the ring was set up with above it; which
//! ring it is; the positions of what is asked for (from, to) and of what is done (from, to); the position of the first completion
//! listed here, with how many entries and how many completions are above it; the entries; the completions. Of a ring that cannot
//! be read there are two words, the second [`UNREADABLE`].

use ada_ring::probe::{BASES_AT_CALL, Probe, RING_WORDS, Role, UNREADABLE};
use ada_ring::state::{RING_SETUP, RingNote};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch;
use crate::arch::number::{IO_URING_ENTER, IO_URING_SETUP};
use crate::memory::{pool, process_block};
use crate::reads::are_faults_watched;
use crate::ring_memory::{BY_KERNEL_THREAD, COMPLETION_WORDS, ENTRY_WORDS, RingMemory, Setup};

/// Words before the entries.
const HEAD: usize = 6;
/// Entries of a look at most. There is room for some completions behind them.
const MOST_ENTRIES: usize = 32;
const _: () = assert!(HEAD + MOST_ENTRIES * ENTRY_WORDS + 16 * COMPLETION_WORDS < RING_WORDS);

/// A ring as a call names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RingName {
    /// By the address of liburing's structure.
    Library(u64),
    /// By its descriptor.
    Descriptor(u32),
}

impl RingName {
    fn key(self) -> u64 {
        const IS_DESCRIPTOR: u64 = 1 << 63;
        match self {
            Self::Library(address) => address,
            Self::Descriptor(descriptor) => IS_DESCRIPTOR | u64::from(descriptor),
        }
    }
}

/// A look.
pub(crate) struct Look {
    words: [u64; RING_WORDS],
    count: usize,
}

impl Look {
    /// Looks at a ring when a call that waits for so many completions begins, or ends.
    pub(crate) fn at(name: RingName, waits_for: u64, is_return: bool) -> Self {
        let mut look = Self { words: [UNREADABLE; RING_WORDS], count: 2 };
        look.words[0] = waits_for;
        let note = note_of(name.key());
        if !are_faults_watched()
            && is_seldom(note)
            && let Some(ring) = ring(name, note)
        {
            look.fill(&ring, name.key(), &note.seen, is_return);
        }
        look
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words[..self.count]
    }

    fn fill(&mut self, ring: &RingMemory, key: u64, seen: &AtomicU64, is_return: bool) {
        let [from, to] = ring.asked;
        let is_followed = ring.flags & BY_KERNEL_THREAD == 0;
        let asked = if is_return || !is_followed { 0 } else { to.wrapping_sub(from) as usize };
        let mut count = HEAD;
        let mut listed = 0_u64;
        for position in (0..asked.min(MOST_ENTRIES)).map(|at| from.wrapping_add(at as u32)) {
            let Some(entry) = ring.entry(position) else { break };
            self.words[count..][..ENTRY_WORDS].copy_from_slice(&entry);
            count += ENTRY_WORDS;
            listed += 1;
        }
        // What nobody has looked at yet, as far as it is still there.
        let (tail, last) = (ring.done[1], seen.load(Ordering::Relaxed) as u32);
        let is_there = tail.wrapping_sub(last) <= ring.room();
        let first = if is_there { last } else { tail.saturating_sub(ring.room()) };
        let unseen = if is_followed { tail.wrapping_sub(first) as usize } else { 0 };
        let room = unseen.min((RING_WORDS - count) / COMPLETION_WORDS);
        let done = ring.completions(first, &mut self.words[count..][..room * COMPLETION_WORDS]);
        seen.store(first.wrapping_add(done as u32).into(), Ordering::Relaxed);
        self.count = count + done * COMPLETION_WORDS;
        let pair = |[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32;
        self.words[1..HEAD].copy_from_slice(&[
            pair([ring.descriptor, ring.flags]),
            key,
            pair(ring.asked),
            pair(ring.done),
            u64::from(first) | listed << 32 | (done as u64) << 48,
        ]);
    }
}

fn ring(name: RingName, note: &RingNote) -> Option<RingMemory> {
    match name {
        RingName::Library(address) => RingMemory::of_library(address),
        RingName::Descriptor(descriptor) => {
            let setup = note.setup.each_ref().map(|word| word.load(Ordering::Relaxed));
            RingMemory::of_descriptor(descriptor, Setup::from_words(setup)?)
        }
    }
}

/// Notes how the kernel has set up a ring that is known by its descriptor.
pub(crate) fn note_setup(result: u64, parameters: u64) {
    let Ok(descriptor) = u32::try_from(result as i64) else { return };
    let note = note_of(RingName::Descriptor(descriptor).key());
    let setup = if are_faults_watched() { None } else { Setup::of(parameters) };
    let words = setup.map_or([0; RING_SETUP], Setup::words);
    note.setup.iter().zip(words).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    note.seen.store(0, Ordering::Relaxed);
}

/// The note of a ring; that of another one is given up where there are too many.
fn note_of(key: u64) -> &'static RingNote {
    let notes = &process_block().rings;
    for note in notes {
        let found = note.key.load(Ordering::Relaxed);
        if found == key {
            return note;
        }
        if found == 0 && note.key.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return note;
        }
    }
    let note = &notes[(key >> 4 ^ key) as usize % notes.len()];
    note.key.store(key, Ordering::Relaxed);
    let rest = [&note.seen, &note.since, &note.looks];
    note.setup.iter().chain(rest).for_each(|it| it.store(0, Ordering::Relaxed));
    note
}

/// Counts a look. Says whether there were so few lately that it is worth its time.
fn is_seldom(note: &RingNote) -> bool {
    /// Less than a second on any machine.
    const LATELY: u64 = 1 << 30;
    const MOST: u64 = 1 << 14;
    let now = arch::clock();
    if now.wrapping_sub(note.since.load(Ordering::Relaxed)) > LATELY {
        note.since.store(now, Ordering::Relaxed);
        note.looks.store(0, Ordering::Relaxed);
    }
    note.looks.fetch_add(1, Ordering::Relaxed) < MOST
}

/// Whether a probed call sets up a ring, by the number of the system call.
pub(crate) fn is_setup(probe: u64, registers: [u64; BASES_AT_CALL]) -> bool {
    let is_by_number = |probe: &Probe| probe.has_role(Role::SystemCall);
    registers[0] == IO_URING_SETUP && pool().orders().probes.get(probe as usize).is_some_and(is_by_number)
}

/// The ring that a probed call is about, and for how many completions it waits.
pub(crate) fn of_call(probe: u64, registers: [u64; BASES_AT_CALL]) -> Option<(RingName, u64)> {
    let [a, b, c, d, e, ..] = registers;
    let pool = pool();
    let probe = pool.orders().probes.get(probe as usize)?;
    if probe.has_role(Role::Ring) {
        let waits_for = probe.reads(false).next().and_then(|read| registers.get(read.base()));
        return Some((RingName::Library(a), waits_for.map_or(UNREADABLE, |count| count & 0xffff_ffff)));
    }
    (a == IO_URING_ENTER && probe.has_role(Role::SystemCall)).then(|| of_system_call([b, c, d, e]))
}

/// The ring that a system call by number is about, and for how many completions it waits: it is `io_uring_enter`'s arguments.
fn of_system_call([descriptor, _, waits_for, flags]: [u64; 4]) -> (RingName, u64) {
    const GET_EVENTS: u64 = 1;
    const IS_REGISTERED: u64 = 1 << 4;
    // A number in a table of the thread's own is no descriptor.
    let descriptor = if flags & IS_REGISTERED == 0 { descriptor as u32 } else { u32::MAX };
    (RingName::Descriptor(descriptor), if flags & GET_EVENTS == 0 { 0 } else { waits_for & 0xffff_ffff })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_by_number_names_its_descriptor_and_how_many_it_waits_for() {
        assert_eq!(of_system_call([5, 1, 2, 1]), (RingName::Descriptor(5), 2));
        assert_eq!(of_system_call([5, 1, 2, 0]), (RingName::Descriptor(5), 0));
        assert_eq!(of_system_call([0, 1, 2, 17]), (RingName::Descriptor(u32::MAX), 2));
        assert_ne!(RingName::Descriptor(5).key(), RingName::Library(5).key());
    }
}
