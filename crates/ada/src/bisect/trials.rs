//! Tries sets of hooks: does the command do something else with these?

use std::collections::HashMap;
use std::time::Duration;

use super::command::{RepeatedCommand, Traced};
use super::hook_set::{AllHooks, Hook};
use super::observed::{Aspect, Observed};
use crate::exit::say;
use crate::hook_list::HookList;

/// Why no more sets are tried.
#[derive(Debug)]
pub(crate) enum Stop {
    /// As many runs were made as may be.
    Enough,
    /// A run could not be made.
    Failed(anyhow::Error),
}

/// Traced runs, and what they are compared with.
pub(crate) struct Trials<'a> {
    pub(crate) command: &'a RepeatedCommand,
    /// What the command does by itself.
    pub(crate) expected: &'a Observed,
    pub(crate) aspects: &'a [Aspect],
    /// How long a run may take.
    pub(crate) limit: Duration,
    /// Runs that may be made, and that were.
    pub(crate) most: u32,
    pub(crate) made: u32,
    pub(crate) quiet: bool,
    /// Who is still suspected, in words.
    pub(crate) suspects: String,
    /// Hooks that are there in every run, beside those that are tried.
    pub(crate) base: Vec<Hook>,
    /// How the command differs with the sets that were tried.
    pub(crate) known: HashMap<Vec<Hook>, Option<String>>,
}

impl Trials<'_> {
    /// How the command differs in any of so many runs with these hooks. A set that was tried before is not tried again.
    pub(crate) fn difference(&mut self, all: &AllHooks, hooks: &[Hook], times: u32) -> Result<Option<String>, Stop> {
        match self.known.get(&self.with_base(hooks)) {
            Some(known) => Ok(known.clone()),
            None => self.try_out(all, hooks, times),
        }
    }

    /// The same, whether or not the set was tried before.
    pub(crate) fn try_out(&mut self, all: &AllHooks, hooks: &[Hook], times: u32) -> Result<Option<String>, Stop> {
        let whole = self.with_base(hooks);
        let list = all.list(&whole);
        let mut found = None;
        for _ in 0..times {
            let traced = self.run(Some(&list))?;
            found = traced.observed.difference(self.expected, self.aspects);
            let what = match (hooks.is_empty(), self.base.len()) {
                (true, base @ 1..) => format!("no hooks but {base} that others rely on"),
                _ => all.words(hooks),
            };
            self.report(&what, &traced.observed);
            if found.is_some() {
                break;
            }
        }
        self.known.insert(whole, found.clone());
        Ok(found)
    }

    /// What is known to differ with these hooks.
    pub(crate) fn known_difference(&self, hooks: &[Hook]) -> Option<String> {
        self.known.get(&self.with_base(hooks)).cloned().flatten()
    }

    fn with_base(&self, hooks: &[Hook]) -> Vec<Hook> {
        let mut whole = [&self.base, hooks].concat();
        whole.sort_unstable();
        whole.dedup();
        whole
    }

    /// One run with these hooks, or all.
    pub(crate) fn run(&mut self, hooks: Option<&HookList>) -> Result<Traced, Stop> {
        if self.made >= self.most {
            return Err(Stop::Enough);
        }
        self.made += 1;
        self.command.traced(hooks, self.limit).map_err(Stop::Failed)
    }

    /// How the command differs from itself in any of so many untraced runs.
    pub(crate) fn own_difference(&self, times: u32) -> Result<Option<String>, Stop> {
        for _ in 0..times {
            let run = self.command.alone(self.limit).map_err(Stop::Failed)?;
            let difference = run.difference(self.expected, self.aspects);
            if difference.is_some() {
                return Ok(difference);
            }
        }
        Ok(None)
    }

    /// Says how a run went.
    pub(crate) fn report(&self, what: &str, observed: &Observed) {
        if !self.quiet {
            let how = observed.brief(self.expected, self.aspects);
            let suspects = if self.suspects.is_empty() { String::new() } else { format!(" ({})", self.suspects) };
            say(format_args!("ada: traced run {}, {what}{suspects}: {how}\n", self.made));
        }
    }
}
