//! The two tokens: made at the first start, kept in files their owner alone can read.

use super::answer::Refusal;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use poc_memory::ops::Access;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use subtle::ConstantTimeEq;

/// Random bytes of a token.
const BYTES: usize = 32;

/// Characters below which a token could be guessed.
const LEAST: usize = 32;

/// What a token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    /// Looking, without a trace.
    Read,
    /// Everything.
    All,
}

/// What opens the door.
pub(super) struct Tokens {
    full: String,
    read: String,
}

impl Tokens {
    /// Reads the tokens, making those that are missing.
    pub(super) fn load(paths: &Paths) -> Result<Tokens> {
        let tokens = Tokens { full: load(&paths.token())?, read: load(&paths.read_token())? };
        if tokens.full == tokens.read {
            let read = paths.read_token().display().to_string();
            return Err(Error::config("the token for reading is the one for everything")
                .hint("delete the file; the next start makes another")
                .file(read));
        }
        Ok(tokens)
    }

    /// Whether a request may call an op with such access, and what its token is good for.
    pub(super) fn check(&self, headers: &HeaderMap, access: Access) -> Result<Power, Refusal> {
        match self.shown(headers)? {
            Power::Read if access != Access::Read => Err(Refusal::forbidden(
                "the token is for reading only",
                "use the one in the file `token` beside config.toml",
            )),
            power => Ok(power),
        }
    }

    /// What the token of a request is good for.
    pub(super) fn shown(&self, headers: &HeaderMap) -> Result<Power, Refusal> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(Refusal::unauthorized("this needs one token"));
        };
        let shown = value.as_bytes();
        let (scheme, token) = shown.split_at(shown.len().min("Bearer ".len()));
        if !scheme.eq_ignore_ascii_case(b"Bearer ") {
            return Err(Refusal::unauthorized("this needs a bearer token"));
        }
        // Both are compared, whatever the first says, and in a time that tells nothing.
        let full = token.ct_eq(self.full.as_bytes());
        let read = token.ct_eq(self.read.as_bytes());
        match (bool::from(full), bool::from(read)) {
            (true, _) => Ok(Power::All),
            (_, true) => Ok(Power::Read),
            _ => Err(Refusal::unauthorized("the token is not one of ours")),
        }
    }
}

fn load(path: &Path) -> Result<String> {
    let unusable =
        |problem: String, hint: &str| Error::config(problem).hint(hint).file(path.display().to_string());
    let failed = |error: std::io::Error| {
        unusable(format!("the token cannot be read: {error}"), "make the file readable, or delete it")
    };
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return make(path),
        opened => opened.map_err(failed)?,
    };
    if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
        return Err(unusable(
            "others can read the token".into(),
            "delete the file, and the next start makes another; or keep it with `chmod 600`",
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    let token = text.trim();
    if token.len() < LEAST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unusable(
            format!("a token has at least {LEAST} visible characters of ASCII and nothing else"),
            "delete the file; the next start makes another",
        ));
    }
    Ok(token.to_owned())
}

fn make(path: &Path) -> Result<String> {
    // Not the memory's `Chance`: a token that can be guessed is none.
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("there is no chance to make a token of: {error}")))?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{token}\n").as_bytes()));
    written.map_err(|error| {
        Error::unavailable(format!("the token cannot be written: {error}")).file(path.display().to_string())
    })?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, StatusCode};
    use axum::response::IntoResponse;

    #[test]
    fn tokens_are_made_once_for_their_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::in_folder(home.path());
        let first = Tokens::load(&paths).unwrap();
        let again = Tokens::load(&paths).unwrap();
        assert_eq!((&first.full, &first.read), (&again.full, &again.read));
        assert_eq!((first.full.len(), first.read.len()), (2 * BYTES, 2 * BYTES));
        assert_ne!(first.full, first.read);
        for path in [paths.token(), paths.read_token()] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_that_makes_a_weak_token_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::in_folder(home.path());
        let check = |token: &str, mode, expected: &str| {
            std::fs::write(paths.token(), token).unwrap();
            std::fs::set_permissions(paths.token(), std::fs::Permissions::from_mode(mode)).unwrap();
            let error = Tokens::load(&paths).err().unwrap();
            assert!(error.message.starts_with(expected), "{error}");
        };
        check("", 0o600, "a token has at least 32");
        check("secret", 0o600, "a token has at least 32");
        check(&format!("{} {}", "a".repeat(32), "b".repeat(32)), 0o600, "a token has at least 32");
        check(&"a".repeat(64), 0o644, "others can read the token");
        let read = std::fs::read_to_string(paths.read_token());
        if let Ok(read) = read {
            check(&read, 0o600, "the token for reading is the one for everything");
        }
    }

    #[test]
    fn who_may_do_what() {
        let tokens = Tokens { full: "f".repeat(64), read: "r".repeat(64) };
        let check = |shown: &[&str], access, expected: Option<StatusCode>| {
            let mut headers = HeaderMap::new();
            for shown in shown {
                headers.append(AUTHORIZATION, HeaderValue::from_str(shown).unwrap());
            }
            let refused = tokens.check(&headers, access).err().map(|refusal| {
                let response = refusal.into_response();
                let challenged = response.headers().contains_key("www-authenticate");
                assert_eq!(challenged, response.status() == StatusCode::UNAUTHORIZED);
                response.status()
            });
            assert_eq!(refused, expected, "{shown:?} {access:?}");
        };
        let (full, read) = (format!("Bearer {}", tokens.full), format!("bearer {}", tokens.read));
        let unauthorized = Some(StatusCode::UNAUTHORIZED);
        for access in [Access::Read, Access::Write, Access::Retract, Access::Destroy] {
            let reading = (access != Access::Read).then_some(StatusCode::FORBIDDEN);
            check(&[&full], access, None);
            check(&[&read], access, reading);
            check(&[], access, unauthorized);
            check(&[&full, &read], access, unauthorized);
            let wrong = ["Bearer ", "Bearer", "", "Basic f", &tokens.full, "Bearer x"];
            for wrong in wrong.iter().copied().chain([&full[..70], &format!("{full}f"), &format!("{full} ")])
            {
                check(&[wrong], access, unauthorized);
            }
        }
    }
}
