//! The supported assistants: how to detect them, and which of their settings register the memory.

use super::edit::Edit;
use super::hook_entries;
use super::settings_file::{SettingsFile, Syntax};
use crate::cli::command_context::CommandContext;
use crate::cli::invocation::{Invocation, is_in_path};
use clap::ValueEnum;
use poc_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The name of the memory among the servers of an assistant.
pub(super) const SERVER: &str = "poc-memory";

/// An assistant whose settings are known to `setup` and `mcp config`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum Assistant {
    ClaudeCode,
    Codex,
    Cursor,
    ClaudeDesktop,
    Vscode,
    Zed,
}

impl Assistant {
    /// The name on the command line.
    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            Assistant::ClaudeCode => "claude-code",
            Assistant::Codex => "codex",
            Assistant::Cursor => "cursor",
            Assistant::ClaudeDesktop => "claude-desktop",
            Assistant::Vscode => "vscode",
            Assistant::Zed => "zed",
        }
    }

    /// All names, for hints.
    pub(super) fn names() -> String {
        let names: Vec<String> =
            Assistant::value_variants().iter().map(|assistant| format!("`{}`", assistant.name())).collect();
        names.join(", ")
    }

    /// The installed assistants: those whose program is in `PATH` or that have settings.
    pub(super) fn installed() -> Vec<Assistant> {
        let Ok(folders) = SettingsFolders::of_user() else { return Vec::new() };
        let all = Assistant::value_variants().iter().copied();
        all.filter(|assistant| assistant.is_installed(&folders)).collect()
    }

    fn is_installed(self, folders: &SettingsFolders) -> bool {
        let (program, folder) = match self {
            Assistant::ClaudeCode => ("claude", folders.claude()),
            Assistant::Codex => ("codex", folders.codex()),
            Assistant::Cursor => ("cursor", folders.home.join(".cursor")),
            Assistant::ClaudeDesktop => return folders.claude_desktop().is_dir(),
            Assistant::Vscode => ("code", folders.vscode()),
            Assistant::Zed => ("zed", folders.zed()),
        };
        is_in_path(program) || folder.is_dir()
    }

    /// Whether it has hooks in a form that `poc-memory hook` answers.
    pub(super) fn has_hooks(self) -> bool {
        matches!(self, Assistant::ClaudeCode | Assistant::Codex)
    }

    /// The setting that registers the memory as a server.
    pub(super) fn server(self, folders: &SettingsFolders) -> ServerSetting {
        let file = match self {
            Assistant::ClaudeCode => folders.claude_state(),
            Assistant::Codex => folders.codex().join("config.toml"),
            Assistant::Cursor => folders.home.join(".cursor/mcp.json"),
            Assistant::ClaudeDesktop => folders.claude_desktop().join("claude_desktop_config.json"),
            Assistant::Vscode => folders.vscode().join("mcp.json"),
            Assistant::Zed => folders.zed().join("settings.json"),
        };
        let (syntax, section) = self.section();
        ServerSetting { file, syntax, path: vec![section.to_owned(), SERVER.to_owned()] }
    }

    /// The syntax of its settings, and the name of the section with the servers.
    fn section(self) -> (Syntax, &'static str) {
        match self {
            Assistant::Codex => (Syntax::Toml, "mcp_servers"),
            Assistant::ClaudeCode | Assistant::Cursor | Assistant::ClaudeDesktop => {
                (Syntax::Json, "mcpServers")
            }
            Assistant::Vscode => (Syntax::Json, "servers"),
            Assistant::Zed => (Syntax::Json, "context_servers"),
        }
    }

    /// The file of the user's settings in which the servers are registered, as a text for people.
    pub(in crate::cli) fn settings_place(self) -> String {
        let folders = SettingsFolders::of_user().unwrap_or_else(|_| SettingsFolders::below("~".into()));
        folders.short(&self.server(&folders).file)
    }

    /// Settings that only register a server with this value.
    pub(in crate::cli) fn settings_with(self, server: &Value) -> Value {
        let (_, section) = self.section();
        json!({ section: { SERVER: server } })
    }

    /// Settings in the syntax of the assistant.
    ///
    /// # Errors
    /// `internal` when they cannot be written as TOML.
    pub(in crate::cli) fn settings_text(self, settings: &Value) -> Result<String> {
        match self.section() {
            (Syntax::Json, _) => Ok(format!("{settings:#}")),
            (Syntax::Toml, _) => toml::to_string(settings)
                .map(|text| text.trim_end().to_owned())
                .map_err(|error| Error::internal(format!("the settings cannot be written as TOML: {error}"))),
        }
    }

    /// The file with its hooks, if it has hooks.
    pub(super) fn hooks_file(self, folders: &SettingsFolders) -> Option<PathBuf> {
        match self {
            Assistant::ClaudeCode => Some(folders.claude().join("settings.json")),
            Assistant::Codex => Some(folders.codex().join("hooks.json")),
            _ => None,
        }
    }

    /// The settings that concern the memory.
    pub(super) fn settings(
        self,
        context: &CommandContext,
        folders: &SettingsFolders,
        hooks: bool,
    ) -> Result<Vec<SettingsFile>> {
        let ServerSetting { file, syntax, path } = self.server(folders);
        let value = self.server_value(&Invocation::of(context, &["mcp"])?);
        let edits = vec![Edit::Member { path, value }];
        let mut files = vec![SettingsFile { path: file, syntax, edits }];
        if let Some(path) = self.hooks_file(folders).filter(|_| hooks) {
            let edits = hook_entries::edits(context)?;
            files.push(SettingsFile { path, syntax: Syntax::Json, edits });
        }
        Ok(files)
    }

    /// The value of the setting for a server that the assistant starts.
    pub(in crate::cli) fn server_value(self, invocation: &Invocation) -> Value {
        let Invocation { program, arguments, environment } = invocation;
        let mut server = json!({ "command": program, "args": arguments });
        if let Value::Object(fields) = &mut server {
            if matches!(self, Assistant::ClaudeCode | Assistant::Vscode) {
                fields.shift_insert(0, "type".into(), "stdio".into());
            }
            if !environment.is_empty() {
                fields.insert("env".into(), json!(environment));
            }
        }
        server
    }

    /// What the user has to do next.
    pub(super) fn next_step(self, hooks: bool) -> Option<String> {
        Some(match self {
            Assistant::ClaudeCode => "start a new session of Claude Code".into(),
            Assistant::Codex if hooks => {
                "start Codex, open `/hooks` and trust the hooks of poc-memory: Codex skips them until then"
                    .into()
            }
            Assistant::Codex => "start a new session of Codex".into(),
            Assistant::Cursor => "restart Cursor".into(),
            Assistant::ClaudeDesktop => "restart Claude Desktop".into(),
            Assistant::Vscode => "in VS Code, start the server with `MCP: List Servers`".into(),
            Assistant::Zed => "restart Zed".into(),
        })
    }
}

