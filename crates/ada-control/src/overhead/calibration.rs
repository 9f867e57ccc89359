//! What a hook costs on this machine, now: the generated code of a trace, run here.
//!
//! A function of nothing but its return is hooked in ada's own memory, with a thread state, a shadow stack, chunks and
//! counters of its own, and called with and without its hook. This takes a few milliseconds, while the program is being
//! hooked. Everything that it needs is in the processor's caches.
//!
//! What counting costs is measured on some hundred functions that are called in no particular order: programs for which
//! it matters have as many hot ones, and what their hooks cost is mostly room in the processor's caches for instructions
//! and branches. One function alone would seem three times as cheap.

use std::io;
use std::ptr;
use std::time::Instant;

use ada_event::RuntimeAddr;
use ada_format::atf::HookCost;
use ada_patch::{AgentEntries, Arena, ExitPlan, HookSite, PatchPlan, StubKind, StubOptions};
use ada_process::arch::time_stamp;
use ada_ring::state::OWNER_DISTANCE;
use ada_ring::{CHUNK_SIZE, RECORDS_END, RawRecord, ShadowFrame, ThreadState, counters};

use crate::arch::calls;

/// What was measured, in nanoseconds.
pub(crate) type Calibrated = HookCost;

const ROUNDS: usize = 40;
const MOST_CALLS: usize = 1000;

const FUNCTION_ALIGN: usize = 64;

/// Measures. None where this process may not set its GS base, as stubs need.
pub(crate) fn calibrate(stubs: &StubOptions) -> Option<Calibrated> {
    // A thread of its own, because it gets another state pointer.
    std::thread::scope(|scope| scope.spawn(|| Rig::new(stubs).ok().and_then(|mut rig| rig.measure())).join().ok()?)
}

/// Memory that goes when this does.
struct Mapping {
    start: *mut u8,
    length: usize,
}

impl Mapping {
    fn new(length: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), length })
    }

    fn address(&self, offset: usize) -> RuntimeAddr {
        assert!(offset < self.length);
        RuntimeAddr(self.start as u64) + offset as u64
    }

    fn write<T: Copy>(&mut self, offset: usize, value: T) {
        assert!(offset + size_of::<T>() <= self.length);
        // SAFETY: within the mapping, which is ours alone.
        unsafe { self.start.add(offset).cast::<T>().write_unaligned(value) };
    }

    fn write_bytes(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.length);
        // SAFETY: as above; the bytes lie elsewhere.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(offset), bytes.len()) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made in `new`; no thread runs code in it any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// All that the stubs use.
struct Rig {
    stubs: StubOptions,
    /// The arena, then the functions.
    code: Mapping,
    functions_at: usize,
    state: Mapping,
    shadow: Mapping,
    chunks: Mapping,
    _counters: Mapping,
}

/// The functions, in the order of their addresses.
const BARE: usize = 0;
const RECORDED: usize = 1;
/// Those that are counted, after as many that are not hooked.
const MANY: usize = 256;
const MANY_BARE: usize = 2;
const COUNTED: usize = MANY_BARE + MANY;
/// Two rows of calls: of functions that are not hooked, and of those that are counted.
const ROWS: usize = COUNTED + MANY;
const ROW_CALLS: usize = 1024;
const ROW_ROUNDS: usize = 4;
const ROW_BYTES: usize = calls::row_bytes(ROW_CALLS);

