//! The whole path, through every station: a real socket, a real Postgres, the simulated engine.
#![allow(clippy::unwrap_used)]

mod support;

use prober::store::Store;
use support::*;

const WINDOW: u32 = 16_384;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_founding_incident_is_proven_and_recorded_with_donor_slots_and_place() {
    let rehearsal = Rehearsal::new(&["stale-pages"], OVERFLOW).await;
    let Rehearsal {
        database,
        config,
        store,
        ..
    } = &rehearsal;
    let report = run_round(config, store, 1).await;

    assert_eq!(report.verdict, "leak", "{report}");
    assert!(report.leaks >= 1 && report.recorded);
    let leaks: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.kind == "leak")
        .collect();
    let foreign = leaks
        .iter()
        .find(|finding| finding.donor.as_ref().unwrap().relation == "other_tenant")
        .expect("a leak from another tenant");
    let donor = foreign.donor.as_ref().unwrap();
    assert_ne!(donor.tenant.as_deref(), Some(foreign.tenant.as_str()));
    assert!(
        donor.probe < foreign.probe,
        "planted before it was received"
    );
    assert!(donor.planted_at.unwrap() < foreign.found_at);
    let (first, last) = donor.tokens.unwrap();
    assert!(first <= last && last < u64::from(WINDOW));
    assert_eq!(donor.pages, Some((first / 64, last / 64)));

    let recorded = database
        .count("select count(*) from findings where kind = 'leak' and donor_tenant_id is not null and planted_at is not null")
        .await;
    assert_eq!(recorded, leaks.len() as i64);
    let unproven = database
        .count(
            "select count(*) from findings f where kind = 'leak' and not exists (
                 select from sightings s where s.probe_id = f.probe_id and not s.own and s.donor_probe = f.donor_probe)",
        )
        .await;
    assert_eq!(unproven, 0, "each leak rests on recorded sightings");
    store.clone().close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_engine_without_the_fault_is_clean_with_proof_and_names_its_limit() {
    let rehearsal = Rehearsal::new(&[], OVERFLOW).await;
    let Rehearsal {
        database,
        config,
        store,
        ..
    } = &rehearsal;
    let report = run_round(config, store, 1).await;

    assert_eq!((report.verdict, report.leaks), ("clean", 0), "{report}");
    assert_eq!(report.sensitivity, Some(1.0));
    assert!(report.rejected >= 2, "{report}");
    assert_eq!(report.measured_limit_tokens, Some(10_624));
    assert_eq!(
        database
            .count("select measured_limit_tokens from endpoints")
            .await,
        10_624
    );
    assert_eq!(
        database
            .count("select count(*) from probes where verdict is null")
            .await,
        0
    );
    assert_eq!(
        database
            .count("select count(*) from sightings where not own")
            .await,
        0
    );
    assert_eq!(database.count("select count(*) from findings").await, 0);

    // The next round knows the limit and tries it from both sides.
    let (executor, session) = ready(config, store).await;
    let report = run_with(config, &executor, &session, 2).await;
    assert_eq!(report.verdict, "clean", "{report}");
    let around = database
        .count("select count(*) from probes where role = 'victim' and tokens_wanted between 10400 and 10900 and round_id = 2")
        .await;
    assert_eq!(around, 2);
    store.clone().close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_at_once_on_a_healthy_engine_are_clean_and_all_recall() {
    let rehearsal = Rehearsal::new(&[], CROSSTALK).await;
    let Rehearsal { config, store, .. } = &rehearsal;
    let report = run_round(config, store, 1).await;
    assert_eq!(
        (report.verdict, report.probes, report.sensitivity),
        ("clean", 9, Some(1.0)),
        "{report}"
    );
    store.clone().close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canaries_written_in_any_form_prove_the_same() {
    for form in canary_gen::Form::ALL {
        let scenario = format!("{OVERFLOW}form = \"{form}\"\n");
        for (faults, verdict) in [(&["stale-pages"][..], "leak"), (&[], "clean")] {
            let rehearsal = Rehearsal::new(faults, &scenario).await;
            let Rehearsal {
                config,
                store,
                database,
                ..
            } = &rehearsal;
            let report = run_round(config, store, 1).await;
            assert_eq!(report.verdict, verdict, "{form}: {report}");
            let forms: Vec<String> = sqlx::query_scalar("select distinct form from sightings")
                .fetch_all(&database.pool)
                .await
                .unwrap();
            assert_eq!(forms, [form.as_str()]);
            store.clone().close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_seed_gives_the_same_schedule_and_documents_of_the_same_length() {
    let rehearsal = Rehearsal::new(&[], CROSSTALK).await;
    let Rehearsal {
        database,
        config,
        store,
        ..
    } = &rehearsal;
    let (executor, session) = ready(config, store).await;
    run_with(config, &executor, &session, 5).await;
    run_with(config, &executor, &session, 5).await;
    let different = database
        .count(
            "with main as (select *, row_number() over (partition by round_id order by id) as place
                           from probes where role <> 'calibration')
             select count(*) from main a join main b using (place)
             where a.round_id = 1 and b.round_id = 2
               and (a.document_seed, a.tenant_id, a.tokens_wanted) is distinct from (b.document_seed, b.tenant_id, b.tokens_wanted)",
        )
        .await;
    assert_eq!(different, 0);
    store.clone().close().await;
}

/// Rounds of one wave with documents of these lengths, estimated from usage; then the wanted and
/// reported lengths of those that are further off than a percent and than `tokens_allowed`.
async fn lengths_missed(form: &str, lengths: &[u64], tokens_allowed: i64) -> Vec<(i64, i64)> {
    let database = TestDatabase::new().await;
    let engine = simulate(simulator::Config {
        context_tokens: 600_000,
        prefill_tokens: 600_000,
        decode_tokens: None,
        ..small_engine(&[])
    })
    .await;
    let workplace = Workplace::new();
    let store = Store::open(&database.location()).await.unwrap();
    for tokens in lengths {
        let scenario = format!(
            "[[scenarios]]\nkind = \"crosstalk\"\nevery = \"1h\"\ntokens = {tokens}\nwaves = 1\n\
             stride_tokens = 500\nform = \"{form}\"\n"
        );
        let one = EndpointText {
            name: "rehearsal",
            base_url: &engine.base_url,
            context_tokens: 600_000,
            more: "tokenizer = \"usage\"",
        };
        let config = workplace.config(&one, &scenario);
        let report = run_round(&config, &store, 3).await;
        assert_eq!(report.verdict, "clean", "{tokens} tokens: {report}");
    }
    store.close().await;
    sqlx::query_as(
        "select tokens_wanted, prompt_tokens from probes
         where role = 'peer' and abs(prompt_tokens - tokens_wanted) > greatest(tokens_wanted * 0.01, $1)",
    )
    .bind(tokens_allowed)
    .fetch_all(&database.pool)
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_has_an_estimated_length_within_one_percent() {
    // How many tokens a `code` takes is chance: below about 600 tokens that is more than a percent.
    let missed = lengths_missed("code", &[300, 1_000, 1_500, 10_000, 100_000, 500_000], 6).await;
    assert!(missed.is_empty(), "wanted and reported: {missed:?}");
    // `digits` always take the same, so the shortest document is within a percent, too.
    let missed = lengths_missed("digits", &[200, 300, 600, 5_000], 0).await;
    assert!(missed.is_empty(), "wanted and reported: {missed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_keys_nor_canaries_nor_text_are_in_the_database() {
    let rehearsal = Rehearsal::new(&["stale-pages"], OVERFLOW).await;
    let Rehearsal {
        database,
        config,
        store,
        ..
    } = &rehearsal;
    run_round(config, store, 1).await;
    let dump = database.dump().await;
    assert_no_secrets(&dump);
    for phrase in ["access code", "Section", "memorandum"] {
        assert!(
            !dump.contains(phrase),
            "response or document text: {phrase}"
        );
    }
    let ring = canary_gen::key_file::load(&config.key_ring_file).unwrap();
    assert_eq!(
        canary_gen::scan::scan(&ring, dump.as_bytes()),
        vec![],
        "canaries in writing"
    );
    store.clone().close().await;
}

#[cfg(feature = "embedded-postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_postgres_holds_the_same_facts_and_keeps_them_over_a_restart() {
    let engine = simulate(small_engine(&["stale-pages"])).await;
    let workplace = Workplace::new();
    let endpoint = EndpointText {
        name: "rehearsal",
        base_url: &engine.base_url,
        context_tokens: WINDOW,
        more: "",
    };
    let config = workplace.config(&endpoint, OVERFLOW);
    let location = prober::store::Location::Embedded {
        directory: workplace.path().join("postgres"),
    };
    let store = Store::open(&location).await.unwrap();
    let report = run_round(&config, &store, 1).await;
    assert_eq!(report.verdict, "leak", "{report}");
    let before = store.counts().await.unwrap();
    assert_eq!(before.judged, before.probes);
    assert!(before.findings >= 1);
    store.close().await;

    let store = Store::open(&location).await.unwrap();
    assert_eq!(store.counts().await.unwrap(), before);
    let again = run_round(&config, &store, 2).await;
    assert!(again.recorded);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_drops_its_connections_again_and_again_loses_and_doubles_nothing() {
    let rehearsal = Rehearsal::new(&["stale-pages"], OVERFLOW).await;
    let Rehearsal {
        database,
        config,
        store,
        ..
    } = &rehearsal;
    let (executor, session) = ready(config, store).await;

    let round = run_with(config, &executor, &session, 1);
    let killer = async {
        let mut judged = 0;
        loop {
            let now = database
                .count("select count(*) from probes where verdict is not null")
                .await;
            if now > judged {
                judged = now;
                database
                    .count(
                        "select count(pg_terminate_backend(pid)) from pg_stat_activity
                         where datname = current_database() and pid <> pg_backend_pid()",
                    )
                    .await;
            }
        }
    };
    let report = tokio::select! {
        report = round => report,
        () = killer => unreachable!("it goes on for ever"),
    };
    assert_eq!(report.verdict, "leak", "{report}");
    assert!(report.recorded);
    let leaks = report
        .findings
        .iter()
        .filter(|finding| finding.kind == "leak")
        .count();
    assert_eq!(
        database
            .count("select count(*) from findings where kind = 'leak'")
            .await,
        leaks as i64
    );
    assert_eq!(
        database
            .count("select count(*) from probes where verdict is null")
            .await,
        0
    );
    assert_eq!(
        database
            .count("select count(*) from rounds where state = 'finished'")
            .await,
        1
    );
    store.clone().close().await;
}
