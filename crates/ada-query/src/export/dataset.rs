//! Sessions of many machines in one dataset:
//! `spans/service=…/version=…/host=…/start=…/SESSION-START.parquet`.
//!
//! A table of a session is one file, which appears whole: it is written aside and renamed. A mounted object store can do that
//! too, and needs neither locks nor renamed folders. The session's row in `sessions` comes last: whoever joins several tables
//! asks for sessions that are listed there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::types::ValueRef;

use super::origin::{Origin, epoch, written};
use super::{put_row, quoted};
use crate::doc::{ColumnDoc, TableDoc};
use crate::engine::Engine;
use crate::error::QueryError;
use crate::fleet::{ORIGIN, SESSIONS};
use crate::hive::{escaped, folder_name};
use crate::limits::Limits;
use crate::output::ParquetFile;
use crate::tables::exported;
use crate::trace::TraceSession;

/// What is quick comes first, and what is asked of a fleet: if time is short, the rest is left out.
const FIRST: [&str; 12] = [
    "processes",
    "modules",
    "threads",
    "functions",
    "drops",
    "windows",
    "locks",
    "links",
    "waits",
    "holds",
    "spans",
    "findings",
];

/// Where files are before they are whole. Readers pass over names that begin so.
const ASIDE: &str = "_aside";
/// What somebody left aside who was killed is removed after this time.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

/// How a session is added.
#[derive(Clone, Debug, Default)]
pub struct Append {
    /// What is known better than the session knows it.
    pub origin: Origin,
    /// The tables with these names, or all.
    pub tables: Vec<String>,
    /// When it has to be done: tables that would take longer are left out.
    pub until: Option<Instant>,
}

/// What was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// The session.
    pub session: String,
    /// Whether the dataset had it before, and nothing was written.
    pub was_there: bool,
    /// How many files.
    pub files: u64,
    /// Their rows.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The tables that would have taken too long.
    pub left_out: Vec<&'static str>,
}

/// Adds the engine's sessions to a dataset, which is made if there is none.
pub fn append_parquet(
    engine: &Engine,
    dataset: &Path,
    how: &Append,
    mut progress: impl FnMut(&str, u64),
) -> Result<Vec<Appended>, QueryError> {
    let aside = Aside::new(dataset)?;
    let sessions = engine.trace().sessions().iter();
    sessions.map(|session| Adding::new(engine, dataset, session, how, &aside).add(&mut progress)).collect()
}

/// A session that is being added.
struct Adding<'a> {
    engine: &'a Engine,
    dataset: &'a Path,
    session: &'a TraceSession,
    how: &'a Append,
    aside: &'a Aside,
    epoch: Option<u64>,
    /// The folders below a table's, and the file's name.
    place: PathBuf,
    done: Appended,
}

impl<'a> Adding<'a> {
    fn new(
        engine: &'a Engine,
        dataset: &'a Path,
        session: &'a TraceSession,
        how: &'a Append,
        aside: &'a Aside,
    ) -> Self {
        let trace = engine.trace();
        let origin = how.origin.or_recorded(trace, session);
        let epoch = epoch(trace, session);
        let start = epoch.map(|it| it.saturating_add(session.start.0));
        let values = [origin.service, origin.version, origin.host, start.map(written)];
        let folders = ORIGIN.iter().zip(&values).map(|(column, value)| folder_name(column.name, value.as_deref()));
        // Sessions of one name, such as of two folders of a host, differ in their start.
        let unique = start.unwrap_or(session.start.0);
        let place = folders.collect::<PathBuf>().join(format!("{}-{unique}.parquet", escaped(&session.name)));
        let done = Appended { session: session.name.clone(), ..Appended::default() };
        Self { engine, dataset, session, how, aside, epoch, place, done }
    }

    fn add(mut self, progress: &mut dyn FnMut(&str, u64)) -> Result<Appended, QueryError> {
        if self.dataset.join(SESSIONS.name).join(&self.place).exists() {
            self.done.was_there = true;
            return Ok(self.done);
        }
        let mut tables: Vec<&'static TableDoc> = exported().collect();
        tables.retain(|it| self.how.tables.is_empty() || self.how.tables.iter().any(|name| name == it.name));
        tables.sort_by_key(|it| FIRST.iter().position(|name| *name == it.name).unwrap_or(FIRST.len()));
        let mut whole = Vec::new();
        for table in tables {
            match self.write(table, progress) {
                Ok(rows) => {
                    self.done.rows += rows;
                    whole.push((table, rows));
                }
                Err(QueryError::TooLong) => self.done.left_out.push(table.name),
                Err(error) => return Err(error),
            }
        }
        for (table, rows) in whole {
            self.publish(table, rows)?;
        }
        self.list()?;
        self.publish(SESSIONS, 1)?;
        Ok(self.done)
    }

