//! Lines of source code, from files that have the build-id of a recorded module.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ada_control::{Debuginfod, is_own};
use ada_event::ImageOffset;
use ada_format::atf::{Mapping, Session};
use ada_image::{SourceLines, SourcePlace};
use serde_json::Value;

use crate::debug_folder::{DebugFolder, SYSTEM_FOLDER, usual_path};
use crate::debug_servers;
use ada_query::Code;

/// The files, which are opened when a line of one of their modules is asked for. A file that is missing, damaged or
/// another one by now costs its lines and nothing else.
pub(crate) struct SourceFiles {
    /// What the user's folder has for the session; empty without such a folder.
    given: HashMap<Vec<u8>, PathBuf>,
    /// Who is asked for what is not here.
    servers: Option<Arc<Debuginfod>>,
    modules: RefCell<HashMap<Vec<u8>, ModuleLines>>,
}

struct ModuleLines {
    lines: Option<SourceLines>,
    /// By offsets of functions.
    functions: HashMap<ImageOffset, Option<SourcePlace>>,
}

impl SourceFiles {
    /// Files for a session's modules, those of `folder` before others.
    pub(crate) fn of(session: &Session, folder: Option<&Path>) -> std::io::Result<Self> {
        let mut given = HashMap::new();
        if let Some(folder) = folder {
            let modules = session.processes().iter().flat_map(|it| &it.manifest).flat_map(|it| &it.modules);
            let wanted: BTreeSet<&[u8]> =
                modules.filter_map(|module| module.build_id.as_ref()).map(|id| &id.0[..]).collect();
            given = DebugFolder::search(folder, &wanted)?.into_files();
        }
        Ok(Self { given, servers: debug_servers::of_environment(false), modules: RefCell::default() })
    }

    /// The line on which a function begins.
    pub(crate) fn function(&self, code: &Code<'_>) -> Option<SourcePlace> {
        self.with_module(code, |lines, functions| {
            let find = || lines.function_place(code.offset).map(on_one_line);
            functions.entry(code.offset).or_insert_with(find).clone()
        })
    }

    /// The line of an instruction.
    pub(crate) fn instruction(&self, code: &Code<'_>) -> Option<SourcePlace> {
        self.with_module(code, |lines, _| lines.place(code.offset).map(on_one_line))
    }

    /// The line of a function that an instruction of it belongs to, also where code of another one was inlined.
    pub(crate) fn outer_instruction(&self, code: &Code<'_>) -> Option<SourcePlace> {
        self.with_module(code, |lines, _| lines.outer_place(code.offset).map(on_one_line))
    }

    fn with_module(
        &self,
        code: &Code<'_>,
        ask: impl FnOnce(&SourceLines, &mut HashMap<ImageOffset, Option<SourcePlace>>) -> Option<SourcePlace>,
    ) -> Option<SourcePlace> {
        let mut modules = self.modules.borrow_mut();
        if !modules.contains_key(code.build_id) {
            let lines = self.open(code);
            modules.insert(code.build_id.to_vec(), ModuleLines { lines, functions: HashMap::new() });
        }
        let module = modules.get_mut(code.build_id)?;
        ask(module.lines.as_ref()?, &mut module.functions)
    }

    fn open(&self, code: &Code<'_>) -> Option<SourceLines> {
        let system = usual_path(code.build_id).map(|path| Path::new(SYSTEM_FOLDER).join(path));
        let candidates = self.given.get(code.build_id).cloned().into_iter().chain([code.path.into()]).chain(system);
        candidates.into_iter().find_map(|path| read(&path, code)).or_else(|| {
            // Every list has functions of the system's libraries: those are not worth a download.
            let servers = self.servers.as_ref().filter(|_| is_own(Path::new(code.path)))?;
            read(&servers.fetch(code.build_id, Path::new(code.path), None)?, code)
        })
    }
}

/// The lines of a file, if it is the one.
fn read(path: &Path, code: &Code<'_>) -> Option<SourceLines> {
    let file = Mapping::open(path).ok()?;
    let is_same = ada_image::build_id(Cursor::new(&file)).as_deref() == Some(code.build_id);
    is_same.then(|| SourceLines::read(Box::new(file)))?
}

/// A path can have any character, and a line of a list must stay one.
fn on_one_line(source: SourcePlace) -> SourcePlace {
    SourcePlace { file: source.file.replace(char::is_control, "?"), ..source }
}

/// Puts a source line into a record, whose fields are there in any case.
pub(crate) fn put_source(record: &mut Value, source: Option<SourcePlace>) {
    let (file, line) = source.map(|it| (it.file, it.line)).unzip();
    record["file"] = file.into();
    record["line"] = line.into();
}

/// A source line as tables have it.
pub(crate) fn source_text(source: Option<SourcePlace>) -> String {
    source.map_or_else(|| "-".to_owned(), |source| source.to_string())
}
