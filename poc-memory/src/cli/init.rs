//! `init`

use super::command_context::CommandContext;
use super::local::LocalCommand;
use crate::ops::Terminal;
use poc_agent::{agent_files, embedded};
use poc_config::files;
use poc_config::paths::create_private;
use poc_graph::error::Result;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Create the folders of a memory with settings, agents and prompts to edit
///
/// Existing files are never changed, except the JSON Schema of agent files, which belongs to the program.
/// Bundled agents whose files you removed stay removed. This step is optional: every command creates what it
/// needs.
#[derive(Debug, clap::Args)]
pub(super) struct Init {
    /// Also write the files of bundled agents that were removed
    #[arg(long)]
    restore_agents: bool,
}

/// The answer of `init`.
#[derive(Debug, Serialize)]
pub(super) struct InitOutput {
    /// The folder of settings, agents and prompts.
    folder: PathBuf,
    /// The folder of the store.
    store: PathBuf,
    /// Files that were written.
    created: Vec<PathBuf>,
    /// Files that already existed and were not changed.
    kept: Vec<PathBuf>,
}

impl LocalCommand for Init {
    const NAME: &'static str = "init";
    const NAMES_COMMANDS: bool = true;
    type Output = InitOutput;

    fn run(self, context: &CommandContext) -> Result<InitOutput> {
        let paths = &context.paths;
        paths.create()?;
        create_private(&paths.agents())?;
        create_private(&paths.prompts())?;
        let settings = paths.config_file();
        let mut made = InitOutput {
            folder: settings.parent().unwrap_or(Path::new("")).to_owned(),
            store: paths.store(),
            created: Vec::new(),
            kept: Vec::new(),
        };
        made.write(settings, &commented(poc_config::DEFAULTS))?;
        let list = paths.agents().join(embedded::WRITTEN_AGENTS);
        let written = std::fs::read_to_string(&list).unwrap_or_default();
        let is_removed = |name: &str| !self.restore_agents && written.lines().any(|line| line.trim() == name);
        let agents = embedded::agents();
        for file in agents.iter().filter(|file| !is_removed(file.name)) {
            made.write(paths.agents().join(file.name), file.text)?;
        }
        let names: String = agents.iter().map(|file| format!("{}\n", file.name)).collect();
        if names != written {
            files::write(&list, &names)?;
        }
        for file in embedded::test_files() {
            let path = paths.agents().join(file.name);
            create_private(path.parent().unwrap_or(&path))?;
            made.write(path, file.text)?;
        }
        for file in embedded::prompts() {
            made.write(paths.prompts().join(file.name), file.text)?;
        }
        let schema = paths.agent_schema();
        if agent_files::write_schema(paths)? {
            made.created.push(schema)
        } else {
            made.kept.push(schema)
        }
        Ok(made)
    }

    fn show(made: &InitOutput, _: &Terminal) -> String {
        let mut text = String::new();
        for (what, files) in [("wrote", &made.created), ("kept", &made.kept)] {
            for file in files {
                text.push_str(&format!("{what:<6}{}\n", file.display()));
            }
        }
        text.push_str(&format!(
            "\nEdit agents and prompts under {}; a running daemon picks changes up.\n\
             Next: `poc-memory import FOLDER` imports notes, `poc-memory daemon start` runs the agents on schedule.\n",
            made.folder.display()
        ));
        text
    }
}

impl InitOutput {
    /// Writes a file unless it exists.
    fn write(&mut self, path: PathBuf, text: &str) -> Result<()> {
        let made = if files::write_new(&path, text)? { &mut self.created } else { &mut self.kept };
        made.push(path);
        Ok(())
    }
}

/// The default settings with every line commented out. Uncommenting a line changes one setting, a pasted
/// section does not clash with the others, and all other settings follow the defaults of later releases.
fn commented(defaults: &str) -> String {
    let mut text = String::from(
        "# Settings of poc-memory. Every line is commented out and shows the default. To change one,\n\
         # uncomment it and the `[section]` above it. `poc-memory config show` lists the effective values\n\
         # and where they come from. A running daemon applies a change immediately, or reports the settings that wait for\n\
         # its next start.\n\n",
    );
    for line in defaults.lines().skip_while(|line| !line.starts_with('[')) {
        let prose = line.is_empty() || line.starts_with('#');
        text.push_str(if prose { "" } else { "#" });
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;

    #[test]
    fn the_written_settings_change_nothing_until_a_line_is_uncommented() {
        let text = commented(poc_config::DEFAULTS);
        let with = |text: &str| Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap();
        assert_eq!(with(&text), Config::defaults().unwrap());
        let changed = text.replace("#[text]", "[text]").replace("#k1 = 0.9", "k1 = 1.5");
        assert_eq!(with(&changed).text.k1, 1.5);
        assert_eq!(with(&format!("{text}\n[text]\nk1 = 1.5\n")).text.k1, 1.5);
        let uncommented: String = text
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        // The origin of each setting is not compared: only the values are.
        assert_eq!(with(&uncommented).differences(&Config::defaults().unwrap()), [""; 0]);
    }
}
