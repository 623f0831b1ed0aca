//! The raw tables: which keys there are and what type each has. Nothing here is checked further.
//!
//! This is the list of all keys; `docs/config.md` must explain each (a test sees to it).

use super::document::{Cursor, Field};
use super::free::{Entries, TextSource};
use super::from_toml::{Bytes, FromToml, raw_table};
use super::mistake::Place;
use crate::budget::Money;
use serde_json::Value;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A list whose elements may each be wrong.
pub(super) type List<T> = Vec<Field<T>>;

raw_table!(RawConfig {
    data_dir: String,
    key_ring_file: String,
    store: RawStore,
    retention: RawRetention,
    fleet: RawFleet,
    spool: RawSpool,
    serve: RawServe,
    evidence: RawEvidence,
    incidents: RawIncidents,
    alerts: RawAlerts,
    receivers: List<RawReceiver>,
    drill: RawDrill,
    log: RawLog,
    defaults: RawDefaults,
    endpoints: List<RawEndpoint>,
    scenarios: List<RawScenario>,
});

raw_table!(RawStore {
    url: String,
    url_env: String,
    url_file: String,
    max_connections: i128,
});

raw_table!(RawRetention {
    probes: Duration,
    hourly_sums: Duration,
});

raw_table!(RawFleet {
    labels: List<String>,
    lease: Duration,
    rounds_at_once: i128,
});

raw_table!(RawSpool { max_bytes: Bytes });

raw_table!(RawServe { listen: String });

raw_table!(RawEvidence {
    key_env: String,
    key_file: String,
    max_bytes: Bytes,
    retention: Duration,
});

raw_table!(RawIncidents {
    reopen_within: Duration,
    clean_for: Duration,
});

raw_table!(RawAlerts {
    status_page: String,
    retention: Duration,
});

raw_table!(RawDrill {
    every: Duration,
    at: String,
    deadline: Duration,
});

raw_table!(RawReceiver {
    name: String,
    kind: String,
    min_severity: String,
    endpoints: List<String>,
    kinds: List<String>,
    drills: bool,
    quiet_hours: String,
    quiet_days: List<String>,
    time_zone: String,
    group_wait: Duration,
    allow_private_addresses: bool,
    ca_file: String,
    proxy: TextSource,
    url: TextSource,
    urls: List<TextSource>,
    secrets: List<RawSecret>,
    headers: Entries<TextSource>,
    routing_key: RawSecret,
    resend_every: Duration,
    smtp_host: String,
    smtp_port: i128,
    smtp_tls: String,
    smtp_user: String,
    smtp_password: RawSecret,
    from: String,
    to: List<String>,
});

raw_table!(RawLog {
    format: String,
    level: String,
});

raw_table!(RawDefaults {
    api: String,
    stream: bool,
    page_tokens: i128,
    limits: RawLimits,
    budget: RawBudget,
});

raw_table!(RawEndpoint {
    name: String,
    api: String,
    base_url: String,
    labels: List<String>,
    model: String,
    context_tokens: i128,
    stream: bool,
    page_tokens: i128,
    tokenizer: String,
    limits: RawLimits,
    budget: RawBudget,
    ca_file: String,
    client_cert_file: String,
    client_key_file: String,
    proxy: TextSource,
    template: RawTemplate,
    headers: Entries<TextSource>,
    fields: Entries<Value>,
    omit: List<String>,
    tenants: List<RawTenant>,
});

raw_table!(RawTemplate {
    path: String,
    body: Entries<Value>,
    answer: List<String>,
    finish: String,
    prompt_tokens: String,
    cached_tokens: String,
    completion_tokens: String,
    credential_header: String,
    documents: bool,
});

raw_table!(RawLimits {
    connect_timeout: Duration,
    first_byte_timeout: Duration,
    idle_timeout: Duration,
    total_timeout: Duration,
    response_bytes: Bytes,
    header_bytes: Bytes,
    line_bytes: Bytes,
    json_bytes: Bytes,
    events: i128,
});

raw_table!(RawBudget {
    tokens_per_day: i128,
    money_per_day: Money,
    input_price: Money,
    output_price: Money,
    currency: String,
});

raw_table!(RawTenant {
    name: String,
    key_env: String,
    key_file: String,
    no_key: bool,
    client_cert_file: String,
    client_key_file: String,
    headers: Entries<TextSource>,
    fields: Entries<Value>,
});

raw_table!(RawSecret {
    env: String,
    file: String,
});

raw_table!(RawScenario {
    name: String,
    kind: String,
    endpoints: List<String>,
    every: Duration,
    jitter: Duration,
    form: String,
    min_sensitivity: f64,
    max_answer_tokens: i128,
    tokens: i128,
    requests: i128,
    waves: i128,
    stride_tokens: i128,
    ladder: List<f64>,
    donor_fraction: f64,
    chunk_tokens: i128,
    cancel_within: Duration,
    samples: i128,
    id_fields: List<String>,
});

/// Every table with its keys, for the test of the documentation.
#[cfg(test)]
pub(super) const TABLES: &[(&str, &[&str])] = &[
    ("", RawConfig::KEYS),
    ("store", RawStore::KEYS),
    ("retention", RawRetention::KEYS),
    ("fleet", RawFleet::KEYS),
    ("evidence", RawEvidence::KEYS),
    ("incidents", RawIncidents::KEYS),
    ("alerts", RawAlerts::KEYS),
    ("receivers", RawReceiver::KEYS),
    ("drill", RawDrill::KEYS),
    ("log", RawLog::KEYS),
    ("defaults", RawDefaults::KEYS),
    ("endpoints", RawEndpoint::KEYS),
    ("endpoints.limits", RawLimits::KEYS),
    ("endpoints.budget", RawBudget::KEYS),
    ("endpoints.tenants", RawTenant::KEYS),
    ("endpoints.template", RawTemplate::KEYS),
    ("endpoints.headers", RawSecret::KEYS),
    ("scenarios", RawScenario::KEYS),
];
