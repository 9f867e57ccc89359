//! What earlier recordings have read of the clock since the machine was started.

use std::io::{self, Read};

use ada_process::{Calibration, Clock, ClockReading};

use crate::cache_folder::{CacheFolder, default_path};

const NAME: &str = "reading";
/// The clock's rate is adjusted by and by: a reading that is older makes room for a new one.
const KEPT_NANOS: u64 = 3_600_000_000_000;
/// More than any reading has.
const MOST_BYTES: u64 = 200;

/// Finishes a calibration with what is known from before, and leaves what the next one may use.
pub(super) fn finish(calibration: Calibration) -> Clock {
    let folder = default_path("clock").map(|path| CacheFolder { path });
    let Some((folder, boot)) = folder.zip(boot_id()) else { return calibration.finish(None) };
    let (now, before) = (calibration.first(), read(&folder, &boot));
    let clock = calibration.finish(before);
    if before.is_none_or(|before| now.nanos.saturating_sub(before.nanos) > KEPT_NANOS) {
        // Without it the next clock is as precise as this one.
        let _ = folder.write(NAME, format!("{boot} {} {}\n", now.tsc, now.nanos).as_bytes());
    }
    clock
}

/// What names the time since the machine was started.
fn boot_id() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

fn read(folder: &CacheFolder, boot: &str) -> Option<ClockReading> {
    let mut text = String::new();
    let read =
        |file: std::fs::File, text: &mut String| -> io::Result<usize> { file.take(MOST_BYTES).read_to_string(text) };
    read(folder.open(NAME).ok()?.0, &mut text).ok()?;
    parse(&text, boot)
}

/// A reading, if it is of this start.
fn parse(text: &str, boot: &str) -> Option<ClockReading> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [of, tsc, nanos] = words[..] else { return None };
    (of == boot).then_some(())?;
    Some(ClockReading { tsc: tsc.parse().ok()?, nanos: nanos.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_of_one_start_of_the_machine() {
        let reading = ClockReading { tsc: 7, nanos: 9 };
        assert_eq!(parse("a-b 7 9\n", "a-b"), Some(reading));
        for text in ["a-c 7 9", "a-b 7", "a-b 7 9 1", "a-b -7 9", "a-b 7 99999999999999999999", ""] {
            assert_eq!(parse(text, "a-b"), None, "{text}");
        }
    }
}
