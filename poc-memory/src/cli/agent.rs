//! `agent new`

use super::files;
use super::local::LocalCommand;
use super::session::Session;
use poc_agent::AgentDraft;
use poc_agent::embedded;
use poc_config::paths::create_private;
use poc_graph::error::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;

/// Create a new agent file and its prompt, with every key explained
///
/// The new agent is valid as it is and runs on demand. Existing files are never changed. With `--from` it is
/// a copy of another agent, with its own visits and prompt.
#[derive(Debug, clap::Args)]
pub(super) struct AgentNew {
    /// Name of the agent
    agent: String,
    /// The agent to copy
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
}

/// What `agent new` answers.
#[derive(Debug, Serialize)]
pub(super) struct AgentNewOutput {
    agent: String,
    /// Files that were written.
    created: Vec<PathBuf>,
}

impl LocalCommand for AgentNew {
    const NAME: &'static str = "agent new";
    type Output = AgentNewOutput;

    fn run(self, session: &Session) -> Result<AgentNewOutput> {
        let (paths, name) = (&session.paths, self.agent.as_str());
        let draft = match &self.from {
            Some(other) => AgentDraft::copy_of(other, name, paths, &session.config()?)?,
            None => AgentDraft::new(name)?,
        };
        let agent = paths.agents().join(format!("{name}.toml"));
        if embedded::agents().iter().any(|(file, _)| file.strip_suffix(".toml") == Some(name))
            && !agent.exists()
        {
            return Err(Error::conflict(format!("`{name}` is a bundled agent"))
                .hint(format!(
                    "choose another name: `poc-memory agent new my-{name} --from {name}` copies it"
                ))
                .field("agent"));
        }
        paths.create()?;
        create_private(&paths.agents())?;
        create_private(&paths.prompts())?;
        let prompt = draft.prompt.map(|(file, text)| (paths.prompts().join(file), text));
        for file in prompt.iter().map(|(file, _)| file).chain([&agent]) {
            if file.symlink_metadata().is_ok() {
                return Err(already_exists(file));
            }
        }
        files::schema(paths)?;
        // The prompt comes first: without it the agent would be invalid for a moment.
        let mut created = Vec::new();
        for (file, text) in prompt.into_iter().chain([(agent, draft.agent)]) {
            match files::write_new(&file, &text) {
                Ok(true) => created.push(file),
                ended => {
                    for written in created {
                        // Best effort: a file that cannot be removed does no harm.
                        let _ = std::fs::remove_file(written);
                    }
                    return Err(ended.err().unwrap_or_else(|| already_exists(&file)));
                }
            }
        }
        created.reverse();
        Ok(AgentNewOutput { agent: self.agent, created })
    }

    fn show(made: &AgentNewOutput) -> String {
        let wrote: String = made.created.iter().map(|file| format!("wrote {}\n", file.display())).collect();
        let name = &made.agent;
        format!(
            "{wrote}\nNext, edit them. `poc-memory agent check {name}` reports mistakes, and `poc-memory agent run {name} --dry-run`\n\
             shows what the agent would do. With a `schedule`, the daemon runs it.\n"
        )
    }
}

fn already_exists(file: &std::path::Path) -> Error {
    Error::conflict(format!("`{}` already exists", file.display()))
        .hint("edit it, or choose another name")
        .field("agent")
}
