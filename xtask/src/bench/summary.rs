//! What `ada trace` says when it is done.

use std::path::PathBuf;

/// The figures of the summary.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Summary {
    pub(super) events: u64,
    pub(super) hooked: u64,
    pub(super) found: u64,
    pub(super) hooking_ms: f64,
    /// Records that were given up, by reason.
    pub(super) lost: Vec<(String, u64)>,
    pub(super) waited_s: f64,
    pub(super) session: PathBuf,
    /// Other things that it said, such as that the trace is incomplete.
    pub(super) other: Vec<String>,
}

impl Summary {
    /// Reads what ada wrote to stderr. None if the line with the counts is not there: the program was not traced.
    pub(super) fn parse(stderr: &str) -> Option<Self> {
        let mut summary = Self::default();
        let mut was_counted = false;
        for line in stderr.lines().filter_map(|line| line.strip_prefix("ada: ")) {
            if let Some(counts) = Counts::parse(line) {
                was_counted = true;
                (summary.events, summary.hooked, summary.found) = (counts.events, counts.hooked, counts.found);
                summary.hooking_ms = counts.hooking_ms;
            } else if let Some((count, reason)) = line.split_once(" records lost: ") {
                summary.lost.push((reason.to_owned(), count.parse().ok()?));
            } else if let Some(rest) = line.strip_prefix("threads waited ") {
                summary.waited_s = rest.split_whitespace().next()?.parse().ok()?;
            } else if line.contains("session_") && !line.contains(": ") {
                summary.session = PathBuf::from(line);
            } else {
                summary.other.push(line.to_owned());
            }
        }
        was_counted.then_some(summary)
    }

    /// Records that were given up, for any reason.
    pub(super) fn lost_in_all(&self) -> u64 {
        self.lost.iter().map(|(_, count)| count).sum()
    }
}

struct Counts {
    events: u64,
    hooked: u64,
    found: u64,
    hooking_ms: f64,
}

impl Counts {
    /// `34887 events on 10 threads; 6395 of 6513 functions hooked in 113 ms; exit code 0`
    fn parse(line: &str) -> Option<Self> {
        let (events, rest) = line.split_once(" events on ")?;
        let (_, rest) = rest.split_once("; ")?;
        let (hooked, rest) = rest.split_once(" of ")?;
        let (found, rest) = rest.split_once(" functions hooked in ")?;
        let (hooking_ms, _) = rest.split_once(" ms")?;
        Some(Self {
            events: events.parse().ok()?,
            hooked: hooked.parse().ok()?,
            found: found.parse().ok()?,
            hooking_ms: hooking_ms.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        let stderr = "the program's own words\n\
            ada: 34887 events on 10 threads; 6395 of 6513 functions hooked in 113 ms; exit code 0\n\
            ada: 28976 records lost: detail_lost\n\
            ada: 4 records lost: torn\n\
            ada: threads waited 4.2 s for the trace to be written\n\
            ada: the trace is incomplete: the disk is full\n\
            ada: /tmp/x/session_20261115_101500\n";
        let summary = Summary::parse(stderr).unwrap();
        assert_eq!((summary.events, summary.hooked, summary.found), (34887, 6395, 6513));
        assert_eq!((summary.hooking_ms, summary.waited_s), (113.0, 4.2));
        assert_eq!(summary.lost_in_all(), 28980);
        assert_eq!(summary.session, PathBuf::from("/tmp/x/session_20261115_101500"));
        assert_eq!(summary.other, ["the trace is incomplete: the disk is full"]);
    }

    #[test]
    fn a_failure_is_no_summary() {
        assert_eq!(Summary::parse("ada: there is no such program\n"), None);
    }
}
