//! `prober run`, killed between any two steps of telling: nothing is lost, and nothing comes out of order.

use crate::support::inbox::Inbox;
use crate::support::ledger::{Ledger, NOW, by, leak};
use crate::support::service::Service;
use crate::support::{EndpointText, TestDatabase, Workplace};
use prober::incident::Act;
use sqlx::{Connection as _, PgConnection};
use std::path::PathBuf;
use time::Duration;

/// The steps of telling, each as the change to a table that is its own.
const STEPS: [(&str, &str, &str); 3] = [
    ("route", "alerts", "new.routed_at is not null"),
    ("claim", "deliveries", "new.lease is not null"),
    ("settle", "deliveries", "new.state = 'delivered'"),
];

/// Lets each step wait in the middle of its transaction, as long as a lock is held.
const HOLD: &str = "
    create function hold() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(42); return new; end $$;";

/// Whether somebody waits there.
const IS_HELD: &str = "
    select count(*) from pg_locks
    where locktype = 'advisory' and objid = 42 and not granted
      and database = (select oid from pg_database where datname = current_database())";

struct Scene {
    database: TestDatabase,
    ledger: Ledger,
    inbox: Inbox,
    config: PathBuf,
    _workplace: Workplace,
}

impl Scene {
    async fn new() -> Self {
        let (database, inbox) = (TestDatabase::new().await, Inbox::open().await);
        let ledger = Ledger::open(&database).await;
        let workplace = Workplace::new();
        let nowhere = EndpointText {
            name: "nowhere",
            base_url: "http://127.0.0.1:9/v1",
            context_tokens: 4_096,
            more: "",
        };
        let receivers = format!(
            "[[receivers]]\nname = \"soc\"\nkind = \"webhook\"\nurl = \"{}\"\nallow_private_addresses = true\n\
             [[scenarios]]\nkind = \"crosstalk\"\nevery = \"7d\"\n",
            inbox.url
        );
        let config = workplace.write(&nowhere, &receivers);
        Self {
            database,
            ledger,
            inbox,
            config,
            _workplace: workplace,
        }
    }

    fn run(&self) -> Service {
        Service::run(&self.config, &self.database)
    }

    async fn wait_until(&self, service: &mut Service, count: &'static str) {
        while self.database.count(count).await == 0 {
            let ended = service.process.0.try_wait().unwrap();
            assert!(ended.is_none(), "{}", service.log());
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_minus_nine_between_any_two_steps_loses_no_alert() {
    let scene = Scene::new().await;
    let mut service = scene.run();
    let known = "select count(*) from receivers";
    scene.wait_until(&mut service, known).await;
    service.process.kill();
    // Nobody is there when this is found.
    let id = scene.ledger.find(vec![leak()], NOW).await[0];
    let pool = &scene.database.pool;
    sqlx::raw_sql(HOLD).execute(pool).await.unwrap();
    let mut lock = PgConnection::connect(&scene.database.url).await.unwrap();
    let mut story = vec!["incident.opened"];
    for (second, (step, table, when)) in (1..).zip(STEPS) {
        let trigger = format!(
            "create trigger {step} before update on {table} for each row when ({when}) execute function hold()"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(trigger))
            .execute(pool)
            .await
            .unwrap();
        sqlx::raw_sql("select pg_advisory_lock(42)")
            .execute(&mut lock)
            .await
            .unwrap();
        service = scene.run();
        scene.wait_until(&mut service, IS_HELD).await;
        service.process.kill();
        sqlx::raw_sql("select pg_advisory_unlock(42)")
            .execute(&mut lock)
            .await
            .unwrap();
        let drop = format!("drop trigger {step} on {table}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(drop))
            .execute(pool)
            .await
            .unwrap();
        // What was under way is taken for lost, as after its lease.
        let lapse =
            "update deliveries set leased_until = '-infinity' where leased_until is not null";
        sqlx::raw_sql(lapse).execute(pool).await.unwrap();
        service = scene.run();
        let settled = "select count(*) from (select 1 having not exists (select from alerts where routed_at is null)
                         and not exists (select from deliveries where state = 'pending')
                         and exists (select from deliveries)) settled";
        scene.wait_until(&mut service, settled).await;
        let told = scene.inbox.take();
        let mut events: Vec<&str> = told.iter().map(|one| one.event()).collect();
        let mut ids: Vec<&str> = told.iter().map(|one| one.header("webhook-id")).collect();
        ids.dedup();
        if step == "settle" {
            assert!(
                events.len() > ids.len(),
                "it had been taken, and was sent again with its id"
            );
        }
        events.dedup();
        assert_eq!(events, story, "{step}");
        service.process.kill();
        // The next one is killed while it tells of these.
        let at = NOW + Duration::seconds(second);
        scene
            .ledger
            .change(id, Act::Resolve, &by("Ada", at))
            .await
            .unwrap();
        scene.ledger.find(vec![leak()], at).await;
        story = vec!["incident.resolved", "incident.reopened"];
    }
}
