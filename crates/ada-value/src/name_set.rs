//! Numbers that have names: those of Linux on x86-64.

/// Numbers of one meaning, and their names.
#[derive(Debug, PartialEq, Eq)]
pub struct NameSet {
    /// As prototypes have it.
    pub(crate) name: &'static str,
    pub(crate) kind: SetKind,
    names: &'static [(i64, &'static str)],
}

/// How the numbers are made of those that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetKind {
    /// One or the other.
    Enum,
    /// Any of them together; what none of them is called.
    Flags(&'static str),
    /// One of those within this mask, and any of the others.
    KindAndFlags(i64),
}

impl NameSet {
    /// The set of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|set| set.name == name)
    }

    /// A number in words; in digits as far as it has none.
    pub(crate) fn words(&self, number: i64) -> String {
        match self.kind {
            SetKind::Enum => self.exactly(number).map_or_else(|| number.to_string(), ToOwned::to_owned),
            SetKind::Flags(none) => self.flags(number, Vec::new(), none),
            SetKind::KindAndFlags(mask) => {
                let kind = self.exactly(number & mask).map_or_else(|| (number & mask).to_string(), ToOwned::to_owned);
                self.flags(number & !mask, vec![kind], "")
            }
        }
    }

    fn exactly(&self, number: i64) -> Option<&'static str> {
        self.names.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
    }

    fn flags(&self, number: i64, mut words: Vec<String>, none: &str) -> String {
        let mut rest = number;
        // Those of several bits first: one with all bits of another is more exact.
        for (bits, name) in self.names.iter().filter(|(bits, _)| *bits != 0) {
            if rest & bits == *bits {
                words.push((*name).to_owned());
                rest &= !bits;
            }
        }
        if rest != 0 {
            words.push(format!("{rest:#x}"));
        }
        if words.is_empty() { none.to_owned() } else { words.join("|") }
    }
}

