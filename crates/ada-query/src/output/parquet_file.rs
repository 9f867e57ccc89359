//! Parquet files: zstd, numbers as differences, texts through a dictionary.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use rusqlite::types::{Value, ValueRef};

use super::cell::to_owned;
use super::json::unique;
use crate::doc::Kind;
use crate::error::QueryError;
use crate::rows::Rows;

/// Rows of a row group: what readers work on at a time, and what is held in memory before it is written.
pub(crate) const ROW_GROUP: usize = 1 << 17;
/// Texts of a column that are kept, so that the same one is not allocated again.
const MOST_KEPT: usize = 1 << 16;
/// After so many texts it is known whether they come again.
const FIRST_TEXTS: u32 = 1 << 12;

/// The values of a column, and whether each is there.
#[derive(Default)]
struct Values {
    numbers: Vec<i64>,
    reals: Vec<f64>,
    texts: Vec<ByteArray>,
    /// Texts behind these that never come again, one behind the other, and where each ends.
    unique: Vec<u8>,
    ends: Vec<usize>,
    is_there: Vec<i16>,
}

/// A row group, on its way to the file.
#[derive(Default)]
struct Group {
    values: Vec<Values>,
    rows: usize,
}

/// A file that is being written. Row groups are encoded and compressed by a thread of their own: that takes about as long as to come by
/// the rows.
pub(crate) struct ParquetFile {
    path: PathBuf,
    columns: Vec<(String, Kind)>,
    kept: Vec<KeptTexts>,
    group: Group,
    rows: u64,
    /// To the writer, which ends when nothing more can come.
    full: Option<SyncSender<Group>>,
    /// Groups that were written, to be filled again.
    empty: Receiver<Group>,
    writer: Option<JoinHandle<Result<(), ParquetError>>>,
}

impl ParquetFile {
    pub(crate) fn begin(file: File, path: &Path, columns: Vec<(String, Kind)>) -> Result<Self, QueryError> {
        let failed = |error: ParquetError| QueryError::Parquet { path: path.to_owned(), reason: error.to_string() };
        let mut fields = Vec::new();
        let level = ZstdLevel::try_new(3).map_err(failed)?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_created_by("ada".into());
        for (name, kind) in &columns {
            let physical = match kind {
                Kind::Integer => Physical::INT64,
                Kind::Real => Physical::DOUBLE,
                Kind::Text => Physical::BYTE_ARRAY,
            };
            let mut field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
            let column = ColumnPath::new(vec![name.clone()]);
            match kind {
                Kind::Text => {
                    field = field.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8);
                    // Where a dictionary grows too large, neighbours still begin alike.
                    properties = properties.set_column_encoding(column, Encoding::DELTA_BYTE_ARRAY);
                }
                Kind::Integer => {
                    properties = properties
                        .set_column_dictionary_enabled(column.clone(), false)
                        .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
                }
                Kind::Real => (),
            }
            fields.push(Arc::new(field.build().map_err(failed)?));
        }
        let schema = Type::group_type_builder("row").with_fields(fields).build().map_err(failed)?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build())).map_err(failed)?;
        let kinds: Vec<Kind> = columns.iter().map(|(_, kind)| *kind).collect();
        let ((full, groups), (written, empty)) = (sync_channel(1), channel());
        let writer = Some(std::thread::spawn(move || write_groups(writer, &kinds, &groups, &written)));
        let kept = columns.iter().map(|_| KeptTexts::default()).collect();
        let group = Group { values: columns.iter().map(|_| Values::default()).collect(), rows: 0 };
        Ok(Self { path: path.to_owned(), columns, kept, group, rows: 0, full: Some(full), empty, writer })
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// A value of the row that [`Self::end_row`] ends.
    pub(crate) fn put(&mut self, column: usize, value: ValueRef<'_>) -> Result<(), QueryError> {
        let (name, kind) = &self.columns[column];
        let (values, kept) = (&mut self.group.values[column], &mut self.kept[column]);
        if value == ValueRef::Null {
            values.is_there.push(0);
            return Ok(());
        }
        match (kind, value) {
            (Kind::Integer, ValueRef::Integer(number)) => values.numbers.push(number),
            (Kind::Real, ValueRef::Real(number)) => values.reals.push(number),
            (Kind::Real, ValueRef::Integer(number)) => values.reals.push(number as f64),
            (Kind::Text, ValueRef::Text(bytes)) => values.put_text(kept, bytes),
            (Kind::Text, value) => match to_owned(value) {
                Value::Integer(number) => values.put_text(kept, number.to_string().as_bytes()),
                Value::Real(number) => values.put_text(kept, number.to_string().as_bytes()),
                Value::Text(text) => values.put_text(kept, text.as_bytes()),
                _ => values.put_text(kept, b""),
            },
            _ => {
                let reason = format!("column {name} has values of several kinds; CAST it to one, such as TEXT");
                return Err(QueryError::Parquet { path: self.path.clone(), reason });
            }
        }
        values.is_there.push(1);
        Ok(())
    }

    pub(crate) fn end_row(&mut self) -> Result<(), QueryError> {
        self.group.rows += 1;
        self.rows += 1;
        if self.group.rows < ROW_GROUP {
            return Ok(());
        }
        let columns = self.columns.len();
        let next = self.empty.try_recv().unwrap_or_default();
        let full = std::mem::replace(&mut self.group, next);
        self.group.values.resize_with(columns, Values::default);
        self.hand_over(full)
    }

    pub(crate) fn finish(mut self) -> Result<u64, QueryError> {
        let rest = std::mem::take(&mut self.group);
        if rest.rows > 0 {
            self.hand_over(rest)?;
        }
        self.full = None;
        self.end().map(|()| self.rows)
    }

    fn hand_over(&mut self, group: Group) -> Result<(), QueryError> {
        let is_taken = self.full.as_ref().is_some_and(|full| full.send(group).is_ok());
        if is_taken { Ok(()) } else { self.end() }
    }

    /// Waits for the writer, which has ended or will.
    fn end(&mut self) -> Result<(), QueryError> {
        let ended = || QueryError::Parquet { path: self.path.clone(), reason: "nobody writes it any more".into() };
        let written = self.writer.take().and_then(|writer| writer.join().ok()).ok_or_else(ended)?;
        written.map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &ParquetError) -> QueryError {
    QueryError::Parquet { path: path.to_owned(), reason: error.to_string() }
}

