//! What writer and reader of a block both know before each event: which frames are open, and what usually comes next.
//!
//! It is a guess and never a claim. The writer compares it with the event and says where it is wrong, so that any row of
//! events can be written; a trace of a program that calls and returns as programs do is guessed right most of the time.

use ada_event::EventKind;

use crate::atf::BlockFault;

/// Frames that are remembered; deeper ones share their entries.
const FRAMES: usize = 8192;
/// Entries of a table of guesses.
const GUESSES: usize = 8192;
/// No symbol.
pub(super) const NOTHING: u16 = u16::MAX;
/// Symbols that a block may list: none has the number [`NOTHING`].
pub(super) const MOST_SYMBOLS: u32 = NOTHING as u32;

/// A function in a block's list, and what an event of it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) function: u64,
    /// What is written by its number: a CALL, an ENTRY, or a TAIL.
    pub(super) kind: EventKind,
    /// Whether a call opens a frame.
    pub(super) pushes: bool,
}

impl Symbol {
    /// The two bits that a block's list has for it.
    pub(super) fn flavour(self) -> u64 {
        match self.kind {
            EventKind::ENTRY => 2,
            EventKind::TAIL => 3,
            _ => u64::from(!self.pushes),
        }
    }

    pub(super) fn new(function: u64, flavour: u64) -> Result<Self, BlockFault> {
        match flavour {
            0 => Ok(Self { function, kind: EventKind::CALL, pushes: true }),
            1 => Ok(Self { function, kind: EventKind::CALL, pushes: false }),
            2 => Ok(Self { function, kind: EventKind::ENTRY, pushes: false }),
            3 => Ok(Self { function, kind: EventKind::TAIL, pushes: false }),
            _ => Err(BlockFault::Code),
        }
    }
}

/// The tables of the model. What changes with every event is in [`State`], so that loops over many events keep it in
/// registers.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    frames: Box<[u16; FRAMES]>,
    /// What was called last by the same function, behind the same call.
    near: Box<[u16; GUESSES]>,
    /// The same, with what was called before that.
    far: Box<[u16; GUESSES]>,
}

/// Where the thread is.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) height: u32,
    /// The function of the newest open frame.
    pub(super) top: u16,
    /// What the open function has called last; nothing if it has not called yet.
    last: u16,
    /// The newest call of the thread, wherever it was made.
    newest: u16,
    /// The calls before that.
    trail: u32,
}

/// Where the tables have their guesses for the next call.
#[derive(Clone, Copy)]
pub(super) struct GuessIndexes {
    near: usize,
    far: usize,
}

impl Default for Tables {
    fn default() -> Self {
        let table = |size: usize| vec![0; size].into_boxed_slice();
        Self {
            frames: table(FRAMES).try_into().expect("it has that size"),
            near: table(GUESSES).try_into().expect("it has that size"),
            far: table(GUESSES).try_into().expect("it has that size"),
        }
    }
}

impl Tables {
    /// Forgets everything but how many frames are open.
    pub(super) fn begin(&mut self, height: u32) -> State {
        self.frames.fill(NOTHING);
        self.near.fill(0);
        self.far.fill(0);
        State { height, top: NOTHING, last: NOTHING, newest: 0, trail: 0 }
    }

    #[inline]
    pub(super) fn near(&self, guesses: GuessIndexes) -> u16 {
        self.near[guesses.near]
    }

    #[inline]
    pub(super) fn far(&self, guesses: GuessIndexes) -> u16 {
        self.far[guesses.far]
    }
}

impl State {
    #[inline]
    pub(super) fn guess_indexes(&self) -> GuessIndexes {
        let context = u32::from(self.top) << 16 | u32::from(self.last);
        let near = context.wrapping_mul(0x9e37_79b1);
        let far = (context ^ self.trail).wrapping_mul(0x85eb_ca6b);
        GuessIndexes { near: (near >> 19) as usize % GUESSES, far: (far >> 19) as usize % GUESSES }
    }

    /// A function was called; `guesses` are the indexes before.
    #[inline]
    pub(super) fn called(&mut self, tables: &mut Tables, guesses: GuessIndexes, symbol: u16, depth: u32, pushes: bool) {
        tables.near[guesses.near] = symbol;
        tables.far[guesses.far] = symbol;
        self.trail = self.trail << 8 ^ u32::from(self.newest).wrapping_mul(0x9e37_79b1);
        self.newest = symbol;
        if pushes {
            tables.frames[depth as usize % FRAMES] = symbol;
            (self.height, self.top, self.last) = (depth.wrapping_add(1), symbol, NOTHING);
        } else {
            self.moved(tables, depth);
            self.last = symbol;
        }
    }

    /// The newest frame went on in another function; `guesses` are those before.
    #[inline]
    pub(super) fn went_on(&mut self, tables: &mut Tables, guesses: GuessIndexes, symbol: u16, depth: u32) {
        tables.near[guesses.near] = symbol;
        tables.far[guesses.far] = symbol;
        self.ended(tables, symbol, depth);
    }

    /// The frame at a depth ended.
    #[inline]
    pub(super) fn ended(&mut self, tables: &Tables, symbol: u16, depth: u32) {
        self.moved(tables, depth);
        self.last = symbol;
    }

    #[inline]
    fn moved(&mut self, tables: &Tables, height: u32) {
        self.height = height;
        self.top = tables.frames[height.wrapping_sub(1) as usize % FRAMES];
    }
}
