//! The files with the tokens of HTTP, one for each role, and what makes one unusable.

use super::paths::Paths;
use super::sections::Config;
use poc_graph::error::{Error, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Minimum length of a token in characters. A shorter one could be guessed.
const MIN_CHARS: usize = 32;

/// The hint for a file whose contents cannot be used.
const DELETE: &str = "delete the file, and the daemon makes another";

/// The tokens of a user's own programs, of models, and for reading, in this order. A token is `None` if its file is
/// absent or empty; the daemon then makes one. An empty file remains when an earlier release was interrupted while it
/// wrote the file.
///
/// # Errors
/// `invalid_config` in place of each token that cannot be used: because others may read its file, the file cannot be
/// read, its text is no token, or it is identical to that of another role.
pub fn read(paths: &Paths) -> [Result<Option<String>>; 3] {
    let full = read_token(&paths.token());
    let mut model = read_token(&paths.model_token());
    let mut read_only = read_token(&paths.read_token());
    let text = |token: &Result<Option<String>>| token.as_ref().ok().cloned().flatten();
    let is_same = |one: &Result<Option<String>>, other: &Result<Option<String>>| {
        text(one).is_some_and(|token| text(other) == Some(token))
    };
    let identical = |role: &str, path: &Path| {
        Err(unusable(path, format!("the token {role} is identical to that of another role"), DELETE))
    };
    if is_same(&read_only, &full) || is_same(&read_only, &model) {
        read_only = identical("for reading", &paths.read_token());
    }
    if is_same(&model, &full) {
        model = identical("of models", &paths.model_token());
    }
    [full, model, read_only]
}

/// Why a daemon with these settings could not start because of its tokens, one error for each file. A daemon that does
/// not serve HTTP from its start needs no tokens.
pub fn start_problems(paths: &Paths, config: &Config) -> Vec<Error> {
    if !config.rest.enabled && !config.mcp.http {
        return Vec::new();
    }
    let consequence = |error: Error| Error {
        message: format!("{}: a daemon that serves HTTP does not start", error.message),
        ..error
    };
    read(paths).into_iter().filter_map(Result::err).map(consequence).collect()
}

fn unusable(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::config(problem).hint(hint).file(path.display().to_string())
}

fn read_token(path: &Path) -> Result<Option<String>> {
    let failed = |error: std::io::Error| {
        unusable(
            path,
            format!("the token cannot be read: {error}"),
            format!("{DELETE}; or make the file readable for yourself"),
        )
    };
    // Opening a named pipe would wait for a writer.
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.map_err(failed)?,
    };
    if !metadata.is_file() {
        let hint = "move it away, and the daemon makes a file with a token";
        return Err(unusable(path, "a token must be in a regular file", hint));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(unusable(
            path,
            "other users may read the token",
            format!("{DELETE}; or keep it with `chmod 600 '{}'`", path.display()),
        ));
    }
    let mut text = String::new();
    File::open(path).and_then(|mut file| file.read_to_string(&mut text)).map_err(failed)?;
    let token = text.trim();
    if token.is_empty() {
        return Ok(None);
    }
    if token.len() < MIN_CHARS || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let problem =
            format!("a token has at least {MIN_CHARS} characters, all of them visible ASCII characters");
        return Err(unusable(path, problem, DELETE));
    }
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_cannot_be_used_is_reported() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(home.path());
        let problems = || read(&paths).into_iter().filter_map(Result::err).collect::<Vec<_>>();
        assert!(problems().is_empty(), "absent files are made");
        let write = |path: &Path, text: &str, mode| {
            fs::write(path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let messages = || problems().into_iter().map(|error| error.message).collect::<Vec<_>>();
        write(&paths.token(), &"a".repeat(64), 0o600);
        write(&paths.model_token(), &"a".repeat(64), 0o600);
        write(&paths.read_token(), "abc", 0o600);
        assert_eq!(
            messages(),
            [
                "the token of models is identical to that of another role",
                "a token has at least 32 characters, all of them visible ASCII characters",
            ]
        );
        fs::remove_file(paths.model_token()).unwrap();
        fs::create_dir(paths.model_token()).unwrap();
        write(&paths.token(), &"a".repeat(64), 0o644);
        write(&paths.read_token(), "\n", 0o600);
        assert_eq!(messages(), ["other users may read the token", "a token must be in a regular file"]);
        let hint = problems().remove(0).hint.unwrap();
        assert!(hint.starts_with("delete the file") && hint.contains("`chmod 600 '"), "{hint}");
        let start_problems = |settings: &str| {
            let config = Config::layered(Some(("config.toml", settings)), std::iter::empty()).unwrap();
            super::start_problems(&paths, &config).len()
        };
        assert_eq!((start_problems("rest.enabled = true"), start_problems("")), (2, 0));
    }
}
