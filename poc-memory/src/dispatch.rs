//! Runs requests: in the daemon if one runs, otherwise in this process. Requests and answers are the same
//! either way.

mod opening;
mod settings;

pub use opening::{LogInit, init_log, open_memory, shared_log};
pub use settings::{load_settings, load_settings_with_mistakes, setting_mistakes};

use crate::client::Client;
use crate::ops::{Ctx, Daemon, Host, OpDef, Principal, Progress};
use poc_agent::model::ModelRegistry;
use poc_agent::run_limiter::RunLimiter;
use poc_agent::{Catalog, CatalogChange, CatalogScan};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::cancellation::{self, CancellationToken};
use poc_graph::error::{Code, Error, Result};
use poc_notes::Memory;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time limit for waiting for a store that another command uses, or a daemon that does not serve it yet.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to the memory of a profile.
pub enum Connection {
    /// A daemon has the memory open.
    Daemon(Client),
    /// This process has the memory open.
    InProcess(Box<InProcess>),
}

impl Connection {
    /// Connects to the daemon of a profile, or opens the memory if none runs.
    ///
    /// # Errors
    /// `locked` when another process holds the store longer than five seconds without serving a
    /// socket.
    #[expect(clippy::disallowed_methods, reason = "a store that becomes free sends no signal")]
    pub fn open(paths: Paths, config: Config) -> Result<Connection> {
        let start = Instant::now();
        loop {
            cancellation::check()?;
            if let Some(client) = connect(&paths, &config)? {
                return Ok(Connection::Daemon(client));
            }
            match InProcess::open(paths.clone(), config.clone()) {
                Err(error) if error.code == Code::Locked && start.elapsed() < LOCK_TIMEOUT => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                opened => return Ok(Connection::InProcess(Box::new(opened?))),
            }
        }
    }

    /// The same connection on behalf of another actor.
    pub fn acting_for(mut self, actor: Principal) -> Connection {
        match &mut self {
            Connection::Daemon(client) => client.act_for(actor),
            Connection::InProcess(process) => process.actor = actor,
        }
        self
    }

    /// Damage that this process found and repaired when it opened the memory. Waits until the indexes have loaded their
    /// files. A daemon reports its own repairs in its status.
    pub fn recovered(&self) -> Vec<String> {
        match self {
            Connection::Daemon(_) => Vec::new(),
            Connection::InProcess(process) => {
                process.memory.store.wait_loaded();
                process.memory.store.recovery().lines()
            }
        }
    }

    /// The agents that are paused because too many of their runs failed, each with the command that resumes it. A
    /// daemon reports them in its status.
    ///
    /// # Errors
    /// Those of reading the agents.
    pub fn paused_agents(&self) -> Result<Vec<String>> {
        match self {
            Connection::Daemon(_) => Ok(Vec::new()),
            Connection::InProcess(process) => {
                Catalog::read(&process.memory)?.paused_by_failures(&process.memory)
            }
        }
    }

    /// The last change up to which another machine has erased history, if this process has opened a copy of the shared
    /// log that still has it. A daemon removes it by itself.
    ///
    /// # Errors
    /// Those of the shared log.
    pub fn erased_elsewhere(&self) -> Result<Option<u64>> {
        match self {
            Connection::Daemon(_) => Ok(None),
            Connection::InProcess(process) => process.memory.store.erased_elsewhere(),
        }
    }

    /// What is damaged, if this process opened the memory for reading only because of it. A daemon reports damage in
    /// its status.
    pub fn damage(&self) -> Option<&str> {
        match self {
            Connection::Daemon(_) => None,
            Connection::InProcess(process) => process.memory.store.damage(),
        }
    }

    /// Runs an op; `progress` is called as it advances.
    pub fn call(&mut self, op: &OpDef, args: Value, progress: &dyn Fn(Progress)) -> Result<Value> {
        match self {
            Connection::Daemon(client) => client.call(op.name, args, progress),
            Connection::InProcess(process) => process.call(op, args, progress),
        }
    }
}

/// The daemon of a profile; `None` when none runs.
pub fn connect(paths: &Paths, config: &Config) -> Result<Option<Client>> {
    Client::connect(&paths.socket(), config.daemon.max_frame_bytes, config.daemon.handshake_timeout)
}

/// The daemon of a profile; an error when none runs.
pub fn connect_daemon(paths: &Paths, config: &Config) -> Result<Client> {
    connect(paths, config)?.ok_or_else(no_daemon)
}

fn no_daemon() -> Error {
    Error::unavailable("no daemon runs for this store").hint("start one with `poc-memory daemon start`")
}

/// The memory, opened in this process.
pub struct InProcess {
    memory: Memory,
    actor: Principal,
    catalog: OnceLock<Arc<Catalog>>,
    models: ModelRegistry,
}

impl InProcess {
    /// Opens the memory of a profile.
    pub fn open(paths: Paths, config: Config) -> Result<InProcess> {
        let memory = open_memory(paths, config)?;
        for note in memory.store.recovery().lines() {
            tracing::warn!("{note}");
        }
        Ok(InProcess {
            memory,
            actor: Principal::Person,
            catalog: OnceLock::new(),
            models: poc_models::registry(),
        })
    }

    fn call(&self, op: &OpDef, args: Value, progress: &dyn Fn(Progress)) -> Result<Value> {
        let ctx = Ctx { memory: &self.memory, host: self, actor: self.actor, may_write: true, progress };
        let answer = op.run(&ctx, args);
        // A failure is only logged, because the op itself has succeeded.
        if let Err(error) = self.memory.flush() {
            tracing::warn!(
                "the updates of weights, edges and samples by this command were not saved: {error}"
            );
        }
        answer
    }
}

impl Host for InProcess {
    fn catalog(&self) -> Result<Arc<Catalog>> {
        if let Some(catalog) = self.catalog.get() {
            return Ok(catalog.clone());
        }
        let catalog = Arc::new(Catalog::load(&self.memory)?);
        Ok(self.catalog.get_or_init(|| catalog).clone())
    }

    fn reload(&self) -> Result<(Arc<Catalog>, Vec<CatalogChange>)> {
        let scan = CatalogScan::new(&self.memory, true)?;
        scan.save(&self.memory, &scan.catalog)?;
        Ok((Arc::new(scan.catalog.clone()), scan.changes()))
    }

    fn calls(&self) -> CancellationToken {
        // The process ends with its op, so model calls are never cancelled.
        CancellationToken::new()
    }

    fn models(&self) -> ModelRegistry {
        self.models.clone()
    }

    fn run_limiter(&self) -> RunLimiter {
        // This process runs one op only.
        RunLimiter::default()
    }

    fn daemon(&self) -> Result<&dyn Daemon> {
        Err(no_daemon())
    }
}
