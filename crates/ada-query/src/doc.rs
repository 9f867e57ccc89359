//! What tables and their columns are for: shown by `ada query --schema` and `DESCRIBE`, and asked as `ada_schema`.

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Numbers with a fraction.
    Real,
    /// Text.
    Text,
}

impl Kind {
    /// SQL's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Real => "REAL",
            Self::Text => "TEXT",
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDoc {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether conditions on it are answered without reading everything.
    pub is_pushed: bool,
    /// What it means.
    pub about: &'static str,
}

/// A table, or a function that gives one.
#[derive(Clone, Copy, Debug)]
pub struct TableDoc {
    /// Its name.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnDoc],
    /// The arguments of a function; none for a plain table.
    pub parameters: &'static [ColumnDoc],
}

impl TableDoc {
    /// Its declaration for SQLite.
    pub(crate) fn declaration(&self) -> String {
        let columns = self.columns.iter().map(|it| format!("{} {}", it.name, it.kind.word()));
        let parameters = self.parameters.iter().map(|it| format!("{} {} HIDDEN", it.name, it.kind.word()));
        format!("CREATE TABLE x({})", columns.chain(parameters).collect::<Vec<_>>().join(", "))
    }

    /// The index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|it| it.name == name)
    }

    /// How it is asked: its name, with arguments where it takes some.
    pub fn signature(&self) -> String {
        match self.parameters {
            [] => self.name.to_owned(),
            some => format!("{}({})", self.name, some.iter().map(|it| it.name).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// A column that conditions are pushed down for.
pub(crate) const fn pushed(name: &'static str, kind: Kind, about: &'static str) -> ColumnDoc {
    ColumnDoc { name, kind, is_pushed: true, about }
}

/// Any other column.
pub(crate) const fn plain(name: &'static str, kind: Kind, about: &'static str) -> ColumnDoc {
    ColumnDoc { name, kind, is_pushed: false, about }
}
