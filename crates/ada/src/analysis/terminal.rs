//! What standard output is: how wide, whether it takes colours, and the pager before it.

use std::io::{self, IsTerminal};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Columns where nobody says how many there are: a pipe, a file.
const USUAL_WIDTH: usize = 80;
/// Narrower than this, lines are left to the terminal.
const NARROWEST: usize = 40;

/// How to print for people.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// Columns that a line may have.
    pub(crate) width: usize,
    is_colored: bool,
}

/// What a colour means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// A title.
    Title,
    /// Wrong, and certainly so; slower, more.
    Bad,
    /// Worth a look.
    Doubtful,
    /// Better, faster, less.
    Good,
    /// A command or a reference that can be typed.
    Typed,
    /// Beside the point.
    Faint,
}

impl Terminal {
    /// `is_wide`: lines may be as long as they like.
    pub(crate) fn new(is_wide: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let found = || terminal_size::terminal_size().filter(|_| is_terminal).map(|(width, _)| usize::from(width.0));
        let width = if is_wide { usize::MAX } else { told.or_else(found).unwrap_or(USUAL_WIDTH).max(NARROWEST) };
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty())
            || std::env::var_os("TERM").is_some_and(|it| it == "dumb");
        Self { width, is_colored: is_terminal && !is_plain }
    }

    /// Text in a colour, where there are colours.
    pub(crate) fn ink(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Title => "1",
            Ink::Bad => "31",
            Ink::Doubtful => "33",
            Ink::Good => "32",
            Ink::Typed => "36",
            Ink::Faint => "2",
        };
        if self.is_colored { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Breaks text into lines that fit behind an indentation.
    pub(crate) fn wrap(self, text: &str, indent: usize) -> Vec<String> {
        let room = self.width.saturating_sub(indent).max(20);
        let mut lines = vec![String::new()];
        let mut used = 0;
        for word in text.split(' ') {
            let length = word.chars().count();
            if used > 0 && used + 1 + length > room {
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                if used > 0 {
                    line.push(' ');
                    used += 1;
                }
                line.push_str(word);
            }
            used += length;
        }
        lines
    }
}

/// A bar for a share of something, in eighths of a column.
pub(crate) fn bar(share: f64, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let drawn = format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8]);
    format!("{drawn}{}", " ".repeat(columns.saturating_sub(drawn.chars().count())))
}

/// What lets people scroll: `$PAGER`, or less, which shows short texts and leaves. Nothing where that cannot be run.
pub(crate) fn pager() -> Option<(Child, ChildStdin)> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return None;
    }
    let named = std::env::var("PAGER").ok().filter(|it| !it.is_empty());
    let mut command = match named.as_deref() {
        Some("cat") => return None,
        Some(words) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", words]);
            shell
        }
        None => Command::new("less"),
    };
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
    let stdin = child.stdin.take()?;
    Some((child, stdin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_one_scale_and_one_width() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██  ");
        assert_eq!(bar(0.03, 4), "▏   ");
        assert_eq!(bar(0.0, 2), "  ");
        assert_eq!(bar(f64::NAN, 2), "  ");
    }

    #[test]
    fn lines_are_broken_between_words() {
        let terminal = Terminal { width: 44, is_colored: false };
        let lines = terminal.wrap("one two three four five six seven", 20);
        assert_eq!(lines, ["one two three four five", "six seven"]);
        assert_eq!(terminal.wrap(&"x".repeat(99), 4), ["x".repeat(99)]);
    }
}
