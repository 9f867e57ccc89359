//! The part of a file between header and footer, while it is being written.

use std::io::{self, Seek, SeekFrom, Write};

/// Bytes kept back before they are written: the most that a writer whose process is killed can lose of its own.
pub(crate) const BUFFER_SIZE: usize = 64 * 1024;

/// Appends bytes after a placeholder header, buffers small pieces, and keeps the checksum.
///
/// When a write fails, what has not reached the file is forgotten: `len` says what the file holds, the caller counts
/// the rest as lost, and the file can still be finished, which is what a full disk asks for.
pub(crate) struct SectionWriter<W: Write + Seek> {
    /// Taken by `finish`, so that `drop` knows whether there is still something to save.
    file: Option<W>,
    buffer: Vec<u8>,
    crc: crc32fast::Hasher,
    header_len: u64,
    /// Bytes in the file, without header and buffer.
    written: u64,
    /// Records in the file and in the buffer.
    written_records: u64,
    buffered_records: u64,
    /// Words that were changed after they were written: where, and by which bits.
    changes: Vec<(u64, [u8; 4])>,
}

impl<W: Write + Seek> SectionWriter<W> {
    /// Writes the placeholder header at the file's beginning.
    pub(crate) fn begin(mut file: W, header: &[u8]) -> io::Result<Self> {
        file.write_all(header)?;
        Ok(Self {
            file: Some(file),
            buffer: Vec::with_capacity(BUFFER_SIZE),
            crc: crc32fast::Hasher::new(),
            header_len: header.len() as u64,
            written: 0,
            written_records: 0,
            buffered_records: 0,
            changes: Vec::new(),
        })
    }

    /// Bytes appended so far.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Records appended so far.
    pub(crate) fn records(&self) -> u64 {
        self.written_records + self.buffered_records
    }

    /// Appends the bytes of so many records. Large pieces go straight to the file.
    pub(crate) fn append(&mut self, bytes: &[u8], records: u64) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_SIZE {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_SIZE {
            self.write(bytes, records)
        } else {
            self.buffer.extend_from_slice(bytes);
            self.buffered_records += records;
            Ok(())
        }
    }

    /// Appends one record of this length that lies in pieces; what is missing at its end is zero.
    pub(crate) fn append_in_pieces(&mut self, length: usize, pieces: &[&[u8]]) -> io::Result<()> {
        if self.buffer.len() + length > BUFFER_SIZE {
            self.flush()?;
        }
        let end = self.buffer.len() + length;
        pieces.iter().for_each(|piece| self.buffer.extend_from_slice(piece));
        self.buffer.resize(end, 0);
        self.buffered_records += 1;
        Ok(())
    }

    /// Hands all bytes to the operating system, from where they survive the process.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let records = std::mem::take(&mut self.buffered_records);
        let written = self.write(&buffer, records);
        buffer.clear();
        self.buffer = buffer;
        written
    }

    fn write(&mut self, bytes: &[u8], records: u64) -> io::Result<()> {
        let end = self.header_len + self.written;
        if let Err(error) = self.file().write_all(bytes) {
            // A part may have been written: what comes next goes over it.
            self.file().seek(SeekFrom::Start(end))?;
            return Err(error);
        }
        self.crc.update(bytes);
        self.written += bytes.len() as u64;
        self.written_records += records;
        Ok(())
    }

    /// Changes a word that was appended before; `at` counts from the section's start.
    pub(crate) fn change(&mut self, at: u64, old: [u8; 4], new: [u8; 4]) -> io::Result<()> {
        self.flush()?;
        let (start, end) = (self.header_len + at, self.header_len + self.written);
        let file = self.file();
        file.seek(SeekFrom::Start(start))?;
        let changed = file.write_all(&new);
        file.seek(SeekFrom::Start(end))?;
        changed?;
        self.changes.push((at, std::array::from_fn(|byte| old[byte] ^ new[byte])));
        Ok(())
    }

    /// The checksum of the section as it is now. CRC-32 is linear: what a change of some bits adds to it does not depend
    /// on the bytes around them, only on how many follow, so nothing has to be read again.
    fn checksum(&self) -> u32 {
        let of = |bytes: &[u8; 4], followed_by: u64| {
            let mut crc = crc32fast::Hasher::new();
            crc.update(bytes);
            crc.combine(&crc32fast::Hasher::new_with_initial_len(0, followed_by));
            crc.finalize()
        };
        self.changes.iter().fold(self.crc.clone().finalize(), |crc, (at, bits)| {
            let followed_by = self.written - at - 4;
            crc ^ of(bits, followed_by) ^ of(&[0; 4], followed_by)
        })
    }

    /// Writes the footer that `footer` makes of the checksum and then rewrites the header. `sync` is called before
    /// the header and after it: a header that is complete on disk has its events on disk.
    pub(crate) fn finish(
        mut self,
        footer: impl FnOnce(u32) -> [u8; 64],
        header: &[u8],
        mut sync: impl FnMut(&mut W) -> io::Result<()>,
    ) -> io::Result<W> {
        self.flush()?;
        let footer = footer(self.checksum());
        let file = self.file();
        file.write_all(&footer)?;
        sync(file)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(header)?;
        file.flush()?;
        sync(file)?;
        Ok(self.file.take().expect("finish consumes the writer, so nobody took the file before"))
    }

    /// What it writes to.
    pub(super) fn file(&mut self) -> &mut W {
        self.file.as_mut().expect("only finish takes the file, and it consumes the writer")
    }
}

impl<W: Write + Seek> Drop for SectionWriter<W> {
    fn drop(&mut self) {
        if self.file.is_some() {
            // There is nobody to report a failure to; readers recover what was written.
            let _ = self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A disk with room for so many bytes.
    struct Disk(Cursor<Vec<u8>>, u64);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match (self.1 - self.0.position()).min(bytes.len() as u64) {
                0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
                room => self.0.write(&bytes[..room as usize]),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Disk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_file_can_be_finished_on_a_full_disk() {
        let mut section = SectionWriter::begin(Disk(Cursor::default(), 300), b"HEAD").unwrap();
        section.append(&[1; 100], 1).unwrap();
        section.flush().unwrap();
        section.append(&[2; 250], 2).unwrap();
        assert_eq!(section.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!((section.len(), section.records()), (100, 1));
        let disk = section.finish(|_| [9; 64], b"DONE", |_| Ok(())).unwrap().0.into_inner();
        assert_eq!(&disk[..4], b"DONE");
        assert_eq!(&disk[4..104], [1; 100]);
        assert_eq!(&disk[104..168], [9; 64]);
    }
}
