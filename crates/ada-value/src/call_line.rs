//! Calls in writing: `open("/etc/passwd", O_RDONLY) = 3`.

/// A call with its arguments.
pub fn call_line<'a>(name: &str, arguments: impl Iterator<Item = &'a str>, has_more: bool) -> String {
    let arguments: Vec<&str> = arguments.chain(has_more.then_some(CUT)).collect();
    format!("{name}({})", arguments.join(", "))
}

/// What a call gave back, behind its arguments, and why it has failed.
pub fn result_line(result: Option<&str>, error: Option<&str>) -> String {
    let result = result.map(|result| format!(" = {result}")).unwrap_or_default();
    format!("{result}{}", error.map(|error| format!(" {error}")).unwrap_or_default())
}

/// What stands for something that is cut.
const CUT: &str = "…";
/// Columns that an argument keeps while anything else can be cut, and those that a function's name keeps.
const SHORT_ARGUMENT: usize = 8;
const SHORT_NAME: usize = 12;

/// A call of a name, arguments and an end, in so many columns. Long arguments are cut first, so that numbers stay; then the
/// function's name, by `short_name`, which gets the room that there is; what came of the call last.
pub fn call_line_within(
    name: &str,
    arguments: &[&str],
    end: &str,
    columns: usize,
    short_name: &dyn Fn(&str, usize) -> String,
) -> String {
    let separators = 2 * arguments.len().saturating_sub(1);
    let taken = 2 + separators + width(end);
    let least: usize = arguments.iter().map(|it| width(it).min(SHORT_ARGUMENT)).sum();
    let room_for_name = columns.saturating_sub(taken + least).max(SHORT_NAME);
    let name = if width(name) <= room_for_name { name.to_owned() } else { short_name(name, room_for_name) };
    let room = columns.saturating_sub(taken + width(&name));
    let arguments = match fitted(arguments, room) {
        Some(arguments) => arguments.join(", "),
        None => CUT.to_owned(),
    };
    cut(&format!("{name}({arguments}){end}"), columns.max(1))
}

/// Arguments in so many columns altogether; none if there are too many for that.
fn fitted(arguments: &[&str], room: usize) -> Option<Vec<String>> {
    let mut arguments = arguments.to_vec();
    loop {
        let longest = arguments.iter().map(|it| width(it)).max().unwrap_or(0);
        let taken = |most: usize| arguments.iter().map(|it| width(it).min(most)).sum::<usize>();
        let most = (0..=longest).rev().find(|most| taken(*most) <= room)?;
        let is_long = |it: &&str| width(it) >= SHORT_ARGUMENT;
        if most >= SHORT_ARGUMENT.min(longest) || arguments.iter().filter(|it| is_long(it)).count() < 2 {
            return (most > 0 || arguments.is_empty())
                .then(|| arguments.iter().map(|it| cut_value(it, most)).collect());
        }
        // One that can be read says more than two that cannot, and the first ones say most.
        let last = arguments.iter().rposition(is_long)?;
        arguments[last] = CUT;
    }
}

/// A value in so many columns: texts keep their beginnings and ends, structures their brackets.
fn cut_value(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let close = match text.trim_start_matches('&').chars().next() {
        Some('"') => "\"",
        Some('{') => "}",
        Some('[') => "]",
        _ => return cut(text, columns),
    };
    if columns < SHORT_ARGUMENT.min(4) {
        return CUT.to_owned();
    }
    let inside = text.trim_end_matches(CUT).strip_suffix(close).unwrap_or(text);
    let letters: Vec<char> = inside.chars().collect();
    // Of a text that goes on behind what was captured the end is not known.
    let has_end = close == "\"" && !text.ends_with(CUT);
    let kept = columns - 2;
    let tail = if has_end { kept.saturating_sub(1) / 2 } else { 0 };
    let (head, tail) = (&letters[..(kept - tail).min(letters.len())], &letters[letters.len() - tail..]);
    head.iter().chain(CUT.chars().collect::<Vec<_>>().iter()).chain(tail).collect::<String>() + close
}

fn cut(text: &str, columns: usize) -> String {
    match width(text) <= columns {
        true => text.to_owned(),
        false => text.chars().take(columns.saturating_sub(1)).chain(CUT.chars()).collect(),
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
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
    }

    fn within(name: &str, arguments: &[&str], end: &str, columns: usize) -> String {
        let written = call_line_within(name, arguments, end, columns, &cut);
        assert!(width(&written) <= columns.max(1), "{written} in {columns}");
        written
    }

    #[test]
    fn long_texts_are_cut_before_numbers_and_results() {
        let open = |columns| within("open", &["\"/etc/passwd\"", "O_RDONLY"], " = 3", columns);
        assert_eq!(open(80), "open(\"/etc/passwd\", O_RDONLY) = 3");
        assert_eq!(open(30), "open(\"/etc…swd\", O_RDONLY) = 3");
        assert_eq!(open(20), "open(\"/e…wd\", …) = 3");
        assert_eq!((open(8).as_str(), open(0).as_str()), ("open(…)…", "…"));
        let text = "\"GET /index.html HTTP/1.1\\r\\nHost: example.org\"";
        let sent = |columns| within("sendto", &["7", text, "4096", "MSG_NOSIGNAL"], " = -1 EPIPE", columns);
        assert_eq!(sent(60), "sendto(7, \"GET /ind…ple.org\", 4096, MSG_NOSIGNAL) = -1 EPIPE");
        for columns in 44..100 {
            let shown = sent(columns);
            assert!(
                shown.starts_with("sendto(7, \"G") && shown.contains(", 4096, ") && shown.ends_with(") = -1 EPIPE"),
                "{shown}"
            );
        }
    }

    #[test]
    fn names_are_cut_before_short_values() {
        let name = "a_function_with_a_rather_long_name";
        assert_eq!(within(name, &["1", "-22"], " = -1 EINVAL", 36), "a_function_with…(1, -22) = -1 EINVAL");
        assert_eq!(within(name, &["1", "-22"], " = -1 EINVAL", 24), "a_function_…(…) = -1 EI…");
    }

    #[test]
    fn structures_and_texts_that_go_on_keep_their_form() {
        assert_eq!(cut_value("&{name: \"Ada\", age: 36}", 12), "&{name: \"A…}");
        assert_eq!(cut_value("\"0123456789\"…", 9), "\"012345…\"");
        assert_eq!(cut_value("\"0123456789\"", 9), "\"012…789\"");
        assert_eq!(cut_value("\"0123456789\"", 3), "…");
        assert_eq!(cut_value("18446744073709551615", 9), "18446744…");
    }
}
