//! What a client of a server on the loopback interface has to know, since every user of the machine can reach that.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

/// 128 bits that nobody can guess, or a word that the user has chosen.
pub(crate) struct Token(String);

impl Token {
    /// A new one.
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// One that the user has chosen.
    pub(crate) fn chosen(word: String) -> Self {
        Self(word)
    }

    /// Whether somebody knows it. Takes the same time wherever the first difference is.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (one, other) = (self.0.as_bytes(), given.as_bytes());
        one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other)) == 0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_must_be_whole() {
        let token = Token::chosen("secret".into());
        assert!(token.is("secret"));
        for given in ["", "secre", "secret2", "Secret"] {
            assert!(!token.is(given), "{given}");
        }
    }

    #[test]
    fn new_ones_differ() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.to_string().len(), 32);
        assert_ne!(one.0, other.0);
    }
}
