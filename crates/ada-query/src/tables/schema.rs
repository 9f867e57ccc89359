//! `ada_schema`: the tables' own description.

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, text};
use crate::shared::Shared;

pub(super) const NAME: &str = "ada_schema";

pub(super) struct Schema;

impl Described for Schema {
    const DOC: &'static TableDoc = &TableDoc {
        name: NAME,
        about: "the columns of all tables, and what they mean",
        columns: &[
            plain("table_name", Kind::Text, "the table, or the function with its arguments"),
            plain("column_name", Kind::Text, "the column"),
            plain("type", Kind::Text, "INTEGER, REAL or TEXT"),
            plain("is_pushed", Kind::Integer, "1 where conditions on it save reading"),
            plain("about", Kind::Text, "what it means"),
        ],
        parameters: &[],
    };
}

impl Relation for Schema {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(_: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let mut rows = Vec::new();
        for table in super::documented() {
            for column in table.columns {
                rows.push(vec![
                    text(table.signature()),
                    text(column.name),
                    text(column.kind.word()),
                    rusqlite::types::Value::Integer(column.is_pushed.into()),
                    text(column.about),
                ]);
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        200.0
    }
}
