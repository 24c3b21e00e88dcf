//! Passwords in the arguments of commands, such as `curl -u name:password`.

use super::DetectedSecret;
use super::blocks::is_reference;
use memchr::memmem;
use std::ops::Range;

/// Programs with options whose value is a password.
struct Program {
    names: &'static [&'static str],
    options: &'static [PasswordOption],
    /// Whether its arguments end with another command, whose options are its own.
    runs_command: bool,
}

/// An option whose value is a password.
struct PasswordOption {
    name: &'static str,
    form: ValueForm,
}

#[derive(Clone, Copy, PartialEq)]
enum ValueForm {
    /// `NAME:PASSWORD`, in the next word or in the rest of the same one.
    UserAndPassword,
    /// The password, in the next word or in the rest of the same one.
    Password,
    /// The password, in the rest of the same word. The next word is something else.
    Attached,
}

const fn option(name: &'static str, form: ValueForm) -> PasswordOption {
    PasswordOption { name, form }
}

const PROGRAMS: &[Program] = &[
    Program {
        names: &["curl"],
        options: &[
            option("-u", ValueForm::UserAndPassword),
            option("--user", ValueForm::UserAndPassword),
            option("-U", ValueForm::UserAndPassword),
            option("--proxy-user", ValueForm::UserAndPassword),
        ],
        runs_command: false,
    },
    Program { names: &["sshpass"], options: &[option("-p", ValueForm::Password)], runs_command: true },
    Program {
        names: &["mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump", "mariadb-admin"],
        options: &[option("-p", ValueForm::Attached)],
        runs_command: false,
    },
    Program {
        names: &["redis-cli"],
        options: &[option("-a", ValueForm::Password), option("--pass", ValueForm::Password)],
        runs_command: false,
    },
];

/// Maximum length of the arguments that are searched, in bytes.
const COMMAND_MAX: usize = 500;

/// Words that stand for a password in instructions.
const PLACEHOLDERS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "apikey",
    "key",
    "passwort",
];

/// The secrets in a text.
pub(super) fn find(text: &str) -> Vec<DetectedSecret> {
    let mut secrets = Vec::new();
    for program in PROGRAMS {
        for name in program.names {
            for at in memmem::find_iter(text.as_bytes(), name) {
                in_command(text, at..at + name.len(), program, &mut secrets);
            }
        }
    }
    secrets
}

/// The secrets in the arguments of a program whose name is at `name`, unless it is a part of another word.
fn in_command(text: &str, name: Range<usize>, program: &Program, secrets: &mut Vec<DetectedSecret>) {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let before = name.start.checked_sub(1).and_then(|before| bytes.get(before));
    if before.is_some_and(is_part) || !matches!(bytes.get(name.end), Some(b' ' | b'\t')) {
        return;
    }
    let words = words(text, name.end);
    let own = if program.runs_command { own_arguments(text, &words) } else { words.len() };
    for (place, word) in words.iter().enumerate().take(own) {
        for option in program.options {
            let value = value(text, word, words.get(place + 1), option);
            secrets.extend(value.and_then(|value| password(text, unquoted(text, value), option.form)));
        }
    }
}

/// The number of words before the first one that is neither an option nor follows one of a single letter.
fn own_arguments(text: &str, words: &[Range<usize>]) -> usize {
    let mut follows_option = false;
    let is_other = |word: &Range<usize>| {
        let word = text.get(word.clone()).unwrap_or_default();
        let is_other = !word.starts_with('-') && !follows_option;
        follows_option = word.starts_with('-') && word.len() == 2;
        is_other
    };
    words.iter().position(is_other).unwrap_or(words.len())
}

/// The value of an option, if `word` is the option.
fn value(
    text: &str,
    word: &Range<usize>,
    next: Option<&Range<usize>>,
    option: &PasswordOption,
) -> Option<Range<usize>> {
    let rest = text.get(word.clone())?.strip_prefix(option.name)?;
    let is_long = option.name.starts_with("--");
    match rest.strip_prefix('=').filter(|_| is_long) {
        Some(value) => Some(word.end - value.len()..word.end),
        None if rest.is_empty() => next.filter(|_| option.form != ValueForm::Attached).cloned(),
        None => (!is_long).then(|| word.end - rest.len()..word.end),
    }
}

/// The password in the value of an option.
fn password(text: &str, value: Range<usize>, form: ValueForm) -> Option<DetectedSecret> {
    let whole = text.get(value.clone())?;
    let password = match form {
        ValueForm::UserAndPassword => whole.split_once(':')?.1,
        ValueForm::Password | ValueForm::Attached => whole,
    };
    let letters: String =
        password.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
    let letters = letters.strip_prefix("your").or(letters.strip_prefix("my")).unwrap_or(&letters);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // `-p3306:3306` and `-p8080` are ports of a container.
    let is_port = form == ValueForm::Attached
        && (letters.len() < 6 && is_digits(letters)
            || password.rsplit_once(':').is_some_and(|(_, port)| is_digits(port)));
    // In `sshpass -p reads the password`, a word of the sentence follows.
    let is_word = form == ValueForm::Password
        && password.len() < 8
        && password.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_secret = password.len() >= 3
        && !password.starts_with('-')
        && !PLACEHOLDERS.contains(&letters)
        && !is_port
        && !is_word
        && !is_reference(password);
    is_secret.then(|| DetectedSecret { kind: "password", at: value.end - password.len()..value.end })
}

/// The words of a command after its name, with their quotes. They end with the line or before the next command.
fn words(text: &str, start: usize) -> Vec<Range<usize>> {
    let limit = text.floor_char_boundary(start + COMMAND_MAX);
    let (mut words, mut word, mut quote) = (Vec::new(), None, None);
    let mut chars = text.get(start..limit).unwrap_or_default().char_indices().peekable();
    let mut end = limit;
    while let Some((offset, c)) = chars.next() {
        let at = start + offset;
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert(at);
            }
            // The command continues on the next line.
            (None, '\\') if chars.peek().is_some_and(|(_, next)| *next == '\n') => {
                chars.next();
                words.extend(word.take().map(|from| from..at));
            }
            (None, '\n' | '|' | ';' | '&' | '<' | '>' | '`' | ')') => {
                end = at;
                break;
            }
            (None, _) if c.is_whitespace() => words.extend(word.take().map(|from| from..at)),
            (None, _) => {
                word.get_or_insert(at);
            }
        }
    }
    words.extend(word.map(|from| from..end));
    words
}

/// A word without the quotes around it.
fn unquoted(text: &str, word: Range<usize>) -> Range<usize> {
    let inside = |quote: char| text.get(word.clone())?.strip_prefix(quote)?.strip_suffix(quote).map(|_| ());
    match inside('"').or_else(|| inside('\'')) {
        Some(()) => word.start + 1..word.end - 1,
        None => word,
    }
}
