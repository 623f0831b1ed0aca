//! `POST /-/reload`.

use crate::errors;
use crate::reload::Reloader;
use axum::extract::State;
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, StatusCode};

/// What a browser says of where a request comes from.
const FETCH_SITE: &str = "sec-fetch-site";

pub(super) async fn reload(
    State(reloader): State<Reloader>,
    headers: HeaderMap,
) -> (StatusCode, String) {
    // Whoever may ask is decided here; a token, where one is configured, is to be asked for here as well.
    if is_of_a_page(&headers) {
        let refusal = "pages in a browser may not ask for this\n".to_owned();
        return (StatusCode::FORBIDDEN, refusal);
    }
    match reloader.reload().await {
        Ok(changes) => {
            let told = format!(
                "endpoints: {}\nscenarios: {}\nreceivers: {}\n",
                changes.endpoints, changes.scenarios, changes.receivers
            );
            (StatusCode::OK, told)
        }
        Err(error) => (
            StatusCode::BAD_REQUEST,
            format!("{}\n", errors::chain(&error)),
        ),
    }
}

/// Whether a page in a browser sent these. Every page is refused, one of our own address, too: a name of another's can
/// be made to lead here.
fn is_of_a_page(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(|site| site.as_bytes());
    headers.contains_key(ORIGIN) || site.is_some_and(|site| site != b"none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn pages_in_a_browser_are_told_from_programs() {
        for (name, value, is_page) in [
            ("accept", "*/*", false),
            ("origin", "https://example.com", true),
            ("origin", "null", true),
            ("sec-fetch-site", "cross-site", true),
            ("sec-fetch-site", "same-site", true),
            ("sec-fetch-site", "none", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(is_of_a_page(&headers), is_page, "{name}: {value}");
        }
    }
}
