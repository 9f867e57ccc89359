//! The interactive shell: lines, history, completion.

use std::path::PathBuf;

use ada_query::Engine;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::answer::{How, write};
use super::{Format, schema};
use crate::exit::say;

const HELP: &str = "\
A query ends with ; and may take several lines. Tab completes names, arrows go through history.
  .tables          tables and functions
  .schema [TABLE]  what columns mean
  .format NAME     table, json, ndjson or csv
  .quit";

/// Words of SQL that are completed beside the tables' names.
const WORDS: [&str; 22] = [
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "HAVING", "AND", "OR", "NOT", "IN", "LIKE", "GLOB",
    "BETWEEN", "IS NULL", "DESC", "DISTINCT", "JOIN", "WITH", "count(*)", "sum(", "DESCRIBE",
];

pub(super) fn run(engine: &Engine, mut how: How<'_>) -> anyhow::Result<()> {
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
    let mut editor: Editor<Names, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Names(engine.names())));
    let history = history_file();
    if let Some(path) = &history {
        // A first time has no history, and one that cannot be read is not worth a word.
        let _ = editor.load_history(path);
    }
    say(format_args!("{} sessions; .help explains, Ctrl-D ends\n", engine.trace().sessions().len()));
    loop {
        match editor.readline("ada> ") {
            Ok(line) if line.trim().is_empty() => (),
            Ok(line) if line.trim().starts_with('.') => {
                if !command(engine, line.trim(), &mut how)? {
                    break;
                }
            }
            Ok(line) => {
                if let Err(error) = write(engine, line.trim(), &how) {
                    say(format_args!("{error:#}\n"));
                }
            }
            // Of a line; of a query it cancels, and the loop goes on.
            Err(ReadlineError::Interrupted) => (),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(path) = &history {
        if let Some(folder) = path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = editor.save_history(path);
    }
    Ok(())
}

/// A command of the shell's own. False ends it.
fn command(engine: &Engine, line: &str, how: &mut How<'_>) -> anyhow::Result<bool> {
    let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, argument.trim()) {
        (".quit" | ".exit", _) => return Ok(false),
        (".help", _) => say(format_args!("{HELP}\n")),
        (".schema", "") => drop(schema::print()?),
        (".schema", table) => answer(engine, &format!("DESCRIBE {table}"), how),
        (".tables", _) => answer(engine, "DESCRIBE", how),
        (".format", name) => match name {
            "table" => how.format = Format::Table,
            "json" => how.format = Format::Json,
            "ndjson" => how.format = Format::Ndjson,
            "csv" => how.format = Format::Csv,
            _ => say(format_args!("formats are table, json, ndjson and csv\n")),
        },
        _ => say(format_args!("unknown command {word}; .help lists commands\n")),
    }
    Ok(true)
}

fn answer(engine: &Engine, sql: &str, how: &How<'_>) {
    if let Err(error) = write(engine, sql, how) {
        say(format_args!("{error:#}\n"));
    }
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")))?;
    Some(state.join("ada/query_history"))
}

/// Completes names.
struct Names(Vec<String>);

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..position).unwrap_or(line);
        let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '.';
        let begin = before
            .rfind(|it: char| !is_part(it))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        // `s.name` completes behind the dot.
        let begin = before[begin..].rfind('.').map_or(begin, |dot| begin + dot + 1);
        let typed = before[begin..].to_lowercase();
        let names = self.0.iter().map(String::as_str).chain(WORDS);
        let found = names.filter(|name| name.to_lowercase().starts_with(&typed)).map(str::to_owned).collect();
        Ok((begin, found))
    }
}

impl Validator for Names {
    /// A query goes on until its semicolon.
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input().trim();
        let is_whole = text.is_empty() || text.ends_with(';') || text.starts_with('.');
        Ok(if is_whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}

impl Helper for Names {}
