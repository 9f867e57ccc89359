//! What a program says of its memory and its parent's: `memory self VmHWM 1600 RssAnon 100 …`, in KiB.

/// Memory of one process, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Memory {
    /// The most that was resident at any time.
    pub(super) peak: u64,
    /// Its own.
    pub(super) anonymous: u64,
    /// Code and data of files; shared with whoever uses the same files.
    pub(super) file: u64,
    /// The rings, which ada and the program share.
    pub(super) shared: u64,
}

impl Memory {
    /// The line of `whose` memory in what a program printed.
    pub(super) fn parse(stdout: &str, whose: &str) -> Option<Self> {
        let line = stdout.lines().find_map(|line| line.strip_prefix("memory ")?.strip_prefix(whose))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let figure = |name: &str| {
            let index = words.iter().position(|word| *word == name)?;
            words.get(index + 1)?.parse().ok()
        };
        Some(Self {
            peak: figure("VmHWM")?,
            anonymous: figure("RssAnon")?,
            file: figure("RssFile")?,
            shared: figure("RssShmem")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_line() {
        let stdout = "burst 1 2 3\nmemory self VmHWM 16 RssAnon 1 RssFile 15 RssShmem 0\n\
            memory parent VmHWM 24 RssAnon 6 RssFile 17 RssShmem 1\n";
        assert_eq!(Memory::parse(stdout, "self"), Some(Memory { peak: 16, anonymous: 1, file: 15, shared: 0 }));
        assert_eq!(Memory::parse(stdout, "parent").unwrap().shared, 1);
        assert_eq!(Memory::parse(stdout, "child"), None);
        assert_eq!(Memory::parse("memory self VmHWM x", "self"), None);
    }
}
