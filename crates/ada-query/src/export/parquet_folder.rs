//! Parquet files in folders by table, session and process: `spans/session=…/pid=…/part-00000.parquet`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{Exported, columns_within, put_row, quoted};
use crate::doc::TableDoc;
use crate::engine::Engine;
use crate::error::QueryError;
use crate::hive::folder_name;
use crate::limits::Limits;
use crate::output::ParquetFile;
use crate::tables::exported;

/// Rows of a file, so that several machines can read a large table at once.
const ROWS_PER_FILE: u64 = 1 << 22;

/// Writes the tables with these names, or all, into a folder that is new or empty. `progress` hears of each table.
pub fn to_parquet(
    engine: &Engine,
    folder: &Path,
    wanted: &[String],
    mut progress: impl FnMut(&str, u64),
) -> Result<Vec<Exported>, QueryError> {
    let mut all = Vec::new();
    for table in exported().filter(|it| wanted.is_empty() || wanted.iter().any(|name| name == it.name)) {
        let mut sum = Exported { table: table.name, rows: 0, files: 0 };
        for process in engine.trace().processes() {
            let session = &engine.trace().session_of(process).name;
            let partition = folder
                .join(table.name)
                .join(folder_name("session", Some(session)))
                .join(format!("pid={}", process.pid));
            fs::create_dir_all(&partition).map_err(QueryError::output(&partition))?;
            let condition = format!("session = {} AND pid = {}", quoted(session), process.pid);
            write(engine, table, &condition, &partition, &mut sum, &mut |rows| progress(table.name, rows))?;
        }
        all.push(sum);
    }
    Ok(all)
}

fn write(
    engine: &Engine,
    table: &'static TableDoc,
    condition: &str,
    folder: &Path,
    sum: &mut Exported,
    progress: &mut dyn FnMut(u64),
) -> Result<(), QueryError> {
    let names: Vec<&str> = columns_within(table).map(|it| it.name).collect();
    let sql = format!("SELECT {} FROM {} WHERE {condition}", names.join(", "), table.name);
    let create = |number: u64| {
        let path: PathBuf = folder.join(format!("part-{number:05}.parquet"));
        let file = File::create_new(&path).map_err(QueryError::output(&path))?;
        ParquetFile::begin(file, &path, columns_within(table).map(|it| (it.name.to_owned(), it.kind)).collect())
    };
    engine.ask(&sql, &Limits::default(), |rows| {
        let mut number = 0;
        let mut file = create(number)?;
        while put_row(rows, &mut file)? {
            if rows.given().is_multiple_of(1 << 16) {
                progress(1 << 16);
            }
            if file.rows() >= ROWS_PER_FILE {
                number += 1;
                let full = std::mem::replace(&mut file, create(number)?);
                sum.rows += full.finish()?;
                sum.files += 1;
            }
        }
        sum.rows += file.finish()?;
        sum.files += 1;
        Ok(())
    })
}