/// Writes groups as they come, and gives them back empty.
fn write_groups(
    mut writer: SerializedFileWriter<File>,
    kinds: &[Kind],
    groups: &Receiver<Group>,
    written: &Sender<Group>,
) -> Result<(), ParquetError> {
    for mut full in groups {
        let mut group = writer.next_row_group()?;
        let mut columns = kinds.iter().zip(&mut full.values);
        while let Some(mut writer) = group.next_column()? {
            let Some((kind, values)) = columns.next() else { break };
            values.gather_texts();
            let levels = Some(&values.is_there[..]);
            match kind {
                Kind::Integer => writer.typed::<Int64Type>().write_batch(&values.numbers, levels, None),
                Kind::Real => writer.typed::<DoubleType>().write_batch(&values.reals, levels, None),
                Kind::Text => writer.typed::<ByteArrayType>().write_batch(&values.texts, levels, None),
            }?;
            writer.close()?;
            values.clear();
        }
        group.close()?;
        full.rows = 0;
        // Nobody takes the last ones.
        let _ = written.send(full);
    }
    writer.close().map(drop)
}

impl Values {
    fn put_text(&mut self, kept: &mut KeptTexts, bytes: &[u8]) {
        match kept.get(bytes) {
            Some(text) => self.texts.push(text),
            None => {
                self.unique.extend_from_slice(bytes);
                self.ends.push(self.unique.len());
            }
        }
    }

    /// Has all texts among the others.
    fn gather_texts(&mut self) {
        let unique = Bytes::from(std::mem::take(&mut self.unique));
        let mut start = 0;
        for end in self.ends.drain(..) {
            self.texts.push(unique.slice(start..end).into());
            start = end;
        }
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.reals.clear();
        self.texts.clear();
        self.is_there.clear();
    }
}

/// Texts of a column that come again and again, if they do.
#[derive(Default)]
struct KeptTexts {
    kept: HashMap<Vec<u8>, ByteArray>,
    last: Option<ByteArray>,
    looked_for: u32,
    found: u32,
}

impl KeptTexts {
    /// The text, unless those of this column never come again: from then on there is none.
    fn get(&mut self, bytes: &[u8]) -> Option<ByteArray> {
        if self.are_unique() {
            return None;
        }
        if let Some(last) = self.last.as_ref().filter(|last| last.data() == bytes) {
            return Some(last.clone());
        }
        self.looked_for += 1;
        let text = match self.kept.get(bytes) {
            Some(text) => {
                self.found += 1;
                text.clone()
            }
            None => {
                let text = ByteArray::from(bytes.to_vec());
                if self.kept.len() < MOST_KEPT {
                    self.kept.insert(bytes.to_vec(), text.clone());
                }
                text
            }
        };
        self.last = Some(text.clone());
        Some(text)
    }

    /// References never come again.
    fn are_unique(&self) -> bool {
        self.looked_for >= FIRST_TEXTS && self.found < FIRST_TEXTS / 4
    }
}

/// Writes an answer to a file; its path is for errors. What kind a column is follows from its first values.
pub fn write_parquet(rows: &mut Rows<'_>, file: File, path: &Path) -> Result<(), QueryError> {
    let names = unique(rows.columns());
    let mut kinds: Vec<Option<Kind>> = vec![None; names.len()];
    let mut held: Vec<Vec<Value>> = Vec::new();
    let mut has_more = true;
    while has_more && held.len() < ROW_GROUP {
        let mut row = Vec::with_capacity(names.len());
        has_more = rows.next(|column, value| {
            let kind = match value {
                ValueRef::Null => None,
                ValueRef::Integer(_) => Some(Kind::Integer),
                ValueRef::Real(_) => Some(Kind::Real),
                _ => Some(Kind::Text),
            };
            kinds[column] = match (kinds[column], kind) {
                (known, None) => known,
                (None, new) => new,
                (Some(known), Some(new)) if known == new => Some(known),
                (Some(Kind::Integer | Kind::Real), Some(Kind::Integer | Kind::Real)) => Some(Kind::Real),
                _ => Some(Kind::Text),
            };
            row.push(to_owned(value));
        })?;
        if has_more {
            held.push(row);
        }
    }
    let columns = names.into_iter().zip(kinds).map(|(name, kind)| (name, kind.unwrap_or(Kind::Text))).collect();
    let mut file = ParquetFile::begin(file, path, columns)?;
    for row in held {
        for (column, value) in row.iter().enumerate() {
            file.put(column, ValueRef::from(value))?;
        }
        file.end_row()?;
    }
    let mut failure = None;
    while has_more
        && rows.next(|column, value| {
            if failure.is_none() {
                failure = file.put(column, value).err();
            }
        })?
    {
        if let Some(failure) = failure {
            return Err(failure);
        }
        file.end_row()?;
    }
    file.finish()?;
    Ok(())
}
