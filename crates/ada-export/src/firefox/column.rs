//! A column of a table that is filled row by row: it waits in a file until the columns before it are written.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

/// Values in JSON, with commas between them.
pub(super) struct Column {
    file: BufWriter<File>,
    is_empty: bool,
}

impl Column {
    pub(super) fn new(file: File) -> Self {
        Self { file: BufWriter::with_capacity(1 << 18, file), is_empty: true }
    }

    /// Where the next value goes.
    pub(super) fn next(&mut self) -> io::Result<&mut BufWriter<File>> {
        if !std::mem::take(&mut self.is_empty) {
            self.file.write_all(b",")?;
        }
        Ok(&mut self.file)
    }

    /// Writes the list out, and is empty again.
    pub(super) fn write_to(&mut self, mut out: impl Write) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(0))?;
        out.write_all(b"[")?;
        let mut reader = BufReader::with_capacity(1 << 18, &*file);
        let mut bytes = vec![0; 1 << 16];
        loop {
            match reader.read(&mut bytes)? {
                0 => break,
                count => out.write_all(&bytes[..count])?,
            }
        }
        out.write_all(b"]")?;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        self.is_empty = true;
        Ok(())
    }
}
