//! A prober is killed (`kill -9`) at random moments while it records, with the database there or away. Whatever it had
//! said to be kept is recorded in the end: once, and in order.
//!
//! `SPOOL_CYCLES=1000` does it so often; every day it is a few.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod member;
#[path = "../support/mod.rs"]
mod support;

use canary_gen::{ProbeNumber, Seed};
use member::{Acknowledged, Member, Work};
use prober::ids::RoundId;
use prober::scenario::{PlannedProbe, Role};
use prober::store::NewProbe;
use std::time::Duration;
use support::TestDatabase;
use support::ledger::{Ledger, NOW};
use support::records::{new_round, plan};
use support::wire::{Passage, Wire};

/// A member records so many probes at most in a cycle.
const MOST: usize = 60;
/// It is killed after so long at most, once it has begun.
const LONGEST_MS: u64 = 60;

/// One of those that are killed, in a process of its own.
#[test]
#[ignore = "started by the other tests"]
fn member() {
    if let Some(orders) = member::Orders::from_environment() {
        member::record(&orders);
    }
}

/// What the members write.
struct Book {
    database: TestDatabase,
    round: RoundId,
    probes: Vec<ProbeNumber>,
}

impl Book {
    async fn new(probes: usize) -> Self {
        let database = TestDatabase::new().await;
        let ledger = Ledger::open(&database).await;
        let key = support::ledger::key();
        let round = new_round(ledger.endpoint.id, key, NOW);
        let round = ledger.store.begin_round(&round).await.unwrap();
        let planned = PlannedProbe::new(&plan(), 0, Role::Peer, 300, Seed::from_number(1));
        let probe = NewProbe {
            tenant: ledger.endpoint.tenants[0].id,
            step: 0,
            planned,
        };
        let probes = vec![probe; probes];
        Self {
            probes: ledger.store.plan_probes(round, &probes, NOW).await.unwrap(),
            database,
            round,
        }
    }

    async fn assert_complete(&self, acknowledged: usize) {
        let count = async |query| self.database.count(query).await;
        let last = self.probes[acknowledged - 1].get() as i64;
        let judged: i64 = sqlx::query_scalar(
            "select count(*) from probes where id <= $1 and verdict is not null and sent_at is not null",
        )
        .bind(last)
        .fetch_one(&self.database.pool)
        .await
        .unwrap();
        assert_eq!(judged, acknowledged as i64, "something was lost");
        let all = count("select count(*) from probes where verdict is not null").await;
        let summed = "select sum(probes)::bigint from probe_sums where span = 'day'";
        assert_eq!(count(summed).await, all, "something was counted twice");
        let twice =
            "select count(*) from (select from findings group by probe_id having count(*) > 1) t";
        assert_eq!(count(twice).await, 0, "a finding stands twice");
        let missing = "select count(*) from probes where verdict is not null
                       and not exists (select from findings where probe_id = probes.id)";
        assert_eq!(count(missing).await, 0, "a finding is missing");
        let disorder = "select count(*) from (select probe_id, lag(probe_id) over (order by id) as before from findings) t
                        where before > probe_id";
        assert_eq!(count(disorder).await, 0, "out of order");
        let charged = "select coalesce(sum(charged_prompt_tokens), 0)::bigint from probes";
        let spent = "select coalesce(sum(prompt_tokens), 0)::bigint from spending";
        assert_eq!(count(charged).await, count(spent).await, "charged twice");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prober_killed_at_any_moment_loses_nothing_that_it_had_kept_and_records_nothing_twice() {
    let cycles: u64 =
        std::env::var("SPOOL_CYCLES").map_or(25, |cycles| cycles.parse().expect("a number"));
    let book = Book::new(cycles as usize * MOST + MOST).await;
    let wire = Wire::to_server(&book.database.url).await;
    let folder = tempfile::tempdir().unwrap();
    let seed = Seed::from_number(cycles);
    let mut acknowledged = Acknowledged::default();
    for cycle in 0..cycles {
        let chance = seed.child_number("cycle", cycle).choices();
        let (mut chance, passages) = (chance, [Passage::Open, Passage::Closed]);
        let mut member = Member::start(&Work {
            book: &book,
            wire: &wire,
            folder: folder.path(),
            first: acknowledged.probes,
            probes: MOST,
        });
        member.is_ready().await;
        // It begins with the database there or away, and that may change before it dies.
        wire.set(passages[chance.below(2) as usize]);
        member.go();
        if chance.below(4) == 0 {
            // Long enough for some of what waits to come out.
            wire.set(Passage::Open);
            member
                .note_for(Duration::from_millis(300), &mut acknowledged)
                .await;
        }
        for _ in 0..2 {
            let pause = Duration::from_millis(chance.below(LONGEST_MS / 2));
            member.note_for(pause, &mut acknowledged).await;
            wire.set(passages[chance.below(2) as usize]);
        }
        member.kill(&mut acknowledged).await;
        wire.set(Passage::Open);
    }
    let waiting = member::recover(&book, folder.path()).await;
    book.assert_complete(acknowledged.probes).await;
    println!(
        "{cycles} cycles: {} probes acknowledged, {waiting} records waited at the end, {} torn pieces set aside",
        acknowledged.probes,
        member::set_aside(folder.path(), "damaged"),
    );
    assert_eq!(member::set_aside(folder.path(), "refused"), 0);
    assert!(acknowledged.probes > 0);
}

/// The kernel refuses to write beyond a size of file, in the middle of a record, as it does on a full disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_kernel_refuses_a_write_nothing_that_was_kept_is_lost() {
    let book = Book::new(5_000).await;
    let wire = Wire::to_server(&book.database.url).await;
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::default();
    let mut member = Member::start_with_small_files(&Work {
        book: &book,
        wire: &wire,
        folder: folder.path(),
        first: 0,
        probes: 5_000,
    });
    member.is_ready().await;
    wire.set(Passage::Closed);
    member.go();
    member.until_full(&mut acknowledged).await;
    member.kill(&mut acknowledged).await;
    wire.set(Passage::Open);
    assert!(acknowledged.probes > 10);
    member::recover(&book, folder.path()).await;
    book.assert_complete(acknowledged.probes).await;
}
