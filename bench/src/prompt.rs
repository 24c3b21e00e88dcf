//! Reads the notes in an agent's prompt, for programs that are models of the provider `command`.

/// A note of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptNote {
    /// `N1`, `N2`, …
    pub handle: String,
    /// Its key in lower case.
    pub key: String,
    /// Whether the agent was asked about it; the others are candidates for links.
    pub is_chosen: bool,
    /// Its body, as far as the prompt shows it.
    pub body: String,
}

/// Whether a word is a handle.
pub fn is_handle(word: &str) -> bool {
    word.strip_prefix('N').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The notes of a prompt: a line with a handle, the line with the key below it, and the body after an empty line.
pub fn notes(prompt: &str) -> Vec<PromptNote> {
    let mut notes: Vec<PromptNote> = Vec::new();
    let mut handle: Option<(String, bool)> = None;
    let mut is_body = false;
    for line in prompt.lines() {
        let (name, role) = line.split_once(' ').unwrap_or((line, ""));
        if line.starts_with(">>>data") {
            is_body = false;
        } else if let Some(note) = notes.last_mut().filter(|_| is_body) {
            note.body.push_str(line);
            note.body.push('\n');
        } else if is_handle(name) && (role.is_empty() || role.starts_with('(')) {
            handle = Some((name.to_owned(), role.is_empty()));
        } else if let Some(key) = line.strip_prefix("key: ")
            && let Some((handle, is_chosen)) = handle.take()
        {
            notes.push(PromptNote { handle, key: key.to_lowercase(), is_chosen, body: String::new() });
        } else if line.is_empty() && handle.is_none() {
            is_body = notes.last().is_some_and(|note| note.body.is_empty());
        }
    }
    notes.iter_mut().for_each(|note| note.body.truncate(note.body.trim_end().len()));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_with_their_bodies() {
        let prompt = "# Task\n\nN1 is not a note.\n\nN1\ntype: episodic\ncandidates: N2 (similarity 0.50)\n\
            <<<data ab\nkey: A/1\ntitle: One\n\nFirst line.\n\nN9\nkey: inside\n>>>data ab\n\n\
            N2 (to link to)\ntype: semantic\n<<<data ab\nkey: two\n\nSecond.\n>>>data ab\n\n# Reminder\n\nText.\n";
        let note = |handle: &str, key: &str, is_chosen, body: &str| PromptNote {
            handle: handle.into(),
            key: key.into(),
            is_chosen,
            body: body.into(),
        };
        assert_eq!(
            notes(prompt),
            [note("N1", "a/1", true, "First line.\n\nN9\nkey: inside"), note("N2", "two", false, "Second."),]
        );
    }
}
