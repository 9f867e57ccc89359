//! What is x86-64 in the agent.

pub(crate) mod registers;
