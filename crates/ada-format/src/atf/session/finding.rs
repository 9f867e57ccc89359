//! Something wrong with a session, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::atf::{AtfError, Damage};

/// Findings of one kind that are listed for one file; the rest is counted.
const LISTED: u64 = 10;

/// Something wrong, and the file or folder where it is.
#[derive(Debug)]
pub struct Finding {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a part of a session.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// Something is missing or doubtful; the rest was read.
    Damage(Damage),
    /// The file contradicts itself; nothing of it, or nothing past this offset, was read.
    Corrupt(AtfError),
    /// The file system does not let us read it.
    Unreadable(io::Error),
    /// There are more findings of a kind than are worth listing.
    More {
        /// The kind's name.
        kind: &'static str,
        /// How many more.
        count: u64,
    },
}

impl Problem {
    /// The problem's short name, for machine-readable output.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Damage(damage) => damage.kind(),
            Self::Corrupt(error) => error.kind(),
            Self::Unreadable(_) => "unreadable",
            Self::More { kind, .. } => kind,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(damage) => damage.fmt(f),
            Self::Corrupt(error) => error.fmt(f),
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::More { kind, count } => write!(f, "{count} more findings of this kind ({kind})"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

/// Collects the findings of one file, a bounded number of each kind: a file can be wrong in each of its million
/// events.
pub(super) struct FileFindings<'a> {
    path: PathBuf,
    counts: Vec<(&'static str, u64)>,
    list: &'a mut Vec<Finding>,
}

impl<'a> FileFindings<'a> {
    pub(super) fn new(path: &Path, list: &'a mut Vec<Finding>) -> Self {
        Self { path: path.to_owned(), counts: Vec::new(), list }
    }

    pub(super) fn damage(&mut self, damage: Damage) {
        self.push(Problem::Damage(damage));
    }

    pub(super) fn push(&mut self, problem: Problem) {
        let kind = problem.kind();
        let at = self.counts.iter().position(|(name, _)| *name == kind).unwrap_or_else(|| {
            self.counts.push((kind, 0));
            self.counts.len() - 1
        });
        self.counts[at].1 += 1;
        if self.counts[at].1 <= LISTED {
            self.list.push(Finding { path: self.path.clone(), problem });
        }
    }
}

impl Drop for FileFindings<'_> {
    fn drop(&mut self) {
        for &(kind, count) in self.counts.iter().filter(|(_, count)| *count > LISTED) {
            let problem = Problem::More { kind, count: count - LISTED };
            self.list.push(Finding { path: self.path.clone(), problem });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_findings_of_a_kind_are_counted() {
        let mut list = Vec::new();
        let mut findings = FileFindings::new(Path::new("x"), &mut list);
        (0..25).for_each(|_| findings.damage(Damage::Unfinished));
        findings.damage(Damage::ManifestMissing);
        drop(findings);
        assert_eq!(list.len(), 12);
        assert_eq!(list[11].to_string(), "x: 15 more findings of this kind (unfinished)");
    }
}
