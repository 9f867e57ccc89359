//! Which descriptors a process uses, so that somebody looks what they stand for while they are open.
//!
//! The program's own thread is not asked for it: whoever reads its records asks the kernel, once for each descriptor from when it
//! is opened until it is closed.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::SyncSender;

use ada_event::ProcessId;
use ada_ring::RawRecord;
use ada_ring::record::RecordKind;
use ada_value::{Prototype, Style, Type, is_c_library};

use super::detail_lane::ThreadDetails;
use crate::install::function_numbers::ByNumber;
use crate::plan::module::Module;

/// A descriptor that somebody should look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsedDescriptor {
    pub(crate) pid: ProcessId,
    pub(crate) descriptor: u32,
}

/// Sees to it that descriptors are looked at.
pub(crate) struct UsedDescriptors {
    functions: ByNumber<Use>,
    /// How many of the modules were looked at.
    modules: usize,
    /// Those that have been asked for and not closed since.
    asked: HashMap<ProcessId, HashSet<u32>>,
    to: SyncSender<UsedDescriptor>,
}

/// The kernel's number of the call that waits for a ring.
const IO_URING_ENTER: u64 = 426;

/// What a function does with descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Use {
    /// Which argument is one, from 1.
    argument: u8,
    /// Which argument is one that will be another afterwards, from 1.
    closes: u8,
    /// Whether it gives one back.
    result: bool,
    /// Whether it leaves two of them in memory.
    is_pair: bool,
    /// Whether it is `syscall`, whose second argument is a ring's where it waits for one.
    is_by_number: bool,
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
        // A socket is another one once it is connected or has an address: it is looked at when it is used.
        let (is_new, connects) = (prototype.name == "socket", matches!(prototype.name.as_str(), "connect" | "bind"));
        let closes = if connects { 1 } else { closes };
        Self { argument, closes, result: is_descriptor(&prototype.result) && !is_new, is_pair, is_by_number: false }
    }
}

impl UsedDescriptors {
    pub(crate) fn new(to: SyncSender<UsedDescriptor>) -> Self {
        Self { functions: ByNumber::default(), modules: 0, asked: HashMap::new(), to }
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
            if is_c_library(&module.file.path.file_name().unwrap_or_default().to_string_lossy()) {
                let is_it = |index: &usize| module.functions.names(*index).any(|name| name == "syscall");
                for index in (0..module.functions.len()).filter(is_it) {
                    *self.functions.get_mut(module.first_function + index as u32) =
                        Use { is_by_number: true, ..Use::default() };
                }
            }
        }
        self.modules = modules.len();
    }

    /// Asks for what the calls of a batch use.
    pub(super) fn batch(&mut self, pid: ProcessId, batch: &[RawRecord], details: &mut ThreadDetails) {
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
                    let is_ring = used.is_by_number && captured.argument(0) == Some(IO_URING_ENTER);
                    let ring = captured.argument(1).filter(|_| is_ring);
                    ring.into_iter().for_each(|it| self.used(pid, it as u32));
                    argument.filter(|_| used.closes != 1).into_iter().for_each(|it| self.used(pid, it as u32));
                    closes.into_iter().for_each(|it| self.closed(pid, it as u32));
                }
                RecordKind::Return => {
                    let result = captured.result() as i32;
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
            let _ = self.to.try_send(UsedDescriptor { pid, descriptor });
        }
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
        assert_eq!(of("connect"), Use { argument: 1, closes: 1, ..Use::default() });
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
        let asked: Vec<u32> = from.try_iter().map(|it| it.descriptor).collect();
        assert_eq!(asked, [3, 4, 3]);
    }
}
