//! Which functions of a Go program are of Go's own packages.

/// The first parts of the standard packages' names. A module's own packages begin with its name.
const PACKAGES: &[&str] = &[
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "structs",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "type",
    "unicode",
    "unique",
    "unsafe",
    "vendor",
    "weak",
];

/// Those in assembler have no package in their names.
const WITHOUT_PACKAGE: &[&str] = &[
    "_rt0_amd64",
    "_rt0_amd64_linux",
    "aeshashbody",
    "callRet",
    "cmpbody",
    "countbody",
    "gogo",
    "gosave_systemstack_switch",
    "indexbody",
    "indexbytebody",
    "memeqbody",
];

/// Whether a function of a Go program is of Go's runtime or of its standard library, by its name.
pub fn is_of_go_library(name: &str) -> bool {
    let name = name.strip_suffix(".abi0").unwrap_or(name);
    match name.split_once(['.', '/']) {
        Some((first, _)) => PACKAGES.contains(&first) || first.starts_with("type:") || first.starts_with("go:"),
        None => WITHOUT_PACKAGE.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_standard_library_are_known_and_others_are_the_programs() {
        for name in [
            "runtime.futex",
            "internal/poll.(*FD).Read",
            "bufio.(*Reader).fill",
            "net/http.(*conn).serve",
            "runtime.memmove.abi0",
            "type..eq.main.item",
            "type:.eq.main.item",
            "memeqbody",
        ] {
            assert!(is_of_go_library(name), "{name}");
        }
        for name in [
            "main.main",
            "main.(*server).handle.func1",
            "github.com/me/log.Print",
            "shop/internal/net.Dial",
            "my_c_code",
        ] {
            assert!(!is_of_go_library(name), "{name}");
        }
    }
}
