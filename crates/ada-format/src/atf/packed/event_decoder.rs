//! Reads a block of events.

use ada_event::{DetailSeq, Event, EventKind, FunctionId, ThreadId, TraceNanos};

use super::block::{BlockHeader, MOST_EVENTS};
use super::detail_runs::{self, DetailRun};
use super::event_code::{CALL_FAR, CALL_NEAR, ESCAPE, HAS_DEPTH, HAS_THREAD, PREFIX, RETURN, TIME_8, TIME_16, TIME_64};
use super::model::{MOST_SYMBOLS, State, Symbol, Tables};
use super::number;
use crate::atf::BlockFault;
use crate::atf::layout::{u16_at, u32_at};

/// Reads blocks, one after the other, in the same memory.
#[derive(Default)]
pub struct EventDecoder {
    tables: Tables,
    symbols: Vec<Symbol>,
}

/// Puts the events of a block into their slots, one after the other.
pub(super) trait BlockSink {
    /// Where an event goes.
    type Slot;

    /// An event with all its fields.
    fn event(&mut self, slot: &mut Self::Slot, event: Event);

    /// An event of the block's thread, with its function as a symbol of the block.
    fn event_of(
        &mut self,
        slot: &mut Self::Slot,
        symbol: u16,
        function: FunctionId,
        kind: EventKind,
        depth: u32,
        time: u64,
    );
}

/// The parts of a payload that are not read yet.
struct Parts<'a> {
    /// By control: nanoseconds since the event before, or [`LISTED`].
    steps: [u64; 256],
    times_8: &'a [u8],
    times_16: &'a [[u8; 2]],
    times_64: &'a [[u8; 8]],
    functions: &'a [[u8; 2]],
    escapes: &'a [u8],
}

impl EventDecoder {
    /// Reads the events of a block whose checksum is right. They replace what `events` held.
    pub(crate) fn decode(
        &mut self,
        header: &BlockHeader,
        payload: &[u8],
        events: &mut Vec<[u8; Event::SIZE]>,
    ) -> Result<(), BlockFault> {
        // Whatever is in there is written over: most of the time it has the right length already.
        events.resize(header.count.min(MOST_EVENTS) as usize, [0; Event::SIZE]);
        let details = self.read(header, payload, events, WholeEvents { thread: header.thread })?;
        detail_runs::apply(&details, events);
        Ok(())
    }

    /// Hands the events to a sink, with one slot for each, and returns their links to detail. If the block contradicts
    /// itself, the sink has got the events before that.
    pub(super) fn read<S: BlockSink>(
        &mut self,
        header: &BlockHeader,
        payload: &[u8],
        slots: &mut [S::Slot],
        sink: S,
    ) -> Result<Vec<DetailRun>, BlockFault> {
        if header.count > MOST_EVENTS || payload.len() < PREFIX + header.count as usize {
            return Err(if header.count > MOST_EVENTS { BlockFault::TooLarge } else { BlockFault::Short });
        }
        let (prefix, rest) = payload.split_at(PREFIX);
        let (controls, mut rest) = rest.split_at(header.count as usize);
        let mut part = |number: usize| {
            let length = u32_at(prefix, 12 + 4 * number) as usize;
            let (part, behind) = rest.split_at_checked(length).ok_or(BlockFault::Short)?;
            rest = behind;
            Ok(part)
        };
        let (times_8, times_16, times_64, functions) = (part(0)?, part(1)?, part(2)?, part(3)?);
        let (list, escapes, runs) = (part(4)?, part(5)?, part(6)?);
        let (Ok(times_16), Ok(times_64), Ok(functions)) = (whole(times_16), whole(times_64), whole(functions)) else {
            return Err(BlockFault::Short);
        };
        if !rest.is_empty() {
            return Err(BlockFault::Long);
        }
        self.read_symbols(list, u32_at(prefix, 8))?;
        let parts = Parts { steps: steps(prefix), times_8, times_16, times_64, functions, escapes };
        self.read_events(header, controls, parts, slots, sink)?;
        detail_runs::read(runs, controls.len())
    }

    /// The functions of the block that was read last, in the order of its list.
    pub(super) fn functions(&self) -> impl Iterator<Item = FunctionId> {
        self.symbols.iter().map(|symbol| FunctionId(symbol.function))
    }

    fn read_symbols(&mut self, mut list: &[u8], count: u32) -> Result<(), BlockFault> {
        self.symbols.clear();
        if count > MOST_SYMBOLS {
            return Err(BlockFault::TooLarge);
        }
        let mut module = 0;
        while !list.is_empty() {
            if self.symbols.len() == count as usize {
                return Err(BlockFault::Function);
            }
            let coded = number::take(&mut list)?;
            if coded & 1 != 0 {
                module = number::take(&mut list)?;
            }
            let function = module << 32 | coded >> 3 & u64::from(u32::MAX);
            self.symbols.push(Symbol::new(function, coded >> 1 & 3)?);
        }
        if self.symbols.len() == count as usize { Ok(()) } else { Err(BlockFault::Function) }
    }

