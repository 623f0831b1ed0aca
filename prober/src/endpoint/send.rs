//! Sending one request and reading its response, within limits.

use super::classify::End;
use super::client::TenantClient;
use super::failure;
use super::limits::{Limits, Wait};
use super::outcome::{ConnectFailure, Exchange, Outcome, Unsent};
use super::place::Sink;
use super::prompt::Prepared;
use super::reader::{Flow, ResponseReader};
use http_body_util::BodyExt as _;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};

/// After `[DONE]` a server has nothing more to say; whatever it still says is read only so long.
const AFTER_DONE: Duration = Duration::from_secs(5);

/// Sends a request and hands every text of the response to `sink`.
///
/// Never fails otherwise than by its [`Outcome`]. Dropping the future ends the exchange: the
/// connection is closed (HTTP/1) or the stream reset (HTTP/2). Nothing is ever sent twice.
pub async fn send(client: &TenantClient, prepared: Prepared, sink: &mut dyn Sink) -> Exchange {
    let timing = Timing::start(&prepared.limits);
    let limits = prepared.limits;
    let asked = prepared.asked.clone();
    let Ok(url) = reqwest::Url::parse(&prepared.url) else {
        return timing.failed(Outcome::Unsent(Unsent::BadRequest), 0);
    };
    if url.scheme() == "https" && !client.has_roots {
        return timing.failed(
            Outcome::ConnectFailed(ConnectFailure::NoRootCertificates),
            0,
        );
    }
    let mut headers = client.headers(&asked.api);
    headers.extend(prepared.headers.clone());
    let (body, mut progress) = prepared.into_body();
    let request = client
        .http
        .post(url)
        .headers(headers)
        .body(reqwest::Body::wrap(body));
    let head = await_head(request.send(), &mut progress.begun, &timing).await;
    let sent = || progress.sent.get();
    let (response, begun) = match head {
        Ok(head) => head,
        Err(outcome) => return timing.failed(outcome, sent()),
    };
    let ttfb = begun.elapsed();

    let status = response.status().as_u16();
    let mut reader = ResponseReader::new(&asked, &limits, status, response.headers(), sink);
    let (end, first_text) = read_body(response, &mut reader, &timing, sink).await;
    let reading = reader.finish(end, sink);
    let facts = reading.facts;
    Exchange {
        outcome: reading.outcome,
        status: Some(status),
        usage: facts.usage(),
        finish_reason: facts.finish_reason,
        request_bytes: sent(),
        response_bytes: reading.body_bytes,
        ttfb: Some(ttfb),
        ttft: first_text.map(|at| at.saturating_duration_since(begun)),
        duration: timing.started.elapsed(),
        model: facts.model,
        fingerprint: facts.fingerprint,
        response_id: facts.id,
    }
}

/// When it began and when everything must have ended.
struct Timing {
    started: Instant,
    deadline: Instant,
    limits: Limits,
}

impl Timing {
    fn start(limits: &Limits) -> Self {
        let started = Instant::now();
        Self {
            started,
            deadline: after(started, limits.total_timeout),
            limits: *limits,
        }
    }

    /// The earlier of a wait that began at `since` and the deadline, and which of them it is.
    fn until(&self, since: Instant, length: Duration, wait: Wait) -> (Instant, Wait) {
        let at = after(since, length);
        if at < self.deadline {
            (at, wait)
        } else {
            (self.deadline, Wait::Total)
        }
    }

    fn failed(&self, outcome: Outcome, request_bytes: u64) -> Exchange {
        Exchange {
            outcome,
            request_bytes,
            duration: self.started.elapsed(),
            ..Exchange::default()
        }
    }
}

/// `length` after `since`; a year stands for whatever the clock cannot hold.
fn after(since: Instant, length: Duration) -> Instant {
    let year = Duration::from_secs(365 * 86_400);
    since + length.min(year)
}

/// Waits for the head of the response, which may come before the whole request has left. Tells also
/// when the request began, its connection standing.
async fn await_head(
    sending: impl Future<Output = reqwest::Result<reqwest::Response>>,
    begun: &mut oneshot::Receiver<()>,
    timing: &Timing,
) -> Result<(reqwest::Response, Instant), Outcome> {
    let mut sending = pin!(sending);
    let (connect_by, wait) =
        timing.until(timing.started, timing.limits.connect_timeout, Wait::Connect);
    let failed = |error: reqwest::Error| failure::before_response(&error);
    tokio::select! {
        biased;
        head = &mut sending => return head.map(|response| (response, timing.started)).map_err(failed),
        _ = begun => {}
        () = sleep_until(connect_by) => return Err(Outcome::TimedOut(wait)),
    }
    let begun = Instant::now();
    let (head_by, wait) = timing.until(begun, timing.limits.first_byte_timeout, Wait::FirstByte);
    match timeout_at(head_by, sending).await {
        Ok(head) => head.map(|response| (response, begun)).map_err(failed),
        Err(_) => Err(Outcome::TimedOut(wait)),
    }
}

/// Reads the body to its end, or as far as limits allow. Tells also when the answer's first text came.
async fn read_body(
    response: reqwest::Response,
    reader: &mut ResponseReader,
    timing: &Timing,
    sink: &mut dyn Sink,
) -> (End, Option<Instant>) {
    let mut body = reqwest::Body::from(response);
    let mut first_text = None;
    let mut heard = Instant::now();
    let end = loop {
        let idle = timing.limits.idle_timeout;
        let patience = if reader.is_done() {
            idle.min(AFTER_DONE)
        } else {
            idle
        };
        let (until, wait) = timing.until(heard, patience, Wait::Idle);
        let frame = match timeout_at(until, body.frame()).await {
            Err(_) => break End::TimedOut(wait),
            Ok(None) => break End::Complete,
            Ok(Some(Err(_))) => break End::Broken,
            Ok(Some(Ok(frame))) => frame,
        };
        match frame.into_data() {
            // An empty piece is no sign of life.
            Ok(data) if data.is_empty() => {}
            Ok(data) => {
                heard = Instant::now();
                let flow = reader.chunk(&data, sink);
                if reader.answer_began() {
                    first_text.get_or_insert(heard);
                }
                if flow == Flow::Enough {
                    break End::Complete;
                }
            }
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    reader.trailers(&trailers, sink);
                }
            }
        }
    };
    (end, first_text)
}
