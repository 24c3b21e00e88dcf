//! `plugin`: the memory as a plugin of Claude Code and Codex.

use super::command_context::CommandContext;
use super::invocation::Invocation;
use super::local::LocalCommand;
use super::setup;
use crate::ops::Terminal;
use poc_config::files;
use poc_graph::error::{Error, Result};
use poc_notes::resolve::quoted;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The name of the marketplace.
const MARKETPLACE: &str = "poc";

/// The name of the plugin, and of its folder.
const PLUGIN: &str = "poc-memory";

/// The text of the skill for the assistant.
const SKILL: &str = include_str!("plugin/SKILL.md");

/// Write a plugin that Claude Code and Codex install: tools, hooks and a skill
///
/// The folder is a marketplace with one plugin, which calls this program with the profile and the folders of this call.
/// `poc-memory setup` registers the same without a plugin; use one of the two. With `--tenant`, the plugin has no hooks,
/// because they serve the default tenant.
#[derive(Debug, clap::Args)]
pub(super) struct Plugin {
    /// The folder of the marketplace; files of an earlier call are replaced
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// The answer of `plugin`.
#[derive(Debug, Serialize)]
pub(super) struct PluginOutput {
    folder: PathBuf,
    /// The files that were written.
    files: Vec<PathBuf>,
}

impl LocalCommand for Plugin {
    const NAME: &'static str = "plugin";
    const TENANTS: bool = true;
    type Output = PluginOutput;

    fn run(self, context: &CommandContext) -> Result<PluginOutput> {
        let folder = std::path::absolute(&self.folder).map_err(|error| {
            Error::invalid(format!("`{}` is not a usable folder: {error}", self.folder.display()))
                .field("folder")
        })?;
        let marketplace = folder.join(".claude-plugin/marketplace.json");
        if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) && !is_own(&marketplace) {
            return Err(Error::conflict(format!("`{}` has other files in it", folder.display()))
                .hint("name a new folder")
                .field("folder"));
        }
        let plugin = folder.join(PLUGIN);
        let about = "Remembers your sessions, and adds what is known to new ones";
        let Invocation { program, arguments, environment } = Invocation::of(context, &["mcp"])?;
        let hooks_file = plugin.join("hooks/hooks.json");
        let mut files = vec![
            (
                marketplace,
                json!({
                    "name": MARKETPLACE,
                    "owner": { "name": PLUGIN },
                    "metadata": { "description": "The memory of this machine" },
                    "plugins": [{ "name": PLUGIN, "source": format!("./{PLUGIN}"), "description": about }],
                }),
            ),
            (
                plugin.join(".claude-plugin/plugin.json"),
                json!({ "name": PLUGIN, "version": env!("CARGO_PKG_VERSION"), "description": about }),
            ),
            (
                plugin.join(".mcp.json"),
                json!({ "mcpServers": { PLUGIN: {
                    "command": program, "args": arguments, "env": environment, "alwaysLoad": true,
                } } }),
            ),
        ];
        if context.globals.tenant.is_empty() {
            let hooks = json!({ "description": "Calls poc-memory", "hooks": setup::hooks(context)? });
            files.push((hooks_file, hooks));
        } else {
            files::remove(&hooks_file)?;
        }
        let mut written = Vec::new();
        for (path, value) in files {
            files::write(&path, &format!("{value:#}\n"))?;
            written.push(path);
        }
        let skill = plugin.join("skills/remember/SKILL.md");
        files::write(&skill, SKILL)?;
        written.push(skill);
        Ok(PluginOutput { folder, files: written })
    }

    fn show(output: &PluginOutput, _: &Terminal) -> String {
        let folder = quoted(&output.folder.display().to_string());
        let mut text: String =
            output.files.iter().map(|file| format!("wrote {}\n", file.display())).collect();
        let has_hooks = output.files.iter().any(|file| file.ends_with("hooks/hooks.json"));
        let trust = match has_hooks {
            true => ", where you then trust its hooks with `/hooks`",
            false => {
                text.push_str("\nThe plugin has no hooks, because they serve the default tenant.\n");
                ""
            }
        };
        text.push_str(&format!(
            "\nInstall it in Claude Code:\n  \
             claude plugin marketplace add {folder}\n  claude plugin install {PLUGIN}@{MARKETPLACE}\n\
             or in Codex{trust}:\n  \
             codex plugin marketplace add {folder}\n  codex plugin add {PLUGIN}@{MARKETPLACE}\n"
        ));
        text
    }
}

/// Whether a file is the marketplace that an earlier call wrote.
fn is_own(marketplace: &Path) -> bool {
    let text = std::fs::read_to_string(marketplace).unwrap_or_default();
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    value.pointer("/plugins/0/name") == Some(&json!(PLUGIN))
}
