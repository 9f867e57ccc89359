//! The options of `ada trace`, taken as they were typed, to be passed on to it.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::trace::options::RecordingArgs;

/// What every run is given by `ada bisect` itself.
const OWN: [&str; 3] = ["output", "quiet", "only_hooks"];

/// Options with their values.
#[derive(Debug, Default)]
pub(crate) struct TraceWords(pub(crate) Vec<OsString>);

fn arguments() -> impl Iterator<Item = Arg> {
    let all: Vec<Arg> = RecordingArgs::augment_args(Command::new("trace")).get_arguments().cloned().collect();
    all.into_iter().filter(|argument| !OWN.contains(&argument.get_id().as_str()))
}

impl FromArgMatches for TraceWords {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut words = Self::default();
        words.update_from_arg_matches(matches)?;
        Ok(words)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for argument in arguments() {
            let id = argument.get_id().as_str();
            let Some(name) = argument.get_long().map(|name| format!("--{name}")) else { continue };
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            if !argument.get_action().takes_values() {
                self.0.push(name.into());
                continue;
            }
            for value in matches.get_raw(id).into_iter().flatten() {
                let mut word = OsString::from(format!("{name}="));
                word.push(value);
                self.0.push(word);
            }
        }
        Ok(())
    }
}

impl Args for TraceWords {
    fn augment_args(command: Command) -> Command {
        arguments().fold(command, |command, argument| command.arg(argument.help_heading("Options of ada trace")))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        words: TraceWords,
        command: Vec<OsString>,
    }

    #[test]
    fn what_was_typed_is_passed_on_and_nothing_else() {
        let typed =
            ["ada", "--exclude", "a*", "--vectors", "--exclude=b", "--max-overhead", "10%", "--", "x", "--quiet"];
        let line = Line::try_parse_from(typed).unwrap();
        let mut words = line.words.0;
        words.sort();
        assert_eq!(words, ["--exclude=a*", "--exclude=b", "--max-overhead=10%", "--vectors"]);
        assert_eq!(line.command, ["x", "--quiet"]);
    }

    #[test]
    fn what_trace_would_not_take_is_refused() {
        for wrong in [&["ada", "--max-depth", "0"][..], &["ada", "--output", "x"], &["ada", "--exact-counts"]] {
            assert!(Line::try_parse_from(wrong).is_err(), "{wrong:?}");
        }
    }
}
