//! What is needed of a target in order to put something into it: its memory, and system calls made by it.

use std::io;

/// A process that does as it is told: because it is stopped, or because one of its threads waits in the agent.
pub trait Remote {
    /// Reads memory of the process.
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Writes memory of the process, whatever its protection.
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()>;
    /// Has the process make a system call, and gives the result.
    fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64>;
    /// Puts a path where the target can read it for its next system call, and gives the address.
    fn stage_path(&self, path: &str) -> io::Result<u64>;
}
