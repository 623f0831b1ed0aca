//! The reduced fault matrix: every fault of the simulated engine is found by a scenario, and an engine without a
//! fault is clean in all of them. The whole matrix: `prober/examples/fault_matrix.rs`. `scripts/test` knows these
//! tests by the beginning of their names.

#![allow(clippy::unwrap_used)]

mod support;

use futures_util::{StreamExt as _, stream};
use prober::store::Store;
use simulator::Fault;
use support::TestDatabase;
use support::sites::{ROUNDS, Site, look_for, scenario_for};

/// Engines and probers work in real time, and each fault may be missed by its scenario's first rounds, by a few of
/// a thousand seeds even by the first three: of 26 at once, in every test, that would be noise. With so many more
/// rounds only a fault that its scenario does not find is missed.
const MOST_ROUNDS: u64 = 3 * ROUNDS;
/// Endpoints at once. Each has an engine that works in real time, so that more would slow each other down.
const JOBS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn matrix_every_fault_is_found_by_its_scenario_within_a_few_rounds() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let missed: Vec<Fault> = stream::iter(Fault::all())
        .map(|fault| {
            let store = &store;
            async move {
                let found = look_for(store, fault, scenario_for(fault), 1, MOST_ROUNDS).await;
                found.round.is_none().then_some(fault)
            }
        })
        .buffer_unordered(JOBS)
        .filter_map(|missed| async move { missed })
        .collect()
        .await;
    store.close().await;
    assert!(
        missed.is_empty(),
        "not found within {MOST_ROUNDS} rounds: {missed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn matrix_an_engine_without_a_fault_is_clean_in_every_scenario() {
    let database = TestDatabase::new().await;
    let store = Store::open(&database.location()).await.unwrap();
    let site = Site::start(&store, "healthy", None, 1).await;
    for scenario in site.scenarios() {
        let report = site.round(&scenario, 1).await;
        assert!(report.findings.is_empty(), "{report}");
        assert_eq!(report.verdict, "clean", "{report}");
    }
    store.close().await;
}
