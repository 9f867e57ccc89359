//! Whose code a function of Go is, by its name.

/// Whose code a function is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GoPart {
    /// The program's, or not of Go.
    #[default]
    Program,
    /// The runtime's: goroutines that begin in it are its own.
    Runtime,
    /// Of the packages by which programs wait.
    Waiting,
}

impl GoPart {
    /// By a function's name.
    pub(crate) fn of(name: &str) -> Self {
        // The last two begin goroutines of the program.
        if name.starts_with("runtime.") && !matches!(name, "runtime.main" | "runtime.corostart") {
            Self::Runtime
        } else if name == "time.Sleep" || ["sync.", "internal/"].iter().any(|package| name.starts_with(package)) {
            Self::Waiting
        } else {
            Self::Program
        }
    }
}
