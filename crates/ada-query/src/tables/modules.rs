//! `modules`.

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;

/// The images that were loaded.
pub(super) struct Modules;

impl Described for Modules {
    const DOC: &'static TableDoc = &TableDoc {
        name: "modules",
        about: "the program and its libraries, and how much of each was hooked",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain("module_id", Kind::Integer, "the number before the colon in its functions' ids"),
            plain("module", Kind::Text, "its file name"),
            plain("path", Kind::Text, "its file"),
            plain("build_id", Kind::Text, "what its linker stamped into it"),
            plain("load_base", Kind::Text, "what the loader added to each of its addresses, in hex"),
            plain("found", Kind::Integer, "functions found"),
            plain("hooked", Kind::Integer, "of these hooked at entry and return"),
            plain("entry_only", Kind::Integer, "hooked at entry only"),
            plain("skipped", Kind::Integer, "left alone; table hooks says why"),
        ],
        parameters: &[],
    };
}

impl Relation for Modules {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        for process in trace.processes() {
            for module in trace.manifest(process).iter().flat_map(|it| &it.modules) {
                let coverage = module.coverage.clone().unwrap_or_default();
                let file = std::path::Path::new(&module.path).file_name().map(|it| it.to_string_lossy().into_owned());
                rows.push(vec![
                    text(&trace.session_of(process).name),
                    number(process.pid),
                    number(module.module_id),
                    text(file.unwrap_or_default()),
                    text(&module.path),
                    maybe(module.build_id.as_ref(), |it| text(it.to_string())),
                    maybe(module.load_base, |it| text(it.to_string())),
                    number(coverage.found),
                    number(coverage.hooked),
                    number(coverage.entry_only),
                    number(coverage.skipped.values().fold(0, |sum: u64, count| sum.saturating_add(*count))),
                ]);
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        10.0
    }
}