    /// Writes a table's rows of the session aside.
    fn write(&self, table: &'static TableDoc, progress: &mut dyn FnMut(&str, u64)) -> Result<u64, QueryError> {
        let time = self.how.until.map(|until| until.saturating_duration_since(Instant::now()));
        if time == Some(Duration::ZERO) {
            return Err(QueryError::TooLong);
        }
        let limits = Limits { time, ..Limits::default() };
        let names: Vec<&str> = table.columns.iter().map(|it| it.name).collect();
        let session = quoted(&self.session.name);
        let sql = format!("SELECT {} FROM {} WHERE session = {session}", names.join(", "), table.name);
        self.engine.ask(&sql, &limits, |rows| {
            let mut file = self.aside.begin(table.name, table.columns)?;
            while put_row(rows, &mut file)? {
                if rows.given().is_multiple_of(1 << 16) {
                    progress(table.name, 1 << 16);
                }
            }
            file.finish()
        })
    }

    /// Writes the session's own row aside.
    fn list(&self) -> Result<(), QueryError> {
        let number = |number: Option<u64>| match number.and_then(|it| i64::try_from(it).ok()) {
            Some(number) => ValueRef::Integer(number),
            None => ValueRef::Null,
        };
        let unix = |nanos: u64| number(self.epoch.and_then(|epoch| epoch.checked_add(nanos)));
        let left_out = self.done.left_out.join(",");
        let values = [
            ValueRef::Text(self.session.name.as_bytes()),
            number(self.epoch),
            unix(self.session.start.0),
            unix(self.session.end.0),
            number(Some(self.session.session.processes().len() as u64)),
            number(Some(self.done.rows)),
            if left_out.is_empty() { ValueRef::Null } else { ValueRef::Text(left_out.as_bytes()) },
        ];
        let mut file = self.aside.begin(SESSIONS.name, SESSIONS.columns)?;
        for (column, value) in values.into_iter().enumerate() {
            file.put(column, value)?;
        }
        file.end_row()?;
        file.finish().map(drop)
    }

    /// Gives a whole file its name. Of an empty table one file is kept, for its columns: readers ask for some file.
    fn publish(&mut self, table: &TableDoc, rows: u64) -> Result<(), QueryError> {
        let from = self.aside.file(table.name);
        let columns =
            || ORIGIN.iter().map(|it| folder_name(it.name, None)).collect::<PathBuf>().join("columns.parquet");
        let place = if rows > 0 { self.place.clone() } else { columns() };
        let to = self.dataset.join(table.name).join(place);
        if rows == 0 && to.exists() {
            return fs::remove_file(&from).map_err(QueryError::output(&from));
        }
        let folder = to.parent().unwrap_or(self.dataset);
        fs::create_dir_all(folder).map_err(QueryError::output(folder))?;
        let file = File::open(&from).map_err(QueryError::output(&from))?;
        // Or a machine that loses its power has the name without the content.
        file.sync_all().map_err(QueryError::output(&from))?;
        self.done.bytes += file.metadata().map_or(0, |it| it.len());
        self.done.files += 1;
        fs::rename(&from, &to).map_err(QueryError::output(&to))
    }
}

/// A folder of the dataset for files that are not whole. It goes when whoever made it is done.
struct Aside(PathBuf);

impl Aside {
    fn new(dataset: &Path) -> Result<Self, QueryError> {
        let all = dataset.join(ASIDE);
        remove_forgotten(&all);
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let own = all.join(format!("{now}-{}", process::id()));
        fs::create_dir_all(&all).map_err(QueryError::output(&all))?;
        // Other machines write here too: nobody's folder is taken for one's own.
        fs::create_dir(&own).map_err(QueryError::output(&own))?;
        Ok(Self(own))
    }

    fn file(&self, table: &str) -> PathBuf {
        self.0.join(format!("{table}.parquet"))
    }

    fn begin(&self, table: &str, columns: &[ColumnDoc]) -> Result<ParquetFile, QueryError> {
        let path = self.file(table);
        let file = File::create(&path).map_err(QueryError::output(&path))?;
        ParquetFile::begin(file, &path, columns.iter().map(|it| (it.name.to_owned(), it.kind)).collect())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        // While others are writing, theirs remains.
        let _ = self.0.parent().map(fs::remove_dir);
    }
}

fn remove_forgotten(all: &Path) {
    let now = SystemTime::now();
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|it| it.modified()).ok().and_then(|it| now.duration_since(it).ok());
        if age.is_some_and(|age| age > FORGOTTEN) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
