//! The official Python client drives every tool, over stdio and over HTTP.

use std::path::Path;

use crate::program::Program;
use crate::python::script;
use crate::traced_program::TracedProgram;

#[test]
fn an_agent_can_use_every_tool() {
    let traced = TracedProgram::trace_with_registers(&Program::new("callbacks.c"));
    let program = Program::new("tree.c").build();
    let said = script("mcp_client.py", &[Path::new(env!("CARGO_BIN_EXE_ada")), traced.path(), &program]);
    assert!(said.contains("all tools answered within their budgets"), "{said}");
}
