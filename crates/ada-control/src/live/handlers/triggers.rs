//! Changes the triggers of a running trace.

use std::sync::Arc;

use ada_ring::DetailMode;

use crate::drain::windows::TriggerList;
use crate::live::{Answer, Handler, Request};
use crate::trigger::{Trigger, TriggerError};

/// Answers requests about triggers.
pub(crate) struct TriggerHandler {
    list: Arc<TriggerList>,
    detail: DetailMode,
}

impl TriggerHandler {
    pub(crate) fn new(list: Arc<TriggerList>, detail: DetailMode) -> Self {
        Self { list, detail }
    }

    /// Makes all changes, or none.
    fn change(&self, add: &[String], remove: &[String]) -> Result<(), String> {
        if add.is_empty() && remove.is_empty() {
            return Ok(());
        }
        if self.detail != DetailMode::Windows {
            return Err("this trace has no windows of detail: it was not started with --detail windows".into());
        }
        let parse = |words: &String| words.parse().map_err(|error: TriggerError| format!("{words}: {error}"));
        let add: Vec<Trigger> = add.iter().map(parse).collect::<Result<_, _>>()?;
        let remove: Vec<Trigger> = remove.iter().map(parse).collect::<Result<_, _>>()?;
        let unknown = |trigger| format!("there is no trigger {trigger}; --list shows those there are");
        self.list.change(&remove, add).map_err(unknown)?;
        let late = || "the recorder is too busy: the change is made as soon as it can be".to_owned();
        self.list.wait_until_applied().then_some(()).ok_or_else(late)
    }
}

impl Handler for TriggerHandler {
    fn answer(&self, request: &Request) -> Option<Answer> {
        let Request::Triggers { add, remove } = request else { return None };
        Some(match self.change(add, remove) {
            Ok(()) => Answer::Triggers { triggers: self.list.all().iter().map(ToString::to_string).collect() },
            Err(reason) => Answer::Refused { reason },
        })
    }
}
