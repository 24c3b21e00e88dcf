//! Collects problems of the daemon and decisions that wait for a person, as `daemon status` lists them.

use crate::state::DaemonState;
use poc_agent::budget::BudgetStatus;
use poc_agent::ledger::{Run, Status, StatusReason};
use poc_agent::pause_reason::PauseReason;
use poc_agent::proposal::proposals;
use poc_agent::schedule::{Schedule, local_zone_problem};
use poc_agent::{AgentStatus, Catalog, Definition, consolidation, ledger, tenant_rotation};
use poc_config::{Config, ProviderConfig, RunnableAgents, token_files};
use poc_graph::error::Result;
use poc_notes::vault::VaultBinding;
use poc_notes::{Memory, answer_status, verification};
use std::collections::BTreeMap;

/// Minimum free disk space in bytes. Less is a problem; a checkpoint and a segment of the log need about a
/// third of it.
const LOW_SPACE_BYTES: u64 = 512 << 20;

/// The state of everything that a person may have to act on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HealthReport {
    /// Number of agents by state.
    pub(crate) agents: BTreeMap<String, usize>,
    /// Problems, one line each.
    pub(crate) problems: Vec<String>,
    /// Decisions that wait for a person, one line each.
    pub(crate) waiting: Vec<String>,
}

/// Checks the store, the disk, the agents and their providers.
pub(crate) fn find(state: &DaemonState) -> HealthReport {
    let (memory, catalog) = (&state.memory_now(), state.catalog.load());
    memory.store.check_log_files();
    let mut found = HealthReport {
        problems: answer_status::read_only(memory).into_iter().collect(),
        ..HealthReport::default()
    };
    found.problems.extend(low_space(state));
    found.problems.extend(local_zone_problem().map(|problem| problem.line()));
    found.problems.extend(verification::problems(&memory.paths.verification()));
    found.problems.extend(catalog.problems.iter().cloned());
    found.problems.extend(unknown_agents(&memory.config.daemon.runs_agents, &catalog));
    found.problems.extend(state.capture_failures.problems(memory.now()));
    // A folder on a server that is down may block.
    let vaults = state.bound_vaults.lock().clone();
    found.problems.extend(missing_folders(&vaults));
    // The daemon that runs has its tokens in memory, and the next one could not read them.
    let tokens = token_files::start_problems(&memory.paths, &memory.config);
    found.problems.extend(tokens.iter().map(ToString::to_string));
    let suspended = state.models.suspension(&memory.config, memory.now());
    // Agents that lack the same thing, such as a key, are listed in one line.
    let mut blocked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, entry) in &catalog.agents {
        let paused = match ledger::state(memory, name) {
            Ok(stored) => entry.paused(&stored, memory.now()),
            Err(error) => {
                found.problems.push(error.line());
                None
            }
        };
        let obstacle = entry.obstacle(&memory.config, &state.models, memory.now());
        let status = entry.status(paused.as_ref(), obstacle.as_deref());
        *found.agents.entry(status.name().to_owned()).or_default() += 1;
        // A suspended provider is listed as its own problem.
        let why = obstacle.filter(|_| status == AgentStatus::Blocked);
        if let Some(why) = why.filter(|why| !suspended.contains(why)) {
            blocked.entry(why).or_default().push(format!("`{name}`"));
        }
        if let Some(paused) = paused {
            let line = format!("agent `{name}`: {}", paused.line(name));
            match paused {
                // A pause that a person asked for is not a problem.
                PauseReason::ByPerson(_) => found.waiting.push(line),
                PauseReason::Failing { .. } => found.problems.push(line),
            }
        }
        found.problems.extend(entry.errors.iter().map(|error| format!("agent `{name}`: {}", error.line())));
        let definition = entry.definition.as_deref();
        // An error of the store is already listed.
        found.problems.extend(definition.and_then(|own| unaffordable_call(memory, own).unwrap_or_default()));
    }
    found.problems.extend(blocked.iter().map(|(why, agents)| blocked_line(&memory.config, why, agents)));
    found.problems.extend(suspended);
    match proposals(memory, None) {
        Ok(proposals) => match proposals.len() {
            0 => {}
            1 => found.waiting.push("1 proposal for a decision: `poc-memory agent review`".into()),
            count => {
                found.waiting.push(format!("{count} proposals for a decision: `poc-memory agent review`"))
            }
        },
        Err(error) => found.problems.push(error.line()),
    }
    found
}

