//! The tokens, one for each role. The first start creates them, in files that only their owner can read.

use super::answer::HttpError;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use poc_config::atomic_write::{Durability, write_private};
use poc_config::paths::Paths;
use poc_config::token_files;
use poc_graph::error::{Error, Result};
use poc_memory::ops::Access;
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// Random bytes in a new token.
const TOKEN_BYTES: usize = 32;

/// The role of the holder of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenRole {
    /// A program of a person. It may do everything except what only a person decides.
    Full,
    /// A model. Its writes are marked as those of a model, and it has the permissions of a model.
    Model,
    /// A program that only reads: its requests change nothing in the memory.
    ReadOnly,
}

/// The tokens of a server.
pub(super) struct Tokens {
    full: String,
    model: String,
    read_only: String,
}

impl Tokens {
    /// Reads the tokens and creates missing ones.
    ///
    /// # Errors
    /// `invalid_config` when a token is unsafe, `unavailable` when one cannot be written.
    pub(super) fn load(paths: &Paths) -> Result<Tokens> {
        let [full, model, read_only] = token_files::read(paths);
        let [full, model, read_only] = [full?, model?, read_only?];
        let or_new = |token: Option<String>, path: PathBuf| token.map_or_else(|| create(&path), Ok);
        Ok(Tokens {
            full: or_new(full, paths.token())?,
            model: or_new(model, paths.model_token())?,
            read_only: or_new(read_only, paths.read_token())?,
        })
    }

    /// The role of a request's token, if it allows ops with this access.
    pub(super) fn check(&self, headers: &HeaderMap, access: Access) -> Result<TokenRole, HttpError> {
        match self.role(headers)? {
            TokenRole::ReadOnly if access != Access::Read => Err(HttpError::forbidden(
                "the token is for reading only",
                "use the one in the file `token`, or `token-model` for a model, beside config.toml",
            )),
            role => Ok(role),
        }
    }

    /// The role of a request's token.
    pub(super) fn role(&self, headers: &HeaderMap) -> Result<TokenRole, HttpError> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(HttpError::unauthorized("the request needs exactly one token"));
        };
        let value = value.as_bytes();
        let (scheme, token) = value.split_at(value.len().min("Bearer ".len()));
        if !scheme.eq_ignore_ascii_case(b"Bearer ") {
            return Err(HttpError::unauthorized("the token is not a bearer token"));
        }
        // All comparisons always run, in constant time, so that the duration reveals nothing.
        let full = token.ct_eq(self.full.as_bytes());
        let model = token.ct_eq(self.model.as_bytes());
        let read_only = token.ct_eq(self.read_only.as_bytes());
        match (bool::from(full), bool::from(model), bool::from(read_only)) {
            (true, _, _) => Ok(TokenRole::Full),
            (_, true, _) => Ok(TokenRole::Model),
            (_, _, true) => Ok(TokenRole::ReadOnly),
            _ => Err(HttpError::unauthorized("the token is wrong")),
        }
    }
}

/// Creates a random token and its file.
fn create(path: &Path) -> Result<String> {
    // The random source of the memory may be seeded, but a token must be unpredictable.
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::unavailable(format!("the operating system returned no random bytes for a token: {error}"))
    })?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // A token that a power failure takes back would already be in the settings of other programs.
    write_private(path, format!("{token}\n").as_bytes(), Durability::Durable).map_err(|error| {
        Error::unavailable(format!("the token cannot be written: {error}")).file(path.display().to_string())
    })?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, StatusCode};
    use axum::response::IntoResponse;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn tokens_are_created_once_and_only_their_owner_can_read_them() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(home.path());
        let first = Tokens::load(&paths).unwrap();
        let again = Tokens::load(&paths).unwrap();
        let all = |tokens: &Tokens| [&tokens.full, &tokens.model, &tokens.read_only].map(String::clone);
        assert_eq!(all(&first), all(&again));
        assert!(all(&first).iter().all(|token| token.len() == 2 * TOKEN_BYTES));
        assert!(first.full != first.model && first.full != first.read_only && first.model != first.read_only);
        for path in [paths.token(), paths.model_token(), paths.read_token()] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn an_empty_token_is_made_again() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(home.path());
        Tokens::load(&paths).unwrap();
        fs::write(paths.read_token(), "\n").unwrap();
        let tokens = Tokens::load(&paths).unwrap();
        assert_eq!(tokens.read_only.len(), 2 * TOKEN_BYTES);
        assert_eq!(fs::metadata(paths.read_token()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_weak_token_is_refused() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(home.path());
        let check = |token: &str, mode, expected: &str| {
            std::fs::write(paths.token(), token).unwrap();
            std::fs::set_permissions(paths.token(), std::fs::Permissions::from_mode(mode)).unwrap();
            let message = Tokens::load(&paths).err().map(|error| error.message).unwrap_or_default();
            assert!(message.starts_with(expected) && message.is_empty() == expected.is_empty(), "{message}");
        };
        check("secret", 0o600, "a token has at least 32");
        check(&format!("{} {}", "a".repeat(32), "b".repeat(32)), 0o600, "a token has at least 32");
        check(&"a".repeat(64), 0o644, "other users may read the token");
        check(&"a".repeat(64), 0o600, "");
        for (path, expected) in [
            (paths.read_token(), "the token for reading is identical"),
            (paths.model_token(), "the token of models is identical"),
        ] {
            let other = std::fs::read_to_string(path).unwrap();
            check(&other, 0o600, expected);
        }
    }

    #[test]
    fn each_role_allows_its_ops() {
        let tokens = Tokens { full: "f".repeat(64), model: "m".repeat(64), read_only: "r".repeat(64) };
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
        let (full, read) = (format!("Bearer {}", tokens.full), format!("bearer {}", tokens.read_only));
        let model = format!("Bearer {}", tokens.model);
        let unauthorized = Some(StatusCode::UNAUTHORIZED);
        for access in [Access::Read, Access::Write, Access::Retract, Access::Destroy] {
            let reading = (access != Access::Read).then_some(StatusCode::FORBIDDEN);
            check(&[&full], access, None);
            check(&[&model], access, None);
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
