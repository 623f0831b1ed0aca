//! Bodies that come compressed, though nobody asked for it.

use crate::support::*;
use prober::endpoint::{CutOff, Limit, Limits, Outcome};
use std::io::Write as _;

const ENCODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

fn compressed(encoding: &str, text: &[u8]) -> Vec<u8> {
    let best = flate2::Compression::best();
    match encoding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), best);
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), best);
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut out = Vec::new();
            let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 9, 22);
            encoder.write_all(text).unwrap();
            drop(encoder);
            out
        }
        _ => zstd::encode_all(text, 3).unwrap(),
    }
}

fn response(encoding: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-encoding: {encoding}\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn a_compressed_answer_is_scanned_as_what_it_says() {
    for encoding in ENCODINGS {
        let body = compressed(encoding, format!("{DELTA}{ANSWER}").as_bytes());
        let base_url = serve_bytes(response(encoding, "text/event-stream", &body)).await;
        let (exchange, sink) = exchange(&base_url, impatient(), Text(64)).await;
        assert_eq!(exchange.outcome, Outcome::Answered, "{encoding}");
        assert_eq!(sink.text("choices[0].delta.content"), "SECREThi");
        assert!(sink.text("raw body").starts_with("data: "), "{encoding}");
    }
}

#[tokio::test]
async fn a_bomb_is_unpacked_to_the_limit_and_no_further() {
    for encoding in ENCODINGS {
        let body = compressed(encoding, &vec![b'x'; 64 * MIB]);
        assert!(body.len() < MIB, "{encoding}: {} bytes", body.len());
        let base_url = serve_bytes(response(encoding, "text/plain", &body)).await;
        let limits = Limits {
            response_bytes: 2 * MIB as u64,
            ..impatient()
        };
        let (exchange, sink) = exchange(&base_url, limits, Text(64)).await;
        assert_eq!(exchange.outcome, Outcome::TooLarge(Limit::ResponseBytes));
        assert_eq!(exchange.response_bytes, 2 * MIB as u64, "{encoding}");
        assert_eq!(sink.0["raw body"].len(), 2 * MIB, "scanned to the limit");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_unpacked_is_no_answer() {
    for encoding in ENCODINGS {
        let body = compressed(encoding, &ANSWER.repeat(50).into_bytes());
        for broken in [&body[..body.len() / 2], b"data: plain text instead\n\n"] {
            let outcome = outcome_of(response(encoding, "text/event-stream", broken)).await;
            assert_eq!(outcome, Outcome::CutOff(CutOff::MidBody), "{encoding}");
        }
    }
    let body = response("x-unknown", "application/json", b"\x01\x02\x03");
    assert!(matches!(outcome_of(body).await, Outcome::Malformed(_)));
}