    fn read_events<S: BlockSink>(
        &mut self,
        header: &BlockHeader,
        controls: &[u8],
        mut parts: Parts<'_>,
        slots: &mut [S::Slot],
        mut sink: S,
    ) -> Result<(), BlockFault> {
        let Self { tables, symbols } = self;
        let symbols = &symbols[..];
        let mut state = tables.begin(header.extent);
        let mut time = header.origin;
        for (&control, slot) in controls.iter().zip(slots) {
            let op = control & 3;
            time = time.wrapping_add(match parts.steps[usize::from(control)] {
                LISTED => match control >> 2 {
                    TIME_8 => u64::from(*take_one(&mut parts.times_8)?),
                    TIME_16 => u64::from(u16::from_le_bytes(*take_one(&mut parts.times_16)?)),
                    _ => u64::from_le_bytes(*take_one(&mut parts.times_64)?),
                },
                step => step,
            });
            if op == RETURN {
                let number = state.top;
                let Some(symbol) = symbols.get(usize::from(number)) else { return Err(BlockFault::Function) };
                let depth = state.height.wrapping_sub(1);
                state.ended(tables, number, depth);
                sink.event_of(slot, number, FunctionId(symbol.function), EventKind::RETURN, depth, time);
                continue;
            }
            let guesses = state.guess_indexes();
            let number = match op {
                CALL_FAR => tables.far(guesses),
                CALL_NEAR => tables.near(guesses),
                _ => u16::from_le_bytes(*take_one(&mut parts.functions)?),
            };
            if number == ESCAPE {
                let escaped = read_escape(tables, symbols, state, header.thread, &mut parts.escapes)?;
                state = escaped.state;
                sink.event(slot, Event { timestamp: TraceNanos(time), ..escaped.event });
                continue;
            }
            let Some(symbol) = symbols.get(usize::from(number)) else { return Err(BlockFault::Function) };
            let depth = if symbol.kind == EventKind::TAIL {
                let depth = state.height.wrapping_sub(1);
                state.went_on(tables, guesses, number, depth);
                depth
            } else {
                let depth = state.height;
                state.called(tables, guesses, number, depth, symbol.pushes);
                depth
            };
            sink.event_of(slot, number, FunctionId(symbol.function), symbol.kind, depth, time);
        }
        let is_read = parts.times_8.is_empty()
            && parts.times_16.is_empty()
            && parts.times_64.is_empty()
            && parts.functions.is_empty()
            && parts.escapes.is_empty();
        if is_read { Ok(()) } else { Err(BlockFault::Long) }
    }
}

/// Events as a raw file has them.
struct WholeEvents {
    thread: ThreadId,
}

impl BlockSink for WholeEvents {
    type Slot = [u8; Event::SIZE];

    #[inline(always)]
    fn event(&mut self, slot: &mut Self::Slot, event: Event) {
        *slot = event.to_le_bytes();
    }

    #[inline(always)]
    fn event_of(
        &mut self,
        slot: &mut Self::Slot,
        _: u16,
        function: FunctionId,
        kind: EventKind,
        depth: u32,
        time: u64,
    ) {
        let (timestamp, thread, detail) = (TraceNanos(time), self.thread, DetailSeq::NONE);
        self.event(slot, Event { timestamp, function, thread, kind, depth, detail });
    }
}

/// Instead of a step: the time is in one of the lists beside the controls.
const LISTED: u64 = u64::MAX;

/// The steps in time that controls stand for.
fn steps(prefix: &[u8]) -> [u64; 256] {
    let usual = [0, 1, 2, 3].map(|op| u64::from(u16_at(prefix, 2 * op)));
    std::array::from_fn(|control| match (control >> 2) as u8 {
        TIME_8 | TIME_16 | TIME_64 => LISTED,
        beyond => usual[control & 3] + u64::from(beyond),
    })
}

/// An escaped event without its time, and the state of the model after it.
struct Escaped {
    event: Event,
    state: State,
}

/// Reads an escaped event.
#[cold]
#[inline(never)]
fn read_escape(
    tables: &mut Tables,
    symbols: &[Symbol],
    mut state: State,
    thread: ThreadId,
    escapes: &mut &[u8],
) -> Result<Escaped, BlockFault> {
    let [flags, low, high, rest @ ..] = escapes else { return Err(BlockFault::Short) };
    let number = u16::from_le_bytes([*low, *high]);
    *escapes = rest;
    let Some(symbol) = symbols.get(usize::from(number)) else { return Err(BlockFault::Function) };
    if *flags & 7 > 4 || *flags & !(7 | HAS_DEPTH | HAS_THREAD) != 0 {
        return Err(BlockFault::Code);
    }
    let kind = match *flags & 7 {
        0 => EventKind(take_u32(escapes)?),
        kind => EventKind(kind.into()),
    };
    let implied = if kind.is_end() { state.height.wrapping_sub(1) } else { state.height };
    let depth = if *flags & HAS_DEPTH != 0 { take_u32(escapes)? } else { implied };
    let thread = if *flags & HAS_THREAD != 0 { ThreadId(take_u32(escapes)?) } else { thread };
    match kind {
        EventKind::CALL | EventKind::ENTRY => state.called(tables, state.guess_indexes(), number, depth, symbol.pushes),
        _ if kind.is_end() => state.ended(tables, number, depth),
        _ => {}
    }
    let function = FunctionId(symbol.function);
    let event = Event { timestamp: TraceNanos(0), function, thread, kind, depth, detail: DetailSeq::NONE };
    Ok(Escaped { event, state })
}

/// Bytes as numbers of a fixed width; fails where bytes remain.
fn whole<const N: usize>(bytes: &[u8]) -> Result<&[[u8; N]], BlockFault> {
    match bytes.as_chunks() {
        (whole, []) => Ok(whole),
        _ => Err(BlockFault::Short),
    }
}

#[inline]
fn take_one<'a, T>(part: &mut &'a [T]) -> Result<&'a T, BlockFault> {
    let (first, rest) = part.split_first().ok_or(BlockFault::Short)?;
    *part = rest;
    Ok(first)
}

fn take_u32(bytes: &mut &[u8]) -> Result<u32, BlockFault> {
    let (first, rest) = bytes.split_first_chunk().ok_or(BlockFault::Short)?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*first))
}
