//! Parquet files: zstd, numbers as differences, texts through a dictionary.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// The values of a column, and whether each is there.
struct Values {
    numbers: Vec<i64>,
    reals: Vec<f64>,
    texts: Vec<ByteArray>,
    is_there: Vec<i16>,
    kept: HashMap<Vec<u8>, ByteArray>,
}

/// A file that is being written.
pub(crate) struct ParquetFile {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: Vec<(String, Kind)>,
    values: Vec<Values>,
    rows: usize,
    written: u64,
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
        let values = columns.iter().map(|_| Values::new()).collect();
        Ok(Self { path: path.to_owned(), writer, columns, values, rows: 0, written: 0 })
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.written + self.rows as u64
    }

    /// A value of the row that [`Self::end_row`] ends.
    pub(crate) fn put(&mut self, column: usize, value: ValueRef<'_>) -> Result<(), QueryError> {
        let (name, kind) = &self.columns[column];
        let values = &mut self.values[column];
        if value == ValueRef::Null {
            values.is_there.push(0);
            return Ok(());
        }
        match (kind, value) {
            (Kind::Integer, ValueRef::Integer(number)) => values.numbers.push(number),
            (Kind::Real, ValueRef::Real(number)) => values.reals.push(number),
            (Kind::Real, ValueRef::Integer(number)) => values.reals.push(number as f64),
            (Kind::Text, ValueRef::Text(bytes)) => values.put_text(bytes),
            (Kind::Text, value) => match to_owned(value) {
                Value::Integer(number) => values.put_text(number.to_string().as_bytes()),
                Value::Real(number) => values.put_text(number.to_string().as_bytes()),
                Value::Text(text) => values.put_text(text.as_bytes()),
                _ => values.put_text(b""),
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
        self.rows += 1;
        if self.rows >= ROW_GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<(), QueryError> {
        if self.rows == 0 {
            return Ok(());
        }
        let path = self.path.clone();
        let failed = |error: ParquetError| QueryError::Parquet { path: path.clone(), reason: error.to_string() };
        let mut group = self.writer.next_row_group().map_err(&failed)?;
        let mut columns = self.columns.iter().zip(&mut self.values);
        while let Some(mut writer) = group.next_column().map_err(&failed)? {
            let Some(((_, kind), values)) = columns.next() else { break };
            let levels = Some(&values.is_there[..]);
            match kind {
                Kind::Integer => writer.typed::<Int64Type>().write_batch(&values.numbers, levels, None),
                Kind::Real => writer.typed::<DoubleType>().write_batch(&values.reals, levels, None),
                Kind::Text => writer.typed::<ByteArrayType>().write_batch(&values.texts, levels, None),
            }
            .map_err(&failed)?;
            writer.close().map_err(&failed)?;
            values.clear();
        }
        group.close().map_err(&failed)?;
        self.written += self.rows as u64;
        self.rows = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<u64, QueryError> {
        self.write_group()?;
        let path = self.path;
        self.writer.close().map_err(|error| QueryError::Parquet { path, reason: error.to_string() })?;
        Ok(self.written)
    }
}

impl Values {
    fn new() -> Self {
        Self { numbers: Vec::new(), reals: Vec::new(), texts: Vec::new(), is_there: Vec::new(), kept: HashMap::new() }
    }

    fn put_text(&mut self, bytes: &[u8]) {
        if let Some(text) = self.kept.get(bytes) {
            self.texts.push(text.clone());
            return;
        }
        let text = ByteArray::from(bytes.to_vec());
        if self.kept.len() < MOST_KEPT {
            self.kept.insert(bytes.to_vec(), text.clone());
        }
        self.texts.push(text);
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.reals.clear();
        self.texts.clear();
        self.is_there.clear();
        // References and times never come again.
        if self.kept.len() >= MOST_KEPT {
            self.kept.clear();
        }
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
