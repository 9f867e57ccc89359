//! Which descriptors a process uses, so that somebody looks what they stand for while they are open.
//!
//! The program's own thread is not asked for it: whoever reads its records asks the kernel, once for each descriptor from when it
//! is opened until it is closed.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::SyncSender;

use ada_event::{ProcessId, ThreadId};
use ada_ring::RawRecord;
use ada_ring::record::RecordKind;
use ada_value::{Prototype, Style, Type, is_c_library};

use super::detail_lane::ThreadDetails;
use crate::install::function_numbers::ByNumber;
use crate::plan::module::Module;
use crate::plan::probes::{RingDescriptors, is_lock_probe, ring_functions};

/// Something of a process that somebody should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) pid: ProcessId,
    pub(crate) what: UsedThing,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsedThing {
    /// A descriptor.
    Descriptor(u32),
    /// The address of a lock that somebody waits for, or lets go of while others wait.
    Lock(u64),
    /// A thread that waits for a lock, or has others wait.
    Thread(ThreadId),
    /// Nothing: from this address on, so many bytes are something else now.
    Unmapped(u64, u64),
}

/// Sees to it that descriptors are looked at.
pub(crate) struct UsedDescriptors {
    functions: ByNumber<Use>,
    /// How many of the modules were looked at.
    modules: usize,
    /// Those that have been asked for and not closed since.
    asked: HashMap<ProcessId, HashSet<u32>>,
    to: SyncSender<Used>,
    /// The pages with locks that were told of last, so that each is told of once while others are not.
    pages: LastPages,
    /// What threads are connecting.
    connecting: HashMap<(ProcessId, ThreadId), u32>,
    /// When threads that wait for locks were last told of, in ticks.
    threads: HashMap<(ProcessId, ThreadId), u64>,
}

/// The last pages of locks, by process.
#[derive(Default)]
struct LastPages {
    pages: [(u32, u64); 32],
}

impl LastPages {
    /// Whether a lock's page is not among them; it is from now on.
    fn is_new(&mut self, pid: ProcessId, address: u64) -> bool {
        let page = (pid.0, address >> 12);
        let place = (page.1 ^ u64::from(page.0)) as usize % self.pages.len();
        std::mem::replace(&mut self.pages[place], page) != page
    }
}

/// The kernel's number of the call that waits for a ring.
const IO_URING_ENTER: u64 = 426;
/// That for futexes.
const FUTEX: u64 = 202;
/// Of `mmap`: at this very address, whatever is there.
const MAP_FIXED: u64 = 0x10;

/// What a function does with descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Use {
    /// Which argument is one, from 1.
    argument: u8,
    /// Which argument is one that will be another afterwards, from 1.
    closes: u8,
    /// Whether the one that it closes is there afterwards, and another one: a socket that is connected.
    connects: bool,
    /// Whether it gives one back.
    result: bool,
    /// Whether it leaves two of them in memory.
    is_pair: bool,
    /// Whether it is `syscall`, whose second argument is a ring's where it waits for one, and a futex's address.
    is_by_number: bool,
    /// Whether it is about a ring.
    is_ring: bool,
    /// What it does to memory.
    memory: MemoryUse,
}

/// What a function does to memory that others may have too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MemoryUse {
    #[default]
    Nothing,
    /// Its first argument is a lock.
    Lock,
    /// Its first two arguments say what is another thing from now on.
    Unmaps,
    /// The same, if its flags say so.
    Maps,
    /// Everything is another thing.
    Execs,
}

impl MemoryUse {
    fn of(name: &str) -> Self {
        match name {
            "munmap" | "mremap" => Self::Unmaps,
            "mmap" | "mmap64" => Self::Maps,
            "execve" | "execveat" | "fexecve" => Self::Execs,
            name if is_lock_probe(name) => Self::Lock,
            _ => Self::Nothing,
        }
    }
}

