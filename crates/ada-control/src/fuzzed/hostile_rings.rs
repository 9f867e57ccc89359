//! Rings in which a target writes whatever it likes.
//!
//! Single words at random seldom make anything that the drain reads for long. So there are steps too that write what stubs
//! and agent would, in all lanes: rows of records whose time stamps fit each other, with holes, in chunks of threads that
//! live or do not, with ordinals that are right or forged.

use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use ada_event::{ModuleId, ProcessId, RuntimeAddr};
use ada_format::atf::Store;
use ada_image::{FunctionTable, Image, UnwindTable};
use ada_patch::Verdict;
use ada_process::maps::LoadedFile;
use ada_process::{Clock, this_process};
use ada_ring::detail::MORE;
use ada_ring::record::{HAS_DETAIL, IS_PROBED};
use ada_ring::{
    ChunkHeader, ChunkState, Control, DetailMode, DetailShape, Lane, OnFull, Pool, RECORDS_END, RawDetail, RawRecord,
};

use crate::drain::session::SessionFiles;
use crate::drain::windows::{TriggerList, Watch};
use crate::drain::{Drain, PrintedCalls, UsedDescriptors};
use crate::install::function_numbers::FunctionNumbers;
use crate::install::shared_memory::SharedMemory;
use crate::options::PrintedFunctions;
use crate::plan::module::Module;
use crate::program_id::ProgramId;
use crate::roll::Roll;

/// How many chunks are written to: those that all share, and some beyond.
const CHUNKS: usize = 8;

/// Bytes of a step: what is done, of which chunk, where, and a value.
const STEP: usize = 12;

/// Functions that the drain knows something about, and some that it does not.
const WANTED: [&str; 8] = ["read", "open", "close", "dup2", "pipe", "sigaction", "connect", "qsort"];

/// Drains rings in which a target writes whatever it likes, also between two rounds. The session goes into `folder`.
pub fn hostile_rings(bytes: &[u8], folder: &Path) {
    let Some((&[first, second], steps)) = bytes.split_first_chunk() else { return };
    let detail = [DetailMode::Off, DetailMode::Windows, DetailMode::All][usize::from(first) % 3];
    let store = if first & 0x80 == 0 { Store::Packed } else { Store::Raw };
    let shape = DetailShape {
        window: usize::from(first >> 2 & 3) * 64,
        vectors: second & 1 != 0,
        probes_too: first & 0x40 != 0,
    };
    let on_full = if second & 8 == 0 { OnFull::Wait } else { OnFull::Drop };
    let shared = SharedMemory::new(CHUNKS / 2, on_full, detail).expect("memory for rings");
    let pool = shared.pool();
    pool.control().chunk_end.store(CHUNKS as u32, Ordering::Relaxed);
    let module = library();
    let mut numbers = FunctionNumbers::default();
    numbers.add(module.id, 0, module.functions.len());
    let clock = Clock::in_nanoseconds(0);
    let mut drain = Drain::new(shared.rings.clone(), clock, Arc::new(RwLock::new(numbers)), shape);
    if detail == DetailMode::Windows {
        let triggers = ["crash", "signal", "symbol=qsort", "slow=close>1us"].map(|it| it.parse().expect("a trigger"));
        let list = TriggerList::new(triggers.into(), Roll::Events(30), Roll::Events(9));
        drain.watch_for(Watch::new(Arc::new(list), pool, clock, ProcessId(1)));
    }
    let (to, descriptors) = std::sync::mpsc::sync_channel(8);
    if second & 2 != 0 {
        let nowhere = Arc::new(Mutex::new(std::io::sink()));
        drain.print(PrintedCalls::new(&PrintedFunctions { patterns: vec!["*p*".to_owned()], to: nowhere }));
        drain.tell_descriptors(UsedDescriptors::new(to));
    }
    drain.refresh_watch(std::slice::from_ref(module));
    let mut files = SessionFiles::create(folder, this_process(), store).expect("a session's folder");
    if second & 4 != 0 {
        files.keep_newest(1 << 16);
    }
    let hostile = Hostile { pool, shape, functions: wanted(module) };
    for step in steps.as_chunks::<STEP>().0 {
        let at = usize::from(u16::from_le_bytes([step[2], step[3]]));
        let value = u64::from_le_bytes(std::array::from_fn(|byte| step[4 + byte]));
        match step[0] % 16 {
            0 => {
                drain.round(&mut files, false);
            }
            what => hostile.change(what, usize::from(step[1]) % CHUNKS, at, value),
        }
    }
    drain.round(&mut files, true);
    drain.flush(&mut files);
    drain.finish_windows(&files);
    tell_all(&drain);
    drop(descriptors);
}

/// What the manifests ask for in the end.
fn tell_all(drain: &Drain) {
    let drops = drain.drops();
    let _ = (drain.drops_by_lane(&drops), drain.figures(), drain.unrecorded_crashes(), drain.waited_ns());
    for pid in drain.programs().keys().copied().chain([this_process()]) {
        let _ = (drain.gaps(pid), drain.windows(pid), drain.crashes(pid), drain.exit_call(pid));
    }
}

