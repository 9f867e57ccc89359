//! Which requests are answered: those of the page itself, and of people who have its address.
//!
//! Any page of any site can send requests to the loopback interface from the user's browser, and a name that an
//! attacker owns can be made to lead there. So a request must name the loopback interface as its host, must not come
//! from another origin, and must have the token, which only the address has that `ada view` printed.

use crate::token::Token;

/// What a request says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said<'a> {
    pub(super) host: Option<&'a str>,
    pub(super) origin: Option<&'a str>,
    pub(super) fetch_site: Option<&'a str>,
    /// It is a step of the user's to the page, and not a request of a page's.
    pub(super) is_visit: bool,
    pub(super) token: Option<&'a str>,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Host,
    Origin,
    Token,
}

impl Refusal {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Host => "this server is only known as 127.0.0.1 and localhost\n",
            Self::Origin => "requests from other pages are not answered\n",
            Self::Token => "open the whole address that `ada view` printed: it has a token\n",
        }
    }
}

/// Whether a request may be answered by the server on `port`. The parts of the page that are the same for everybody
/// need no token.
pub(super) fn check(said: &Said<'_>, port: u16, token: &Token, needs_token: bool) -> Result<(), Refusal> {
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
    if !said.host.is_some_and(|host| hosts.iter().any(|known| known.eq_ignore_ascii_case(host))) {
        return Err(Refusal::Host);
    }
    if let Some(origin) = said.origin
        && !hosts.iter().any(|host| origin.strip_prefix("http://").is_some_and(|it| it.eq_ignore_ascii_case(host)))
    {
        return Err(Refusal::Origin);
    }
    // The user comes from the file that `ada view` had opened, or from a link that has the token.
    let comes_in = needs_token && said.is_visit;
    if !comes_in && said.fetch_site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(Refusal::Origin);
    }
    if needs_token && !said.token.is_some_and(|given| token.is(given)) {
        return Err(Refusal::Token);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Said<'static> =
        Said { host: Some("127.0.0.1:80"), origin: None, fetch_site: None, is_visit: false, token: Some("secret") };

    fn refused(said: Said<'_>) -> Option<Refusal> {
        check(&said, 80, &Token::chosen("secret".into()), true).err()
    }

    #[test]
    fn only_loopback_names_with_the_port_are_hosts() {
        assert_eq!(refused(GOOD), None);
        assert_eq!(refused(Said { host: Some("LOCALHOST:80"), ..GOOD }), None);
        for host in [None, Some("evil.example:80"), Some("127.0.0.1:81"), Some("127.0.0.1"), Some("127.0.0.1:80.evil")]
        {
            assert_eq!(refused(Said { host, ..GOOD }), Some(Refusal::Host), "{host:?}");
        }
    }

    #[test]
    fn other_origins_are_refused_even_with_the_token() {
        assert_eq!(refused(Said { origin: Some("http://localhost:80"), ..GOOD }), None);
        for origin in ["null", "http://evil.example", "https://127.0.0.1:80", "http://127.0.0.1:8080"] {
            assert_eq!(refused(Said { origin: Some(origin), ..GOOD }), Some(Refusal::Origin), "{origin}");
        }
        assert_eq!(refused(Said { fetch_site: Some("same-origin"), ..GOOD }), None);
        assert_eq!(refused(Said { fetch_site: Some("none"), ..GOOD }), None);
        assert_eq!(refused(Said { fetch_site: Some("cross-site"), ..GOOD }), Some(Refusal::Origin));
        assert_eq!(refused(Said { fetch_site: Some("same-site"), ..GOOD }), Some(Refusal::Origin));
        let visit = Said { fetch_site: Some("cross-site"), is_visit: true, ..GOOD };
        assert_eq!(refused(visit), None);
        assert_eq!(refused(Said { token: None, ..visit }), Some(Refusal::Token));
    }

    #[test]
    fn the_token_must_be_whole() {
        for token in [None, Some(""), Some("secre"), Some("secret2"), Some("Secret")] {
            assert_eq!(refused(Said { token, ..GOOD }), Some(Refusal::Token), "{token:?}");
        }
        assert_eq!(check(&Said { token: None, ..GOOD }, 80, &Token::chosen("secret".into()), false), Ok(()));
    }
}