impl Use {
    fn of(prototype: &Prototype) -> Self {
        let is_descriptor = |ty: &Type| matches!(ty, Type::Integer { style: Style::Descriptor, .. });
        let argument = prototype.parameters.iter().position(|it| is_descriptor(&it.ty)).map_or(0, |at| at as u8 + 1);
        let closes = match prototype.name.as_str() {
            "close" | "__close_nocancel" => 1,
            "dup2" | "dup3" => 2,
            _ => 0,
        };
        let is_pair = matches!(prototype.name.as_str(), "pipe" | "pipe2" | "socketpair");
        // A socket is another one once it is connected or has an address: it is looked at then, or when it is used.
        let (is_new, connects) = (prototype.name == "socket", prototype.name == "connect");
        let closes = if connects || prototype.name == "bind" { 1 } else { closes };
        Self {
            argument,
            closes,
            connects,
            result: is_descriptor(&prototype.result) && !is_new,
            is_pair,
            is_by_number: false,
            is_ring: false,
            memory: MemoryUse::of(&prototype.name),
        }
    }
}

impl UsedDescriptors {
    pub(crate) fn new(to: SyncSender<Used>) -> Self {
        Self {
            functions: ByNumber::default(),
            modules: 0,
            asked: HashMap::new(),
            to,
            connecting: HashMap::new(),
            pages: LastPages::default(),
            threads: HashMap::new(),
        }
    }

    /// Takes up modules that are new. `modules` only ever grows.
    pub(super) fn refresh(&mut self, modules: &[Module]) {
        for module in &modules[self.modules.min(modules.len())..] {
            for (index, signature) in module.captured.signatures() {
                let used = Use::of(signature.prototype());
                if used != Use::default() {
                    *self.functions.get_mut(module.first_function + index as u32) = used;
                }
            }
            for index in ring_functions().filter_map(|name| module.functions.find(name)) {
                self.functions.get_mut(module.first_function + index as u32).is_ring = true;
            }
            if is_c_library(&module.file.path.file_name().unwrap_or_default().to_string_lossy()) {
                for index in 0..module.functions.len() {
                    let given = module.captured.given_name(index);
                    let memory = module.functions.names(index).chain(given).map(MemoryUse::of);
                    let memory = memory.max_by_key(|it| *it != MemoryUse::Nothing).unwrap_or_default();
                    let is_by_number = module.functions.names(index).any(|name| name == "syscall");
                    if is_by_number || memory != MemoryUse::Nothing {
                        let used = self.functions.get_mut(module.first_function + index as u32);
                        (used.is_by_number, used.memory) = (is_by_number, memory);
                    }
                }
            }
        }
        self.modules = modules.len();
    }

    /// Asks for what the calls of a batch use.
    pub(super) fn batch(
        &mut self,
        (pid, tid): (ProcessId, ThreadId),
        batch: &[RawRecord],
        details: &mut ThreadDetails,
    ) {
        for record in batch.iter().filter(|record| record.is_probed()) {
            let used = self.functions.get(record.function);
            if used == Use::default() {
                continue;
            }
            let Some(captured) = details.take(record.tsc) else { continue };
            match record.kind() {
                RecordKind::Call | RecordKind::EntryOnly => {
                    let [argument, closes] =
                        [used.argument, used.closes].map(|at| captured.argument(usize::from(at).checked_sub(1)?));
                    let first = captured.argument(0).unwrap_or(0);
                    let second = captured.argument(1).unwrap_or(0);
                    let is_futex = used.is_by_number && first == FUTEX;
                    let fixes = captured.argument(3).is_some_and(|flags| flags & MAP_FIXED != 0);
                    if used.memory == MemoryUse::Lock {
                        self.waited(pid, tid, record.tsc);
                    }
                    match used.memory {
                        MemoryUse::Lock => self.locked(pid, first),
                        _ if is_futex => self.locked(pid, second),
                        MemoryUse::Unmaps => self.unmapped(pid, first, second),
                        MemoryUse::Maps if fixes => self.unmapped(pid, first, second),
                        MemoryUse::Execs => self.unmapped(pid, 0, u64::MAX),
                        MemoryUse::Maps | MemoryUse::Nothing => {}
                    }
                    let is_ring = used.is_ring || used.is_by_number && captured.argument(0) == Some(IO_URING_ENTER);
                    let ring = if is_ring { RingDescriptors::of(captured.words()) } else { RingDescriptors::default() };
                    ring.used.into_iter().for_each(|it| self.used(pid, it));
                    ring.closed.into_iter().for_each(|it| self.closed(pid, it));
                    argument.filter(|_| used.closes != 1).into_iter().for_each(|it| self.used(pid, it as u32));
                    closes.into_iter().for_each(|it| self.closed(pid, it as u32));
                    if let Some(socket) = closes.filter(|_| used.connects) {
                        self.connects(pid, tid, socket as u32);
                    }
                }
                RecordKind::Return => {
                    let result = captured.result() as i32;
                    let connected = if used.connects { self.connecting.remove(&(pid, tid)) } else { None };
                    connected.filter(|_| result == 0).into_iter().for_each(|it| self.used(pid, it));
                    let words = captured.first_word().filter(|_| used.is_pair && result == 0);
                    let made = words.map(|ends| [ends as u32, (ends >> 32) as u32]);
                    let given = u32::try_from(result).ok().filter(|_| used.result);
                    for descriptor in made.into_iter().flatten().chain(given) {
                        // Another one of this number has been closed.
                        self.closed(pid, descriptor);
                        self.used(pid, descriptor);
                    }
                }
                _ => {}
            }
        }
    }

