#![allow(clippy::unwrap_used)]

use super::super::incident::founding;
use super::*;
use std::borrow::Cow;
use time::macros::datetime;

fn request(key: &str, tokens: u64) -> Request<'_> {
    let at = Moment::from(datetime!(2026-08-24 12:00 UTC));
    Request {
        span: Span {
            from: at,
            until: at,
        },
        key: Some(Cow::Borrowed(key)),
        application: None,
        input_tokens: Some(tokens),
        output_tokens: Some(1),
        input_bytes: None,
        requests: 1,
        is_sum: false,
        status: None,
    }
}

#[test]
fn lengths_are_counted_by_what_is_known_of_them() {
    let incident = founding();
    let mut tally = Tally::default();
    let mut take = |request: Request<'_>| tally.take(&Answer::Exposed(request), &incident);
    take(request("a", 1));
    take(request("a", 681_281));
    take(Request {
        status: Some(429),
        ..request("a", 681_280)
    });
    take(Request {
        input_tokens: None,
        input_bytes: Some(77),
        ..request("a", 0)
    });
    take(Request {
        input_tokens: None,
        ..request("a", 0)
    });
    take(Request {
        requests: 10,
        is_sum: true,
        ..request("a", 5_000)
    });
    let sums = &tally.all.exposed;
    assert_eq!(
        (sums.requests, sums.measured, sums.in_bytes, sums.unmeasured),
        (15, 3, 1, 11)
    );
    assert_eq!(
        (sums.over_limit, sums.next_to_nothing, sums.longest_tokens),
        (1, 1, 681_281)
    );
    assert_eq!((sums.refused, sums.longest_bytes), (1, 77));
    assert_eq!(sums.input_tokens, 1 + 681_281 + 681_280 + 5_000);
    assert_eq!(tally.senders()[0].1.exposed, *sums);
    assert_eq!(tally.days.len(), 1);
}

#[test]
fn there_is_an_end_to_the_senders_that_are_counted_apart_and_none_is_lost() {
    let incident = founding();
    let mut whole = Tally::default();
    let mut parts = Tally::default();
    for part in 0..4 {
        let mut tally = Tally::default();
        for number in 0..MOST_SENDERS / 2 {
            let key = format!("key-{part}-{number}");
            let answer = Answer::Exposed(request(&key, 10));
            tally.take(&answer, &incident);
            whole.take(&answer, &incident);
        }
        parts.add(tally);
    }
    for tally in [&whole, &parts] {
        assert_eq!(tally.senders().len(), MOST_SENDERS);
        assert_eq!(tally.others.exposed.requests, MOST_SENDERS as u64);
        assert_eq!(tally.all.exposed.requests, 2 * MOST_SENDERS as u64);
    }
    assert_eq!(whole.senders(), parts.senders());
}
