//! `daemon status`

use crate::ops::text::minute;
use crate::ops::vault::lag;
use crate::ops::{Access, Ctx, DaemonStatus, Op, Route, TenantScope, Terminal, plural, second};
use poc_graph::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Show the state of the daemon: when it started, what it runs now, what is due next, and its problems.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct DaemonStatusRequest {}

impl Op for DaemonStatusRequest {
    const NAME: &'static str = "daemon status";
    const ACCESS: Access = Access::Read;
    const NEEDS_DAEMON: bool = true;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/daemon/status");
    const NAMES_COMMANDS: bool = true;
    type Output = DaemonStatus;

    fn run(self, ctx: &Ctx<'_>) -> Result<DaemonStatus> {
        Ok(ctx.host.daemon()?.status())
    }

    fn show(status: &DaemonStatus, _: &Terminal) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<9}{value}");
        };
        let started = second(status.started);
        line("running", format!("since {started}, pid {}, version {}", status.pid, status.version));
        line("store", status.store.clone());
        if let Some(log) = &status.shared_log {
            line("log", log.line());
        }
        line("socket", status.socket.clone());
        if let Some(address) = &status.rest {
            line("rest", address.clone());
        }
        if let Some(address) = &status.mcp {
            line("mcp", address.clone());
        }
        if let Some(address) = &status.page {
            line("page", address.clone());
        }
        let agents: Vec<String> =
            status.agents.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let reloaded = status.reloaded.map_or(String::new(), |at| format!(" (read {})", second(at)));
        line("agents", format!("{}{reloaded}", none_if_empty(&agents)));
        line("now", none_if_empty(&status.running));
        if let Some((agent, at)) = &status.next {
            line("next", format!("{agent} at {}", minute(Some(*at))));
        }
        for vault in &status.vaults {
            line("vault", format!("{}: {}, {}", vault.name, plural(vault.files, "file"), lag(vault)));
        }
        if !status.backlog.is_empty() {
            let backlog: Vec<String> =
                status.backlog.iter().map(|(agent, count)| format!("{agent} {count}")).collect();
            line("backlog", backlog.join(", "));
        }
        for what in &status.waiting {
            line("waiting", what.clone());
        }
        for problem in &status.problems {
            line("problem", problem.clone());
        }
        for note in &status.recovered {
            line("at start", note.clone());
        }
        text
    }
}

fn none_if_empty(list: &[String]) -> String {
    if list.is_empty() { "none".into() } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::time::Timestamp;

    #[test]
    fn the_status_is_shown_as_text() {
        let at = |text| Timestamp::parse(text).unwrap();
        let status = DaemonStatus {
            pid: 7,
            version: "0.1.0".into(),
            started: at("2026-11-21T08:00:00Z"),
            store: "/m/store".into(),
            shared_log: None,
            socket: "/m/daemon.sock".into(),
            rest: Some("http://127.0.0.1:9977".into()),
            mcp: Some("http://127.0.0.1:9977/mcp".into()),
            page: Some("http://127.0.0.1:9977".into()),
            agents: [("ok".to_owned(), 3), ("last-good".to_owned(), 1)].into(),
            running: vec!["linker".into()],
            next: Some(("replay".into(), at("2026-11-22T03:10:00Z"))),
            reloaded: Some(at("2026-11-21T09:00:00Z")),
            vaults: Vec::new(),
            problems: vec!["agent `x`: x.toml:3: unknown key `modle`".into()],
            waiting: vec!["2 proposals for a decision: `poc-memory agent review`".into()],
            backlog: [("facts".to_owned(), 12), ("linker".to_owned(), 3)].into(),
            recovered: vec!["the file `/m/store/view` was damaged".into()],
            settings: String::new(),
        };
        insta::assert_snapshot!(DaemonStatusRequest::show(&status, &Terminal::default()), @"
        running  since 2026-11-21 08:00:00Z, pid 7, version 0.1.0
        store    /m/store
        socket   /m/daemon.sock
        rest     http://127.0.0.1:9977
        mcp      http://127.0.0.1:9977/mcp
        page     http://127.0.0.1:9977
        agents   1 last-good, 3 ok (read 2026-11-21 09:00:00Z)
        now      linker
        next     replay at 2026-11-22 03:10Z
        backlog  facts 12, linker 3
        waiting  2 proposals for a decision: `poc-memory agent review`
        problem  agent `x`: x.toml:3: unknown key `modle`
        at start the file `/m/store/view` was damaged
        ");
    }
}
