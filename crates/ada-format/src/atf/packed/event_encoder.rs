//! Writes events to a block, one after the other.

use std::collections::HashSet;

use ada_event::{DetailSeq, Event, EventKind, ThreadId, TraceNanos};

use super::block::{BlockHeader, BlockKind};
use super::event_code::{
    CALL_FAR, CALL_NEAR, ESCAPE, EXPLICIT, HAS_DEPTH, HAS_THREAD, RETURN, TIME_8, TIME_16, TIME_64,
};
use super::model::{NOTHING, State, Symbol, Tables};
use super::{bloom, number};

/// Events of a full block: 512 KiB of them in memory.
pub(crate) const FULL: usize = 16 * 1024;
/// Functions of a full block: the table that finds them is then half full.
const MANY_SYMBOLS: usize = SLOTS / 2;
const SLOTS: usize = 16 * 1024;

/// Events of a block from whose times the usual ones of the next are chosen.
const SAMPLE: usize = 2048;
/// The usual time where nothing is known yet: a hook alone takes about this long.
const USUAL: u16 = 20;

/// A block under construction. It can be written at any time, and goes on to grow after that.
pub(super) struct EventEncoder {
    thread: ThreadId,
    tables: Tables,
    state: State,
    symbols: Vec<Known>,
    slots: Box<[u16]>,
    /// Functions whose calls open no frame, as far as was seen.
    flat: HashSet<u64>,
    /// The symbol of the event before, if that was a call, and whether it opened a frame.
    before: Option<(u16, bool)>,
    first: u64,
    first_time: u64,
    first_height: u32,
    time: u64,
    earliest: u64,
    latest: u64,
    usual: [u16; 4],
    seen: Box<[[u16; 256]; 4]>,
    controls: Box<[u8; FULL]>,
    /// How many events there are.
    count: usize,
    times_8: Vec<u8>,
    times_16: Vec<u8>,
    times_64: Vec<u8>,
    functions: Vec<u8>,
    escapes: Vec<u8>,
    runs: Runs,
}

impl EventEncoder {
    /// An empty block of a thread, whose first event has this position.
    pub(super) fn new(thread: ThreadId, first: u64) -> Self {
        let mut tables = Tables::default();
        Self {
            thread,
            state: tables.begin(0),
            tables,
            symbols: Vec::new(),
            slots: vec![NOTHING; SLOTS].into(),
            flat: HashSet::new(),
            before: None,
            first,
            first_time: 0,
            first_height: 0,
            time: 0,
            earliest: u64::MAX,
            latest: 0,
            usual: [USUAL; 4],
            seen: Box::new([[0; 256]; 4]),
            controls: vec![0; FULL].try_into().expect("it has that size"),
            count: 0,
            times_8: Vec::new(),
            times_16: Vec::new(),
            times_64: Vec::new(),
            functions: Vec::new(),
            escapes: Vec::new(),
            runs: Runs::default(),
        }
    }

    /// Whether there are no events in the block.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The position of the block's first event.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The position that the next event will have.
    pub(super) fn next(&self) -> u64 {
        self.first + self.count as u64
    }

    /// Bytes that the block's events take so far, about.
    pub(super) fn len(&self) -> usize {
        let parts = [&self.times_8, &self.times_16, &self.times_64, &self.functions, &self.escapes];
        self.count + 4 * self.symbols.len() + parts.iter().map(|part| part.len()).sum::<usize>()
    }

