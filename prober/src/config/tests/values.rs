//! What a valid file says, and what it leaves out.

use super::*;
use crate::incident::Rules;

#[test]
fn what_is_left_out_gets_its_default() {
    let config = load_text(SMALLEST).unwrap();
    assert_eq!(
        config.data_dir,
        PathBuf::from("/home/tester/.local/state/prober")
    );
    assert_eq!(config.key_ring_file, config.data_dir.join("canary.keys"));
    assert!(matches!(config.store.database, Database::Embedded));
    assert_eq!(config.store.max_connections, 8);
    assert_eq!(config.spool.max_bytes, 1 << 30);
    assert_eq!(config.serve.listen, Some("127.0.0.1:9797".parse().unwrap()));
    assert!(config.evidence.keys.is_none());
    assert_eq!(config.evidence.max_bytes, 1 << 20);
    assert_eq!(
        config.evidence.retention,
        Duration::from_secs(30 * 24 * 3_600)
    );
    let rules = Rules {
        reopen_within: time::Duration::days(7),
        clean_for: time::Duration::days(1),
    };
    assert_eq!(config.incidents, rules);
    assert_eq!(
        (config.log.format, config.log.level),
        (LogFormat::Human, tracing::Level::INFO)
    );
    let endpoint = config.endpoint("one").unwrap();
    assert!(endpoint.stream);
    assert_eq!(
        (endpoint.api.clone(), endpoint.page_tokens),
        (Api::OpenAiChat, 64)
    );
    assert_eq!(endpoint.limits, Limits::default());
    assert!(
        endpoint
            .tenants
            .iter()
            .all(|tenant| tenant.credential.is_none())
    );
    let expected = Scenario {
        name: "crosstalk".to_owned(),
        endpoints: vec!["one".to_owned()],
        every: Duration::from_secs(900),
        jitter: Duration::from_secs(90),
        form: Form::Code,
        min_sensitivity: 0.5,
        max_answer_tokens: 96,
        recipe: Recipe::Crosstalk(Load {
            tokens: 1_500,
            requests: 1,
            waves: 4,
            stride_tokens: 400,
        }),
    };
    assert_eq!(config.scenario("one", "crosstalk"), Some((0, &expected)));
    assert_eq!(config.scenario("two", "crosstalk"), None);
}

#[test]
fn a_full_file_says_it_all() {
    let (dir, _) = copy_of("good");
    let config = load_with(&dir.path().join("full.toml"), &variable).unwrap();
    assert_eq!(config.data_dir, dir.path().join("state"));
    assert_eq!(
        config.key_ring_file,
        PathBuf::from("/etc/prober/canary.keys")
    );
    assert_eq!(config.store.max_connections, 20);
    assert_eq!(config.spool.max_bytes, 64 << 20);
    assert_eq!(config.serve.listen, Some("[::1]:9000".parse().unwrap()));
    assert!(config.evidence.keys.is_some());
    assert_eq!(config.evidence.max_bytes, 256 << 10);
    let rules = Rules {
        reopen_within: time::Duration::ZERO,
        clean_for: time::Duration::hours(36),
    };
    assert_eq!(config.incidents, rules);
    assert_eq!(
        (config.log.format, config.log.level),
        (LogFormat::Json, tracing::Level::DEBUG)
    );
    let [prod, lab, own] = config.endpoints.as_slice() else {
        panic!("{} endpoints", config.endpoints.len());
    };
    assert_eq!(prod.base_url, "https://api.example.com/v1");
    let key = |at: usize| {
        prod.tenants[at]
            .credential
            .as_ref()
            .map(|key| key.expose_secret().to_owned())
    };
    assert_eq!(key(0).as_deref(), Some("sk-hunter2-acme"));
    assert_eq!(
        key(1).as_deref(),
        Some("sk-hunter2-file"),
        "the line break is cut off"
    );
    assert_eq!(
        (prod.stream, prod.page_tokens),
        (false, 16),
        "as in [defaults]"
    );
    assert_eq!(
        (lab.stream, lab.page_tokens),
        (true, 256),
        "as in the endpoint"
    );
    assert_eq!(prod.limits.total_timeout, Duration::from_secs(900));
    assert_eq!(lab.limits.total_timeout, Duration::from_millis(1_500));
    assert_eq!(
        lab.limits.response_bytes,
        1 << 20,
        "as in [defaults.limits]"
    );
    assert_eq!(lab.limits.events, Limits::default().events);
    assert_eq!(lab.budget.tokens_per_day, Some(50_000_000));
    assert_eq!(
        lab.budget.money_per_day.map(Money::micros),
        Some(12_500_000)
    );
    assert_eq!(lab.budget.prices.output.micros(), 2_190_001);
    assert_eq!(lab.budget.currency, "EUR");
    assert!(!prod.budget.is_limited());
    assert_eq!(
        prod.budget.prices.input.micros(),
        500_000,
        "as in [defaults.budget]"
    );
    assert!(matches!(own.api, Api::Template(_)));
    let ways = |at: usize| &own.tenants[at].connection;
    assert!(ways(0).ca.is_some() && ways(0).identity.is_some());
    assert!(matches!(ways(1).proxy, Proxy::Through(_)));
    assert!(lab.tenants[0].connection.identity.is_none());
    assert!(lab.tenants[1].connection.identity.is_some());
    assert!(matches!(lab.tenants[1].connection.proxy, Proxy::Off));
    let mut names: Vec<&str> = own.tenants[0]
        .extras
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["x-org", "x-session-affinity", "x-zone"]);
    assert_eq!(own.tenants[1].extras.omit, ["unwanted"]);
    let fields =
        serde_json::json!({"user": "b", "options": {"seed": 7, "stops": ["a", 1.5, true]}});
    assert_eq!(
        serde_json::Value::from(lab.tenants[1].extras.fields.clone()),
        fields
    );
    assert!(lab.tenants[0].extras.fields.is_empty());
    let names: Vec<&str> = config
        .scenarios
        .iter()
        .map(|scenario| scenario.name.as_str())
        .collect();
    assert_eq!(names[..3], ["overflow", "crosstalk", "crosstalk-long"]);
    let mut kinds: Vec<&str> = config
        .scenarios
        .iter()
        .map(|scenario| scenario.recipe.as_str())
        .collect();
    kinds.dedup();
    assert_eq!(kinds.len(), 11, "every kind: {kinds:?}");
    let identity = &config.scenarios.last().unwrap().recipe;
    assert!(
        matches!(identity, Recipe::Identity { id_fields, .. } if *id_fields == ["rid", "request_id"])
    );
    assert_eq!(
        config.scenarios[0].endpoints,
        ["glm-prod", "lab", "own"],
        "all, in the file's order"
    );
    let Recipe::Overflow {
        ladder,
        donor_fraction,
    } = &config.scenarios[0].recipe
    else {
        panic!("an overflow stands first");
    };
    assert_eq!(
        (ladder.as_slice(), *donor_fraction),
        ([0.5, 1.0, 4.0].as_slice(), 1.0)
    );
}
