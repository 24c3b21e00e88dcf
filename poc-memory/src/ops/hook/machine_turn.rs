//! Recognises prompts that no person typed or that have nothing to look up.

use poc_notes::import::is_machine_text;
use poc_notes::session_context::is_assent;

/// Why a prompt gets no notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MachineTurn {
    /// The assistant wrote it.
    Machine,
    /// It is a command of the assistant.
    Command,
    /// It has too few words to look up.
    Short,
}

/// How other prompts begin that no person typed. In transcripts, they are recognised by their lines.
const MACHINE: [&str; 2] = ["<command-name>", "This session is being continued from a previous conversation"];

impl MachineTurn {
    /// The reason to add no notes to a prompt; `None` for a prompt of a person that can be looked up.
    pub(super) fn of(prompt: &str) -> Option<MachineTurn> {
        let prompt = prompt.trim();
        if is_machine_text(prompt) || MACHINE.iter().any(|start| prompt.starts_with(start)) {
            return Some(MachineTurn::Machine);
        }
        if is_command(prompt) {
            return Some(MachineTurn::Command);
        }
        if is_assent(prompt) {
            return Some(MachineTurn::Short);
        }
        None
    }

    /// The reason, for the log.
    pub(super) fn why(self) -> &'static str {
        match self {
            MachineTurn::Machine => "no person typed this prompt",
            MachineTurn::Command => "the prompt is a command",
            MachineTurn::Short => "the prompt has nothing to look up",
        }
    }
}

/// Whether a prompt begins with a word that begins with `/` or `!`, as commands do. A path such as `/etc/fstab` is not a
/// command.
fn is_command(prompt: &str) -> bool {
    let mut chars = prompt.split_whitespace().next().unwrap_or_default().chars();
    let first = chars.next();
    let name = chars.as_str();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_:".contains(c));
    first == Some('!') && !name.is_empty() || first == Some('/') && is_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prompts_of_people_are_looked_up() {
        for (prompt, expected) in [
            ("When did Caroline go to the support group?", None),
            ("lunch", None),
            ("/etc/fstab is broken, what did we do?", None),
            ("<task-notification>\n<task-id>a8</task-id>", Some(MachineTurn::Machine)),
            ("  <command-name>/compact</command-name>", Some(MachineTurn::Machine)),
            ("<environment_context>\n  <cwd>/home</cwd>", Some(MachineTurn::Machine)),
            ("This session is being continued from a previous conversation that", Some(MachineTurn::Machine)),
            ("<bash-input>ls</bash-input>", Some(MachineTurn::Machine)),
            ("<subagent_notification>{}", Some(MachineTurn::Machine)),
            ("[Request interrupted by user]", Some(MachineTurn::Machine)),
            ("/compact keep names", Some(MachineTurn::Command)),
            ("/mcp__poc-memory__recall ports", Some(MachineTurn::Command)),
            ("!ls", Some(MachineTurn::Command)),
            ("yes, go on please", Some(MachineTurn::Short)),
            ("OK!", Some(MachineTurn::Short)),
            ("…", Some(MachineTurn::Short)),
            ("", Some(MachineTurn::Short)),
        ] {
            assert_eq!(MachineTurn::of(prompt), expected, "{prompt}");
        }
    }
}