    /// Whether the block should be written, and the next one begun.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count >= FULL || self.symbols.len() >= MANY_SYMBOLS
    }

    /// Whether the block's first event lies more than so many nanoseconds before a time.
    pub(super) fn has_begun_before(&self, time: TraceNanos, nanoseconds: u64) -> bool {
        self.count > 0 && time.0.saturating_sub(self.first_time) > nanoseconds
    }

    /// Appends events until there are no more or the block is full, and gives how many.
    #[inline]
    pub(super) fn push(&mut self, events: &mut impl Iterator<Item = Event>) -> usize {
        // What changes with every event stays in registers meanwhile.
        let (mut state, mut count, mut time) = (self.state, self.count, self.time);
        let (mut earliest, mut latest) = (self.earliest, self.latest);
        while count < FULL && self.symbols.len() < MANY_SYMBOLS {
            let Some(event) = events.next() else { break };
            if count == 0 {
                state = self.first_event(&event);
                time = event.timestamp.0;
            }
            let since = event.timestamp.0.wrapping_sub(time);
            time = event.timestamp.0;
            earliest = earliest.min(time);
            latest = latest.max(time);
            let op = self.code(&event, &mut state);
            let above = since.wrapping_sub(self.usual[usize::from(op)].into());
            let coded = if above < TIME_8.into() { above as u8 } else { self.long_time(since) };
            if count < SAMPLE && since < 256 {
                self.seen[usize::from(op)][since as usize] += 1;
            }
            if event.detail != DetailSeq::NONE || self.runs.is_open {
                self.runs.push(count as u64, event.detail);
            }
            self.controls[count] = op | coded << 2;
            count += 1;
        }
        let added = count - self.count;
        (self.state, self.count, self.time) = (state, count, time);
        (self.earliest, self.latest) = (earliest, latest);
        added
    }

    fn first_event(&mut self, event: &Event) -> State {
        let below = if event.kind.is_end() { event.depth.wrapping_add(1) } else { event.depth };
        (self.first_time, self.first_height) = (event.timestamp.0, below);
        self.tables.begin(below)
    }

    /// Writes what is not guessed of an event, except its time, and gives the control's low bits.
    #[inline(always)]
    fn code(&mut self, event: &Event, state: &mut State) -> u8 {
        let height = state.height;
        let is_own = event.thread == self.thread;
        if event.kind == EventKind::RETURN {
            let top = state.top;
            let function = self.symbols.get(usize::from(top)).map(|known| known.function);
            if is_own && event.depth.wrapping_add(1) == height && function == Some(event.function.0) {
                state.ended(&self.tables, top, event.depth);
                self.before = None;
                return RETURN;
            }
        } else if is_own && (event.kind.is_call() && event.depth == height || is_tail_of(event, height)) {
            let guesses = state.guess_indexes();
            let is = |known: Option<&Known>| {
                known.is_some_and(|it| it.function == event.function.0 && it.kind == event.kind)
            };
            let far = self.tables.far(guesses);
            let near = self.tables.near(guesses);
            let (op, symbol) = if is(self.symbols.get(usize::from(far))) {
                (CALL_FAR, far)
            } else if is(self.symbols.get(usize::from(near))) {
                (CALL_NEAR, near)
            } else {
                let symbol = self.symbol(event.function.0, event.kind);
                self.functions.extend_from_slice(&symbol.to_le_bytes());
                (EXPLICIT, symbol)
            };
            if event.kind == EventKind::TAIL {
                state.went_on(&mut self.tables, guesses, symbol, event.depth);
                self.before = None;
                return op;
            }
            let pushes = self.symbols[usize::from(symbol)].pushes;
            state.called(&mut self.tables, guesses, symbol, event.depth, pushes);
            self.before = Some((symbol, pushes));
            return op;
        }
        *state = self.escape(event, *state);
        EXPLICIT
    }

    /// Writes an event with all its fields, and learns from a wrong guess.
    #[cold]
    #[inline(never)]
    fn escape(&mut self, event: &Event, mut state: State) -> State {
        let height = state.height;
        let implied = if event.kind.is_end() { height.wrapping_sub(1) } else { height };
        self.learn(event.depth.wrapping_sub(implied));
        let symbol = self.symbol(event.function.0, event.kind);
        let kind = if (1..=4).contains(&event.kind.0) { event.kind.0 as u8 } else { 0 };
        let mut flags = kind;
        flags |= if event.depth == implied { 0 } else { HAS_DEPTH };
        flags |= if event.thread == self.thread { 0 } else { HAS_THREAD };
        self.functions.extend_from_slice(&ESCAPE.to_le_bytes());
        self.escapes.push(flags);
        self.escapes.extend_from_slice(&symbol.to_le_bytes());
        if kind == 0 {
            self.escapes.extend_from_slice(&event.kind.0.to_le_bytes());
        }
        if flags & HAS_DEPTH != 0 {
            self.escapes.extend_from_slice(&event.depth.to_le_bytes());
        }
        if flags & HAS_THREAD != 0 {
            self.escapes.extend_from_slice(&event.thread.0.to_le_bytes());
        }
        self.before = None;
        match event.kind {
            EventKind::CALL | EventKind::ENTRY => {
                let pushes = self.symbols[usize::from(symbol)].pushes;
                state.called(&mut self.tables, state.guess_indexes(), symbol, event.depth, pushes);
                self.before = Some((symbol, pushes));
            }
            kind if kind.is_end() => state.ended(&self.tables, symbol, event.depth),
            _ => {}
        }
        state
    }

    /// A call after which the depth is one off, in the direction in which its function was misjudged, has its function
    /// judged anew.
    fn learn(&mut self, off: u32) {
        let Some((number, pushed)) = self.before else { return };
        let Known { function, flavour, .. } = self.symbols[usize::from(number)];
        let is_misjudged = if pushed { off == u32::MAX } else { off == 1 };
        if flavour != EventKind::CALL || !is_misjudged {
            return;
        }
        if pushed {
            self.flat.insert(function);
        } else {
            self.flat.remove(&function);
        }
        // What is written refers to the old symbol; what comes will find another.
        self.symbols[usize::from(number)].kind = EventKind(0);
        let slot = self.slot(function, flavour, |found| found == number);
        self.add_symbol(slot, function, flavour);
    }

    /// The number of a function in the block's list, with what events of this kind do.
    fn symbol(&mut self, function: u64, kind: EventKind) -> u16 {
        let flavour = if matches!(kind, EventKind::ENTRY | EventKind::TAIL) { kind } else { EventKind::CALL };
        let symbols = &self.symbols;
        let is_it = |found: u16| {
            let known = symbols[usize::from(found)];
            known.function == function && known.flavour == flavour
        };
        let slot = self.slot(function, flavour, is_it);
        match self.slots[slot] {
            NOTHING => self.add_symbol(slot, function, flavour),
            found => found,
        }
    }

    /// Where the table of symbols has the one that is looked for, or a free entry for it.
    fn slot(&self, function: u64, flavour: EventKind, is_it: impl Fn(u16) -> bool) -> usize {
        let hash = (function << 2 | u64::from(flavour.0 & 3)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (hash >> 50) as usize % SLOTS;
        while self.slots[slot] != NOTHING && !is_it(self.slots[slot]) {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }

    fn add_symbol(&mut self, slot: usize, function: u64, flavour: EventKind) -> u16 {
        let number = self.symbols.len() as u16;
        let pushes = flavour == EventKind::CALL && !self.flat.contains(&function);
        self.symbols.push(Known { function, kind: flavour, flavour, pushes });
        self.slots[slot] = number;
        number
    }

    #[inline]
    fn long_time(&mut self, since: u64) -> u8 {
        if since < 1 << 8 {
            self.times_8.push(since as u8);
            TIME_8
        } else if since < 1 << 16 {
            self.times_16.extend_from_slice(&(since as u16).to_le_bytes());
            TIME_16
        } else {
            self.times_64.extend_from_slice(&since.to_le_bytes());
            TIME_64
        }
    }

    /// The block as it is now: its header, its bytes, and the functions in it.
    pub(super) fn block(&self, payload: &mut Vec<u8>) -> (BlockHeader, Vec<u8>) {
        let mut list = Vec::new();
        let mut module = 0;
        for &Known { function, flavour: kind, pushes, .. } in &self.symbols {
            let (own_module, index) = (function >> 32, function & u64::from(u32::MAX));
            let has_module = own_module != module;
            let flavour = Symbol { function, kind, pushes }.flavour();
            number::put(&mut list, index << 3 | flavour << 1 | u64::from(has_module));
            if has_module {
                number::put(&mut list, own_module);
                module = own_module;
            }
        }
        let runs = self.runs.bytes();
        payload.clear();
        for usual in self.usual {
            payload.extend_from_slice(&usual.to_le_bytes());
        }
        let parts = [&self.times_8, &self.times_16, &self.times_64, &self.functions, &list, &self.escapes, &runs];
        payload.extend_from_slice(&(self.symbols.len() as u32).to_le_bytes());
        for part in parts {
            payload.extend_from_slice(&(part.len() as u32).to_le_bytes());
        }
        payload.extend_from_slice(&self.controls[..self.count]);
        for part in parts {
            payload.extend_from_slice(part);
        }
        let header = BlockHeader {
            kind: BlockKind::Events,
            payload_len: payload.len() as u32,
            payload_crc: crc32fast::hash(payload),
            first: self.first,
            count: self.count as u32,
            thread: self.thread,
            earliest: TraceNanos(self.earliest),
            latest: TraceNanos(self.latest),
            origin: self.first_time,
            extent: self.first_height,
        };
        (header, bloom::of(self.symbols.iter().map(|known| known.function)))
    }

    /// Begins the next block, whose first event has this position.
    pub(super) fn begin_next(&mut self, first: u64) {
        for (usual, seen) in self.usual.iter_mut().zip(self.seen.iter_mut()) {
            if let Some(better) = most_usual(seen) {
                *usual = better;
            }
            seen.fill(0);
        }
        self.symbols.clear();
        self.slots.fill(NOTHING);
        self.before = None;
        self.first = first;
        (self.earliest, self.latest) = (u64::MAX, 0);
        self.count = 0;
        for part in [&mut self.times_8, &mut self.times_16, &mut self.times_64, &mut self.functions, &mut self.escapes]
        {
            part.clear();
        }
        self.runs = Runs::default();
    }
}

/// A function in the block's list, as the writer knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    function: u64,
    /// The kind of event that can be written as this symbol; none if its function was judged anew.
    kind: EventKind,
    /// A CALL, an ENTRY or a TAIL.
    flavour: EventKind,
    /// Whether a call opens a frame.
    pushes: bool,
}