impl Rig {
    fn new(stubs: &StubOptions) -> io::Result<Self> {
        if !calls::can_set_state_pointer() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // The first thread of a static program is known by other means, which costs a little more.
        let stubs = StubOptions { owner_by_word: true, ..*stubs };
        let functions_at = Arena::room_for(1 + MANY, 1 + MANY);
        let mut rig = Self {
            stubs,
            code: Mapping::new(functions_at + ROWS * FUNCTION_ALIGN + 2 * ROW_BYTES)?,
            functions_at,
            state: Mapping::new(OWNER_DISTANCE + size_of::<ThreadState>())?,
            shadow: Mapping::new(16 * ShadowFrame::SIZE)?,
            chunks: Mapping::new(3 * CHUNK_SIZE)?,
            _counters: Mapping::new(counters::BLOCK_BYTES)?,
        };
        rig.fill().map_err(|()| io::ErrorKind::Other)?;
        // SAFETY: the mapping is ours, and filled.
        let made = unsafe { libc::mprotect(rig.code.start.cast(), rig.code.length, libc::PROT_READ | libc::PROT_EXEC) };
        if made == 0 { Ok(rig) } else { Err(io::Error::last_os_error()) }
    }

    fn function(&self, number: usize) -> RuntimeAddr {
        self.code.address(self.functions_at + number * FUNCTION_ALIGN)
    }

    fn fill(&mut self) -> Result<(), ()> {
        let base = self.code.address(0);
        // Nothing rare happens here, so nobody calls the agent.
        let mut arena = Arena::new(base, &AgentEntries::default(), &self.stubs, 1 + MANY, 1 + MANY).map_err(drop)?;
        for number in 0..ROWS {
            self.code.write_bytes(self.functions_at + number * FUNCTION_ALIGN, &calls::FUNCTION);
        }
        for (index, number) in [RECORDED].into_iter().chain(COUNTED..ROWS).enumerate() {
            let address = self.function(number);
            let plan = PatchPlan::at_runtime(address, &calls::FUNCTION, StubKind::Full).map_err(drop)?;
            let exit_at = address + calls::EXIT.start as u64;
            let exit = ExitPlan::at_runtime(exit_at, &calls::FUNCTION[calls::EXIT]).ok_or(())?;
            let sites = [arena.add(&plan, index, 0, None).map_err(drop)?, arena.add_exit(&exit, 0).map_err(drop)?];
            for patch in sites.iter().flat_map(HookSite::patches) {
                self.code.write_bytes((patch.at - base) as usize, patch.bytes());
            }
        }
        for (offset, bytes) in arena.finish() {
            self.code.write_bytes(offset, &bytes);
        }
        for number in 0..MANY {
            self.code.write(Arena::switch_offset(1 + number), counters::switch_word(counters::FIRST + number));
        }
        self.write_row(0, MANY_BARE);
        self.write_row(1, COUNTED);
        let (top, counters) = (self.shadow.address(0).0, self._counters.address(0).0);
        let mut set = |field: usize, value: u64| self.state.write(OWNER_DISTANCE + field, value);
        use std::mem::offset_of;
        set(offset_of!(ThreadState, shadow_top), top);
        set(offset_of!(ThreadState, shadow_base), top);
        set(offset_of!(ThreadState, shadow_limit), top + 8 * ShadowFrame::SIZE as u64);
        set(offset_of!(ThreadState, record_limit), u64::MAX);
        set(offset_of!(ThreadState, stack_high), u64::MAX);
        // All that happens is on one stack.
        set(offset_of!(ThreadState, floor_complement), u64::MAX);
        set(offset_of!(ThreadState, counters), counters);
        self.state.write(0, calls::own_thread_pointer());
        Ok(())
    }

