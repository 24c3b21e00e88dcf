//! Secrets with a form of their own: private keys, JSON Web Tokens, passwords in URLs, credentials of HTTP, tokens of
//! Telegram bots.

use super::{DetectedSecret, PLACEHOLDER, entropy};
use memchr::memmem;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The secrets in a text.
pub(super) fn find(text: &str) -> Vec<DetectedSecret> {
    let mut secrets = Vec::new();
    private_keys(text, &mut secrets);
    web_tokens(text, &mut secrets);
    url_passwords(text, &mut secrets);
    http_credentials(text, &mut secrets);
    telegram_tokens(text, &mut secrets);
    secrets
}

/// Blocks between `-----BEGIN … PRIVATE KEY-----` and the end of the same label (RFC 7468, and OpenPGP's
/// `PRIVATE KEY BLOCK`). A truncated block extends over all lines that can belong to it.
fn private_keys(text: &str, secrets: &mut Vec<DetectedSecret>) {
    const BEGIN: &str = "-----BEGIN ";
    let (mut from, mut ends) = (0, None);
    while let Some(start) = find_from(text, BEGIN, from) {
        from = start + BEGIN.len();
        let Some(rest) = text.get(from..) else { return };
        let Some((label, body)) = rest.split_once("-----") else { return };
        let is_private = label.len() <= 60 && label.contains("PRIVATE KEY");
        if !is_private {
            continue;
        }
        let body_start = from + label.len() + "-----".len();
        let ends = ends.get_or_insert_with(|| ends_by_label(text));
        let ends = ends.get(label).map(Vec::as_slice).unwrap_or_default();
        let end = match ends.get(ends.partition_point(|end| end.start < body_start)) {
            Some(end) => end.end,
            None => body_start + unclosed(body),
        };
        secrets.push(DetectedSecret { kind: "private-key", at: start..end });
        from = end;
    }
}

/// The byte ranges of the lines that end a block, by label, in order. They are found in one pass, because a long text
/// may have many beginnings without an end.
fn ends_by_label(text: &str) -> FxHashMap<&str, Vec<Range<usize>>> {
    const END: &str = "-----END ";
    let mut ends: FxHashMap<&str, Vec<Range<usize>>> = FxHashMap::default();
    for (start, _) in text.match_indices(END) {
        let label_start = start + END.len();
        if let Some((label, _)) = text.get(label_start..).and_then(|rest| rest.split_once("-----")) {
            ends.entry(label).or_default().push(start..label_start + label.len() + "-----".len());
        }
    }
    ends
}

/// The length in bytes of a block without an end: whole lines of base64 or headers such as `Proc-Type: 4,ENCRYPTED`,
/// where a line ends with `\n` or, in a quoted text, with the two characters `\n`.
fn unclosed(body: &str) -> usize {
    let is_key =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\\' | '\r' | ',' | ':' | '-');
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        let text = line.trim_end();
        if !text.is_empty() && (text.len() < 16 && !text.contains('=') || !text.chars().all(is_key)) {
            // The last line may end in the middle.
            let inside = text.chars().take_while(|c| is_key(*c)).map(char::len_utf8).sum::<usize>();
            end += if inside >= 16 { inside } else { 0 };
            break;
        }
        end += line.len();
    }
    body.get(..end).unwrap_or(body).trim_end().len()
}

/// JSON Web Tokens (RFC 7519): three parts of base64url, the first two of which begin with `{"`.
fn web_tokens(text: &str, secrets: &mut Vec<DetectedSecret>) {
    let mut from = 0;
    while let Some(start) = find_from(text, "eyJ", from) {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let rest = text.get(start..).unwrap_or_default();
        let length = rest.bytes().take_while(|&byte| is_part(byte) || byte == b'.').count();
        let token = rest.get(..length).unwrap_or_default().trim_end_matches('.');
        from = start + token.len().max(1);
        let parts: Vec<&str> = token.split('.').collect();
        let continues_word = text.get(..start).and_then(|before| before.bytes().last()).is_some_and(is_part);
        if let [head, claims, signature] = parts.as_slice()
            && !continues_word
            && head.len() >= 12
            && claims.starts_with("eyJ")
            && signature.len() >= 16
        {
            secrets.push(DetectedSecret { kind: "json-web-token", at: start..start + token.len() });
        }
    }
}

