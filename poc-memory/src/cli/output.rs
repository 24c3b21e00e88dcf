//! What the program says: answers on standard output, everything else on standard error.

use super::local::Answer;
use super::session::Globals;
use crate::ops;
use clap::builder::styling::{AnsiColor, Style};
use poc_graph::error::{Error, Result};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};

/// Where and how to say things.
pub(super) struct Output {
    globals: Globals,
}

impl Output {
    pub(super) fn new(globals: &Globals) -> Output {
        Output { globals: globals.clone() }
    }

    pub(super) fn json(&self) -> bool {
        self.globals.json
    }

    /// Says an answer. What a note says is made harmless to a terminal, which a pipe may end in; the content
    /// of a file stays as it is in one.
    pub(super) fn answer(&self, answer: &Answer) -> Result<()> {
        let stdout = std::io::stdout();
        let text = match self.globals.json {
            true => rendered(&answer.value),
            false if answer.verbatim && !stdout.is_terminal() => answer.text.clone(),
            false => visible(&answer.text),
        };
        say(&mut stdout.lock(), &text)
    }

    /// Says an error: what is wrong and where, then what would be right.
    pub(super) fn error(&self, error: &Error) {
        let mut stderr = std::io::stderr().lock();
        if self.globals.json {
            complain(&mut stderr, &format!("{}\n", json!({ "error": error })));
            return;
        }
        let style = |color: AnsiColor| {
            if self.globals.colors(&stderr) { color.on_default().bold() } else { Style::new() }
        };
        let (red, cyan) = (style(AnsiColor::Red), style(AnsiColor::Cyan));
        let mut text = format!("{red}error:{red:#} {}\n", visible(&error.to_string()));
        if let Some(hint) = &error.hint {
            text.push_str(&format!("{cyan}hint:{cyan:#} {}\n", visible(hint)));
        }
        complain(&mut stderr, &text);
    }

    /// Says a page of help.
    pub(super) fn page(&self, page: &clap::Error) {
        // It goes where help goes; nobody is left to tell when that is closed.
        let _ = page.print();
    }
}

/// The JSON text of an answer: one line for a program, indented for a person.
fn rendered(value: &Value) -> String {
    let object = ops::versioned(value.clone());
    if std::io::stdout().is_terminal() { format!("{object:#}\n") } else { format!("{object}\n") }
}

/// Writes an answer. A reader that has had enough, such as `head`, is no failure; a full disk is.
pub(super) fn say(to: &mut impl Write, text: &str) -> Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::internal(format!("the answer cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a message; when that fails there is nobody left to tell.
fn complain(to: &mut impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}

/// The text with control characters and marks of writing direction spelled out, so that no note can
/// steer a terminal or turn a line round.
fn visible(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let harmless = |c: char| !c.is_control() && !turns(c) || c == '\n' || c == '\t';
    if text.chars().all(harmless) {
        return text.to_owned();
    }
    text.chars().map(|c| if harmless(c) { c.to_string() } else { c.escape_default().to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn a_note_cannot_steer_the_terminal() {
        assert_eq!(visible("a\u{1b}]0;x\u{7}b\n\tü"), "a\\u{1b}]0;x\\u{7}b\n\tü");
    }
}
