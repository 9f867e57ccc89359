//! What the real programs work on: made here, and always the same.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// Bytes of the text, and of the short one.
const TEXT: usize = 48 << 20;
const SHORT_TEXT: usize = 6 << 20;
/// Files of 8 MiB in each folder of the tree.
const PARTS: usize = 24;
const FOLDERS: usize = 4;
const COMMITS: u64 = 60;
const FUNCTIONS: u64 = 60;

/// Paths of the inputs.
pub(super) struct Inputs {
    /// Lines of words, some frequent and most rare.
    pub(super) text: PathBuf,
    pub(super) short_text: PathBuf,
    /// The text, compressed.
    pub(super) gz: PathBuf,
    pub(super) zst: PathBuf,
    pub(super) xz: PathBuf,
    /// A folder with folders of parts of the text.
    pub(super) tree: PathBuf,
    /// A folder for copies of that.
    pub(super) copies: PathBuf,
    /// C.
    pub(super) source: PathBuf,
    /// A git repository with a history of its own.
    pub(super) repository: PathBuf,
}

impl Inputs {
    /// Makes what is not there yet.
    pub(super) fn make(folder: &Path) -> anyhow::Result<Self> {
        let path = |name: &str| folder.join(name);
        let inputs = Self {
            text: path("text"),
            short_text: path("short_text"),
            gz: path("text.gz"),
            zst: path("text.zst"),
            xz: path("text.xz"),
            tree: path("tree"),
            copies: path("copies"),
            source: path("source.c"),
            repository: path("repository"),
        };
        let complete = path("complete");
        if !complete.exists() {
            eprintln!("xtask:   making inputs");
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(&inputs.copies).with_context(|| format!("cannot make {}", folder.display()))?;
            inputs.fill()?;
            fs::write(complete, "")?;
        }
        Ok(inputs)
    }

    fn fill(&self) -> anyhow::Result<()> {
        let text = words(TEXT);
        fs::write(&self.text, &text)?;
        fs::write(&self.short_text, &text[..SHORT_TEXT])?;
        for part in 0..PARTS {
            let original = self.tree.join("0").join(format!("part_{part}"));
            for folder in 0..FOLDERS {
                let path = self.tree.join(folder.to_string());
                fs::create_dir_all(&path)?;
                if folder == 0 {
                    fs::write(&original, &text[part << 20..(part + 8) << 20])?;
                } else {
                    // Links are copied as files, and take no room here.
                    fs::hard_link(&original, path.join(format!("part_{part}")))?;
                }
            }
        }
        fs::write(&self.source, source())?;
        for (tool, result) in [("gzip", &self.gz), ("zstd", &self.zst), ("xz", &self.xz)] {
            // A tool that is missing here is missing when it is to be measured, and is reported then.
            let level = if tool == "xz" { "-0c" } else { "-qc" };
            let _ = Command::new(tool).arg(level).arg(&self.text).stdout(File::create(result)?).status();
        }
        self.make_repository(&text)
    }

    fn make_repository(&self, text: &str) -> anyhow::Result<()> {
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(&self.repository).args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
            git.args(arguments).env("GIT_AUTHOR_DATE", "@0 +0000").env("GIT_COMMITTER_DATE", "@0 +0000");
            let output = git.output().context("cannot run git")?;
            anyhow::ensure!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr).trim());
            Ok(())
        };
        fs::create_dir(&self.repository)?;
        git(&["init", "-q"])?;
        let lines: Vec<&str> = text.lines().take(6000).collect();
        for commit in 0..COMMITS {
            let mut numbers = Numbers(commit);
            let kept = lines.iter().filter(|_| !numbers.below(20).eq(&0));
            fs::write(self.repository.join("words"), kept.copied().collect::<Vec<_>>().join("\n"))?;
            git(&["add", "words"])?;
            git(&["commit", "-q", "-m", "change words"])?;
        }
        Ok(())
    }
}

/// Numbers that look random and are always the same (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// At least so many bytes of lines of ten words; ASCII.
fn words(bytes: usize) -> String {
    const VOCABULARY: u64 = 5000;
    let mut numbers = Numbers(1);
    let vocabulary: Vec<String> = (0..VOCABULARY)
        .map(|_| (0..2 + numbers.below(8)).map(|_| (b'a' + numbers.below(26) as u8) as char).collect())
        .collect();
    let mut text = String::with_capacity(bytes + 100);
    while text.len() < bytes {
        for column in 0..10 {
            // The product of three makes small numbers frequent, as in a language.
            let rare = [(); 3].map(|()| numbers.below(VOCABULARY) as f64 / VOCABULARY as f64).iter().product::<f64>();
            text += &vocabulary[(rare * VOCABULARY as f64) as usize];
            text.push(if column == 9 { '\n' } else { ' ' });
        }
    }
    text
}

/// C functions with loops and branches, for a compiler to work on.
fn source() -> String {
    let mut text = String::new();
    for number in 0..FUNCTIONS {
        let _ = writeln!(
            text,
            "int f{number}(int n, int *v) {{ int s = {number}; for (int i = 0; i < n; i++) switch (v[i] & 7) {{ \
             case 0: s += i; break; case 1: s ^= v[i]; break; case {}: s *= 3; break; default: s -= v[i] >> 2; }} \
             return s; }}",
            number % 5 + 2
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_always_the_same_and_ascii() {
        let text = words(10_000);
        assert!(text.len() >= 10_000 && text.is_ascii() && text.ends_with('\n'));
        assert_eq!(text, words(10_000));
        assert!(text.lines().all(|line| line.split(' ').count() == 10));
    }

    #[test]
    fn the_source_compiles() {
        let folder = std::env::temp_dir().join(format!("xtask-source-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("source.c");
        fs::write(&path, source()).unwrap();
        assert!(Command::new("gcc").args(["-fsyntax-only", "-Werror"]).arg(&path).status().unwrap().success());
        fs::remove_dir_all(&folder).unwrap();
    }
}
