//! Terms that look like identifiers but name nothing particular: amounts (`128-bit`, `100ms`), rates (`ns/iter`),
//! versions (`v1.2.3`), function words joined by a sign (`as_of`), common terms of computing (`utf-8`), and settings and
//! options (`limit:20`, `--top_k`).

/// Units, and words that follow a number in an amount.
const UNITS: &str = "\
bit bits byte bytes kb mb gb tb kib mib gib tib ns us ms sec secs second seconds min mins minute minutes hr hrs hour \
hours day days week weeks month months year years px pt em rem nm mm cm km ft mg kg lb lbs ml hz khz mhz ghz kw wh kwh \
mah fps rpm dpi iter op ops req reqs core cores fold way th st nd rd";

/// Words without a meaning of their own.
const FUNCTION_WORDS: &str =
    "an and as at by for from if in into is it no not of off on or out than the to up with";

/// Terms of computing that are too common to relate two texts.
const COMMON_TERMS: &str = "\
asn.1 base64 http/1.1 http/2 http/3 ipv4 ipv6 iso-8859-1 sha-1 sha-256 sha-512 sha1 sha256 sha512 ssl/tls tcp/ip \
tls/ssl utf-16 utf-32 utf-8 utf16 utf32 utf8 x86-64 x86_64";

/// Whether a folded name is such a term.
pub(super) fn is_generic(name: &str) -> bool {
    let has_digit = name.contains(|c: char| c.is_ascii_digit());
    let has_letter = name.contains(char::is_alphabetic);
    let is_joined = name.contains(['_', '/', '-', '.', ':']);
    if !has_letter || !(has_digit || is_joined) {
        return false;
    }
    let is_rate = name.contains('/');
    let mut follows_number = false;
    let is_generic_part = |part: &str| {
        let after_number = std::mem::replace(&mut follows_number, is_number(part));
        match runs(part).as_slice() {
            [number] if is_number(number) => true,
            // The prefix of a ticket may be a unit, as in `MS-412`, so a unit must follow a number.
            [word] if has_digit => after_number && is_unit(word),
            [word] => is_listed(FUNCTION_WORDS, word) || is_rate && is_unit(word),
            [number, word] if is_number(number) => is_unit(word),
            // `v1` and `x86`, but not `e0382`.
            [word, number] => is_letter(word) && number.len() <= 2,
            [width, "x", height] => is_number(width) && is_number(height),
            _ => false,
        }
    };
    let mut parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    is_listed(COMMON_TERMS, name) || is_setting(name) || parts.all(is_generic_part)
}

/// Whether a text in lower case contains a folded name only as an option or as a setting with a value: `--top_k`,
/// `top_k=5`.
pub(super) fn is_option_in(text: &str, name: &str) -> bool {
    let mut places = text.match_indices(name).peekable();
    let is_option = |(at, _): (usize, &str)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + name.len()..).unwrap_or_default();
        before.ends_with("--") || after.starts_with('=') && !after.starts_with("==")
    };
    places.peek().is_some() && places.all(is_option)
}

/// Whether a name is a word with an amount, such as `limit:20`. In `main.rs:20` and `db1:5432`, the first part names
/// something itself.
fn is_setting(name: &str) -> bool {
    let is_amount = |part: &str| match runs(part).as_slice() {
        [number] => is_number(number),
        [number, unit] => is_number(number) && is_unit(unit),
        _ => false,
    };
    name.split_once(':').is_some_and(|(setting, value)| {
        setting.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '_'))
            && value.split('.').all(is_amount)
    })
}

/// The runs of digits and of other characters in a part of a name.
fn runs(part: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        runs.push(run);
        rest = behind;
    }
    runs
}

fn is_listed(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|listed| listed == word)
}

/// Whether a run, or the first run of a part, has digits.
fn is_number(run: &str) -> bool {
    run.starts_with(|c: char| c.is_ascii_digit())
}

fn is_letter(run: &str) -> bool {
    run.chars().nth(1).is_none()
}

fn is_unit(word: &str) -> bool {
    is_letter(word) || is_listed(UNITS, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_versions_and_common_terms_name_nothing_particular() {
        let names = "128-bit 32-bits 64-bit 100ms 5k 24-hour ns/iter mb/s km/h as_of and/or i/o 1.0.z v1.2.3 q3-2025 \
            1920x1080 utf-8 x86_64 tls/ssl asn.1 limit:20 min-score:0.5 last_seen:7d";
        for name in names.split_ascii_whitespace() {
            assert!(is_generic(name), "{name}");
        }
    }

    #[test]
    fn options_are_recognized_where_they_are_used() {
        assert!(is_option_in("run `eval --top_k 5` or `eval --top_k=9`.", "top_k"));
        assert!(is_option_in("set top_k=5.", "top_k"));
        for text in ["the option --top_k: top_k is 5 by default.", "if top_k==5", "--top_key top_key=5", ""] {
            assert!(!is_option_in(text, "top_k"), "{text}");
        }
    }

    #[test]
    fn identifiers_and_names_are_not_generic() {
        let names = "inc-412 pr-77 ms-412 in-20 op-7 b-5210 e0382 3f9ac2e 0f3e1c store_open icu4x all-minilm-l6-v2 \
            012-score-fusion.md src/main.rs std::fs::read covid-19 week-12 https://matrix.to mira op \
            2026-11-21 1963 main.rs:20 db1:5432 type:episodic";
        for name in names.split_ascii_whitespace() {
            assert!(!is_generic(name), "{name}");
        }
    }
}
