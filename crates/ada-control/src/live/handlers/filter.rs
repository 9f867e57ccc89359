//! `ada filter`: switches functions by name.

use ada_event::FunctionId;
use ada_patch::Verdict;

use crate::function_pattern;
use crate::live::{Answer, Handler, Request};
use crate::plan::module::Module;
use crate::plan::probes;
use crate::switches::SwitchMode;
use crate::tracked::Programs;

/// Switches the functions that somebody names.
pub(crate) struct FilterHandler<'a> {
    pub(crate) programs: &'a Programs,
}

impl Handler for FilterHandler<'_> {
    fn answer(&self, request: &Request) -> Option<Answer> {
        let (mode, patterns) = match request {
            Request::Filter { mode, patterns } => (*mode, patterns),
            Request::Values { are_captured: true, patterns } => (SwitchMode::Full, patterns),
            Request::Values { are_captured: false, patterns } => (SwitchMode::WithoutValues, patterns),
            _ => return None,
        };
        let is_of_values = matches!(request, Request::Values { .. }) || mode == SwitchMode::WithoutValues;
        let mut functions = Vec::new();
        {
            let hooked = self.programs.lock();
            for pattern in patterns {
                let before = functions.len();
                hooked.modules.iter().for_each(|module| functions.extend(matching(module, pattern)));
                if functions.len() == before {
                    let reason = format!("no function that is hooked matches {pattern:?}; `ada hooks` lists all");
                    return Some(Answer::Refused { reason });
                }
            }
            if is_of_values {
                let has_values = |function: &FunctionId| {
                    let module = hooked.modules.with_id(function.module());
                    module.is_some_and(|module| module.captured.probed(function.symbol_index() as usize).is_some())
                };
                functions.retain(has_values);
            }
        }
        functions.sort_unstable();
        functions.dedup();
        if functions.is_empty() {
            // Stubs that capture are made when a program is hooked.
            let patterns = patterns.join(",");
            let reason = format!(
                "no function that matches {patterns:?} was made ready for values; `ada trace --args-later '{patterns}'` \
                 does that"
            );
            return Some(Answer::Refused { reason });
        }
        let handlers = self.programs.handlers();
        if !matches!(mode, SwitchMode::Full | SwitchMode::WithoutValues) {
            functions.retain(|function| !handlers.contains(function));
        }
        let matched = functions.len();
        if matches!(request, Request::Filter { mode: SwitchMode::Full, .. }) {
            // These are recorded, and nobody has asked for their values.
            let without_values = self.programs.switches.without_values();
            functions.retain(|function| !without_values.contains(function));
        }
        let switched = self.programs.switches.switch(&functions, mode, "filter");
        Some(Answer::Filtered {
            matched,
            changed: switched.changed,
            without_counter: switched.without_counter.len(),
            unhooked: switched.unhooked,
        })
    }
}

fn matching<'a>(module: &'a Module, pattern: &'a str) -> impl Iterator<Item = FunctionId> + 'a {
    let is_wanted = |index: &usize| {
        !matches!(module.verdicts[*index], Verdict::Skipped(_))
            && !probes::is_vital(&module.functions, *index)
            && !module.captured.ends_tasks(*index)
            && {
                let start = module.functions.functions()[*index].start;
                function_pattern::matches_function(pattern, &module.file.path, module.functions.name(*index), start)
            }
    };
    (0..module.functions.len()).filter(is_wanted).map(|index| FunctionId::new(module.id, index as u32))
}
