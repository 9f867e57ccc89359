//! A tool's call, from its arguments to an answer within its budget.

use std::time::Duration;

use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::tool_context::ToolContext;
use super::{record, tools};

/// A call, as the client makes it.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

impl Call {
    pub(super) fn answer(self, context: &mut ToolContext) -> anyhow::Result<Value> {
        let arguments = Arguments(self.arguments);
        let budget = arguments.budget()?;
        context.library.cancel().begin(context.limits.time.or(Some(Duration::from_secs(60))));
        let answer = match self.tool.as_str() {
            "record" if context.allows_record => record::run(context, &arguments)?,
            "record" => anyhow::bail!("recording is not allowed; start the server with --allow-record"),
            tool => tools::answer(context, tool, &arguments)?,
        };
        Ok(answer.fit(budget))
    }
}
