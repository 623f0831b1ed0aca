//! Rounds against endpoints that misbehave: each ends as inconclusive with its reason, within its
//! limits, and every probe is recorded.
#![allow(clippy::unwrap_used)]

mod support;

use prober::store::Store;
use std::time::{Duration, Instant};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How an endpoint misbehaves once it has read the head of a request.
#[derive(Clone, Copy, Debug)]
enum Habit {
    Hang,
    CloseMidStream,
    MalformedStream,
    EndlessLine,
    EmptyStream,
    NoUsage,
}

async fn misbehave(mut stream: TcpStream, habit: Habit) -> std::io::Result<()> {
    let mut request = [0; 65_536];
    // Enough of it: the head at least has arrived.
    let _ = stream.read(&mut request).await?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let delta = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"The access\"},\"finish_reason\":null}]}\n\n";
    let stop = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    match habit {
        // Until the client has had enough.
        Habit::Hang => while stream.read(&mut request).await? > 0 {},
        Habit::CloseMidStream => {
            stream
                .write_all(format!("{head}{delta}").as_bytes())
                .await?
        }
        Habit::MalformedStream => {
            stream
                .write_all(format!("{head}data: {{\"choices\": [[[\n\n{stop}").as_bytes())
                .await?
        }
        Habit::EndlessLine => {
            stream.write_all(head.as_bytes()).await?;
            // A gigabyte without a newline, if it were read.
            for _ in 0..16_384 {
                stream.write_all(&[b'x'; 65_536]).await?;
            }
        }
        Habit::EmptyStream => stream.write_all(head.as_bytes()).await?,
        Habit::NoUsage => {
            stream
                .write_all(format!("{head}{delta}{stop}").as_bytes())
                .await?
        }
    }
    stream.shutdown().await
}

async fn serve(habit: Habit) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // The client may break off: that is what is tested.
            tokio::spawn(async move { misbehave(stream, habit).await.ok() });
        }
    });
    base_url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_misbehaviour_ends_as_inconclusive_with_its_reason_and_is_recorded() {
    let limits = "[endpoints.limits]\nfirst_byte_timeout = \"1500ms\"\nidle_timeout = \"1500ms\"\n\
                  total_timeout = \"5s\"\nresponse_bytes = \"64KiB\"\nline_bytes = \"16KiB\"";
    for (habit, reason) in [
        (Habit::Hang, "timed_out"),
        (Habit::CloseMidStream, "cut_off"),
        (Habit::MalformedStream, "malformed"),
        (Habit::EndlessLine, "too_large"),
        (Habit::EmptyStream, "malformed"),
        (Habit::NoUsage, "no `usage.prompt_tokens` in its answers"),
    ] {
        let database = TestDatabase::new().await;
        let base_url = serve(habit).await;
        let workplace = Workplace::new();
        let endpoint = EndpointText {
            name: "hostile",
            base_url: &base_url,
            context_tokens: 16_384,
            more: limits,
        };
        let config = workplace.config(&endpoint, CROSSTALK);
        let store = Store::open(&database.location()).await.unwrap();
        let begun = Instant::now();
        let report = run_round(&config, &store, 1).await;
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{habit:?} held us up"
        );
        assert_eq!(report.verdict, "inconclusive", "{habit:?}: {report}");
        let told = report.reason.unwrap();
        assert!(told.contains(reason), "{habit:?}: {told}");
        assert!(report.recorded && report.findings.is_empty());
        let unjudged = "select count(*) from probes where sent_at is not null and verdict is null";
        assert_eq!(database.count(unjudged).await, 0, "{habit:?}");
        assert_eq!(
            database
                .count("select count(*) from rounds where verdict = 'inconclusive'")
                .await,
            1
        );
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_hangs_holds_up_nobody_elses_probes() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let hanging = serve(Habit::Hang).await;
    let healthy = simulate(small_engine(&[])).await;
    let (slow_place, fast_place) = (Workplace::new(), Workplace::new());
    let slow = EndpointText {
        name: "hanging",
        more: "tokenizer = \"usage\"",
        ..rehearsal(&hanging)
    };
    let slow = slow_place.config(&slow, CROSSTALK);
    let fast = fast_place.config(&rehearsal(&healthy.base_url), CROSSTALK);
    let mut ended_first = None;
    tokio::select! {
        _ = run_round(&slow, &store, 1) => {}
        report = run_round(&fast, &store, 1) => ended_first = Some(report),
    }
    let report = ended_first.expect("the healthy round waits for nobody");
    assert_eq!(report.verdict, "clean", "{report}");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gigabyte_without_a_line_break_takes_no_memory() {
    let database = TestDatabase::new().await;
    let workplace = Workplace::new();
    let base_url = serve(Habit::EndlessLine).await;
    let config = workplace.write(&rehearsal(&base_url), CROSSTALK);
    let args = ["once", "--seed", "1", "--config", config.to_str().unwrap()];
    let mut child = prober(&args)
        .env("DATABASE_URL", &database.url)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let peak = tokio::task::block_in_place(|| {
        let status = format!("/proc/{}/status", child.id());
        let mut peak_kib = 0;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let words = line.and_then(|rest| rest.split_whitespace().next());
            peak_kib = words.map_or(peak_kib, |word| word.parse::<u64>().unwrap());
            // Looks again and again while it lives; how often does not matter.
            std::thread::park_timeout(Duration::from_millis(5));
        }
        peak_kib
    });
    assert!((1..200 << 10).contains(&peak), "{peak} KiB");
}
