//! `findings`.

use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::findings::findings;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;

/// What may be wrong, as `ada ask findings` says it.
pub(super) struct Findings;

impl Described for Findings {
    const DOC: &'static TableDoc = &TableDoc {
        name: "findings",
        about: "what may be wrong, as ada ask findings says it; looked for when the table is read",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain("kind", Kind::Text, "crash, deadlock, hang, leak, slow_outlier, …"),
            plain("score", Kind::Real, "how much it matters, from 0 to 100"),
            plain("function", Kind::Text, "the function that it is about"),
            plain("title", Kind::Text, "in one line"),
            plain("rationale", Kind::Text, "why it is believed, and what it may mean"),
            plain("evidence", Kind::Text, "references that show it, in a JSON list"),
            plain("facts", Kind::Text, "the figures behind it, in JSON"),
        ],
        parameters: &[],
    };
}

impl Relation for Findings {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let found = findings(&shared.trace, &shared.cancel, None)?.into_iter().map(|it| {
            vec![
                text(&it.session),
                number(it.pid),
                text(it.kind),
                Value::Real(it.score),
                maybe(it.function, text),
                text(it.title),
                text(it.rationale),
                text(serde_json::Value::from(it.evidence).to_string()),
                maybe(Some(it.facts).filter(|it| !it.is_null()), |it| text(it.to_string())),
            ]
        });
        Ok(Listed::new(found.collect()))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        20.0
    }
}
