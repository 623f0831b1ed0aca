#![allow(clippy::unwrap_used)]

use super::*;

fn error(words: &str, status: Option<u16>) -> Facts {
    Facts {
        error: Some(ErrorFacts {
            words: words.to_lowercase(),
            status,
            ..ErrorFacts::default()
        }),
        ..Facts::default()
    }
}

fn response(status: u16, facts: &Facts) -> Response<'_> {
    Response {
        status,
        retry_after: None,
        too_large: None,
        end: End::Complete,
        kind: BodyKind::Json { flawed: false },
        tells_its_end: true,
        facts,
        answer_began: false,
    }
}

fn of(status: u16, words: &str) -> Outcome {
    outcome(&response(status, &error(words, None)))
}

#[test]
fn each_status_has_its_outcome() {
    for (status, words, expected) in [
        (429, "", Outcome::RateLimited { retry_after: None }),
        (503, "loading model", Outcome::Overloaded),
        (408, "", Outcome::Overloaded),
        (529, "", Outcome::Overloaded),
        (401, "", Outcome::Unauthorised),
        (403, "", Outcome::Unauthorised),
        (
            400,
            "Authentication Error, invalid key",
            Outcome::Unauthorised,
        ),
        (
            404,
            "The model `nope` does not exist.",
            Outcome::ModelUnknown,
        ),
        (400, "invalid model name passed in", Outcome::ModelUnknown),
        (404, "not found", Outcome::Refused(404)),
        (400, "", Outcome::Refused(400)),
        (302, "", Outcome::Refused(302)),
        (500, "", Outcome::ServerError(500)),
        (413, "request entity too large", Outcome::Refused(413)),
        (500, "prompt is too long", Outcome::ServerError(500)),
    ] {
        assert_eq!(of(status, words), expected, "{status} {words}");
    }
}

#[test]
fn an_error_inside_a_200_is_what_it_holds() {
    let too_long = "the input (9 tokens) is longer than the model's context length (8 tokens).";
    let inside = |words: &str, status| outcome(&response(200, &error(words, status)));
    let rejected = Outcome::RejectedTooLong {
        limit: Some(8),
        prompt_tokens: Some(9),
    };
    assert_eq!(inside(too_long, Some(400)), rejected);
    assert_eq!(inside(too_long, None), rejected);
    assert_eq!(
        inside("", Some(429)),
        Outcome::RateLimited { retry_after: None }
    );
    assert_eq!(inside("", Some(500)), Outcome::ServerError(500));
    assert_eq!(inside("something broke", None), Outcome::ServerError(200));
    assert_eq!(inside("bad request", Some(400)), Outcome::Refused(400));
}

#[test]
fn a_refusal_after_text_of_an_answer_is_no_clean_refusal() {
    let facts = error("prompt is too long", Some(400));
    let response = Response {
        answer_began: true,
        ..response(200, &facts)
    };
    assert_eq!(outcome(&response), Outcome::CutOff(CutOff::ErrorMidAnswer));
}

#[test]
fn an_answer_needs_a_choice_and_an_end() {
    let facts = |choice, reason: Option<&str>| Facts {
        choice,
        finish_reason: reason.map(str::to_owned),
        ..Facts::default()
    };
    let stream = |done| BodyKind::Stream {
        events: 3,
        done,
        broken_event: false,
    };
    let json = BodyKind::Json { flawed: false };
    for (kind, end, choice, reason, expected) in [
        (stream(true), End::Complete, true, None, Outcome::Answered),
        (
            stream(false),
            End::Complete,
            true,
            Some("stop"),
            Outcome::Answered,
        ),
        (stream(true), End::Broken, true, None, Outcome::Answered),
        (
            stream(true),
            End::TimedOut(Wait::Idle),
            true,
            Some("stop"),
            Outcome::Answered,
        ),
        (
            stream(false),
            End::Broken,
            true,
            Some("stop"),
            Outcome::Answered,
        ),
        (
            stream(false),
            End::Complete,
            true,
            None,
            Outcome::CutOff(CutOff::NoEnd),
        ),
        (
            stream(false),
            End::Broken,
            true,
            None,
            Outcome::CutOff(CutOff::MidBody),
        ),
        (
            stream(false),
            End::TimedOut(Wait::Total),
            true,
            Some("stop"),
            Outcome::TimedOut(Wait::Total),
        ),
        (
            stream(true),
            End::Complete,
            false,
            None,
            Outcome::Malformed("no choices"),
        ),
        (
            BodyKind::Stream {
                events: 0,
                done: false,
                broken_event: false,
            },
            End::Complete,
            false,
            None,
            Outcome::Malformed("empty stream"),
        ),
        (
            BodyKind::Stream {
                events: 9,
                done: true,
                broken_event: true,
            },
            End::Complete,
            true,
            None,
            Outcome::Malformed("an event is not JSON"),
        ),
        (json, End::Complete, true, Some("stop"), Outcome::Answered),
        (
            json,
            End::Complete,
            true,
            None,
            Outcome::Malformed("no finish reason"),
        ),
        (
            json,
            End::Broken,
            true,
            Some("stop"),
            Outcome::CutOff(CutOff::MidBody),
        ),
        (
            BodyKind::Json { flawed: true },
            End::Complete,
            true,
            Some("stop"),
            Outcome::Malformed("the body is not JSON"),
        ),
        (
            BodyKind::Empty,
            End::Complete,
            false,
            None,
            Outcome::Malformed("empty body"),
        ),
        (
            BodyKind::Empty,
            End::Broken,
            false,
            None,
            Outcome::CutOff(CutOff::MidBody),
        ),
        (
            BodyKind::Opaque,
            End::Complete,
            false,
            None,
            Outcome::Malformed("neither JSON nor an event stream"),
        ),
    ] {
        let facts = facts(choice, reason);
        let response = Response {
            kind,
            end,
            ..response(200, &facts)
        };
        assert_eq!(
            outcome(&response),
            expected,
            "{kind:?} {end:?} {choice} {reason:?}"
        );
    }
}

#[test]
fn a_limit_outweighs_everything_and_a_status_outweighs_a_broken_body() {
    let facts = Facts {
        choice: true,
        finish_reason: Some("stop".to_owned()),
        ..Facts::default()
    };
    let large = Response {
        too_large: Some(Limit::LineBytes),
        ..response(200, &facts)
    };
    assert_eq!(outcome(&large), Outcome::TooLarge(Limit::LineBytes));
    let facts = Facts::default();
    let broken = Response {
        end: End::Broken,
        ..response(401, &facts)
    };
    assert_eq!(outcome(&broken), Outcome::Unauthorised);
}

#[test]
fn retry_after_is_read_as_seconds_or_as_a_date_and_never_longer_than_a_day() {
    let date = Some("Tue, 01 Dec 2026 04:02:16 GMT");
    for (value, expected) in [
        ("7", Some(7.0)),
        (" 0.5 ", Some(0.5)),
        ("1e300", Some(86_400.0)),
        ("inf", Some(86_400.0)),
        ("Tue, 01 Dec 2026 04:03:16 GMT", Some(60.0)),
        ("Tue, 01 Dec 2026 04:01:16 GMT", None),
        ("-1", None),
        ("NaN", None),
        ("soon", None),
    ] {
        assert_eq!(
            retry_after(Some(value), date).map(|wait| wait.as_secs_f64()),
            expected,
            "{value}"
        );
    }
    assert_eq!(
        retry_after(Some("Tue, 01 Dec 2026 04:03:16 GMT"), None),
        None
    );
    assert_eq!(retry_after(None, date), None);
}
