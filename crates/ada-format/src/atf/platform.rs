//! What a trace was recorded on: the numbers of the format for machines, systems and clocks.

use std::fmt;

/// A number of the format that has a name if it is a defined one.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $constant:ident = $number:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u8);

        impl $name {
            $($(#[$variant_doc])* pub const $constant: Self = Self($number);)*

            /// The name that manifests use, if the number is a defined one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($text),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => write!(f, "unknown-{}", self.0),
                }
            }
        }
    };
}

numbered! {
    /// The processor's architecture: it decides what a detail payload holds.
    Arch {
        /// 64-bit x86.
        X86_64 = 1, "x86_64";
        /// 64-bit Arm.
        ARM64 = 2, "arm64";
    }
}

numbered! {
    /// The operating system.
    Os {
        /// iOS.
        IOS = 1, "ios";
        /// Android.
        ANDROID = 2, "android";
        /// macOS.
        MACOS = 3, "macos";
        /// Linux.
        LINUX = 4, "linux";
        /// Windows.
        WINDOWS = 5, "windows";
    }
}

numbered! {
    /// The clock that the timestamps were taken from.
    Clock {
        /// `mach_continuous_time`.
        MACH_CONTINUOUS = 1, "mach_continuous";
        /// `QueryPerformanceCounter`.
        QPC = 2, "qpc";
        /// `CLOCK_BOOTTIME`.
        BOOTTIME = 3, "boottime";
    }
}

/// Machine, system and clock of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Platform {
    /// The processor's architecture.
    pub arch: Arch,
    /// The operating system.
    pub os: Os,
    /// Where timestamps come from.
    pub clock: Clock,
}

impl Platform {
    /// What ada records on Linux.
    pub const LINUX_X86_64: Self = Self { arch: Arch::X86_64, os: Os::LINUX, clock: Clock::BOOTTIME };
    /// What ada's relatives record on a Mac.
    pub const MACOS_ARM64: Self = Self { arch: Arch::ARM64, os: Os::MACOS, clock: Clock::MACH_CONTINUOUS };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defined_numbers_have_names_and_others_stay_readable() {
        assert_eq!(Arch(2).to_string(), "arm64");
        assert_eq!(Os(4).to_string(), "linux");
        assert_eq!(Clock(3).to_string(), "boottime");
        assert_eq!(Arch(9).to_string(), "unknown-9");
    }
}
