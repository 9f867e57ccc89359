//! Reads files a row group at a time, the wanted columns only.

use std::fs::File;

use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use rusqlite::types::{Null, Value};
use rusqlite::vtab::Context;

use super::ExportedTable;
use super::folder::PartFile;
use crate::doc::Kind;
use crate::error::QueryError;
use crate::relation::{Ask, Op, RowCursor};

/// The values of a column of a row group.
enum Column {
    /// Not wanted, or not in the file.
    Missing,
    Numbers(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Texts(Vec<Option<ByteArray>>),
}

pub(crate) struct PartCursor {
    table: ExportedTable,
    ask: Ask,
    next_file: usize,
    reader: Option<SerializedFileReader<File>>,
    next_group: usize,
    columns: Vec<Column>,
    rows: usize,
    row: usize,
    /// The index of the row group's first row in its file.
    first_row: i64,
    is_done: bool,
}

impl PartCursor {
    pub(super) fn open(table: ExportedTable, ask: Ask) -> Result<Self, QueryError> {
        let mut cursor = Self {
            table,
            ask,
            next_file: 0,
            reader: None,
            next_group: 0,
            columns: Vec::new(),
            rows: 0,
            row: 0,
            first_row: 0,
            is_done: false,
        };
        cursor.next_rows()?;
        Ok(cursor)
    }

    fn file(&self) -> &PartFile {
        &self.table.files[self.next_file - 1]
    }

    fn next_rows(&mut self) -> Result<(), QueryError> {
        loop {
            self.table.cancel.check()?;
            let Some(reader) = &self.reader else {
                if !self.next_reader()? {
                    self.is_done = true;
                    return Ok(());
                }
                continue;
            };
            if self.next_group >= reader.num_row_groups() {
                self.reader = None;
                continue;
            }
            let path = self.file().path.clone();
            let failed = |error: ParquetError| QueryError::Parquet { path: path.clone(), reason: error.to_string() };
            let group = self.next_group;
            self.next_group += 1;
            let before = reader.metadata().row_groups().iter().take(group);
            let first_row = before.map(|it| it.num_rows()).fold(0, i64::saturating_add);
            if self.can_match(reader, group) {
                let (columns, rows) = read(reader, group, &self.table, &self.ask).map_err(failed)?;
                (self.columns, self.rows, self.row) = (columns, rows, 0);
                self.first_row = first_row;
                if rows > 0 {
                    return Ok(());
                }
            }
        }
    }

    fn next_reader(&mut self) -> Result<bool, QueryError> {
        while let Some(file) = self.table.files.get(self.next_file) {
            self.next_file += 1;
            let fits = self.ask.conditions.iter().all(|it| self.table.can_have(file, it));
            if fits {
                let open = File::open(&file.path)
                    .map_err(|source| QueryError::Parquet { path: file.path.clone(), reason: source.to_string() })?;
                let reader = SerializedFileReader::new(open)
                    .map_err(|error| QueryError::Parquet { path: file.path.clone(), reason: error.to_string() })?;
                (self.reader, self.next_group) = (Some(reader), 0);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a row group can have a wanted row, by what the file says of its smallest and largest values.
    fn can_match(&self, reader: &SerializedFileReader<File>, group: usize) -> bool {
        let group = reader.metadata().row_group(group);
        self.ask.conditions.iter().all(|condition| {
            let Some(doc) = self.table.doc.columns.get(condition.column) else { return true };
            let column = group.columns().iter().find(|it| it.column_path().string() == doc.name);
            match (column.and_then(|it| it.statistics()), &condition.value) {
                (Some(Statistics::Int64(range)), Value::Integer(number)) => {
                    let (least, most) = (range.min_opt().copied(), range.max_opt().copied());
                    match condition.op {
                        Op::Eq => least.is_none_or(|it| it <= *number) && most.is_none_or(|it| it >= *number),
                        Op::Gt | Op::Ge => most.is_none_or(|it| it >= *number),
                        Op::Lt | Op::Le => least.is_none_or(|it| it <= *number),
                        Op::Like | Op::Glob => true,
                    }
                }
                _ => true,
            }
        })
    }
}

fn read(
    reader: &SerializedFileReader<File>,
    group: usize,
    table: &ExportedTable,
    ask: &Ask,
) -> Result<(Vec<Column>, usize), ParquetError> {
    let group = reader.get_row_group(group)?;
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut columns = Vec::new();
    for (index, doc) in table.doc.columns.iter().enumerate() {
        let found = group.metadata().columns().iter().position(|it| it.column_path().string() == doc.name);
        columns.push(match found.filter(|_| ask.uses(index)) {
            Some(at) => values(group.get_column_reader(at)?, rows)?,
            None => Column::Missing,
        });
    }
    Ok((columns, rows))
}

fn values(reader: ColumnReader, rows: usize) -> Result<Column, ParquetError> {
    macro_rules! read {
        ($reader:expr, $kind:path) => {{
            let mut reader = $reader;
            let (mut levels, mut values) = (Vec::new(), Vec::new());
            while levels.len() < rows {
                let (records, ..) = reader.read_records(rows - levels.len(), Some(&mut levels), None, &mut values)?;
                if records == 0 {
                    break;
                }
            }
            let mut values = values.into_iter();
            $kind(levels.into_iter().map(|level| if level > 0 { values.next() } else { None }).collect())
        }};
    }
    Ok(match reader {
        ColumnReader::Int64ColumnReader(reader) => read!(reader, Column::Numbers),
        ColumnReader::DoubleColumnReader(reader) => read!(reader, Column::Reals),
        ColumnReader::ByteArrayColumnReader(reader) => read!(reader, Column::Texts),
        _ => Column::Missing,
    })
}

impl RowCursor for PartCursor {
    fn is_done(&self) -> bool {
        self.is_done
    }

    fn advance(&mut self) -> Result<(), QueryError> {
        self.row += 1;
        if self.row < self.rows { Ok(()) } else { self.next_rows() }
    }

    fn id(&self) -> i64 {
        (self.next_file as i64) << 40 | (self.first_row + self.row as i64)
    }

    fn put(&self, column: usize, out: &mut Context) -> rusqlite::Result<()> {
        let doc = self.table.doc.columns.get(column);
        if let Some((doc, value)) = doc.and_then(|doc| Some((doc, self.file().value(doc.name)?))) {
            return match (doc.kind, value) {
                (_, None) => out.set_result(Null),
                (Kind::Integer, Some(text)) => out.set_result(text.parse::<i64>().ok()),
                (Kind::Real | Kind::Text, Some(text)) => out.set_result(text),
            };
        }
        match self.columns.get(column) {
            Some(Column::Numbers(values)) => out.set_result(values.get(self.row).copied().flatten()),
            Some(Column::Reals(values)) => out.set_result(values.get(self.row).copied().flatten()),
            Some(Column::Texts(values)) => match values.get(self.row).and_then(Option::as_ref) {
                Some(text) => out.set_result(text.as_utf8().unwrap_or_default()),
                None => out.set_result(Null),
            },
            _ => out.set_result(Null),
        }
    }
}
