//! The protocol's side: declares tools and passes calls on.

use std::sync::Arc;

use anyhow::Context;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};

use super::call::Call;
use super::declared::{self, Declared};
use super::tool_context::ToolContext;
use crate::session_thread::SessionThread;

const INSTRUCTIONS: &str = "\
ada records every call of native programs. Begin with list_sessions and summary, then findings (with the user's symptom), \
and follow its evidence with neighbourhood and why_slow. Claims carry references (frame:…, event:…, thread:…, function:…) \
that all tools take. An answer's caveats say what the trace does not have: do not take silence for proof; was_called tells \
'no' from 'unknown'. query takes SQL for everything else. Answers keep to token_budget; did_truncate and next_cursor say \
when there is more.";

/// A client's connection.
#[derive(Clone)]
pub(super) struct Server {
    thread: SessionThread<ToolContext>,
    tools: Arc<Vec<Declared>>,
}

impl Server {
    pub(super) fn new(thread: SessionThread<ToolContext>, allows_record: bool) -> Self {
        Self { thread, tools: Arc::new(declared::all(allows_record)) }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ada", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |it: &Declared| {
            let hints = ToolAnnotations::new().read_only(it.name != "record").open_world(false);
            Tool::new(it.name, it.about, Arc::new(it.input()))
                .with_raw_output_schema(Arc::new(it.output()))
                .with_annotations(hints)
        };
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.tools.iter().any(|it| it.name == request.name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {}", request.name), None));
        }
        let call = Call { tool: request.name.into_owned(), arguments: request.arguments.unwrap_or_default() };
        let answer = self.thread.ask(move |context| call.answer(context)).await;
        let result = match answer {
            Ok(answer) => CallToolResult::structured(answer),
            // A mistake that the agent can mend is an answer, and not a failure of the protocol.
            Err(error) => CallToolResult::error(vec![ContentBlock::text(format!("{error:#}"))]),
        };
        Ok(result.into())
    }
}

/// Serves one client on stdin and stdout, until it goes.
pub(super) async fn serve_stdio(thread: SessionThread<ToolContext>, allows_record: bool) -> anyhow::Result<()> {
    let server = Server::new(thread, allows_record);
    let running =
        server.serve(rmcp::transport::stdio()).await.context("the client did not complete the MCP handshake")?;
    running.waiting().await.context("the server failed")?;
    Ok(())
}
