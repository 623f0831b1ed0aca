//! What a prober left undone when it died is taken up when its lease has expired, not when something else is due.
#![allow(clippy::unwrap_used)]

mod support;

use prober::clock::{Clock as _, FixedClock, SystemClock};
use prober::plan::Timetable;
use prober::round::Executor;
use prober::store::{NewRound, Store};
use prober::watch::Watch;
use std::sync::Arc;
use std::time::Duration;
use support::records::new_round;
use support::service::{came_true, watched_database};
use support::*;
use time::OffsetDateTime;

/// As short as a test may wait for; nothing here waits for its end.
const LEASE: Duration = Duration::from_secs(2);
const LABEL: &str = "test";

/// Lets a prober of a name begin the first round of an hourly scenario and die, then watches as another one.
async fn taken_over(dead: &str, expires: bool) -> (TestDatabase, OffsetDateTime) {
    let database = watched_database().await;
    let engine = simulate(small_engine(&[])).await;
    let workplace = Workplace::new();
    let mut config = workplace.config(&rehearsal(&engine.base_url), CROSSTALK);
    config.fleet.lease = LEASE;
    let store = Store::open(&database.location()).await.unwrap();
    let (executor, session) = ready(&config, &store).await;
    let start = SystemClock.now();
    let timetable = Timetable::new(&config, LABEL);
    let names = timetable.scenarios("rehearsal");
    store.open_lines(session.id(), &names, start).await.unwrap();
    let mut decided = store.decided(&[session.id()]).await.unwrap();
    let decided = decided.remove(&session.id()).unwrap();
    let due_at = timetable.next("rehearsal", &decided).unwrap();

    let ids = [session.id()];
    let hour = Duration::from_secs(3_600);
    let lease = store
        .lease(&ids, dead, hour, 1)
        .await
        .unwrap()
        .remove(0)
        .lease;
    let key = executor.ring.minting().id();
    store.register_key(key, start).await.unwrap();
    let round = NewRound {
        due_at: Some(due_at),
        lease: Some(lease),
        ..new_round(session.id(), key, due_at)
    };
    store.begin_round(&round).await.unwrap();
    if expires {
        let expire = "update leases set leased_at = leased_at - interval '2 hours',
                                        expires_at = expires_at - interval '2 hours'";
        sqlx::query(expire).execute(&database.pool).await.unwrap();
    }

    let stop = executor.stop.clone();
    let executor = Executor {
        clock: Arc::new(FixedClock::new(due_at + time::Duration::MINUTE)),
        ..executor
    };
    let watch = Watch::open(Arc::new(config), executor, "two".to_owned(), LABEL).await;
    let watching = tokio::spawn(watch.unwrap().until_stopped());
    let is_done = came_true(
        &database,
        "select count(*) from rounds where state = 'finished'",
    );
    assert!(is_done.await, "nobody took the round over");
    stop.cancel();
    assert_eq!(watching.await.unwrap(), 0);
    (database, due_at)
}

async fn assert_run_again(database: &TestDatabase, due_at: OffsetDateTime) {
    let rounds: Vec<(String, OffsetDateTime, String)> =
        sqlx::query_as("select state, due_at, prober from rounds order by id")
            .fetch_all(&database.pool)
            .await
            .unwrap();
    let states: Vec<&str> = rounds.iter().map(|(state, ..)| state.as_str()).collect();
    assert_eq!(states, ["lost", "finished"]);
    assert!(rounds.iter().all(|(_, at, _)| *at == due_at), "{rounds:?}");
    assert_eq!(rounds[1].2, "two");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_of_a_prober_that_died_is_run_again_though_nothing_else_is_due() {
    let (database, due_at) = taken_over("one", true).await;
    assert_run_again(&database, due_at).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prober_that_was_started_again_takes_up_its_own_round_before_its_lease_has_expired() {
    let (database, due_at) = taken_over("two", false).await;
    assert_run_again(&database, due_at).await;
}