    /// A function that calls all of `MANY` functions, in an order that is always the same and looks random.
    fn write_row(&mut self, row: usize, first: usize) {
        let start = self.row(row);
        let mut random = 1_u32;
        let targets = (0..ROW_CALLS).map(|_| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.function(first + (random >> 16) as usize % MANY)
        });
        let code = calls::row(start, targets);
        self.code.write_bytes((start - self.code.address(0)) as usize, &code);
    }

    fn row(&self, row: usize) -> RuntimeAddr {
        self.code.address(self.functions_at + ROWS * FUNCTION_ALIGN + row * ROW_BYTES)
    }

    /// The first chunk-aligned address of the chunks.
    fn chunk(&self) -> usize {
        let start = self.chunks.start as usize;
        start.next_multiple_of(CHUNK_SIZE) - start
    }

    /// Calls a function `count` times; gives seconds.
    fn time(&mut self, function: RuntimeAddr, count: usize) -> f64 {
        use std::mem::offset_of;
        let (index, detail) = (self.chunks.address(self.chunk()), self.chunks.address(self.chunk() + CHUNK_SIZE));
        self.state.write(OWNER_DISTANCE + offset_of!(ThreadState, index_position), index);
        self.state.write(OWNER_DISTANCE + offset_of!(ThreadState, detail_position), detail);
        let state = self.state.address(OWNER_DISTANCE);
        let started = Instant::now();
        // SAFETY: the code is a function of one argument that keeps to the C calling convention, hooked or not; its hook
        // finds this thread's state behind its pointer, and room for all its records in the chunks.
        unsafe { calls::run(function, state, count) };
        started.elapsed().as_secs_f64()
    }

    fn measure(&mut self) -> Option<Calibrated> {
        let stride = self.stubs.detail.map_or(1, |shape| shape.layout().stride);
        let calls = MOST_CALLS.min(RECORDS_END / (2 * stride.max(RawRecord::SIZE)) - 1);
        let (mut pairs, mut counts, mut insides, mut ticks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let bare = self.time(self.function(BARE), calls);
            let started = time_stamp();
            let recorded = self.time(self.function(RECORDED), calls);
            ticks.push((time_stamp() - started) as f64 / recorded);
            insides.push(self.inside(calls)?);
            pairs.push((recorded - bare) / calls as f64 * 1e9);
            let [bare, counted] = [self.row(0), self.row(1)].map(|row| self.time(row, ROW_ROUNDS));
            counts.push(((counted - bare) / (ROW_ROUNDS * ROW_CALLS) as f64 * 1e9).max(0.0));
        }
        let rate = quartiles(ticks).1 / 1e9;
        insides.iter_mut().for_each(|inside| *inside /= rate);
        let (pair, pair_error) = low_and_spread(pairs);
        let (inside, inside_error) = low_and_spread(insides);
        let (count, count_error) = low_and_spread(counts);
        let extra = Default::default();
        let [at_least, at_most] = HookCost::ON_A_QUIET_MACHINE;
        Some(HookCost { pair, pair_error, inside, inside_error, count, count_error, at_least, at_most, extra })
    }

    /// How far apart the stamps of a call and its return are on average, in ticks. None where records are missing.
    fn inside(&self, calls: usize) -> Option<f64> {
        let start = self.chunks.address(self.chunk()).0 as *const RawRecord;
        let mut sum = 0;
        for pair in 0..calls {
            // SAFETY: within the first chunk, where the stubs have written records.
            let (call, back) = unsafe { (start.add(2 * pair).read(), start.add(2 * pair + 1).read()) };
            sum += back.tsc.checked_sub(call.tsc).filter(|_| call.tsc != 0)?;
        }
        Some(sum as f64 / calls as f64)
    }
}

/// What remains when nothing disturbs, and how sure that is: the lower quartile, and the distance to the upper one.
fn low_and_spread(values: Vec<f64>) -> (f64, f64) {
    let (low, _, high) = quartiles(values);
    (low, (high - low) / 2.0)
}

fn quartiles(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |share: usize| values[values.len() * share / 4];
    (at(1), at(2), at(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::DetailShape;

    #[test]
    fn a_hook_costs_more_than_nothing_and_counting_less_than_recording() {
        let shape = DetailShape { window: 128, ..DetailShape::default() };
        let details = [None, Some(shape), Some(DetailShape { vectors: true, ..shape })];
        for detail in details {
            let cost = calibrate(&StubOptions { owner_by_word: true, detail }).expect("this machine traces");
            assert!(cost.pair > 0.0 && cost.count < cost.pair && cost.inside < cost.pair, "{detail:?} {cost:?}");
        }
    }
}
