//! The calls that are open when ada attaches.

use std::ops::Range;

use ada_event::{FunctionId, ImageOffset, ProcessId, RuntimeAddr, ThreadId};
use ada_format::atf::OpenCalls;
use ada_image::{Callers, FrameRegisters, INSTRUCTION, Image, STACK_POINTER};
use ada_patch::Verdict;
use ada_process::maps::LoadedFile;
use ada_process::procfs::ProcessDir;

use crate::detach::ThreadStack;
use crate::install::open_frames::OpenFrame;
use crate::plan::image_file::ImageFile;
use crate::plan::module::Module;

/// The most frames that are kept of a stack.
const MOST: usize = 256;
/// A thread that is so near to the start of a function may yet come by the hook there.
const NEAR_START: u64 = 32;

/// The files of a process, read before it is halted: it should not stand still for long.
pub(super) struct UnwindFiles(Vec<(Range<RuntimeAddr>, ImageFile)>);

impl UnwindFiles {
    pub(super) fn open(files: &[LoadedFile]) -> Self {
        let opened = files.iter().filter_map(|file| Some((file.start..file.end, ImageFile::open(&file.path).ok()?)));
        Self(opened.collect())
    }

    pub(super) fn unwinder(&self) -> Unwinder<'_> {
        let with_callers = self.0.iter().filter_map(|(range, file)| {
            let image = Image::parse(file.bytes()).ok()?;
            Some((range.clone(), Callers::new(&image)?))
        });
        Unwinder(with_callers.collect())
    }
}

/// Finds callers in any of the files.
pub(super) struct Unwinder<'d>(Vec<(Range<RuntimeAddr>, Callers<'d>)>);

/// A call on a thread's stack.
struct OpenCall {
    /// Where its thread is in it, or comes back to.
    address: RuntimeAddr,
    /// Where its return address lies, and that; `None` where unwind tables do not lead on.
    back: Option<(u64, RuntimeAddr)>,
}

impl Unwinder<'_> {
    fn caller(
        &self,
        module: &Module,
        at: ImageOffset,
        registers: &FrameRegisters,
        stack: &ThreadStack,
    ) -> Option<FrameRegisters> {
        let (_, callers) = self.0.iter().find(|(range, _)| range.start == module.file.start)?;
        let caller = callers.caller(at, registers, |address| stack.word(RuntimeAddr(address)))?;
        // A stack only shrinks towards its beginning.
        (caller[STACK_POINTER] > registers[STACK_POINTER]).then_some(caller)
    }

    /// The calls on a stack, newest first, each with its module.
    fn calls<'m>(&self, stack: &ThreadStack, modules: &'m [Module]) -> Vec<(&'m Module, OpenCall)> {
        let mut registers = stack.registers.by_dwarf_number();
        let mut calls = Vec::new();
        // A return address may lie behind the last instruction of its function; the first is none.
        let mut behind = 0;
        while calls.len() < MOST {
            let address = RuntimeAddr(registers[INSTRUCTION].wrapping_sub(behind));
            let is_in = |module: &&Module| (module.file.start..module.file.end).contains(&address);
            let Some(module) = modules.iter().find(is_in) else { break };
            let caller = self.caller(module, address.in_image(module.bias), &registers, stack);
            let back = caller.map(|caller| (caller[STACK_POINTER].wrapping_sub(8), RuntimeAddr(caller[INSTRUCTION])));
            calls.push((module, OpenCall { address, back }));
            let Some(caller) = caller else { break };
            (registers, behind) = (caller, 1);
        }
        calls
    }
}

/// What the threads of a process are in.
#[derive(Default)]
pub(super) struct Found {
    /// The calls of each thread.
    pub(super) calls: Vec<OpenCalls>,
    /// Those whose exits are hooked, the oldest of a thread first.
    pub(super) frames: Vec<OpenFrame>,
}

/// Looks at all threads of a process, which is halted.
pub(super) fn find(stacks: &[ThreadStack], modules: &[Module], unwinder: &Unwinder<'_>) -> Found {
    let mut found = Found::default();
    for stack in stacks {
        let calls = unwinder.calls(stack, modules);
        let mut functions = Vec::new();
        let mut frames = Vec::new();
        for (number, (module, call)) in calls.iter().enumerate() {
            let offset = call.address.in_image(module.bias);
            let Some(index) = module.functions.index_containing(offset) else { continue };
            let function = FunctionId::new(module.id, index as u32);
            functions.push(function.to_string());
            let start = module.functions.functions()[index].start;
            let may_come_by_hook = number == 0 && offset.0.wrapping_sub(start.0) < NEAR_START;
            if let Some((slot, return_address)) = call.back
                && module.verdicts[index] == Verdict::Hooked
                && !may_come_by_hook
            {
                let number = module.first_function + index as u32;
                frames.push(OpenFrame { tid: stack.tid, slot, return_address, function, number });
            }
        }
        found.calls.push(OpenCalls { tid: stack.tid, functions, ..OpenCalls::default() });
        found.frames.extend(frames.into_iter().rev());
    }
    found
}

/// The name that a thread was given. Without one it has that of the thread which made it.
pub(super) fn name_of(pid: ProcessId, tid: ThreadId) -> Option<String> {
    let name_of = |tid| ProcessDir::of(pid).thread(tid).name();
    name_of(tid).filter(|name| Some(name) != name_of(pid.first_thread()).as_ref())
}
