//! What stands behind the question mark of an address.

use std::collections::HashMap;
use std::str::FromStr;

/// Names and values.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters(HashMap<String, String>);

impl Parameters {
    /// None if something is not encoded as it should be.
    pub(super) fn parse(query: &str) -> Option<Self> {
        let mut all = HashMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            all.insert(decode(name)?, decode(value)?);
        }
        Some(Self(all))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A value, or why there is none.
    pub(super) fn need<T: FromStr>(&self, name: &str) -> Result<T, String> {
        self.get(name).and_then(|text| text.parse().ok()).ok_or_else(|| format!("{name} is missing or wrong"))
    }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        let all = Parameters::parse("a=1&b=x+y%2Fz&c&=d").unwrap();
        assert_eq!(
            (all.get("a"), all.get("b"), all.get("c"), all.get("")),
            (Some("1"), Some("x y/z"), Some(""), Some("d"))
        );
        assert_eq!(all.need::<u64>("a"), Ok(1));
        assert!(all.need::<u64>("b").is_err() && all.need::<u64>("e").is_err());
    }

    #[test]
    fn what_is_not_encoded_well_is_refused() {
        for query in ["a=%", "a=%f", "a=%zz", "a=%ff", "%80"] {
            assert_eq!(Parameters::parse(query), None, "{query}");
        }
    }
}
