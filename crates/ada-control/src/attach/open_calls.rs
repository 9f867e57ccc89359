//! The calls that were open when ada attached. Neither their starts nor their returns are recorded.

use std::cell::OnceCell;

use ada_event::{FunctionId, ProcessId, RuntimeAddr, ThreadId};
use ada_format::atf::OpenCalls;
use ada_image::{Callers, INSTRUCTION, Image, STACK_POINTER};
use ada_process::procfs::ProcessDir;

use crate::attach::code_in_use::ThreadStack;
use crate::plan::image_file::ImageFile;
use crate::plan::module::Module;

/// The most frames that are kept of a stack.
const MOST: usize = 256;

/// The open calls of each thread of a process, newest first, as far as unwind tables lead.
pub(super) fn of(pid: ProcessId, stacks: &[ThreadStack], modules: &[Module]) -> Vec<OpenCalls> {
    let files: Vec<Option<ImageFile>> = modules.iter().map(|module| ImageFile::open(&module.file.path).ok()).collect();
    let callers: Vec<OnceCell<Option<Callers<'_>>>> = modules.iter().map(|_| OnceCell::new()).collect();
    let callers_of = |number: usize| {
        callers[number].get_or_init(|| Callers::new(&Image::parse(files[number].as_ref()?.bytes()).ok()?)).as_ref()
    };
    let of_thread = |stack: &ThreadStack| {
        let mut registers = stack.registers.by_dwarf_number();
        let mut functions = Vec::new();
        // A return address may lie behind the last instruction of its function; the first is none.
        let mut back = 0;
        while functions.len() < MOST {
            let address = RuntimeAddr(registers[INSTRUCTION].wrapping_sub(back));
            let is_in = |module: &Module| (module.file.start..module.file.end).contains(&address);
            let Some(number) = modules.iter().position(is_in) else { break };
            let module = &modules[number];
            let offset = address.in_image(module.bias);
            if let Some(index) = module.functions.index_containing(offset) {
                functions.push(FunctionId::new(module.id, index as u32).to_string());
            }
            let word = |at| stack.word(RuntimeAddr(at));
            let caller = callers_of(number).and_then(|callers| callers.caller(offset, &registers, word));
            // A stack only shrinks towards its beginning.
            let Some(caller) = caller.filter(|caller| caller[STACK_POINTER] > registers[STACK_POINTER]) else { break };
            (registers, back) = (caller, 1);
        }
        OpenCalls { tid: stack.tid, name: name_of(pid, stack.tid), functions, ..OpenCalls::default() }
    };
    stacks.iter().map(of_thread).collect()
}

/// The name that a thread was given. Without one it has that of the thread which made it.
fn name_of(pid: ProcessId, tid: ThreadId) -> Option<String> {
    let name_of = |tid| ProcessDir::of(pid).thread(tid).name();
    name_of(tid).filter(|name| Some(name) != name_of(pid.first_thread()).as_ref())
}