/// Whether an event says that the newest of so many open frames went on in another function.
fn is_tail_of(event: &Event, height: u32) -> bool {
    event.kind == EventKind::TAIL && event.depth.wrapping_add(1) == height
}

/// The time from which on the most events lie within reach of a control byte.
fn most_usual(seen: &[u16; 256]) -> Option<u16> {
    const REACH: usize = TIME_8 as usize;
    let mut within: u32 = seen[..REACH].iter().map(|&count| u32::from(count)).sum();
    let (mut most, mut best) = (within, 0);
    for start in 1..=256 - REACH {
        within = within - u32::from(seen[start - 1]) + u32::from(seen[start + REACH - 1]);
        if within > most {
            (most, best) = (within, start as u16);
        }
    }
    (most > 0).then_some(best)
}

/// Which events have detail: runs of events whose details follow each other.
#[derive(Default)]
struct Runs {
    bytes: Vec<u8>,
    is_open: bool,
    /// The open run: its first event and its first detail.
    start: (u64, u32),
    length: u64,
    /// Behind the last run that was written.
    end: (u64, u32),
}

impl Runs {
    fn push(&mut self, position: u64, detail: DetailSeq) {
        let (_, first) = self.start;
        if self.is_open {
            if detail != DetailSeq::NONE && detail.0 == first.wrapping_add(self.length as u32) {
                self.length += 1;
                return;
            }
            let mut bytes = std::mem::take(&mut self.bytes);
            self.write(&mut bytes);
            self.bytes = bytes;
            self.end = (self.start.0 + self.length, first.wrapping_add(self.length as u32));
            self.is_open = false;
        }
        if detail != DetailSeq::NONE {
            (self.is_open, self.start, self.length) = (true, (position, detail.0), 1);
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        number::put(bytes, self.start.0 - self.end.0);
        number::put(bytes, self.length);
        number::put_signed(bytes, i64::from(self.start.1.wrapping_sub(self.end.1) as i32));
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if self.is_open {
            self.write(&mut bytes);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_time_has_the_most_within_reach() {
        let mut seen = [0; 256];
        assert_eq!(most_usual(&seen), None);
        seen[0] = 1;
        seen[30] = 5;
        seen[90] = 5;
        assert_eq!(most_usual(&seen), Some(30));
        seen[255] = 100;
        assert_eq!(most_usual(&seen), Some(195));
    }
}
