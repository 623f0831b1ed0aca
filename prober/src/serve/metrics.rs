//! `GET /metrics`.

use crate::metrics::{Format, Metrics};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::response::{IntoResponse, Response};

pub(super) async fn metrics(State(metrics): State<Metrics>, headers: HeaderMap) -> Response {
    let accepted = headers.get_all(ACCEPT).iter();
    let format = format(accepted.filter_map(|header| header.to_str().ok()));
    let headers = [
        (CONTENT_TYPE, format.content_type()),
        (VARY, ACCEPT.as_str()),
    ];
    (headers, metrics.encode(format)).into_response()
}

/// The format that whoever sent these `Accept` headers prefers; Prometheus' own if that is all the same to them.
fn format<'a>(accepted: impl Iterator<Item = &'a str>) -> Format {
    let (mut open, mut classic) = (0.0_f64, 0.0_f64);
    for range in accepted.flat_map(|header| header.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let (mut quality, mut version) = (1.0_f64, None);
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match key.trim() {
                "q" => quality = value.trim().parse().unwrap_or(0.0),
                "version" => version = Some(value.trim().trim_matches('"')),
                _ => {}
            }
        }
        match name.as_str() {
            "application/openmetrics-text" if version.is_none_or(|version| version == "1.0.0") => {
                open = open.max(quality);
            }
            "text/plain" | "text/*" | "*/*" => classic = classic.max(quality),
            _ => {}
        }
    }
    if open > 0.0 && open >= classic {
        Format::OpenMetrics
    } else {
        Format::Classic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_the_one_that_is_accepted_most() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accepted, expected) in [
            (vec![], Format::Classic),
            (vec!["*/*"], Format::Classic),
            (vec![prometheus], Format::OpenMetrics),
            (
                vec!["text/html", "application/openmetrics-text"],
                Format::OpenMetrics,
            ),
            (
                vec!["Application/OpenMetrics-Text; version=\"1.0.0\"; q=0.9, text/plain; q=0.2"],
                Format::OpenMetrics,
            ),
            (
                vec!["application/openmetrics-text; version=0.0.1, text/plain; q=0.5"],
                Format::Classic,
            ),
            (
                vec!["application/openmetrics-text;q=0.5,text/plain"],
                Format::Classic,
            ),
            (vec!["application/openmetrics-text;q=0"], Format::Classic),
            (vec!["application/openmetrics-text;q=x"], Format::Classic),
        ] {
            assert_eq!(
                format(accepted.clone().into_iter()),
                expected,
                "{accepted:?}"
            );
        }
    }
}
