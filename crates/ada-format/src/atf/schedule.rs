//! `schedule.ats`: when the threads of a process got a processor and lost it, where the kernel has told.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ada_event::ScheduleRecord;
use rustix::fs::OFlags;

use super::Mapping;
use crate::private::create_file;

/// Its name in a process's folder.
const FILE: &str = "schedule.ats";
const MAGIC: &[u8; 4] = b"ATS1";
const HEADER: usize = 16;

/// Appends records to the file of a process, which is begun now if need be.
pub fn append_schedule(process: &Path, records: impl IntoIterator<Item = ScheduleRecord>) -> io::Result<u64> {
    let path = process.join(FILE);
    let mut bytes = Vec::new();
    // Not through a link, which somebody else would have made.
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = match File::options().append(true).custom_flags(no_link).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bytes.extend_from_slice(MAGIC);
            bytes.resize(HEADER, 0);
            create_file(&path)?
        }
        opened => opened?,
    };
    bytes.extend(records.into_iter().flat_map(ScheduleRecord::to_le_bytes));
    file.write_all(&bytes)?;
    Ok(bytes.len() as u64)
}

/// The records of a process, as they came: each processor's in its order. Nothing where the kernel has not told.
pub fn read_schedule(process: &Path) -> io::Result<Option<Vec<ScheduleRecord>>> {
    match Mapping::open(&process.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        mapped => parse_schedule(mapped?.bytes()).map(Some),
    }
}

/// The records of a file. One that was cut has those before the cut.
pub fn parse_schedule(bytes: &[u8]) -> io::Result<Vec<ScheduleRecord>> {
    let records = bytes.strip_prefix(MAGIC).and_then(|rest| rest.get(HEADER - MAGIC.len()..));
    let records =
        records.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "byte 0: no schedule begins here"))?;
    Ok(records.as_chunks().0.iter().map(ScheduleRecord::from_le_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::{ScheduleChange, ThreadId, TraceNanos};

    fn record(time: u64, change: ScheduleChange) -> ScheduleRecord {
        ScheduleRecord { time: TraceNanos(time), thread: ThreadId(7), cpu: 1, change }
    }

    #[test]
    fn what_is_appended_is_read_and_a_cut_costs_the_last_record() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_schedule(folder.path()).unwrap().is_none());
        let records =
            [record(1, ScheduleChange::RUNS), record(2, ScheduleChange::SLEEPS), record(9, ScheduleChange(99))];
        append_schedule(folder.path(), records[..1].iter().copied()).unwrap();
        append_schedule(folder.path(), records[1..].iter().copied()).unwrap();
        assert_eq!(read_schedule(folder.path()).unwrap().unwrap(), records);
        let bytes = std::fs::read(folder.path().join(FILE)).unwrap();
        assert_eq!(parse_schedule(&bytes[..bytes.len() - 1]).unwrap(), records[..2]);
        assert!((0..HEADER).all(|length| parse_schedule(&bytes[..length]).is_err()));
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join(FILE)).unwrap();
        assert!(append_schedule(folder.path(), [record(1, ScheduleChange::RUNS)]).is_err());
        assert!(std::fs::read(&other).unwrap().is_empty());
    }
}