/// The C library of this process, as if it were the target's.
fn library() -> &'static Module {
    static LIBRARY: OnceLock<Module> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("procfs");
        let path = maps.lines().find_map(|line| Some(&line[line.find('/').filter(|_| line.contains("libc.so"))?..]));
        let bytes = std::fs::read(path.expect("a C library")).expect("that can be read");
        let image = Image::parse(&bytes).expect("an ELF file");
        let functions = Arc::new(FunctionTable::discover(&image, &UnwindTable::parse(&image), &[]));
        Module {
            id: ModuleId(1),
            program: ProgramId(0),
            file: LoadedFile { path: "/libc.so.6".into(), start: RuntimeAddr(0), end: RuntimeAddr(0) },
            bias: 0,
            other_biases: Vec::new(),
            build_id: None,
            verdicts: vec![Verdict::Hooked; functions.len()].into(),
            functions,
            table_hash: 0,
            first_function: 0,
            captured: Arc::default(),
        }
    })
}

fn wanted(module: &Module) -> Vec<u32> {
    let known = WANTED.iter().filter_map(|name| module.functions.find(name)).map(|index| index as u32);
    // And one that nobody has.
    known.chain([0, 1 << 20, u32::MAX]).collect()
}

struct Hostile {
    pool: Pool,
    shape: DetailShape,
    functions: Vec<u32>,
}

impl Hostile {
    fn change(&self, what: u8, chunk: usize, at: usize, value: u64) {
        let (pool, control) = (&self.pool, self.pool.control());
        let header = pool.header(chunk);
        let whole_header: *const ChunkHeader = header;
        let whole_control: *const Control = control;
        let set_word = |start: *const u8, bytes: usize| {
            // SAFETY: a word of the header or of the control block, which hold atomics alone.
            let word = unsafe { &*start.wrapping_add(at * 4 % (bytes & !3)).cast::<AtomicU32>() };
            word.store(value as u32, Ordering::Relaxed);
        };
        match what {
            1 => self.record(chunk, at * 8).store(value, Ordering::Relaxed),
            2 => set_word(whole_header.cast(), size_of::<ChunkHeader>()),
            3 => control.chunks[chunk].store(value as u32 % 6, Ordering::Relaxed),
            // What stands first, before tables that fill the rest.
            4 => set_word(whole_control.cast(), 128),
            5 => set_word(whole_control.cast(), size_of::<Control>()),
            // A whole row of records, so that chunks come to their end.
            6 => (0..RECORDS_END / RawRecord::SIZE).skip(at).for_each(|number| {
                self.record(chunk, number * RawRecord::SIZE + 8).store(value ^ number as u64, Ordering::Relaxed);
                self.record(chunk, number * RawRecord::SIZE).store(value >> 8 | 1, Ordering::Relaxed);
            }),
            // A thread that nobody has.
            7 => {
                header.pid.store(this_process().0, Ordering::Relaxed);
                header.tid.store(at as u32, Ordering::Relaxed);
                header.lane.store(value as u32 % 4, Ordering::Relaxed);
                control.chunks[chunk].store(2 + (value >> 8) as u32 % 2, Ordering::Relaxed);
            }
            8 => self.hand_out(chunk, at, value),
            9 => self.write_events(chunk, at, value),
            10 => self.write_details(chunk, self.shape.layout().stride, at, value),
            11 => self.write_details(chunk, self.shape.probe_layout().stride, at, value),
            // A hole among the records of a lane.
            12 => {
                let stride =
                    [RawRecord::SIZE, self.shape.layout().stride, self.shape.probe_layout().stride][value as usize % 3];
                self.record(chunk, at * stride).store(0, Ordering::Relaxed);
            }
            13 => self.crash(at, value),
            14 => {
                let counts = [&header.lost_before, &header.waited_ticks, &header.thread_result];
                counts[at % 3].store(value, Ordering::Relaxed);
                header.exit_status.store(value as u32, Ordering::Relaxed);
                header.has_thread_result.store(at as u32 & 1, Ordering::Relaxed);
            }
            _ => {
                control.drops[at % control.drops.len()].store(value, Ordering::Relaxed);
                control.exhausted.store(value, Ordering::Relaxed);
                control.crashes.unrecorded.store(value, Ordering::Relaxed);
            }
        }
    }

    /// A word of a chunk's records.
    fn record(&self, chunk: usize, at: usize) -> &AtomicU64 {
        // SAFETY: within the pool's memory, which is shared, and made for more chunks.
        unsafe { &*self.pool.records(chunk).wrapping_add((at & !7) % RECORDS_END).cast::<AtomicU64>() }
    }

