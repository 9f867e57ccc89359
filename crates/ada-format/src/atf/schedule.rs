//! `schedule.ats`: when the threads of a process got a processor and lost it, where the kernel has told.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ada_event::{ScheduleChange, ScheduleRecord, ThreadId};
use rustix::fs::OFlags;

use super::Mapping;
use crate::private::{Replacement, create_file};

/// Its name in a process's folder.
pub(super) const FILE: &str = "schedule.ats";
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

/// Makes the file of a process smaller where it has more bytes than this: the oldest half goes, but for the last record of each
/// thread, so that its state is still known. Gives how many bytes it has now.
pub fn trim_schedule(process: &Path, most: u64) -> io::Result<u64> {
    let path = process.join(FILE);
    let bytes = match std::fs::metadata(&path) {
        Ok(file) if file.len() > most => Mapping::open(&path)?,
        Ok(file) => return Ok(file.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let records = parse_schedule(bytes.bytes())?;
    let (old, new) = records.split_at(records.len() / 2);
    let mut last: BTreeMap<ThreadId, ScheduleRecord> = BTreeMap::new();
    for record in old.iter().filter(|it| !is_loss(it)) {
        let known = last.entry(record.thread).or_insert(*record);
        if record.time >= known.time {
            *known = *record;
        }
    }
    // A thread that had ended by then is over.
    let kept = last.into_values().filter(|it| it.change != ScheduleChange::ENDS);
    let (replacement, mut file) = Replacement::begin(&path)?;
    let mut bytes = [MAGIC.as_slice(), &[0; HEADER - MAGIC.len()]].concat();
    bytes.extend(kept.chain(new.iter().copied()).flat_map(ScheduleRecord::to_le_bytes));
    file.write_all(&bytes)?;
    replacement.finish()?;
    Ok(bytes.len() as u64)
}

fn is_loss(record: &ScheduleRecord) -> bool {
    matches!(record.change, ScheduleChange::LOST_FROM | ScheduleChange::LOST_UNTIL)
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
    use ada_event::TraceNanos;

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
    fn what_is_trimmed_keeps_the_newest_and_each_threads_last_state() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(trim_schedule(folder.path(), 0).unwrap(), 0);
        let of = |thread, time, change| ScheduleRecord { thread: ThreadId(thread), ..record(time, change) };
        let (runs, sleeps) = (ScheduleChange::RUNS, ScheduleChange::SLEEPS);
        let records = [
            of(7, 1, runs),
            of(7, 3, sleeps),
            of(8, 2, runs),
            of(9, 4, ScheduleChange::ENDS),
            of(7, 5, runs),
            of(7, 6, sleeps),
            of(7, 7, runs),
            of(8, 8, sleeps),
        ];
        append_schedule(folder.path(), records).unwrap();
        let before = std::fs::metadata(folder.path().join(FILE)).unwrap().len();
        assert_eq!(trim_schedule(folder.path(), before).unwrap(), before);
        let after = trim_schedule(folder.path(), before - 1).unwrap();
        assert_eq!(after, before - 2 * ScheduleRecord::SIZE as u64);
        let kept = [&[records[1], records[2]], &records[4..]].concat();
        assert_eq!(read_schedule(folder.path()).unwrap().unwrap(), kept);
        append_schedule(folder.path(), [of(9, 9, runs)]).unwrap();
        assert_eq!(read_schedule(folder.path()).unwrap().unwrap().len(), kept.len() + 1);
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
