//! The processes of a session: a line for each command, or for each program where they are many.

use ada_event::ProcessId;
use serde_json::{Value, json};

use super::item::Item;
use crate::analysis::{counted, thousands};

/// So many commands have a line of their own, …
const FEW: usize = 8;
/// … and so many programs have one where there are more.
const MOST_LINES: usize = 12;

/// A process and how it ended.
pub(super) struct RanProcess {
    pub(super) command: String,
    pub(super) pid: ProcessId,
    pub(super) parent: Option<ProcessId>,
    pub(super) end: String,
}

/// The lines, in the order of the processes.
pub(super) fn lines(processes: &[RanProcess]) -> Vec<Item> {
    let mut groups = grouped(processes, |it| &it.command);
    if groups.len() > FEW {
        groups = grouped(processes, RanProcess::program);
    }
    let mut words: Vec<String> = groups.iter().map(|group| of_group(group)).collect();
    if words.len() > MOST_LINES {
        let more = words.len() - (MOST_LINES - 1);
        words.truncate(MOST_LINES - 1);
        words.push(format!("{}: `ada query 'SELECT * FROM processes'` has all", counted(more as u64, "more line")));
    }
    // JSON has one `process` object, or a list where there are several.
    let all: Vec<Value> = processes.iter().map(RanProcess::json).collect();
    let mut items: Vec<Item> = words.into_iter().map(|words| Item::fact("process", words, Value::Null)).collect();
    if let Some(last) = items.last_mut() {
        last.json = <[Value; 1]>::try_from(all).map_or_else(Value::from, |[only]| only);
    }
    items
}

impl RanProcess {
    fn words(&self) -> String {
        let Self { pid, end, .. } = self;
        let by = self.parent.map_or_else(String::new, |parent| format!(", started by {parent}"));
        match self.command.is_empty() {
            true => format!("pid {pid}{by}: {end}"),
            false => format!("{} (pid {pid}{by}): {end}", one_line(&self.command)),
        }
    }

    fn json(&self) -> Value {
        json!({ "command": self.command, "pid": self.pid.0, "end": self.end })
    }

    fn program(&self) -> &str {
        self.command.split_whitespace().next().unwrap_or_default()
    }
}

/// Those that ran the same and ended in the same way, in the order in which the first of each came.
fn grouped<'a>(processes: &'a [RanProcess], what: impl Fn(&'a RanProcess) -> &'a str) -> Vec<Vec<&'a RanProcess>> {
    let mut groups: Vec<Vec<&RanProcess>> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    for process in processes {
        let number = *numbers.entry((what(process), &process.end)).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(process),
            None => groups.push(vec![process]),
        }
    }
    groups
}

fn of_group(group: &[&RanProcess]) -> String {
    match group {
        [only] => only.words(),
        [first, ..] => {
            let same = group.iter().all(|it| it.command == first.command);
            let what = if same { one_line(&first.command) } else { first.program().to_owned() };
            let count = thousands(group.len() as u64);
            let (least, most) = (group.iter().map(|it| it.pid).min(), group.iter().map(|it| it.pid).max());
            let pids = least.zip(most).map_or_else(String::new, |(least, most)| format!(", pids {least} to {most}"));
            format!("{what} ({count} processes{pids}): {}", first.end)
        }
        [] => String::new(),
    }
}

/// A command in one line that a screen has room for.
fn one_line(command: &str) -> String {
    const LONGEST: usize = 120;
    let line: String = command.split_whitespace().collect::<Vec<_>>().join(" ").replace(char::is_control, "?");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(pid: u32, command: &str, end: &str) -> RanProcess {
        let parent = (pid != 1).then_some(ProcessId(1));
        RanProcess { command: command.into(), pid: ProcessId(pid), parent, end: end.into() }
    }

    fn words(processes: &[RanProcess]) -> Vec<String> {
        lines(processes).into_iter().map(|item| item.value).collect()
    }

    #[test]
    fn a_few_commands_have_a_line_each() {
        assert_eq!(words(&[ran(1, "make", "exit code 0")]), ["make (pid 1): exit code 0"]);
        assert_eq!(lines(&[ran(1, "make", "exit code 0")])[0].json["pid"], 1);
        let few: Vec<RanProcess> = (1..=8).map(|pid| ran(pid, &format!("cc {pid}.c"), "exit code 0")).collect();
        assert_eq!(words(&few)[7], "cc 8.c (pid 8, started by 1): exit code 0");
        assert_eq!(lines(&few).last().unwrap().json.as_array().map(Vec::len), Some(8));
        let same: Vec<RanProcess> = (1..=5).map(|pid| ran(pid, "sort -r a.txt", "exit code 0")).collect();
        assert_eq!(words(&same), ["sort -r a.txt (5 processes, pids 1 to 5): exit code 0"]);
    }

    #[test]
    fn many_processes_have_a_line_for_each_program_and_end() {
        let mut many = vec![ran(1, "make all", "exit code 2")];
        many.extend((2..=90).map(|pid| ran(pid, &format!("cc {pid}.c"), "exit code 0")));
        many.push(ran(91, "cc 91.c", "exit code 1"));
        many.extend((92..=95).map(|pid| ran(pid, "true x", "exit code 0")));
        assert_eq!(
            words(&many),
            [
                "make all (pid 1): exit code 2",
                "cc (89 processes, pids 2 to 90): exit code 0",
                "cc 91.c (pid 91, started by 1): exit code 1",
                "true x (4 processes, pids 92 to 95): exit code 0",
            ]
        );
        assert_eq!(lines(&many).last().unwrap().json.as_array().map(Vec::len), Some(95));
        let kinds: Vec<RanProcess> = (1..=40).map(|pid| ran(pid, &format!("tool{pid}"), "exit code 0")).collect();
        let lines = words(&kinds);
        assert_eq!(lines.len(), MOST_LINES);
        assert!(lines.last().unwrap().starts_with("29 more lines: `ada query"), "{lines:?}");
    }
}