    /// Makes it the chunk of a thread, in a lane, with an ordinal that may be the next one.
    fn hand_out(&self, chunk: usize, at: usize, value: u64) {
        let header = self.pool.header(chunk);
        let bits = |from: u32, count: u32| (value >> from) & ((1 << count) - 1);
        let lane = [Lane::Index, Lane::Detail, Lane::Probe][bits(0, 4) as usize % 3];
        let living = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let (pid, tid) = match at % 4 {
            0 => (this_process().0, living),
            dead => (this_process().0 ^ (at as u32 >> 15), dead as u32),
        };
        let ordinal = if bits(6, 3) == 0 { u64::MAX - bits(4, 2) } else { bits(4, 2) };
        header.pid.store(pid, Ordering::Relaxed);
        header.tid.store(tid, Ordering::Relaxed);
        header.lane.store(lane as u32, Ordering::Relaxed);
        header.ordinal.store(ordinal, Ordering::Relaxed);
        header.program.store(bits(9, 1) as u32, Ordering::Relaxed);
        header.has_handed_over_others.store(bits(10, 1) as u32, Ordering::Relaxed);
        header.drained.store(if bits(11, 3) == 0 { value >> 32 } else { 0 }, Ordering::Relaxed);
        let state = if bits(14, 1) == 0 { ChunkState::Active } else { ChunkState::Full };
        self.pool.control().chunks[chunk].store(state as u32, Ordering::Relaxed);
    }

    /// Events, one after the other, of which some have registers or values.
    fn write_events(&self, chunk: usize, at: usize, value: u64) {
        let row = Row::new(at, value, RawRecord::SIZE);
        for number in row.numbers() {
            let kind = (value >> 44) as u32 & 31 ^ (number as u32 & (value >> 49) as u32 & 3);
            let bits = kind | [0, HAS_DETAIL, IS_PROBED, HAS_DETAIL | IS_PROBED][number & (value >> 52) as usize & 3];
            let top = (((value >> 54) as u32 * 64) & !31) | bits;
            let function = self.functions[(number + (value & 0xff) as usize) % self.functions.len()];
            let offset = number * RawRecord::SIZE;
            self.record(chunk, offset + 8).store(u64::from(top) << 32 | u64::from(function), Ordering::Relaxed);
            self.record(chunk, offset).store(row.time(number), Ordering::Relaxed);
        }
    }

    /// Registers, stacks and values of such events, of this size; words that go on in further records among them.
    fn write_details(&self, chunk: usize, stride: usize, at: usize, value: u64) {
        let row = Row::new(at, value, stride);
        for number in row.numbers() {
            let mark = 1 + (number as u64 & value >> 44) % u64::from(MORE);
            let function = self.functions[(number + (value & 0xff) as usize) % self.functions.len()];
            let offset = number * stride;
            // What is behind the registers says how much there is of the rest.
            for word in 2..stride / 8 {
                self.record(chunk, offset + word * 8).store(value >> 48 ^ word as u64, Ordering::Relaxed);
            }
            let stack_bytes = std::mem::offset_of!(RawDetail, stack_bytes);
            self.record(chunk, offset + stack_bytes).store(value >> (at % 64), Ordering::Relaxed);
            self.record(chunk, offset + 8).store(row.time(number), Ordering::Relaxed);
            self.record(chunk, offset).store(mark | u64::from(function) << 32, Ordering::Relaxed);
        }
    }

    fn crash(&self, at: usize, value: u64) {
        let Some(slot) = self.pool.control().crashes.claim() else { return };
        slot.pid.store(this_process().0, Ordering::Relaxed);
        slot.tid.store(at as u32 & 3, Ordering::Relaxed);
        slot.signal.store(value as i32, Ordering::Relaxed);
        slot.code.store((value >> 32) as i32, Ordering::Relaxed);
        slot.frame_count.store(at as u32, Ordering::Relaxed);
        slot.depth.store(value, Ordering::Relaxed);
        slot.tsc.store(value, Ordering::Relaxed);
        slot.publish();
    }
}

/// Records of a chunk, one after the other. Rows of one beginning have the same times in every lane.
struct Row {
    first: usize,
    end: usize,
    beginning: u64,
    pace: u64,
}

impl Row {
    fn new(at: usize, value: u64, stride: usize) -> Self {
        let count = RECORDS_END.div_ceil(stride);
        let first = value as usize % count;
        // As a rule a few, and sometimes all that there is room for.
        let length = if at & 0x700 == 0 { count } else { at & 0xff };
        let beginning = if value >> 40 & 15 == 15 { u64::MAX - 1000 } else { value >> 24 & 0xff };
        Self {
            first: if at & 0x700 == 0 { 0 } else { first },
            end: (first + length).min(count),
            beginning,
            pace: value >> 32 & 3,
        }
    }

    fn numbers(&self) -> std::ops::Range<usize> {
        self.first..self.end
    }

    fn time(&self, number: usize) -> u64 {
        (self.beginning + 1).saturating_add(number as u64 * self.pace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short piece of what the fuzz target of this name does for long: sums of what a target says must not overflow.
    #[test]
    fn whatever_is_in_the_rings_the_drain_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random.to_le_bytes()
        };
        for run in 0..150 {
            let steps = (0..40).flat_map(|_| [next(), next()].as_flattened()[..STEP].to_vec());
            let bytes: Vec<u8> = [run as u8, (run / 3) as u8].into_iter().chain(steps).collect();
            let session = folder.path().join(run.to_string());
            hostile_rings(&bytes, &session);
        }
    }
}
