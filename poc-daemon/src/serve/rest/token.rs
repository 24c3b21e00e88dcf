//! The two tokens. The first start creates them, in files that only their owner can read.

use super::answer::HttpError;
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

/// Random bytes in a new token.
const TOKEN_BYTES: usize = 32;

/// Least characters of a token. A shorter one could be guessed.
const MIN_CHARS: usize = 32;

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenScope {
    /// Reading, without any trace in the memory.
    ReadOnly,
    /// Everything.
    Full,
}

/// The tokens of a server.
pub(super) struct Tokens {
    full: String,
    read: String,
}

impl Tokens {
    /// Reads the tokens and creates missing ones.
    ///
    /// # Errors
    /// `invalid_config` when a token is unsafe, `unavailable` when one cannot be written.
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

    /// The scope of a request's token, if it allows ops with this access.
    pub(super) fn check(&self, headers: &HeaderMap, access: Access) -> Result<TokenScope, HttpError> {
        match self.scope(headers)? {
            TokenScope::ReadOnly if access != Access::Read => Err(HttpError::forbidden(
                "the token is for reading only",
                "use the one in the file `token` beside config.toml",
            )),
            scope => Ok(scope),
        }
    }

    /// The scope of a request's token.
    pub(super) fn scope(&self, headers: &HeaderMap) -> Result<TokenScope, HttpError> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(HttpError::unauthorized("the request needs exactly one token"));
        };
        let value = value.as_bytes();
        let (scheme, token) = value.split_at(value.len().min("Bearer ".len()));
        if !scheme.eq_ignore_ascii_case(b"Bearer ") {
            return Err(HttpError::unauthorized("the token is not a bearer token"));
        }
        // Both comparisons always run, in constant time, so that the duration reveals nothing.
        let full = token.ct_eq(self.full.as_bytes());
        let read = token.ct_eq(self.read.as_bytes());
        match (bool::from(full), bool::from(read)) {
            (true, _) => Ok(TokenScope::Full),
            (_, true) => Ok(TokenScope::ReadOnly),
            _ => Err(HttpError::unauthorized("the token is wrong")),
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
        Err(error) if error.kind() == ErrorKind::NotFound => return create(path),
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
    if token.len() < MIN_CHARS || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(unusable(
            format!("a token has at least {MIN_CHARS} visible characters of ASCII and nothing else"),
            "delete the file; the next start makes another",
        ));
    }
    Ok(token.to_owned())
}

fn create(path: &Path) -> Result<String> {
    // Not the random source of the memory, which may be seeded: a token must not be predictable.
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::internal(format!("the operating system gives no random numbers for a token: {error}"))
    })?;
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
    fn tokens_are_created_once_and_only_their_owner_can_read_them() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::in_folder(home.path());
        let first = Tokens::load(&paths).unwrap();
        let again = Tokens::load(&paths).unwrap();
        assert_eq!((&first.full, &first.read), (&again.full, &again.read));
        assert_eq!((first.full.len(), first.read.len()), (2 * TOKEN_BYTES, 2 * TOKEN_BYTES));
        assert_ne!(first.full, first.read);
        for path in [paths.token(), paths.read_token()] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_weak_token_is_refused() {
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
    fn each_scope_allows_its_ops() {
        let tokens = Tokens { full: "f".repeat(64), read: "r".repeat(64) };
        let check = |shown: &[&str], access, expected: Option<StatusCode>| {
            let mut headers = HeaderMap::new();
            for shown in shown {
                headers.append(AUTHORIZATION, HeaderValue::from_str(shown).unwrap());
            }
            let refused = tokens.check(&headers, access).err().map(|error| {
                let response = error.into_response();
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
