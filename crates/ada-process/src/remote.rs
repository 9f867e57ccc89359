//! Access to another process: its memory, and system calls made by it.

use std::io;
use std::ops::Range;

use ada_event::RuntimeAddr;

/// A system call that a process is to make.
#[derive(Clone, Copy, Debug)]
pub struct SystemCall {
    /// Its number.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// A process that can be made to do things: it is stopped, or one of its threads waits in the agent.
pub trait Remote {
    /// Reads memory of the process.
    fn read(&self, address: RuntimeAddr, bytes: &mut [u8]) -> io::Result<()>;
    /// Writes memory of the process, whatever its protection.
    fn write(&self, address: RuntimeAddr, bytes: &[u8]) -> io::Result<()>;
    /// Has the process make a system call, and gives the result.
    fn system_call(&self, number: i64, arguments: [u64; 6]) -> io::Result<u64>;
    /// Has it make several, one after the other, whatever comes of them. Gives what each has returned.
    fn system_calls(&self, calls: &[SystemCall]) -> io::Result<Vec<io::Result<u64>>> {
        Ok(calls.iter().map(|call| self.system_call(call.number, call.arguments)).collect())
    }
    /// Whether it is certain that nobody has written to a part of a file that the process has mapped privately.
    fn is_as_in_file(&self, _range: &Range<RuntimeAddr>) -> bool {
        false
    }
    /// Puts a path where the process can read it for its next system call, and gives the address.
    fn put_path(&self, path: &str) -> io::Result<RuntimeAddr>;
}

/// What a system call has returned: a result, or the number of an error.
pub fn system_call_result(returned: u64) -> io::Result<u64> {
    match returned as i64 {
        error @ -4095..0 => Err(io::Error::from_raw_os_error(-error as i32)),
        _ => Ok(returned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_distinguished_from_results() {
        assert_eq!(system_call_result(-2_i64 as u64).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(system_call_result(0).unwrap(), 0);
        assert_eq!(system_call_result(-4096_i64 as u64).unwrap(), -4096_i64 as u64);
    }
}
