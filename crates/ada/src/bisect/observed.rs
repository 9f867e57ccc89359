//! What a run does, as far as it can be seen from outside.

use std::fmt;
use std::time::Duration;

use super::captured::Captured;

/// What can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    /// The exit code or the signal, and that it ends at all.
    Exit,
    /// What it writes to standard output.
    Stdout,
    /// What it writes to standard error.
    Stderr,
}

impl Aspect {
    pub(crate) const ALL: [Self; 3] = [Self::Exit, Self::Stdout, Self::Stderr];
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exit => "exit",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        })
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    Exited(i32),
    Killed(i32),
    /// It was ended after so much time.
    TimedOut(Duration),
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Killed(signal) => write!(f, "killed by signal {signal}"),
            Self::TimedOut(time) => write!(f, "no end within {:.1} s", time.as_secs_f64()),
        }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) end: RunEnd,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) took: Duration,
}

impl Observed {
    fn differs_in(&self, aspect: Aspect, expected: &Self) -> bool {
        match aspect {
            Aspect::Exit => self.end != expected.end,
            Aspect::Stdout => self.stdout != expected.stdout,
            Aspect::Stderr => self.stderr != expected.stderr,
        }
    }

    /// In which of these it differs from another.
    pub(crate) fn differing(&self, expected: &Self, aspects: &[Aspect]) -> Vec<Aspect> {
        aspects.iter().copied().filter(|&aspect| self.differs_in(aspect, expected)).collect()
    }

    /// In a few words whether and how it differs.
    pub(crate) fn brief(&self, expected: &Self, aspects: &[Aspect]) -> String {
        let name = |aspect| match aspect {
            Aspect::Exit => self.end.to_string(),
            output => output.to_string(),
        };
        let names: Vec<String> = self.differing(expected, aspects).into_iter().map(name).collect();
        if names.is_empty() { "same".into() } else { format!("differs ({})", names.join(", ")) }
    }

    /// How it differs from what was expected, in words; nothing if it does not.
    pub(crate) fn difference(&self, expected: &Self, aspects: &[Aspect]) -> Option<String> {
        let words = |aspect| match aspect {
            Aspect::Exit => format!("{} instead of {}", self.end, expected.end),
            Aspect::Stdout => format!("stdout, {}", self.stdout.difference(&expected.stdout)),
            Aspect::Stderr => format!("stderr, {}", self.stderr.difference(&expected.stderr)),
        };
        let all: Vec<String> = self.differing(expected, aspects).into_iter().map(words).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(end: RunEnd, stdout: &str) -> Observed {
        let (stdout, stderr) = (Captured::read(stdout.as_bytes()), Captured::default());
        Observed { end, stdout, stderr, took: Duration::ZERO }
    }

    #[test]
    fn only_what_is_compared_counts() {
        let (alone, traced) = (run(RunEnd::Exited(0), "1\n"), run(RunEnd::Killed(11), "2\n"));
        assert_eq!(alone.difference(&alone, &Aspect::ALL), None);
        assert_eq!(traced.difference(&alone, &[Aspect::Stderr]), None);
        let words = traced.difference(&alone, &[Aspect::Exit]).unwrap();
        assert_eq!(words, "killed by signal 11 instead of exit code 0");
        assert_eq!(traced.brief(&alone, &Aspect::ALL), "differs (killed by signal 11, stdout)");
        assert_eq!(traced.brief(&alone, &[Aspect::Stderr]), "same");
        assert_eq!(traced.differing(&alone, &Aspect::ALL), [Aspect::Exit, Aspect::Stdout]);
        let words = traced.difference(&alone, &Aspect::ALL).unwrap();
        assert!(words.ends_with(r#"; stdout, line 1: "2" instead of "1""#), "{words}");
    }
}
