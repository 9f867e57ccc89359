//! Other tracers, installed on demand.

pub(super) mod apt;
mod frida;
mod uftrace;

pub(super) use frida::Frida;
pub(super) use uftrace::Uftrace;
