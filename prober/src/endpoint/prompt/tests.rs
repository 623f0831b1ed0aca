#![allow(clippy::unwrap_used)]

use super::*;
use crate::endpoint::Api;
use http_body_util::BodyExt as _;
use proptest::prelude::*;

struct Text(Vec<String>);

impl Prompt for Text {
    fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send> {
        Box::new(self.0.clone().into_iter())
    }
}

/// Gives its first text in the first pass and its second in every later one.
struct Fickle(&'static str, &'static str, AtomicU64);

impl Fickle {
    fn new(first: &'static str, second: &'static str) -> Arc<Self> {
        Arc::new(Self(first, second, AtomicU64::new(0)))
    }
}

impl Prompt for Fickle {
    fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send> {
        let text = if self.2.fetch_add(1, Ordering::Relaxed) == 0 {
            self.0
        } else {
            self.1
        };
        // Large enough for several pieces.
        Box::new(std::iter::repeat_n(text.to_owned(), 2_000))
    }
}

fn nobody() -> Sender<'static> {
    static NOTHING: std::sync::LazyLock<Extras> = std::sync::LazyLock::new(Extras::default);
    Sender {
        shared_id: None,
        extras: &NOTHING,
        round: "1",
    }
}

fn target() -> Target {
    Target {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        api: Api::OpenAiChat,
        model: "m".to_owned(),
        stream: true,
        limits: Limits::default(),
    }
}

fn ready(prompt: Arc<dyn Prompt>) -> (Prepared, Vec<u8>) {
    let mut seen = Vec::new();
    let prepared = prepare(&target(), &nobody(), prompt, 64, &mut |bytes| {
        seen.extend_from_slice(bytes)
    });
    (prepared, seen)
}

/// What leaves, and whether it ended well.
fn sent(prepared: Prepared) -> (Vec<u8>, bool) {
    let (mut body, progress) = prepared.into_body();
    let mut left = Vec::new();
    let mut context = Context::from_waker(std::task::Waker::noop());
    let well = loop {
        let mut frame = body.frame();
        match Pin::new(&mut frame).poll(&mut context) {
            Poll::Ready(Some(Ok(frame))) => left.extend_from_slice(&frame.into_data().unwrap()),
            Poll::Ready(Some(Err(PromptChanged))) => break false,
            Poll::Ready(None) => break true,
            Poll::Pending => unreachable!("the body never waits"),
        }
    };
    assert_eq!(progress.sent.get(), left.len() as u64);
    (left, well)
}

proptest! {
    #[test]
    fn any_text_arrives_in_the_body_unchanged_with_its_exact_length(chunks in prop::collection::vec(any::<String>(), 0..40)) {
        let text = chunks.concat();
        let (prepared, observed) = ready(Arc::new(Text(chunks)));
        let length = prepared.content_length();
        let (body, well) = sent(prepared);
        prop_assert!(well);
        prop_assert_eq!(&body, &observed, "what is scanned is what is sent");
        prop_assert_eq!(body.len() as u64, length);
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(body["messages"][0]["content"].as_str(), Some(text.as_str()));
        prop_assert_eq!(&body["stream_options"]["include_usage"], true);
    }
}

#[test]
fn a_long_text_is_never_whole_in_memory() {
    let chunks = vec!["lorem ipsum dolor sit amet\n".to_owned(); 100_000];
    let mut largest = 0;
    let prepared = prepare(
        &target(),
        &nobody(),
        Arc::new(Text(chunks)),
        64,
        &mut |bytes| largest = largest.max(bytes.len()),
    );
    assert!(prepared.content_length() > 2_700_000);
    assert!(largest < 2 * PIECE_BYTES, "{largest}");
}

#[test]
fn a_text_that_changes_between_the_passes_is_never_sent_whole() {
    for (first, second) in [
        ("aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb"),
        ("aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaa"),
        ("aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaa"),
        ("aaaaaaaaaaaaaaaaaaaa", ""),
        ("", "a"),
    ] {
        let (prepared, _) = ready(Fickle::new(first, second));
        let length = prepared.content_length();
        let (body, well) = sent(prepared);
        assert!(!well, "{first} {second}");
        assert!((body.len() as u64) < length, "{first} {second}");
    }
}

#[test]
fn the_length_is_told_before_the_first_byte_and_counts_down() {
    let (prepared, observed) = ready(Arc::new(Text(vec!["x".repeat(50_000)])));
    let (mut body, mut progress) = prepared.into_body();
    assert_eq!(body.size_hint().exact(), Some(observed.len() as u64));
    assert!(progress.begun.try_recv().is_err());
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert!(Pin::new(&mut body).poll_frame(&mut context).is_ready());
    assert!(progress.begun.try_recv().is_ok());
    let sent = progress.sent.get();
    assert_eq!(body.size_hint().exact(), Some(observed.len() as u64 - sent));
}
