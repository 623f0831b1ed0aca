//! What the probers share: engines behind doors that note who comes, a configuration, a database.

use super::member::{FastClock, Member, header, tail};
use super::relay::Door;
use super::server::Server;
use super::support;
use super::support::wire::Wire;
use super::support::{TENANTS, Workplace, simulate, small_engine};
use canary_gen::key_file;
use prober::clock::{Clock as _, SystemClock};
use prober::config;
use prober::plan::Timetable;
use prober::round::Session;
use prober::store::{Decided, Store};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use time::macros::datetime;

pub(crate) const START: OffsetDateTime = datetime!(2026-12-01 10:00 UTC);
pub(crate) const END: OffsetDateTime = datetime!(2026-12-01 10:10 UTC);
/// So many times as fast as the sun.
pub(crate) const SPEED: i32 = 15;
/// By the true clock.
pub(crate) const LEASE: Duration = Duration::from_secs(2);
pub(crate) const ENDPOINTS: usize = 40;
/// By the true clock.
const PATIENCE: Duration = Duration::from_secs(120);
/// One engine of so many has a fault.
const ENGINES: usize = 4;

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) clock: FastClock,
    pub(crate) timetable: Timetable,
    /// In the order of the endpoints.
    pub(crate) doors: Vec<Door>,
    wires: Vec<Option<Wire>>,
    workplace: Workplace,
    _engines: Vec<support::Endpoint>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let server = Server::start().await;
        let store = Store::open(&server.location()).await.unwrap();
        let mut engines = Vec::new();
        for number in 0..ENGINES {
            let faults: &[&str] = if number == 0 {
                &["semantic-cache-without-tenant=0.3"]
            } else {
                &[]
            };
            engines.push(simulate(small_engine(faults)).await);
        }
        // The preparations so far do not count.
        let clock = FastClock {
            since: SystemClock.now(),
        };
        let mut doors = Vec::new();
        for number in 0..ENDPOINTS {
            let url = &engines[number % ENGINES].base_url;
            let address = url.trim_start_matches("http://").trim_end_matches("/v1");
            doors.push(Door::before(address.to_owned(), clock).await);
        }
        let mut wires = Vec::new();
        for _ in 0..super::MEMBERS {
            wires.push(Some(Wire::to_server(&server.url).await));
        }
        let workplace = Workplace::new();
        let path = workplace.path().join("prober.toml");
        std::fs::write(&path, text(&doors)).unwrap();
        let variables = |name: &str| (name == "FLEET_MEMBER").then(|| "none".into());
        let config =
            config::load_with(&path, &variables).unwrap_or_else(|errors| panic!("{errors}"));
        let ring = key_file::load(&config.key_ring_file).unwrap();
        let label = ring.minting().id().to_string();
        let timetable = Timetable::new(&config, &label);
        for endpoint in &config.endpoints {
            let session = Session::open(&store, endpoint, &clock).await.unwrap();
            let names = timetable.scenarios(&endpoint.name);
            store.open_lines(session.id(), &names, START).await.unwrap();
        }
        store.close().await;
        Self {
            server,
            clock,
            timetable,
            doors,
            wires,
            workplace,
            _engines: engines,
        }
    }

    /// A member, started.
    pub(crate) fn member(&mut self, number: usize) -> Member {
        let wire = self.wires[number].take().expect("one member of a number");
        let mut member = Member::new(number, wire, self.folder().join(format!("member-{number}")));
        member.start(self);
        member
    }

    pub(crate) fn folder(&self) -> &Path {
        self.workplace.path()
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.folder().join("prober.toml")
    }

    /// Waits until every tick up to the end has its outcome. Nothing happens to the members meanwhile.
    pub(crate) async fn until_decided(&self, members: &mut [Member]) {
        let until = Instant::now() + PATIENCE;
        loop {
            for member in &mut *members {
                member.attend(self);
            }
            let undecided = self.undecided().await;
            if undecided.is_empty() {
                return;
            }
            if Instant::now() > until {
                panic!("not decided upon: {}", self.what_is_with(&undecided).await);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Everything that may say why nobody decides upon what is due at these endpoints.
    async fn what_is_with(&self, endpoints: &[String]) -> String {
        let rows: Vec<String> = sqlx::query_scalar(
            "select concat_ws(' ', endpoints.name, leases.holder, leases.expires_at - clock_timestamp(), lines.decided_until,
                              (select string_agg(concat_ws(' ', state, due_at, prober), '; ' order by id) from rounds
                               where rounds.endpoint_id = endpoints.id and state in ('running', 'lost')))
             from endpoints join leases on leases.endpoint_id = endpoints.id join lines on lines.endpoint_id = endpoints.id
             where endpoints.name = any($1)",
        )
        .bind(endpoints)
        .fetch_all(&mut self.server.connect().await)
        .await
        .unwrap();
        let logs = (0..super::MEMBERS).map(|number| {
            let log = self.folder().join(format!("member-{number}.log"));
            format!("member {number}:\n{}", tail(&log))
        });
        rows.into_iter().chain(logs).collect::<Vec<_>>().join("\n")
    }

    /// Endpoints with ticks up to the end that have no outcome.
    async fn undecided(&self) -> Vec<String> {
        // The tick of a round under way has no outcome yet: whoever carries it out may have died.
        let lines: Vec<(String, String, OffsetDateTime)> = sqlx::query_as(
            "select endpoints.name, lines.name,
                    least(decided_until, (select min(due_at) - interval '1 millisecond' from rounds
                                          where rounds.endpoint_id = lines.endpoint_id and state = 'running'))
             from lines join endpoints on endpoints.id = endpoint_id",
        )
        .fetch_all(&mut self.server.connect().await)
        .await
        .unwrap();
        let mut decided: HashMap<String, Decided> = HashMap::new();
        for (endpoint, name, until) in lines {
            decided.entry(endpoint).or_default().insert(name, until);
        }
        let is_left = |(endpoint, decided): &(String, Decided)| {
            let due = self.timetable.due(endpoint, decided, END);
            !due.orders.is_empty()
        };
        let left = decided.into_iter().filter(is_left);
        left.map(|(endpoint, _)| endpoint).collect()
    }
}

/// Whether a member has the label that some endpoints ask for.
pub(crate) fn is_local(member: usize) -> bool {
    member < 2
}

/// Whether an endpoint asks for that label.
pub(crate) fn wants_local(endpoint: usize) -> bool {
    endpoint % 8 == 3
}

/// Tokens a day of an endpoint that has a budget: enough for a few rounds, or for none at all.
pub(crate) fn budget(endpoint: usize) -> Option<u64> {
    match endpoint % 10 {
        2 => Some(24_000),
        7 => Some(4_000),
        _ => None,
    }
}

pub(crate) fn name(endpoint: usize) -> String {
    format!("endpoint-{endpoint}")
}

fn text(doors: &[Door]) -> String {
    let mut text = "data_dir = \"state\"\nkey_ring_file = \"canary.keys\"\n[evidence]\nkey_file = \"evidence.keys\"\n".to_owned();
    for (number, door) in doors.iter().enumerate() {
        writeln!(
            text,
            "[[endpoints]]\nname = \"{}\"\napi = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n\
             model = \"simulated-1m\"\ncontext_tokens = 16384\n{}",
            name(number),
            door.address,
            header(),
        )
        .unwrap();
        if wants_local(number) {
            text.push_str("labels = [\"local\"]\n");
        }
        if let Some(budget) = budget(number) {
            writeln!(text, "budget = {{ tokens_per_day = {budget} }}").unwrap();
        }
        for (tenant, _) in TENANTS {
            writeln!(
                text,
                "[[endpoints.tenants]]\nname = \"{tenant}\"\nkey_file = \"{tenant}.key\""
            )
            .unwrap();
        }
    }
    text.push_str(
        "[[scenarios]]\nkind = \"crosstalk\"\nevery = \"1m\"\njitter = \"10s\"\n\
         tokens = 800\nrequests = 1\nwaves = 2\nstride_tokens = 200\n",
    );
    text
}
