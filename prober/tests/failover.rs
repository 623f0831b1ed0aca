//! The database's server fails, and its standby takes over.
#![allow(clippy::unwrap_used)]

mod support;

use prober::round::{Event, Executor, RoundOrder};
use prober::spool::{Room, Spooler};
use prober::store::{Location, Store};
use secrecy::SecretString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use support::keeper::Keeper;
use support::wire::{Passage, Wire};
use support::*;
use tokio_util::sync::CancellationToken;

/// Runs inside of `scripts/with-postgres`: gives its server a standby that has whatever was committed, tells where both
/// are, and does what it is told.
const KEEPER: &str = r#"
set -euo pipefail
primary=$TEST_DATABASE_URL
folder=$(cd / && $PG_AS mktemp -d /tmp/pg-XXXXXX)
pg_ctl() { (cd / && $PG_AS "$PG_BIN/pg_ctl" -w -t 60 "$@") >&2; }
trap 'pg_ctl -D "$folder/data" -m immediate stop || true; rm -rf "$folder"' EXIT
(cd / && $PG_AS "$PG_BIN/pg_basebackup" -d "$primary" -D "$folder/data" -R -X stream --checkpoint=fast) >&2
pg_ctl -D "$folder/data" -l "$folder/log" -o "-k $folder -c listen_addresses= -c fsync=off -c max_connections=200" start
"$PG_BIN/psql" -qX "$primary" -c "alter system set synchronous_standby_names = '*'" -c 'select pg_reload_conf()' >&2
echo "$primary"
echo "postgres://postgres@${folder//\//%2F}/postgres"
data=$("$PG_BIN/psql" -qXAt "$primary" -c 'show data_directory')
while read -r act; do
  case $act in
    fail) pg_ctl -D "$data" -m immediate stop ;;
    promote) pg_ctl -D "$folder/data" promote ;;
  esac
  echo done
done
"#;

struct Pair {
    primary: String,
    standby: String,
    keeper: Keeper,
}

impl Pair {
    async fn start() -> Self {
        let mut keeper = Keeper::start(KEEPER);
        Self {
            primary: keeper.says().await,
            standby: keeper.says().await,
            keeper,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_outlives_the_failover_of_the_database_and_is_recorded_by_the_new_server() {
    let mut pair = Pair::start().await;
    let database = TestDatabase::at(pair.primary.clone());
    let wire = Arc::new(Wire::to_server(&pair.primary).await);
    let location = Location::Server {
        url: SecretString::from(wire.url(&pair.primary)),
        max_connections: pool_size(),
    };
    let store = Store::open(&location).await.unwrap();
    let rehearsal = Rehearsal::with(database, &["stale-pages"], OVERFLOW).await;
    let (executor, session) = ready(&rehearsal.config, &store).await;
    let folder = tempfile::tempdir().unwrap();
    let room = Room {
        max_bytes: 64 << 20,
        reserve_bytes: 1 << 16,
    };
    let (judged, failing, standby) = (AtomicU32::new(0), Arc::clone(&wire), pair.standby.clone());
    let executor = Executor {
        spool: Some(Spooler::open(folder.path(), room).unwrap()),
        // The way leads to the standby before that is promoted, as it does at times.
        observer: Arc::new(move |event| {
            if matches!(event, Event::Judged { .. }) && judged.fetch_add(1, Ordering::Relaxed) == 2
            {
                failing.lead_to(&standby);
            }
        }),
        ..executor
    };
    let order = RoundOrder {
        scenario: &rehearsal.config.scenarios[0],
        seed: 1,
        due_at: None,
        replay: None,
    };
    let report = executor.run(&session, &order).await.unwrap();
    assert_eq!((report.verdict, report.recorded), ("leak", false));

    wire.set(Passage::Open);
    let refused = store.prepare_weeks(executor.clock.now()).await;
    let refused = refused.unwrap_err();
    assert!(refused.is_transient(), "{refused:?}");

    pair.keeper.act("fail").await;
    pair.keeper.act("promote").await;
    let done = CancellationToken::new();
    done.cancel();
    executor.replay(&done).await;
    assert!(executor.may_begin(), "something waits still");
    let now = TestDatabase::at(pair.standby.clone());
    let finished = "select count(*) from rounds where state = 'finished' and verdict = 'leak'";
    assert_eq!(now.count(finished).await, 1);
    let unjudged = "select count(*) from probes where verdict is null";
    assert_eq!(now.count(unjudged).await, 0);
    // The next round finds everything as ever.
    let order = RoundOrder { seed: 2, ..order };
    assert!(executor.run(&session, &order).await.unwrap().recorded);
}
