//! Results as SARIF 2.1.0, which code hosts show beside the source.

use std::path::Path;

use serde_json::{Value, json};

use super::Judged;
use super::judge::Answer;

pub(super) fn log(judged: &[Judged], rules: &Path) -> Value {
    let id = |it: &Judged| format!("rule-{}", it.rule.line);
    let described = judged.iter().map(|it| json!({ "id": id(it), "shortDescription": { "text": it.rule.text } }));
    let result = |(index, it): (usize, &Judged)| {
        let (kind, level) = match it.judgement.answer {
            Answer::Kept => ("pass", "none"),
            Answer::Broken => ("fail", "error"),
            Answer::Unknown => ("open", "none"),
        };
        // Where the function is in the source, or else where the rule is.
        let (file, line) = match &it.source {
            Some(place) => (place.file.clone(), u64::from(place.line)),
            None => (rules.display().to_string(), it.rule.line as u64),
        };
        json!({
            "ruleId": id(it),
            "ruleIndex": index,
            "kind": kind,
            "level": level,
            "message": { "text": format!("{}: {}", it.rule.text, it.judgement.words) },
            "locations": [{
                "physicalLocation": {
                    "artifactLocation": { "uri": uri(&file) },
                    "region": { "startLine": line.max(1) },
                },
            }],
            "properties": { "evidence": it.judgement.evidence },
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "ada", "version": env!("CARGO_PKG_VERSION"), "rules": described.collect::<Vec<_>>(),
            } },
            "results": judged.iter().enumerate().map(result).collect::<Vec<_>>(),
        }],
    })
}

/// A path as a URI: absolute ones with their scheme, others relative to the checkout.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' | b'+' => uri.push(byte.into()),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("src/a b.c"), "src/a%20b.c");
        assert_eq!(uri("/home/ä.rs"), "file:///home/%C3%A4.rs");
    }
}
