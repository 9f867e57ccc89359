//! `/proc/PID/status`.

use ada_event::ProcessId;

/// What `/proc/PID/status` says of a process, or of one of its threads.
pub struct Status {
    text: String,
}

impl Status {
    pub(super) fn of_text(text: String) -> Self {
        Self { text }
    }

    /// A field by its name in proc(5); empty where this kernel has no such field.
    pub fn field(&self, name: &str) -> &str {
        let mut fields = self.text.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(known, _)| *known == name).map_or("", |(_, value)| value.trim())
    }

    /// The process that started it, or has inherited it.
    pub fn parent(&self) -> Option<ProcessId> {
        self.field("PPid").parse().ok()
    }

    /// Whether it has restricted its own system calls.
    pub fn has_seccomp(&self) -> bool {
        !matches!(self.field("Seccomp"), "" | "0")
    }

    /// Under how many filters its system calls are; none where the kernel does not say.
    pub fn filter_count(&self) -> Option<u64> {
        self.field("Seccomp_filters").parse().ok()
    }

    /// How many threads it has, ended ones that nobody has waited for among them.
    pub(crate) fn thread_count(&self) -> Option<usize> {
        self.field("Threads").parse().ok()
    }

    /// How many ids it has: one in each of the nested PID namespaces that it is in.
    pub(crate) fn id_count(&self) -> usize {
        self.field("NSpid").split_ascii_whitespace().count()
    }

    /// The id by which it knows itself, in the innermost PID namespace that it is in.
    pub fn innermost_id(&self) -> Option<ProcessId> {
        self.field("NSpid").split_ascii_whitespace().next_back()?.parse().ok().map(ProcessId)
    }

    /// The user whose rights it has.
    pub fn effective_user(&self) -> Option<u32> {
        self.field("Uid").split_ascii_whitespace().nth(1)?.parse().ok()
    }

    /// Whether it has this user's id, real, effective, saved or for files.
    pub fn has_user(&self, user: u32) -> bool {
        self.field("Uid").split_ascii_whitespace().any(|id| id.parse() == Ok(user))
    }

    /// The signals that are pending, for the thread or for its process, as a mask.
    pub(crate) fn pending_signals(&self) -> u64 {
        let mask = |name| u64::from_str_radix(self.field(name), 16).unwrap_or(0);
        mask("SigPnd") | mask("ShdPnd")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Name:\tPPid: 3\nState:\tS (sleeping)\nPPid:\t42\nUid:\t0\t5\t0\t0\nNSpid:\t9\t1\nThreads:\t7\n\
        SigPnd:\t0000000000000001\nShdPnd:\t0000000000020000\nSeccomp:\t2\nSeccomp_filters:\t1\n";

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let status = Status::of_text(TEXT.to_owned());
        assert_eq!((status.parent(), status.thread_count(), status.id_count()), (Some(ProcessId(42)), Some(7), 2));
        assert_eq!((status.innermost_id(), status.effective_user()), (Some(ProcessId(1)), Some(5)));
        assert!(status.has_user(5) && !status.has_user(9) && status.has_seccomp());
        assert_eq!(status.filter_count(), Some(1));
        assert_eq!(status.pending_signals(), 0x20001);
        assert_eq!((status.field("State"), status.field("Sec")), ("S (sleeping)", ""));
        assert!(!Status::of_text(String::new()).has_seccomp());
    }
}
