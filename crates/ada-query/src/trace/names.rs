//! The names of a session's functions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ada_event::{FunctionId, ImageOffset, ModuleId, RuntimeAddr};
use ada_format::atf::{FunctionList, FunctionRow, Process};

/// What a process's function lists say.
#[derive(Default)]
pub struct Names {
    modules: HashMap<ModuleId, Module>,
}

struct Module {
    file_name: String,
    path: String,
    build_id: Option<Vec<u8>>,
    /// What the loader added to each address, of each copy of it.
    load_bases: Vec<u64>,
    functions: Arc<FunctionList>,
}

/// A piece of code by its file, which is known by its build-id.
pub struct Code<'a> {
    /// The file.
    pub path: &'a str,
    /// Its build-id.
    pub build_id: &'a [u8],
    /// Before the loader's bias.
    pub offset: ImageOffset,
}

impl Names {
    /// Reads the lists of a process. Modules without a readable one have no names.
    pub fn of(process: &Process) -> Self {
        let modules = process.manifest.iter().flat_map(|manifest| &manifest.modules).map(|module| {
            let file_name = Path::new(&module.path).file_name().map(|name| name.to_string_lossy().into_owned());
            let found = Module {
                file_name: file_name.unwrap_or_default(),
                path: module.path.clone(),
                build_id: module.build_id.as_ref().map(|id| id.0.clone()),
                load_bases: module.load_base.iter().chain(&module.other_load_bases).map(|base| base.0).collect(),
                functions: process.functions(module.module_id),
            };
            (module.module_id, found)
        });
        Self { modules: modules.collect() }
    }

    /// Whether no function has a name.
    pub fn is_empty(&self) -> bool {
        self.modules.values().all(|module| module.functions.rows().is_empty())
    }

    /// `function` as people know it: its demangled name, or its module and offset, or its id.
    pub fn name(&self, function: FunctionId) -> String {
        self.known_name(function).unwrap_or_else(|| function.to_string())
    }

    /// The demangled name, or the module and offset; nothing of a function that no list has.
    pub fn known_name(&self, function: FunctionId) -> Option<String> {
        let module = self.modules.get(&function.module())?;
        let row = module.functions.rows().get(function.symbol_index() as usize)?;
        Some(match row.name.as_str() {
            "" => format!("{}{}", module.file_name, row.offset),
            // A name can have any character, and a line of a list must stay one.
            name => ada_image::demangle(name).replace(char::is_control, "?"),
        })
    }

    /// The file name of the function's module; its number where that is not known.
    pub fn module(&self, function: FunctionId) -> String {
        let module = function.module();
        self.modules.get(&module).map_or_else(|| format!("module {module}"), |it| it.file_name.clone())
    }

    /// All functions.
    pub fn rows(&self) -> impl Iterator<Item = &FunctionRow> {
        self.modules.values().flat_map(|module| module.functions.rows())
    }

    /// All functions with their ids.
    pub fn all(&self) -> impl Iterator<Item = (FunctionId, &FunctionRow)> {
        self.modules.iter().flat_map(|(&id, module)| {
            module.functions.rows().iter().zip(0..).map(move |(row, index)| (FunctionId::new(id, index), row))
        })
    }

    /// A module's functions in the order of their symbol indexes.
    pub fn functions(&self, module: ModuleId) -> &[FunctionRow] {
        self.modules.get(&module).map_or(&[], |it| it.functions.rows())
    }

    /// The name as the linker saw it.
    pub fn raw(&self, function: FunctionId) -> Option<&str> {
        let functions = self.modules.get(&function.module())?.functions.rows();
        functions.get(function.symbol_index() as usize).map(|row| row.name.as_str())
    }

    /// A function's first instruction; nothing where its file has no build-id.
    pub fn code(&self, function: FunctionId) -> Option<Code<'_>> {
        let module = self.modules.get(&function.module())?;
        module.code(module.functions.rows().get(function.symbol_index() as usize)?.offset)
    }

    /// The function that an address lies in, and the code there.
    pub fn code_at(&self, address: RuntimeAddr) -> Option<(FunctionId, Option<Code<'_>>)> {
        let copies = self.modules.iter().flat_map(|it| it.1.load_bases.iter().map(move |base| (it, base)));
        copies.into_iter().find_map(|((&id, module), base)| {
            let offset = ImageOffset(address.0.checked_sub(*base)?);
            let is_here =
                |row: &FunctionRow| offset.0.checked_sub(row.offset.0).is_some_and(|within| within < row.size);
            let index = module.functions.rows().iter().position(is_here)?;
            Some((FunctionId::new(id, index as u32), module.code(offset)))
        })
    }
}

impl Module {
    fn code(&self, offset: ImageOffset) -> Option<Code<'_>> {
        Some(Code { path: &self.path, build_id: self.build_id.as_deref()?, offset })
    }
}
