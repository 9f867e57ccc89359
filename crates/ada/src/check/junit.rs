//! Results as JUnit XML, which CI systems read.

use std::path::Path;

use super::Judged;
use super::judge::Answer;

pub(super) fn text(judged: &[Judged], rules: &Path, session: &str) -> String {
    let count = |answer: Answer| judged.iter().filter(|it| it.judgement.answer == answer).count();
    let (failures, errors) = (count(Answer::Broken), count(Answer::Unknown));
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml.push_str(&format!("<testsuites tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\">\n", judged.len()));
    xml.push_str(&format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\">\n",
        escaped(&format!("ada check {session}")),
        judged.len()
    ));
    for it in judged {
        let place = format!("{}:{}", rules.display(), it.rule.line);
        xml.push_str(&format!("    <testcase name=\"{}\" classname=\"{}\"", escaped(&it.rule.text), escaped(&place)));
        let (element, kind) = match it.judgement.answer {
            Answer::Kept => {
                xml.push_str("/>\n");
                continue;
            }
            Answer::Broken => ("failure", "broken"),
            Answer::Unknown => ("error", "unknown"),
        };
        xml.push_str(&format!(
            ">\n      <{element} type=\"{kind}\" message=\"{}\">{}</{element}>\n    </testcase>\n",
            escaped(&it.judgement.words),
            escaped(&it.judgement.evidence.join("\n"))
        ));
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Text between tags or quotes. What XML has no way to write is left out.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(letter),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => safe.push('?'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_templates_are_text() {
        assert_eq!(escaped("f<\"a\" & b>\u{1}"), "f&lt;&quot;a&quot; &amp; b&gt;?");
    }
}
