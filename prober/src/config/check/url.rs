//! URLs of endpoints and databases.

use reqwest::Url;

/// The address of an endpoint in its plain form, or what is wrong with it. What is wrong never
/// shows the address, which may hold a credential.
pub(super) fn base(text: &str) -> Result<String, &'static str> {
    let url = Url::parse(text).map_err(|_| "is no URL (write https://HOST/v1)")?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("is neither http nor https (write https://HOST/v1)");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "holds a credential (remove it, and give each tenant a `key_env` or `key_file`)",
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("has a query or a fragment (remove everything from `?` or `#`)");
    }
    let plain = url.as_str().trim_end_matches('/');
    const METHODS: [&str; 6] = [
        "/chat/completions",
        "/completions",
        "/completion",
        "/responses",
        "/messages",
        "/api/chat",
    ];
    if METHODS.iter().any(|method| plain.ends_with(method)) {
        return Err("names one method of the API (docs/apis.md shows what stands before it)");
    }
    Ok(plain.to_owned())
}

/// Whether messages can go to an address, or what is wrong with it. What is wrong never shows the address.
pub(super) fn receiver(text: &str, allow_private: bool) -> Result<(), &'static str> {
    let url = Url::parse(text).map_err(|_| "is no URL (write https://HOST/PATH)")?;
    match url.scheme() {
        "https" if url.has_host() => Ok(()),
        "http" if url.has_host() && allow_private => Ok(()),
        "http" => Err(
            "is not encrypted (write https://…, or `allow_private_addresses = true` if it is in your own network)",
        ),
        _ => Err("is neither http nor https (write https://HOST/PATH)"),
    }
}

/// Whether a text is a URL of a PostgreSQL server.
pub(super) fn is_postgres(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "postgres" | "postgresql"))
}

/// Whether a URL carries a password, in front of the host or in its query.
pub(super) fn has_password(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        url.password().is_some() || url.query_pairs().any(|(key, _)| key == "password")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_loses_its_last_slashes_and_keeps_the_rest() {
        for (text, plain) in [
            ("https://api.example.com/v1", "https://api.example.com/v1"),
            ("https://api.example.com/v1//", "https://api.example.com/v1"),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("http://[::1]:8000/a/b/", "http://[::1]:8000/a/b"),
            (
                "HTTPS://API.example.com:443/v1",
                "https://api.example.com/v1",
            ),
        ] {
            assert_eq!(base(text).as_deref(), Ok(plain));
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused_without_being_shown() {
        for text in [
            "",
            "api.example.com/v1",
            "ftp://example.com",
            "file:///etc/passwd",
            "https://",
            "https://hunter2@example.com/v1",
            "https://user:hunter2@example.com/v1",
            "https://example.com/v1?key=hunter2",
            "https://example.com/v1#hunter2",
            "https://example.com/v1/chat/completions",
            "https://example.com/v1/responses/",
        ] {
            let problem = base(text).expect_err(text);
            assert!(
                !problem.contains("hunter2") && problem.ends_with(')'),
                "{problem}"
            );
        }
    }

    #[test]
    fn a_password_is_noticed_wherever_it_stands() {
        assert!(has_password("postgres://u:p@h/db"));
        assert!(has_password("postgres://h/db?user=u&password=p"));
        assert!(!has_password("postgres://u@h/db?sslmode=require"));
        assert!(is_postgres("postgresql:///db?host=/run/postgresql"));
        assert!(!is_postgres("mysql://h/db"));
    }
}
