//! What a session's files say of a process's functions.

use ada_event::{EventKind, EventSeq, FunctionId};
use ada_format::atf::{FunctionRow, Module, Process, functions_file};

use super::process_trace::ProcessTrace;
use super::runtime_names::{is_loader, is_runtime_library, is_runtime_name};
use crate::function_traits::{FunctionTrait, FunctionTraits};
use crate::role::{GoPart, Role};
use crate::source::ProcessSource;

/// Every program of Go has it: another goroutine goes on instead of the one that calls it.
const GOROUTINE_SWITCH: &str = "runtime.gopark";

/// What a process's function lists and manifest say of its functions. Modules without a readable list are unknown.
/// A fork's child has its parent's images under the same numbers, and perhaps no lists of its own: then those of a
/// process `beside` it count.
pub fn function_traits(process: &Process, beside: &[Process]) -> FunctionTraits {
    let with_lists = std::iter::once(process).chain(beside).find(|it| has_lists(it)).unwrap_or(process);
    let mut traits = FunctionTraits::default();
    for module in with_lists.manifest.iter().flat_map(|manifest| &manifest.modules) {
        let list = with_lists.functions(module.module_id);
        let meanings = list.made(Meanings::of);
        if meanings.is_go {
            traits.set_moves_stacks();
            module.go_version.iter().for_each(|version| traits.set_go_version(version));
        }
        let about = AboutModule { is_library: is_runtime_library(&module.path), is_loader: is_loader(&module.path) };
        let functions = list.rows().iter().zip(&meanings.names);
        let functions = functions.map(|(row, meaning)| function_trait(module, row, *meaning, about));
        traits.add_module(module.module_id, functions.collect());
    }
    for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
        let copies =
            module.load_base.into_iter().flat_map(|first| module.other_load_bases.iter().map(move |it| (first, it)));
        copies.for_each(|(first, other)| traits.add_copy(module.module_id, other.0.wrapping_sub(first.0)));
    }
    for function in first_functions(process) {
        let known = traits.get(function);
        if known.role == Role::Plain && (known.is_runtime || known.is_unnamed) {
            traits.set_role(function, Role::ThreadStart);
        }
    }
    traits
}

/// The first functions of threads that the program created. Without debug files, the C library's has no name.
fn first_functions(process: &Process) -> impl Iterator<Item = FunctionId> {
    let infos = ProcessTrace(process).threads();
    // A thread that was there before begins with whatever it called next.
    let created = process.threads.iter().zip(infos).filter(|(_, info)| !info.is_first && !info.is_attached);
    let firsts = created.filter_map(|(thread, _)| thread.index().event(EventSeq(0)));
    firsts.filter(|event| event.depth == 0 && event.kind == EventKind::CALL).map(|event| event.function)
}

fn has_lists(process: &Process) -> bool {
    let modules = process.manifest.iter().flat_map(|manifest| &manifest.modules);
    modules.into_iter().any(|module| process.path.join(functions_file(module.module_id)).is_file())
}

/// What the names of a list mean.
struct Meanings {
    names: Vec<Meaning>,
    /// It is a program of Go.
    is_go: bool,
}

#[derive(Clone, Copy)]
struct Meaning {
    role: Role,
    go_part: GoPart,
    is_runtime: bool,
}

impl Meanings {
    fn of(rows: &[FunctionRow]) -> Self {
        let meaning = |row: &FunctionRow| Meaning {
            role: Role::of(&row.name),
            go_part: GoPart::of(&row.name),
            is_runtime: is_runtime_name(&row.name),
        };
        Self { names: rows.iter().map(meaning).collect(), is_go: rows.iter().any(|row| row.name == GOROUTINE_SWITCH) }
    }
}

/// What a function has of its module.
#[derive(Clone, Copy)]
struct AboutModule {
    is_library: bool,
    is_loader: bool,
}

fn function_trait(module: &Module, row: &FunctionRow, meaning: Meaning, about: AboutModule) -> FunctionTrait {
    let role = match meaning.role {
        // Most of its functions have no names, and few are called by programs.
        Role::Plain if about.is_loader => Role::LazyBinding,
        role => role,
    };
    FunctionTrait {
        role,
        is_unnamed: row.name.is_empty(),
        is_entry_only: row.verdict == "entry_only",
        is_skipped: row.verdict == "skipped",
        is_library: about.is_library,
        go_part: meaning.go_part,
        is_runtime: about.is_library || meaning.is_runtime,
        address: module.load_base.map(|base| row.offset.at_bias(base.0)),
    }
}
