//! The stage of the demo: two simulated endpoints, keys and a configuration file, all of the real kind.

use super::CommandError;
use crate::config::{Config, Database};
use crate::evidence;
use canary_gen::key_file;
use ring::rand::SecureRandom as _;
use simulator::{Fault, FaultSetting, Simulator};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The sizes of the founding incident.
pub(super) const CONTEXT_TOKENS: u32 = 1_048_576;
pub(super) const PREFILL_TOKENS: u32 = 681_280;
pub(super) const HEALTHY: &str = "healthy";
pub(super) const INCIDENT: &str = "incident";
const TENANTS: [&str; 3] = ["acme", "globex", "initech"];
const MODEL: &str = "simulated-1m";

pub(super) struct Stage {
    pub(super) config_file: PathBuf,
    folder: Folder,
    servers: JoinSet<()>,
    stop: CancellationToken,
}

enum Folder {
    /// Goes when the demo ends.
    Temporary(tempfile::TempDir),
    /// Stays.
    Kept(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }
}

impl Stage {
    pub(super) async fn set_up(data_dir: Option<PathBuf>) -> Result<Self, CommandError> {
        let folder = match data_dir {
            Some(path) => {
                let make = || DirBuilder::new().recursive(true).mode(0o700).create(&path);
                make().map_err(CommandError::io(format!("make `{}`", path.display())))?;
                let path = fs::canonicalize(&path)
                    .map_err(CommandError::io(format!("find `{}`", path.display())))?;
                Folder::Kept(path)
            }
            None => {
                let made = tempfile::Builder::new().prefix("prober-demo-").tempdir();
                Folder::Temporary(made.map_err(CommandError::io("make a temporary folder"))?)
            }
        };
        let ring_file = folder.path().join("canary.keys");
        if !ring_file.exists() {
            key_file::generate(&ring_file)?;
        }
        let evidence_file = folder.path().join("evidence.keys");
        if !evidence_file.exists() {
            evidence::key_file::generate(&evidence_file)?;
        }
        let keys = tenant_keys(folder.path())?;
        let mut stage = Self {
            config_file: folder.path().join("demo.toml"),
            folder,
            servers: JoinSet::new(),
            stop: CancellationToken::new(),
        };
        let healthy = stage.serve(&keys, Vec::new()).await?;
        let always = FaultSetting {
            fault: Fault::StalePages,
            probability: 1.0,
        };
        let incident = stage.serve(&keys, vec![always]).await?;
        let text = configuration(
            stage.folder.path(),
            [(HEALTHY, healthy), (INCIDENT, incident)],
        );
        fs::write(&stage.config_file, text).map_err(CommandError::io(format!(
            "write `{}`",
            stage.config_file.display()
        )))?;
        Ok(stage)
    }

    /// Starts an endpoint of the incident's size on a free port of the loopback address.
    async fn serve(
        &mut self,
        keys: &[(String, String)],
        faults: Vec<FaultSetting>,
    ) -> Result<SocketAddr, CommandError> {
        let simulator = Simulator::new(simulator::Config {
            model: MODEL.to_owned(),
            context_tokens: CONTEXT_TOKENS,
            prefill_tokens: PREFILL_TOKENS,
            keys: keys.iter().cloned().map(Into::into).collect(),
            faults,
            ..simulator::Config::default()
        })?;
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .map_err(CommandError::io("listen on the loopback address"))?;
        let address = listener
            .local_addr()
            .map_err(CommandError::io("read the listening address"))?;
        let stop = self.stop.clone();
        self.servers.spawn(async move {
            if let Err(error) = simulator.serve(listener, stop).await {
                tracing::error!(error = %error, "a simulated endpoint stopped");
            }
        });
        Ok(address)
    }

    /// Lets the folder stay after the end.
    pub(super) fn keep(&mut self) {
        let path = self.folder.path().to_owned();
        if let Folder::Temporary(folder) = std::mem::replace(&mut self.folder, Folder::Kept(path)) {
            let _ = folder.keep();
        }
    }

    pub(super) fn how_to_look(&self, embedded_url: Option<&str>) -> String {
        let config = self.config_file.display();
        let mut text = String::from(
            "\nEverything is left running. Look at it from another terminal (Ctrl-C here ends it):\n",
        );
        // Writing into a String cannot fail.
        let _ = match embedded_url {
            Some(url) => write!(
                text,
                "  the facts:        psql '{url}' -c 'select * from findings'\n  \
                   one more round:   DATABASE_URL='{url}' prober once --config {config} --scenario overflow --endpoint {INCIDENT}\n  \
                   (the embedded Postgres takes one connection at a time)"
            ),
            None => write!(
                text,
                "  the facts:        psql \"$DATABASE_URL\" -c 'select * from findings'\n  \
                   one more round:   prober once --config {config} --scenario overflow --endpoint {INCIDENT}"
            ),
        };
        let _ = write!(
            text,
            "\n  the endpoints:    {config} has their addresses; keys and database lie beside it"
        );
        text
    }

    pub(super) async fn tear_down(mut self) {
        self.stop.cancel();
        while self.servers.join_next().await.is_some() {}
    }
}

pub(super) fn describe(config: &Config) -> &'static str {
    match config.store.database {
        Database::Embedded => "embedded",
        Database::Server { .. } => "the server of DATABASE_URL",
    }
}

/// A key for each tenant, in a file of its own that only its owner may read.
fn tenant_keys(folder: &Path) -> Result<Vec<(String, String)>, CommandError> {
    TENANTS
        .iter()
        .map(|tenant| {
            let key = random_key()?;
            let path = folder.join(format!("{tenant}.key"));
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            options
                .open(&path)
                .and_then(|mut file| writeln!(file, "{key}"))
                .map_err(CommandError::io(format!("write `{}`", path.display())))?;
            Ok(((*tenant).to_owned(), key))
        })
        .collect()
}

fn random_key() -> Result<String, CommandError> {
    let mut bytes = [0; 16];
    ring::rand::SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| CommandError::Key(canary_gen::key::RandomError.into()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn configuration(folder: &Path, endpoints: [(&str, SocketAddr); 2]) -> String {
    let mut text = format!(
        "data_dir = {:?}\nkey_ring_file = \"canary.keys\"\n\n\
         [evidence]\nkey_file = \"evidence.keys\"\n\n\
         # The embedded Postgres takes one connection, through DATABASE_URL too.\n\
         [store]\nmax_connections = 1\n\n[log]\nlevel = \"warn\"\n",
        folder
    );
    for (name, address) in endpoints {
        let _ = write!(
            text,
            "\n[[endpoints]]\nname = \"{name}\"\napi = \"openai-chat\"\nbase_url = \"http://{address}/v1\"\n\
             model = \"{MODEL}\"\ncontext_tokens = {CONTEXT_TOKENS}\n"
        );
        for tenant in TENANTS {
            let _ = write!(
                text,
                "[[endpoints.tenants]]\nname = \"{tenant}\"\nkey_file = \"{tenant}.key\"\n"
            );
        }
    }
    text.push_str(
        "\n[[scenarios]]\nkind = \"overflow\"\nevery = \"1h\"\nladder = [0.5, 0.72, 0.9, 0.985, 1.25]\n\
         donor_fraction = 0.6\n\n[[scenarios]]\nkind = \"crosstalk\"\nevery = \"1h\"\ntokens = 20000\nwaves = 3\n\
         stride_tokens = 1000\n",
    );
    text
}