const fn set(name: &'static str, kind: SetKind, names: &'static [(i64, &'static str)]) -> NameSet {
    NameSet { name, kind, names }
}

#[rustfmt::skip]
static ALL: &[NameSet] = &[
    set("open_flags", SetKind::KindAndFlags(3), &[
        (0, "O_RDONLY"),
        (1052672, "O_SYNC"), (4259840, "O_TMPFILE"), (1, "O_WRONLY"), (2, "O_RDWR"), (64, "O_CREAT"), (128, "O_EXCL"),
        (256, "O_NOCTTY"), (512, "O_TRUNC"), (1024, "O_APPEND"), (2048, "O_NONBLOCK"), (4096, "O_DSYNC"),
        (8192, "O_ASYNC"), (16384, "O_DIRECT"), (32768, "O_LARGEFILE"), (65536, "O_DIRECTORY"),
        (131072, "O_NOFOLLOW"), (262144, "O_NOATIME"), (524288, "O_CLOEXEC"), (2097152, "O_PATH"),
    ]),
    set("locale_category", SetKind::Enum, &[
        (0, "LC_CTYPE"), (1, "LC_NUMERIC"), (2, "LC_TIME"), (3, "LC_COLLATE"), (4, "LC_MONETARY"), (5, "LC_MESSAGES"),
        (6, "LC_ALL"),
    ]),
    set("whence", SetKind::Enum, &[
        (0, "SEEK_SET"), (1, "SEEK_CUR"), (2, "SEEK_END"), (3, "SEEK_DATA"), (4, "SEEK_HOLE"),
    ]),
    set("access_mode", SetKind::Flags("F_OK"), &[
        (4, "R_OK"), (2, "W_OK"), (1, "X_OK"),
    ]),
    set("at_fd", SetKind::Enum, &[
        (-100, "AT_FDCWD"),
    ]),
    set("at_flags", SetKind::Flags("0"), &[
        (256, "AT_SYMLINK_NOFOLLOW"), (512, "AT_REMOVEDIR"), (1024, "AT_SYMLINK_FOLLOW"), (2048, "AT_NO_AUTOMOUNT"),
        (4096, "AT_EMPTY_PATH"),
    ]),
    set("protection", SetKind::Flags("PROT_NONE"), &[
        (1, "PROT_READ"), (2, "PROT_WRITE"), (4, "PROT_EXEC"), (16777216, "PROT_GROWSDOWN"),
        (33554432, "PROT_GROWSUP"),
    ]),
    set("map_flags", SetKind::Flags("0"), &[
        (3, "MAP_SHARED_VALIDATE"), (1, "MAP_SHARED"), (2, "MAP_PRIVATE"), (16, "MAP_FIXED"), (32, "MAP_ANONYMOUS"),
        (256, "MAP_GROWSDOWN"), (2048, "MAP_DENYWRITE"), (8192, "MAP_LOCKED"), (16384, "MAP_NORESERVE"),
        (32768, "MAP_POPULATE"), (65536, "MAP_NONBLOCK"), (131072, "MAP_STACK"), (262144, "MAP_HUGETLB"),
        (524288, "MAP_SYNC"), (1048576, "MAP_FIXED_NOREPLACE"),
    ]),
    set("advice", SetKind::Enum, &[
        (0, "MADV_NORMAL"), (1, "MADV_RANDOM"), (2, "MADV_SEQUENTIAL"), (3, "MADV_WILLNEED"), (4, "MADV_DONTNEED"),
        (8, "MADV_FREE"), (9, "MADV_REMOVE"), (10, "MADV_DONTFORK"), (11, "MADV_DOFORK"), (12, "MADV_MERGEABLE"),
        (13, "MADV_UNMERGEABLE"), (14, "MADV_HUGEPAGE"), (15, "MADV_NOHUGEPAGE"), (16, "MADV_DONTDUMP"),
        (17, "MADV_DODUMP"), (18, "MADV_WIPEONFORK"), (19, "MADV_KEEPONFORK"),
    ]),
    set("family", SetKind::Enum, &[
        (0, "AF_UNSPEC"), (1, "AF_UNIX"), (2, "AF_INET"), (10, "AF_INET6"), (16, "AF_NETLINK"), (17, "AF_PACKET"),
        (40, "AF_VSOCK"),
    ]),
    set("socket_type", SetKind::KindAndFlags(15), &[
        (1, "SOCK_STREAM"), (2, "SOCK_DGRAM"), (3, "SOCK_RAW"), (4, "SOCK_RDM"), (5, "SOCK_SEQPACKET"),
        (524288, "SOCK_CLOEXEC"), (2048, "SOCK_NONBLOCK"),
    ]),
    set("accept_flags", SetKind::Flags("0"), &[(524288, "SOCK_CLOEXEC"), (2048, "SOCK_NONBLOCK")]),
    set("socket_level", SetKind::Enum, &[
        (1, "SOL_SOCKET"), (0, "IPPROTO_IP"), (6, "IPPROTO_TCP"), (17, "IPPROTO_UDP"), (41, "IPPROTO_IPV6"),
    ]),
    set("message_flags", SetKind::Flags("0"), &[
        (1, "MSG_OOB"), (2, "MSG_PEEK"), (4, "MSG_DONTROUTE"), (8, "MSG_CTRUNC"), (32, "MSG_TRUNC"),
        (64, "MSG_DONTWAIT"), (128, "MSG_EOR"), (256, "MSG_WAITALL"), (2048, "MSG_CONFIRM"), (8192, "MSG_ERRQUEUE"),
        (16384, "MSG_NOSIGNAL"), (32768, "MSG_MORE"), (1073741824, "MSG_CMSG_CLOEXEC"),
    ]),
    set("shutdown_how", SetKind::Enum, &[
        (0, "SHUT_RD"), (1, "SHUT_WR"), (2, "SHUT_RDWR"),
    ]),
    set("fcntl_command", SetKind::Enum, &[
        (0, "F_DUPFD"), (1, "F_GETFD"), (2, "F_SETFD"), (3, "F_GETFL"), (4, "F_SETFL"), (5, "F_GETLK"),
        (6, "F_SETLK"), (7, "F_SETLKW"), (8, "F_SETOWN"), (9, "F_GETOWN"), (1030, "F_DUPFD_CLOEXEC"),
        (1031, "F_SETPIPE_SZ"), (1032, "F_GETPIPE_SZ"), (1033, "F_ADD_SEALS"), (1034, "F_GET_SEALS"),
        (36, "F_OFD_GETLK"), (37, "F_OFD_SETLK"), (38, "F_OFD_SETLKW"),
    ]),
    set("signal", SetKind::Enum, &[
        (1, "SIGHUP"), (2, "SIGINT"), (3, "SIGQUIT"), (4, "SIGILL"), (5, "SIGTRAP"), (6, "SIGABRT"), (7, "SIGBUS"),
        (8, "SIGFPE"), (9, "SIGKILL"), (10, "SIGUSR1"), (11, "SIGSEGV"), (12, "SIGUSR2"), (13, "SIGPIPE"),
        (14, "SIGALRM"), (15, "SIGTERM"), (16, "SIGSTKFLT"), (17, "SIGCHLD"), (18, "SIGCONT"), (19, "SIGSTOP"),
        (20, "SIGTSTP"), (21, "SIGTTIN"), (22, "SIGTTOU"), (23, "SIGURG"), (24, "SIGXCPU"), (25, "SIGXFSZ"),
        (26, "SIGVTALRM"), (27, "SIGPROF"), (28, "SIGWINCH"), (29, "SIGIO"), (30, "SIGPWR"), (31, "SIGSYS"),
    ]),
    set("mask_how", SetKind::Enum, &[
        (0, "SIG_BLOCK"), (1, "SIG_UNBLOCK"), (2, "SIG_SETMASK"),
    ]),
    set("clock", SetKind::Enum, &[
        (0, "CLOCK_REALTIME"), (1, "CLOCK_MONOTONIC"), (2, "CLOCK_PROCESS_CPUTIME_ID"),
        (3, "CLOCK_THREAD_CPUTIME_ID"), (4, "CLOCK_MONOTONIC_RAW"), (5, "CLOCK_REALTIME_COARSE"),
        (6, "CLOCK_MONOTONIC_COARSE"), (7, "CLOCK_BOOTTIME"), (11, "CLOCK_TAI"),
    ]),
    set("dlopen_mode", SetKind::Flags("RTLD_LOCAL"), &[
        (1, "RTLD_LAZY"), (2, "RTLD_NOW"), (4, "RTLD_NOLOAD"), (8, "RTLD_DEEPBIND"), (256, "RTLD_GLOBAL"),
        (4096, "RTLD_NODELETE"),
    ]),
    set("wait_flags", SetKind::Flags("0"), &[
        (1, "WNOHANG"), (2, "WUNTRACED"), (8, "WCONTINUED"), (4, "WEXITED"), (16777216, "WNOWAIT"),
    ]),
    set("epoll_operation", SetKind::Enum, &[
        (1, "EPOLL_CTL_ADD"), (2, "EPOLL_CTL_DEL"), (3, "EPOLL_CTL_MOD"),
    ]),
    set("close_on_exec", SetKind::Flags("0"), &[
        (524288, "EPOLL_CLOEXEC"),
    ]),
    set("fd_flags", SetKind::Flags("0"), &[
        (524288, "O_CLOEXEC"), (2048, "O_NONBLOCK"), (16384, "O_DIRECT"),
    ]),
    set("resource", SetKind::Enum, &[
        (0, "RLIMIT_CPU"), (1, "RLIMIT_FSIZE"), (2, "RLIMIT_DATA"), (3, "RLIMIT_STACK"), (4, "RLIMIT_CORE"),
        (5, "RLIMIT_RSS"), (6, "RLIMIT_NPROC"), (7, "RLIMIT_NOFILE"), (8, "RLIMIT_MEMLOCK"), (9, "RLIMIT_AS"),
    ]),
    set("flock_operation", SetKind::Flags("0"), &[
        (1, "LOCK_SH"), (2, "LOCK_EX"), (4, "LOCK_NB"), (8, "LOCK_UN"),
    ]),
    set("error", SetKind::Enum, &[
        (1, "EPERM"), (2, "ENOENT"), (3, "ESRCH"), (4, "EINTR"), (5, "EIO"), (6, "ENXIO"), (7, "E2BIG"),
        (8, "ENOEXEC"), (9, "EBADF"), (10, "ECHILD"), (11, "EAGAIN"), (12, "ENOMEM"), (13, "EACCES"), (14, "EFAULT"),
        (15, "ENOTBLK"), (16, "EBUSY"), (17, "EEXIST"), (18, "EXDEV"), (19, "ENODEV"), (20, "ENOTDIR"),
        (21, "EISDIR"), (22, "EINVAL"), (23, "ENFILE"), (24, "EMFILE"), (25, "ENOTTY"), (26, "ETXTBSY"),
        (27, "EFBIG"), (28, "ENOSPC"), (29, "ESPIPE"), (30, "EROFS"), (31, "EMLINK"), (32, "EPIPE"), (33, "EDOM"),
        (34, "ERANGE"), (35, "EDEADLK"), (36, "ENAMETOOLONG"), (37, "ENOLCK"), (38, "ENOSYS"), (39, "ENOTEMPTY"),
        (40, "ELOOP"), (42, "ENOMSG"), (43, "EIDRM"), (61, "ENODATA"), (62, "ETIME"), (71, "EPROTO"), (74, "EBADMSG"),
        (75, "EOVERFLOW"), (84, "EILSEQ"), (87, "EUSERS"), (88, "ENOTSOCK"), (89, "EDESTADDRREQ"), (90, "EMSGSIZE"),
        (91, "EPROTOTYPE"), (92, "ENOPROTOOPT"), (93, "EPROTONOSUPPORT"), (94, "ESOCKTNOSUPPORT"), (95, "EOPNOTSUPP"),
        (96, "EPFNOSUPPORT"), (97, "EAFNOSUPPORT"), (98, "EADDRINUSE"), (99, "EADDRNOTAVAIL"), (100, "ENETDOWN"),
        (101, "ENETUNREACH"), (102, "ENETRESET"), (103, "ECONNABORTED"), (104, "ECONNRESET"), (105, "ENOBUFS"),
        (106, "EISCONN"), (107, "ENOTCONN"), (108, "ESHUTDOWN"), (110, "ETIMEDOUT"), (111, "ECONNREFUSED"),
        (112, "EHOSTDOWN"), (113, "EHOSTUNREACH"), (114, "EALREADY"), (115, "EINPROGRESS"), (116, "ESTALE"),
        (122, "EDQUOT"), (125, "ECANCELED"), (130, "EOWNERDEAD"), (131, "ENOTRECOVERABLE"),
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(set: &str, number: i64) -> String {
        NameSet::find(set).unwrap().words(number)
    }

    #[test]
    fn flags_are_named_one_by_one_and_the_rest_is_a_number() {
        assert_eq!(words("open_flags", 0), "O_RDONLY");
        assert_eq!(words("open_flags", 0o2000101), "O_WRONLY|O_CREAT|O_CLOEXEC");
        assert_eq!(words("open_flags", 0o20200000), "O_RDONLY|O_TMPFILE");
        assert_eq!(words("protection", 0x1003), "PROT_READ|PROT_WRITE|0x1000");
        assert_eq!(words("socket_type", 0o2000001), "SOCK_STREAM|SOCK_CLOEXEC");
        assert_eq!(words("accept_flags", 0o2000000), "SOCK_CLOEXEC");
        assert_eq!(words("accept_flags", 0), "0");
        assert_eq!(words("signal", 15), "SIGTERM");
        assert_eq!(words("signal", 40), "40");
        assert_eq!(words("error", 2), "ENOENT");
    }
}
