//! Output of the program: answers on standard output, everything else on standard error.

use super::globals::Globals;
use crate::ops::{self, Emphasis, StyledText, Terminal};
use clap::builder::styling::{AnsiColor, Style};
use poc_graph::error::{Error, Exit, Result};
use poc_graph::escape_text;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};

/// The answer of a command, as JSON and as text.
pub(super) struct RenderedAnswer {
    /// The JSON answer.
    pub(super) value: Value,
    /// The text for a person.
    pub(super) text: StyledText,
    /// Lines with the reasons why the answer is incomplete, which follow the text.
    pub(super) degradations: String,
    /// Whether the text is the content of a file, which is printed unchanged unless standard output is a
    /// terminal.
    pub(super) verbatim: bool,
    /// The exit status.
    pub(super) exit: Exit,
}

/// Prints answers and errors.
pub(super) struct Output {
    globals: Globals,
    /// Whether a command, given as the words after the program, takes `--tenant`.
    takes_tenant: fn(&str) -> bool,
}

impl Output {
    pub(super) fn new(globals: &Globals, takes_tenant: fn(&str) -> bool) -> Output {
        Output { globals: globals.clone(), takes_tenant }
    }

    pub(super) fn json(&self) -> bool {
        self.globals.json
    }

    /// Prints an answer. On a terminal, its lines are wrapped between words, unless it is the content of a file. Text
    /// from notes is escaped, so that it cannot control a terminal, not even through a pipe such as `less`. The content
    /// of a file is not escaped unless standard output is a terminal.
    pub(super) fn answer(&self, answer: &RenderedAnswer) -> Result<()> {
        let stdout = std::io::stdout();
        let text = match self.globals.json {
            true => to_json_text(&answer.value),
            false if answer.verbatim && !stdout.is_terminal() => answer.text.to_string(),
            false => {
                let terminal = if answer.verbatim { Terminal::default() } else { self.terminal() };
                let colors = self.globals.colors(&stdout);
                let degradations = StyledText::from(answer.degradations.clone());
                let rendered = |text: &StyledText| self.rendered(&text.fitted(&terminal), colors);
                rendered(&answer.text) + &rendered(&degradations)
            }
        };
        write_answer(&mut stdout.lock(), &text)
    }

    /// The terminal that answers are laid out for.
    pub(super) fn terminal(&self) -> Terminal {
        self.globals.terminal(&std::io::stdout())
    }

    /// A text with its emphasis as colours, if wanted. Only the text is escaped.
    fn rendered(&self, text: &StyledText, colors: bool) -> String {
        let style = |emphasis| match emphasis {
            Emphasis::Name if colors => AnsiColor::Cyan.on_default(),
            Emphasis::Faint if colors => Style::new().dimmed(),
            _ => Style::new(),
        };
        let part = |(emphasis, text): (Emphasis, &str)| {
            let style = style(emphasis);
            format!("{style}{}{style:#}", escape_text(text))
        };
        text.parts().map(part).collect()
    }

    /// Prints a message that is neither an answer nor an error.
    pub(super) fn message(&self, text: &str) {
        print_message(&mut std::io::stderr().lock(), &format!("{}\n", escape_text(text)));
    }

    /// Prints an error and its hint, then the others that were found with it.
    pub(super) fn error(&self, error: &Error) {
        let mut stderr = std::io::stderr().lock();
        if self.globals.json {
            print_message(&mut stderr, &format!("{}\n", json!({ "error": error })));
            return;
        }
        let style = |color: AnsiColor| {
            if self.globals.colors(&stderr) { color.on_default().bold() } else { Style::new() }
        };
        let (red, cyan) = (style(AnsiColor::Red), style(AnsiColor::Cyan));
        let terminal = self.globals.terminal(&stderr);
        let mut text = String::new();
        let mut add = |label: &str, style: Style, message: &str| {
            let mut line = format!("{label} {}\n", escape_text(message));
            // In a message of several lines, one may point at words of another.
            if !message.contains('\n') {
                line = StyledText::from(line).fitted(&terminal).to_string();
            }
            let message = line.strip_prefix(label).unwrap_or_default();
            text.push_str(&format!("{style}{label}{style:#}{message}"));
        };
        for error in error.each() {
            add("error:", red, &error.to_string());
            if let Some(hint) = &error.hint {
                add("hint:", cyan, &terminal.with_options(hint, self.takes_tenant));
            }
        }
        for reason in &error.degraded {
            add("degraded:", Style::new(), &terminal.with_options(reason, self.takes_tenant));
        }
        print_message(&mut stderr, &text);
    }

    /// Prints a help page.
    pub(super) fn page(&self, page: &clap::Error) {
        // A closed output cannot be reported anywhere.
        let _ = page.print();
    }
}

/// The answer as JSON: indented on a terminal, otherwise one line.
fn to_json_text(value: &Value) -> String {
    let object = ops::versioned(value.clone());
    if std::io::stdout().is_terminal() { format!("{object:#}\n") } else { format!("{object}\n") }
}

/// Writes an answer. A closed pipe, as by `head`, is not an error; a full disk is.
pub(super) fn write_answer(to: &mut impl Write, text: &str) -> Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::unavailable(format!("the answer cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a message and ignores failures, which cannot be reported anywhere.
fn print_message(to: &mut impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