/// The setting of an assistant that registers the memory as a server.
pub(super) struct ServerSetting {
    /// The file with the servers of the assistant.
    pub(super) file: PathBuf,
    pub(super) syntax: Syntax,
    /// The keys that lead to the setting in the file.
    pub(super) path: Vec<String>,
}

/// The folders in which the assistants of a user keep their settings.
#[derive(Clone, Debug)]
pub(super) struct SettingsFolders {
    home: PathBuf,
    config: PathBuf,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    is_mac: bool,
}

impl SettingsFolders {
    /// # Errors
    /// `invalid_config` when `HOME` is not set.
    pub(super) fn of_user() -> Result<SettingsFolders> {
        let home = folder_in("HOME").ok_or_else(|| {
            Error::config("`HOME` is not set")
                .hint("set `HOME` to your home folder, which contains the settings of assistants")
        })?;
        Ok(SettingsFolders::below(home))
    }

    /// The folders of a user with this home folder.
    fn below(home: PathBuf) -> SettingsFolders {
        SettingsFolders {
            config: folder_in("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            claude: folder_in("CLAUDE_CONFIG_DIR"),
            codex: folder_in("CODEX_HOME"),
            is_mac: cfg!(target_os = "macos"),
            home,
        }
    }

    fn claude(&self) -> PathBuf {
        self.claude.clone().unwrap_or_else(|| self.home.join(".claude"))
    }

    /// The state file of Claude Code, which also has the user's MCP servers.
    fn claude_state(&self) -> PathBuf {
        self.claude.as_deref().unwrap_or(&self.home).join(".claude.json")
    }

    fn codex(&self) -> PathBuf {
        self.codex.clone().unwrap_or_else(|| self.home.join(".codex"))
    }

    /// The folder in which desktop applications keep their settings.
    fn applications(&self) -> PathBuf {
        if self.is_mac { self.home.join("Library/Application Support") } else { self.config.clone() }
    }

    fn claude_desktop(&self) -> PathBuf {
        self.applications().join("Claude")
    }

    fn vscode(&self) -> PathBuf {
        self.applications().join("Code/User")
    }

    fn zed(&self) -> PathBuf {
        // The path is the same on macOS.
        match self.is_mac {
            true => self.home.join(".config/zed"),
            false => self.config.join("zed"),
        }
    }

    /// The folders with the transcripts of Claude Code and Codex, in the form of the settings.
    pub(super) fn transcripts(&self) -> Vec<String> {
        let folders = [self.claude().join("projects"), self.codex().join("sessions")];
        folders.iter().map(|folder| self.short(folder)).collect()
    }

    /// A path below the home folder as `~/…`.
    fn short(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// The folder that an environment variable names.
fn folder_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
