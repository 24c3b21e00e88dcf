//! The daemon's side of the interface that ops use to reach their process.

use crate::problems::{self, HealthReport};
use crate::reload;
use crate::serve::rest::{self, MCP_PATH};
use crate::sessions::{CODE_LIFETIME, SessionAccess, SessionGrant};
use crate::sign_in_file;
use crate::state::DaemonState;
use poc_agent::model::ModelRegistry;
use poc_agent::run_limiter::RunLimiter;
use poc_agent::schedule::local_zone;
use poc_agent::{Catalog, CatalogChange, ledger, scheduler};
use poc_graph::Tuple;
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::Result;
use poc_memory::ops::{Daemon, DaemonStatus, Host, PageLink, SharedLogOutput};
use poc_notes::vault::{self, VaultStatus};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

impl Host for DaemonState {
    fn catalog(&self) -> Result<Arc<Catalog>> {
        Ok(self.catalog.load_full())
    }

    fn reload(&self) -> Result<(Arc<Catalog>, Vec<CatalogChange>)> {
        reload::reload(self)
    }

    fn calls(&self) -> CancellationToken {
        self.calls.clone()
    }

    fn models(&self) -> ModelRegistry {
        self.models.clone()
    }

    fn run_limiter(&self) -> RunLimiter {
        self.run_limiter.clone()
    }

    fn daemon(&self) -> Result<&dyn Daemon> {
        Ok(self)
    }
}

impl Daemon for DaemonState {
    fn status(&self) -> DaemonStatus {
        let HealthReport { agents, mut problems, waiting } = problems::find(self);
        let catalog = self.catalog.load();
        let backlog = problems::backlog(self).unwrap_or_else(|error| {
            problems.push(error.line());
            BTreeMap::new()
        });
        let running = ledger::running(&self.memory).unwrap_or_else(|error| {
            problems.push(error.line());
            Vec::new()
        });
        let next = scheduler::next_run(&self.memory, &catalog, local_zone()).unwrap_or_else(|error| {
            problems.push(error.line());
            None
        });
        let vaults = all_vaults(self).unwrap_or_else(|error| {
            problems.push(error.line());
            Vec::new()
        });
        let (config, address) = (&self.memory.config, self.http.get());
        DaemonStatus {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").into(),
            started: self.started,
            store: self.memory.paths.store().display().to_string(),
            shared_log: SharedLogOutput::with_others(&self.memory.store),
            socket: self.memory.paths.socket().display().to_string(),
            rest: address.filter(|_| config.rest.enabled).map(|address| format!("http://{address}")),
            mcp: address.filter(|_| config.mcp.http).map(|address| format!("http://{address}{MCP_PATH}")),
            page: address.filter(|_| config.page.enabled).map(|address| format!("http://{address}")),
            agents,
            running: running.into_iter().map(|run| run.agent).collect(),
            next,
            reloaded: *self.reloaded.lock(),
            vaults,
            problems,
            waiting,
            backlog,
            recovered: self.recovered(),
            settings: self.memory.startup_fingerprint.clone(),
        }
    }

    fn page_link(&self, read_only: bool, tenant: &Tuple) -> Result<PageLink> {
        let mut address = rest::listen_for_page(self)?;
        // An unspecified address cannot be opened in a browser; use the loopback address.
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        let scope = if read_only { SessionAccess::ReadOnly } else { SessionAccess::Person };
        let grant = SessionGrant { scope, tenant: tenant.clone() };
        let (code, expires) = self.sessions.create_code(grant, self.memory.now())?;
        let file = self.memory.paths.sign_in_file();
        sign_in_file::delete_with_code_after(CODE_LIFETIME.std(), file, code.clone());
        Ok(PageLink { url: format!("http://{address}{}{code}", rest::SIGN_IN_PATH), expires })
    }

    fn stop(&self) {
        tracing::info!("stop requested");
        DaemonState::stop(self);
    }

    fn follow(&self, transcript: &Path) {
        self.transcripts.follow(transcript);
    }

    fn capture_failure(&self, transcript: &Path) -> Option<String> {
        self.capture_failures.of(transcript, self.memory.now())
    }

    fn vaults_changed(&self) {
        self.vaults.notify_one();
    }
}

/// The state of the vaults of all tenants.
fn all_vaults(state: &DaemonState) -> Result<Vec<VaultStatus>> {
    let tenants = state.bound_tenants.find(&state.memory_now())?;
    let states = tenants.iter().map(|tenant| vault::status(&tenant.memory));
    Ok(states.collect::<Result<Vec<_>>>()?.concat())
}
