//! The daemon's side of the interface that ops use to reach their process.

use crate::serve::rest::{self, MCP_PATH};
use crate::sessions::SessionScope;
use crate::shared::Shared;
use crate::watch;
use poc_agent::model::{CancellationToken, ModelRegistry};
use poc_agent::pause::Paused;
use poc_agent::run_limiter::RunLimiter;
use poc_agent::schedule::local_zone;
use poc_agent::{Catalog, CatalogChange, ledger, scheduler};
use poc_graph::error::Result;
use poc_memory::ops::{Daemon, DaemonStatus, Host, PageLink};
use poc_notes::vault::{self, VaultStatus};
use poc_notes::{Memory, freshness};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

impl Host for Shared {
    fn catalog(&self) -> Result<Arc<Catalog>> {
        Ok(self.catalog.load_full())
    }

    fn reload(&self) -> Result<(Arc<Catalog>, Vec<CatalogChange>)> {
        watch::reload(self)
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

impl Daemon for Shared {
    fn status(&self) -> DaemonStatus {
        let catalog = self.catalog.load();
        let mut agents = BTreeMap::new();
        let mut problems: Vec<String> = freshness::read_only(&self.memory).into_iter().collect();
        problems.extend(catalog.problems.iter().cloned());
        for (name, entry) in &catalog.agents {
            let paused = match ledger::state(&self.memory, name) {
                Ok(state) => entry.paused(&state, self.memory.now()),
                Err(error) => {
                    problems.push(error.line());
                    None
                }
            };
            *agents.entry(entry.status(paused.as_ref()).to_owned()).or_default() += 1;
            // A pause that a person asked for is not a problem.
            let failing = paused.filter(|paused| matches!(paused, Paused::Failing { .. }));
            problems.extend(failing.map(|paused| format!("agent `{name}`: {}", paused.line(name))));
            problems.extend(entry.errors.iter().map(|error| format!("agent `{name}`: {}", error.line())));
        }
        let running = ledger::running(&self.memory).unwrap_or_else(|error| {
            problems.push(error.line());
            Vec::new()
        });
        problems.extend(self.models.suspension(&self.memory.config, self.memory.now()));
        let next = scheduler::next_run(&self.memory, &catalog, local_zone()).unwrap_or_else(|error| {
            problems.push(error.line());
            None
        });
        let vaults = all_vaults(&self.memory).unwrap_or_else(|error| {
            problems.push(error.line());
            Vec::new()
        });
        let (config, address) = (&self.memory.config, self.http.get());
        DaemonStatus {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").into(),
            started: self.started,
            store: self.memory.paths.store().display().to_string(),
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
            recovered: self.memory.store.recovery().notes.clone(),
            settings: self.memory.fingerprint.clone(),
        }
    }

    fn page_link(&self, read_only: bool) -> Result<PageLink> {
        let mut address = rest::listen_for_page(self)?;
        // A server that listens everywhere is reached by the name of this machine.
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        let scope = if read_only { SessionScope::ReadOnly } else { SessionScope::Person };
        let (code, expires) = self.sessions.code(scope, self.memory.now())?;
        Ok(PageLink { url: format!("http://{address}{}{code}", rest::SIGN_IN_PATH), expires })
    }

    fn stop(&self) {
        tracing::info!("stop requested");
        Shared::stop(self);
    }

    fn follow(&self, transcript: &Path) {
        self.transcripts.follow(transcript);
    }

    fn vaults_changed(&self) {
        self.vaults.notify_one();
    }
}

/// The state of the vaults of all tenants.
fn all_vaults(memory: &Memory) -> Result<Vec<VaultStatus>> {
    let tenants = memory.store.tenants()?;
    let states = tenants.iter().map(|(tenant, _)| vault::status(&memory.of(tenant)));
    Ok(states.collect::<Result<Vec<_>>>()?.concat())
}