    fn used(&mut self, pid: ProcessId, descriptor: u32) {
        /// No process has more open at a time, and what a program passes may be anything.
        const MOST: usize = 1 << 16;
        let asked = self.asked.entry(pid).or_default();
        if i32::try_from(descriptor).is_ok() && asked.len() < MOST && asked.insert(descriptor) {
            // One that finds no room is not looked at before it is closed.
            let _ = self.to.try_send(Used { pid, what: UsedThing::Descriptor(descriptor) });
        }
    }

    fn connects(&mut self, pid: ProcessId, tid: ThreadId, socket: u32) {
        /// Threads that are remembered: some end before they are connected.
        const MOST: usize = 1 << 12;
        if self.connecting.len() >= MOST {
            self.connecting.clear();
        }
        self.connecting.insert((pid, tid), socket);
    }

    fn locked(&mut self, pid: ProcessId, address: u64) {
        if self.pages.is_new(pid, address) {
            let _ = self.to.try_send(Used { pid, what: UsedThing::Lock(address) });
        }
    }

    fn waited(&mut self, pid: ProcessId, tid: ThreadId, tsc: u64) {
        /// Ticks in which a thread is told of once.
        const LATELY: u64 = 1 << 24;
        /// Threads that are remembered.
        const MOST: usize = 1 << 12;
        if self.threads.len() >= MOST {
            self.threads.clear();
        }
        let last = self.threads.entry((pid, tid)).or_default();
        if tsc.wrapping_sub(*last) > LATELY {
            *last = tsc;
            let _ = self.to.try_send(Used { pid, what: UsedThing::Thread(tid) });
        }
    }

    fn unmapped(&mut self, pid: ProcessId, start: u64, length: u64) {
        self.pages = LastPages::default();
        let _ = self.to.try_send(Used { pid, what: UsedThing::Unmapped(start, length) });
    }

    fn closed(&mut self, pid: ProcessId, descriptor: u32) {
        self.asked.entry(pid).or_default().remove(&descriptor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_tell_what_is_a_descriptor() {
        let of = |name| Use::of(ada_value::known(name).unwrap().prototype);
        assert_eq!(of("read"), Use { argument: 1, ..Use::default() });
        assert_eq!(of("close"), Use { argument: 1, closes: 1, ..Use::default() });
        assert_eq!(of("dup2"), Use { argument: 1, closes: 2, result: true, ..Use::default() });
        assert_eq!(of("connect"), Use { argument: 1, closes: 1, connects: true, ..Use::default() });
        assert_eq!(of("socket"), Use::default());
        assert_eq!(of("accept"), Use { argument: 1, result: true, ..Use::default() });
        assert_eq!(of("pipe"), Use { is_pair: true, ..Use::default() });
        assert_eq!(of("malloc"), Use::default());
    }

    #[test]
    fn each_is_asked_for_once_until_it_is_closed() {
        let (to, from) = std::sync::mpsc::sync_channel(8);
        let mut used = UsedDescriptors::new(to);
        for descriptor in [3, 3, 4] {
            used.used(ProcessId(1), descriptor);
        }
        used.closed(ProcessId(1), 3);
        used.used(ProcessId(1), 3);
        used.used(ProcessId(1), u32::MAX);
        let asked: Vec<UsedThing> = from.try_iter().map(|it| it.what).collect();
        assert_eq!(asked, [3, 4, 3].map(UsedThing::Descriptor));
    }
}
