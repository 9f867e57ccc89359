//! Calls in writing: `open("/etc/passwd", O_RDONLY) = 3`.

/// A call with its arguments.
pub fn call_line<'a>(name: &str, arguments: impl Iterator<Item = &'a str>, has_more: bool) -> String {
    let arguments: Vec<&str> = arguments.chain(has_more.then_some("…")).collect();
    format!("{name}({})", arguments.join(", "))
}

/// What a call gave back, behind its arguments, and why it has failed.
pub fn result_line(result: Option<&str>, error: Option<&str>) -> String {
    let result = result.map(|result| format!(" = {result}")).unwrap_or_default();
    format!("{result}{}", error.map(|error| format!(" {error}")).unwrap_or_default())
}

/// A call of a name, arguments and an end, in so many columns: arguments are cut first, then the end.
pub fn call_line_within(name: &str, arguments: &str, end: &str, columns: usize) -> String {
    let width = |text: &str| text.chars().count();
    let cut = |text: &str, columns: usize| match width(text) <= columns {
        true => text.to_owned(),
        false => text.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
    };
    let room = columns.saturating_sub(width(name) + 2 + width(end)).max(1);
    cut(&format!("{name}({}){end}", cut(arguments, room)), columns.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_written_as_programs_are() {
        assert_eq!(call_line("f", ["1", "\"x\""].into_iter(), false), "f(1, \"x\")");
        assert_eq!(call_line("printf", ["\"%d\""].into_iter(), true), "printf(\"%d\", …)");
        assert_eq!(result_line(Some("-1"), Some("ENOENT")), " = -1 ENOENT");
        assert_eq!(result_line(None, None), "");
        let within = |columns| call_line_within("open", "\"/etc/passwd\", O_RDONLY", " = 3", columns);
        assert_eq!(within(80), "open(\"/etc/passwd\", O_RDONLY) = 3");
        assert_eq!(within(20), "open(\"/etc/pas…) = 3");
        assert_eq!((within(8).as_str(), within(0).as_str()), ("open(…)…", "…"));
    }
}