/// Passwords in `scheme://user:password@host` (RFC 3986, section 3.2.1).
fn url_passwords(text: &str, secrets: &mut Vec<DetectedSecret>) {
    let mut from = 0;
    while let Some(colon) = find_from(text, "://", from) {
        let start = colon + "://".len();
        from = start;
        let has_scheme = text
            .get(..colon)
            .and_then(|before| before.bytes().last())
            .is_some_and(|byte| byte.is_ascii_alphanumeric());
        let ends =
            |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '<' | '>' | '\\');
        let rest = text.get(start..).unwrap_or_default();
        let authority = rest.get(..rest.find(ends).unwrap_or(rest.len())).unwrap_or_default();
        let Some((user_info, _host)) = authority.rsplit_once('@').filter(|_| has_scheme) else { continue };
        let Some((user, password)) = user_info.split_once(':') else { continue };
        if !is_reference(password) {
            let at = start + user.len() + 1;
            secrets.push(DetectedSecret { kind: "url-password", at: at..at + password.len() });
        }
    }
}

/// Credentials after `Bearer` or `Basic` (RFC 6750, RFC 7617).
fn http_credentials(text: &str, secrets: &mut Vec<DetectedSecret>) {
    // The first letter of the scheme is left out, because it may be a capital or a small letter.
    for (scheme, kind) in [("earer ", "bearer-token"), ("asic ", "basic-credentials")] {
        let mut from = 0;
        while let Some(found) = find_from(text, scheme, from) {
            let start = found + scheme.len();
            from = start;
            let is_part = |byte: u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
            };
            let rest = text.get(start..).unwrap_or_default();
            let length = rest.bytes().take_while(|&byte| is_part(byte)).count();
            let token = rest.get(..length).unwrap_or_default().trim_end_matches('.');
            // In prose, an ordinary word follows `basic`.
            let is_random = token.bytes().any(|byte| byte.is_ascii_digit())
                && token.bytes().any(|byte| byte.is_ascii_alphabetic());
            if token.len() >= 16 && is_random && entropy(token) >= 3.0 {
                secrets.push(DetectedSecret { kind, at: start..start + token.len() });
            }
        }
    }
}

/// Tokens of Telegram bots: the number of the bot, a colon, and 35 characters that begin with `A` (gitleaks
/// `telegram-bot-api-token`).
fn telegram_tokens(text: &str, secrets: &mut Vec<DetectedSecret>) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    for at in memmem::find_iter(text.as_bytes(), ":A") {
        let before = text.get(..at).unwrap_or_default();
        let digits = before.bytes().rev().take(17).take_while(u8::is_ascii_digit).count();
        let start = at - digits;
        // The addresses of the API have the token after `bot`.
        let head = before.get(..start).unwrap_or_default();
        let continues_word = head.as_bytes().last().copied().is_some_and(is_part) && !head.ends_with("bot");
        let rest = text.get(at + 1..).unwrap_or_default();
        let length = rest.bytes().take_while(|&byte| is_part(byte)).count();
        let is_random = || entropy(rest.get(..length).unwrap_or_default()) >= 3.0;
        if (5..=16).contains(&digits) && !continues_word && length == 35 && is_random() {
            secrets.push(DetectedSecret { kind: "telegram-token", at: start..at + 1 + length });
        }
    }
}

/// Whether a value is a reference to a secret or a placeholder for one: `$PASSWORD`, `${…}`, `{{…}}`,
/// `<password>`, `****`, `%s`, or nothing.
pub(super) fn is_reference(value: &str) -> bool {
    let mut chars = value.chars();
    match chars.next() {
        None => true,
        Some('$' | '{' | '<' | '%' | '@') => true,
        Some(first) => value.starts_with(PLACEHOLDER.trim_end()) || chars.all(|c| c == first),
    }
}

/// The position of the first occurrence of a pattern at or after `from`.
fn find_from(text: &str, pattern: &str, from: usize) -> Option<usize> {
    memmem::find(text.as_bytes().get(from..)?, pattern.as_bytes()).map(|at| from + at)
}