/// A problem for each agent that this daemon should run and that does not exist.
fn unknown_agents(runs: &RunnableAgents, catalog: &Catalog) -> Vec<String> {
    let RunnableAgents::Named(names) = runs else { return Vec::new() };
    let is_known = |name: &String| {
        name == consolidation::NAME || catalog.agents.contains_key(name) || catalog.missing.contains(name)
    };
    let unknown = names.iter().filter(|name| !is_known(name));
    unknown
        .map(|name| format!("`runs-agents` in `[daemon]` names `{name}`, but there is no such agent"))
        .collect()
}

/// The vaults whose folders are missing, one line each: changes of their files are not seen.
fn missing_folders(vaults: &[VaultBinding]) -> Vec<String> {
    let missing = vaults.iter().filter(|vault| !vault.folder.is_dir());
    missing
        .map(|vault| {
            format!("the folder `{}` of the vault `{}` is missing", vault.folder.display(), vault.name)
        })
        .collect()
}

/// The line about the agents that are blocked for one reason.
fn blocked_line(config: &Config, why: &str, agents: &[String]) -> String {
    let blocked = match agents {
        [agent] => format!("agent {agent} is blocked"),
        agents => format!("agents {} are blocked", agents.join(", ")),
    };
    let lacks_key = |provider: &&ProviderConfig| poc_models::missing_key(provider).is_some();
    let without_file = config.providers.values().filter(|provider| provider.key_file.is_none());
    let mut variables = without_file.filter(lacks_key).filter_map(|provider| provider.key_env.as_ref());
    // The variable may be set where the commands run.
    let restart = match variables.any(|name| why.contains(&format!("`{name}`"))) {
        true => "; the daemon reads its environment when it starts: `poc-memory daemon restart`",
        false => "",
    };
    format!("{blocked}: {why}{restart}")
}

/// The line about an agent with a schedule whose last run was skipped because one call may cost more than a whole
/// budget, which is the same now: the agent would be skipped on any other day, too.
fn unaffordable_call(memory: &Memory, definition: &Definition) -> Result<Option<String>> {
    let name = definition.name.as_str();
    if !definition.enabled || definition.execution.schedule == Schedule::OnDemand {
        return Ok(None);
    }
    let is_skipped =
        |run: &Run| (run.status, run.reason) == (Status::Skipped, Some(StatusReason::OverBudget));
    // At most one run of an agent is in progress.
    let mut ended =
        ledger::rows(memory, Some(name), 2)?.into_iter().filter(|run| run.status != Status::Running);
    let Some(run) = ended.next().filter(is_skipped) else { return Ok(None) };
    let limits = BudgetStatus {
        budget: definition.budget,
        all_agents_per_day: memory.config.budget.max_usd_per_day,
        tenant: Some(&run.tenant),
        ..BudgetStatus::default()
    };
    // Otherwise the budget may only be used up.
    let why = run.message.as_ref().filter(|message| limits.is_less_than_a_call(message));
    Ok(why.map(|why| format!("agent `{name}` was skipped, because a budget is less than one call: {why}")))
}

/// The backlog of each agent in notes. Agents without one are omitted.
pub(crate) fn backlog(state: &DaemonState) -> Result<BTreeMap<String, usize>> {
    let mut backlog = BTreeMap::new();
    for (name, entry) in &state.catalog.load().agents {
        let Some(definition) = entry.definition.as_deref().filter(|definition| definition.enabled) else {
            continue;
        };
        if let Some(count) =
            tenant_rotation::backlog_of_scan(&state.memory, definition)?.filter(|count| *count > 0)
        {
            backlog.insert(name.clone(), count);
        }
    }
    Ok(backlog)
}

fn low_space(state: &DaemonState) -> Option<String> {
    let folder = state.memory.paths.store();
    let disk = rustix::fs::statvfs(&folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    (free < LOW_SPACE_BYTES)
        .then(|| format!("the disk of `{}` has only {} MiB left", folder.display(), free >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_to_run_that_do_not_exist_are_problems() {
        let (catalog, names) = (Catalog::default(), ["linkr", consolidation::NAME].map(str::to_owned));
        assert_eq!(
            unknown_agents(&RunnableAgents::Named(names.into()), &catalog),
            ["`runs-agents` in `[daemon]` names `linkr`, but there is no such agent"]
        );
        assert!(unknown_agents(&RunnableAgents::All(true), &catalog).is_empty());
    }
}
