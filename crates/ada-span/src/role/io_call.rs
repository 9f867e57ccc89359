//! Functions of input and output, and of descriptors, known by their names.

use crate::word_enum::word_enum;

word_enum! {
    /// What such a function does.
    pub enum IoCall {
        /// Takes what is there to read.
        Read = 0, "read";
        /// The same, with flags in its fourth argument.
        Receive = 1, "receive";
        /// Gives others something to read.
        Write = 2, "write";
        /// Takes a connection.
        Accept = 3, "accept";
        /// Makes a connection.
        Connect = 4, "connect";
        /// Closes a descriptor.
        Close = 5, "close";
        /// Ends one direction of a connection.
        Shutdown = 6, "shutdown";
        /// Makes a pipe.
        Pipe = 7, "pipe";
        /// Makes two sockets that are connected.
        SocketPair = 8, "socketpair";
        /// Makes a counter that can be waited for.
        EventFd = 9, "eventfd";
        /// Makes a socket.
        Socket = 10, "socket";
        /// Makes any other descriptor.
        Open = 11, "open";
        /// Makes a second descriptor of the same.
        Duplicate = 12, "dup";
        /// The same, under the number in the second argument.
        DuplicateTo = 13, "dup2";
        /// Says what a set is about.
        EpollControl = 14, "epoll_ctl";
        /// Waits for one of a set.
        EpollWait = 15, "epoll_wait";
        /// Waits for one of a list.
        Poll = 16, "poll";
        /// Waits for a child process.
        WaitChild = 17, "waitpid";
        /// Ends the process.
        Exit = 18, "exit";
        /// Anything else that may wait.
        Other = 19, "other";
        /// Sends a signal to the process in its first argument.
        Kill = 20, "kill";
        /// Sends one to the thread in its first argument.
        ThreadKill = 21, "pthread_kill";
        /// Waits for a signal.
        SignalWait = 22, "sigwait";
        /// Waits for one of three sets of descriptors.
        Select = 23, "select";
        /// Waits for a ring that the kernel completes what was asked for in.
        Ring = 24, "io_uring_enter";
        /// Sends something to an address, which may be among what was read.
        SendTo = 25, "sendto";
        /// Takes what was sent, and who sent it; the flags are its fourth argument.
        ReceiveFrom = 26, "recvfrom";
        /// The same, with the flags in its third argument.
        ReceiveMessage = 27, "recvmsg";
        /// Makes addresses stand for nothing, or for something else: the first, and how many.
        Unmap = 28, "munmap";
        /// The same, if its flags, the fourth argument, say so.
        Map = 29, "mmap";
    }
}

impl IoCall {
    /// Whether it takes what was given.
    pub(crate) const fn takes(self) -> bool {
        matches!(self, Self::Read | Self::Receive | Self::ReceiveFrom | Self::ReceiveMessage)
    }

    /// Whether it gives something to others.
    pub(crate) const fn gives(self) -> bool {
        matches!(self, Self::Write | Self::SendTo)
    }

    /// By what linkers call the function, without what glibc's internal names have before them; and whether it may wait.
    pub(super) fn of(name: &str) -> Option<(Self, bool)> {
        Some(match name {
            "read" | "readv" => (Self::Read, true),
            "recv" => (Self::Receive, true),
            "recvfrom" => (Self::ReceiveFrom, true),
            "recvmsg" => (Self::ReceiveMessage, true),
            "write" | "writev" | "send" | "sendfile" | "sendfile64" => (Self::Write, true),
            "sendto" | "sendmsg" => (Self::SendTo, true),
            "accept" | "accept4" => (Self::Accept, true),
            "connect" => (Self::Connect, true),
            "epoll_wait" | "epoll_pwait" => (Self::EpollWait, true),
            "poll" | "ppoll" => (Self::Poll, true),
            "select" | "pselect" => (Self::Select, true),
            "io_uring_enter"
            | "io_uring_enter2"
            | "io_uring_submit_and_wait"
            | "io_uring_submit_and_wait_timeout"
            | "io_uring_wait_cqes"
            | "io_uring_wait_cqe_timeout"
            | "io_uring_get_cqe" => (Self::Ring, true),
            // These hand something over, and wait for nothing.
            "io_uring_submit" | "io_uring_submit_and_get_events" | "io_uring_get_events" => (Self::Ring, false),
            "waitpid" | "wait4" => (Self::WaitChild, true),
            "close" | "close_nocancel" => (Self::Close, false),
            "shutdown" => (Self::Shutdown, false),
            "pipe" | "pipe2" => (Self::Pipe, false),
            "socketpair" => (Self::SocketPair, false),
            "eventfd" => (Self::EventFd, false),
            "socket" => (Self::Socket, false),
            "open" | "open64" | "openat" | "openat64" | "creat" | "epoll_create1" | "mkstemp" | "shm_open" => {
                (Self::Open, false)
            }
            "dup" => (Self::Duplicate, false),
            "dup2" | "dup3" => (Self::DuplicateTo, false),
            "epoll_ctl" => (Self::EpollControl, false),
            "munmap" | "mremap" => (Self::Unmap, false),
            "mmap" | "mmap64" => (Self::Map, false),
            "exit" => (Self::Exit, false),
            "kill" | "sigqueue" => (Self::Kill, false),
            "pthread_kill" => (Self::ThreadKill, false),
            "sigwait" | "sigwaitinfo" | "sigtimedwait" | "pause" | "sigsuspend" => (Self::SignalWait, true),
            _ => return None,
        })
    }
}
