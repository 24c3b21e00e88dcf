//! The sessions of browsers that are signed in to the page, and the codes that start them.
//!
//! A session is a random number in a cookie. The daemon stores only its hash, in a file, so that a browser
//! stays signed in when the daemon restarts.

use blake3::Hash;
use parking_lot::Mutex;
use poc_config::atomic_write::{Durability, write_private};
use poc_graph::Tuple;
use poc_graph::error::{Error, Result};
use poc_graph::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// How long a code can start a session. A minute is enough, because the browser opens the address at once.
pub(crate) const CODE_LIFETIME: Span = Span::MINUTE;

/// Random bytes in a code and in a session.
const SECRET_BYTES: usize = 32;

/// Maximum number of codes at the same time. Beyond that, the one that expires first is removed.
const MAX_CODES: usize = 32;

/// Maximum number of sessions at the same time. Beyond that, the one that expires first is removed.
const MAX_SESSIONS: usize = 64;

/// The permissions of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SessionAccess {
    /// Reading, which changes nothing in the memory.
    ReadOnly,
    /// Everything that the token with full access allows.
    Full,
    /// Also decisions that only a person may make.
    Person,
}

/// The permissions and the tenant of a signed-in browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionGrant {
    pub(crate) scope: SessionAccess,
    /// The tenant whose notes it sees.
    pub(crate) tenant: Tuple,
}

/// A session that a request belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) scope: SessionAccess,
    /// The tenant whose notes it sees.
    pub(crate) tenant: Tuple,
    /// Requests that write carry it in a header, which no foreign page can read or set.
    pub(crate) csrf_token: String,
}

/// The codes and sessions of a daemon.
pub(crate) struct Sessions {
    path: PathBuf,
    state: Mutex<SessionTable>,
}

#[derive(Default)]
struct SessionTable {
    codes: BTreeMap<String, SignInCode>,
    stored: StoredSessions,
}

struct SignInCode {
    grant: SessionGrant,
    expires: Timestamp,
}

/// The content of the file.
#[derive(Default, Serialize, Deserialize)]
struct StoredSessions {
    /// The address at which the page was last served. A restarted daemon uses its port again for pages that are
    /// still open.
    address: Option<SocketAddr>,
    /// The sessions by the hash of their secrets.
    sessions: BTreeMap<String, StoredSession>,
}

#[derive(Serialize, Deserialize)]
struct StoredSession {
    scope: SessionAccess,
    #[serde(default)]
    tenant: Tuple,
    /// The value of `Host` that the browser used. The session is valid only for this host.
    host: String,
    expires: Timestamp,
}

impl Sessions {
    /// Reads the sessions that an earlier process has saved. If the file is unreadable, browsers have to sign in again.
    pub(crate) fn load(path: PathBuf) -> Sessions {
        let stored = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => StoredSessions::default(),
            read => {
                let problem = match read {
                    Ok(bytes) => match serde_json::from_slice(&bytes) {
                        Ok(stored) => return Sessions::new(path, stored),
                        Err(error) => error.to_string(),
                    },
                    Err(error) => error.to_string(),
                };
                tracing::warn!(
                    "`{}` cannot be read, so browsers have to sign in again: {problem}",
                    path.display()
                );
                StoredSessions::default()
            }
        };
        Sessions::new(path, stored)
    }

    fn new(path: PathBuf, stored: StoredSessions) -> Sessions {
        Sessions { path, state: Mutex::new(SessionTable { codes: BTreeMap::new(), stored }) }
    }

    /// The last port of the page, if a browser is still signed in.
    pub(crate) fn port(&self, now: Timestamp) -> Option<u16> {
        let state = self.state.lock();
        let is_open = state.stored.sessions.values().any(|session| session.expires > now);
        state.stored.address.filter(|_| is_open).map(|address| address.port())
    }

    /// Stores the address at which the page is served.
    pub(crate) fn set_address(&self, address: SocketAddr) {
        self.state.lock().stored.address = Some(address);
    }

    /// Creates a code that starts one session. Returns it with the time at which it expires.
    ///
    /// # Errors
    /// `unavailable` when the operating system returns no random bytes.
    pub(crate) fn create_code(&self, grant: SessionGrant, now: Timestamp) -> Result<(String, Timestamp)> {
        let code = secret()?;
        let expires = now.plus(CODE_LIFETIME);
        let codes = &mut self.state.lock().codes;
        codes.retain(|_, code| code.expires > now);
        if codes.len() >= MAX_CODES
            && let Some(first) = earliest(codes, |code| code.expires)
        {
            codes.remove(&first);
        }
        codes.insert(hash(&code), SignInCode { grant, expires });
        Ok((code, expires))
    }

    /// Removes a code and returns its grant; `None` if the code is unknown or has expired.
    pub(crate) fn redeem(&self, code: &str, now: Timestamp) -> Option<SessionGrant> {
        let code = self.state.lock().codes.remove(&hash(code))?;
        (code.expires > now).then_some(code.grant)
    }

    /// Starts a session for a browser that sends `host` as the host of its requests, and returns the secret of the
    /// session.
    ///
    /// # Errors
    /// `unavailable` when the operating system returns no random bytes, or when the file cannot be written.
    pub(crate) fn open(
        &self,
        grant: SessionGrant,
        host: &str,
        now: Timestamp,
        lifetime: Span,
    ) -> Result<String> {
        let secret = secret()?;
        let mut state = self.state.lock();
        let sessions = &mut state.stored.sessions;
        sessions.retain(|_, session| session.expires > now);
        if sessions.len() >= MAX_SESSIONS
            && let Some(first) = earliest(sessions, |session| session.expires)
        {
            sessions.remove(&first);
        }
        let SessionGrant { scope, tenant } = grant;
        let (host, expires) = (host.to_ascii_lowercase(), now.plus(lifetime));
        let session = StoredSession { scope, tenant, host, expires };
        sessions.insert(hash(&secret), session);
        save(&self.path, &state.stored)?;
        Ok(secret)
    }

    /// The session with a secret, if the request names the same host.
    pub(crate) fn find(&self, secret: &str, host: &str, now: Timestamp) -> Option<Session> {
        // The secret is looked up by its hash, so that the duration reveals nothing about it.
        let state = self.state.lock();
        let stored = state.stored.sessions.get(&hash(secret))?;
        (stored.expires > now && stored.host.eq_ignore_ascii_case(host)).then(|| Session {
            scope: stored.scope,
            tenant: stored.tenant.clone(),
            csrf_token: csrf_token(secret),
        })
    }

    /// Ends a session.
    ///
    /// # Errors
    /// `unavailable` when the file cannot be written.
    pub(crate) fn close(&self, secret: &str) -> Result<()> {
        let mut state = self.state.lock();
        match state.stored.sessions.remove(&hash(secret)) {
            Some(_) => save(&self.path, &state.stored),
            None => Ok(()),
        }
    }
}

/// The key of the item that expires first.
fn earliest<T>(items: &BTreeMap<String, T>, expires: impl Fn(&T) -> Timestamp) -> Option<String> {
    items.iter().min_by_key(|(_, item)| expires(item)).map(|(key, _)| key.clone())
}

/// [`SECRET_BYTES`] random bytes in hex.
fn secret() -> Result<String> {
    let mut bytes = [0_u8; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::unavailable(format!("the operating system returned no random bytes for a session: {error}"))
    })?;
    Ok(Hash::from_bytes(bytes).to_hex().to_string())
}

/// The BLAKE3 hash of a secret, in hex.
fn hash(secret: &str) -> String {
    blake3::hash(secret.as_bytes()).to_hex().to_string()
}

/// The CSRF token is derived from the secret of the session, so that it has the same lifetime and need not be
/// stored.
fn csrf_token(secret: &str) -> String {
    Hash::from_bytes(blake3::derive_key(
        "poc-memory page 2026 token of requests that write",
        secret.as_bytes(),
    ))
    .to_hex()
    .to_string()
}

/// Replaces the file atomically, so that an interruption leaves either the old or the new one.
fn save(path: &Path, stored: &StoredSessions) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("the session cannot be saved: {error}")).file(path.display().to_string())
    };
    let json = serde_json::to_vec(stored)
        .map_err(|error| Error::internal(format!("the sessions cannot be encoded: {error}")))?;
    write_private(path, &json, Durability::Atomic).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);
    const HOST: &str = "127.0.0.1:9977";

    fn sessions() -> (tempfile::TempDir, Sessions) {
        let folder = poc_graph::testing::folder();
        let sessions = Sessions::load(folder.path().join("sessions.json"));
        (folder, sessions)
    }

    fn grant(scope: SessionAccess) -> SessionGrant {
        SessionGrant { scope, tenant: Tuple::new([("user", "ann")]).unwrap() }
    }

    #[test]
    fn a_code_works_once_and_for_a_minute() {
        let (_folder, sessions) = sessions();
        let (code, expires) = sessions.create_code(grant(SessionAccess::Person), NOW).unwrap();
        assert_eq!(expires, NOW.plus(Span::MINUTE));
        assert_eq!(sessions.redeem("", NOW), None);
        assert_eq!(sessions.redeem(&code[1..], NOW), None);
        assert_eq!(sessions.redeem(&code, NOW), Some(grant(SessionAccess::Person)));
        assert_eq!(sessions.redeem(&code, NOW), None);
        let (late, expires) = sessions.create_code(grant(SessionAccess::ReadOnly), NOW).unwrap();
        assert_eq!(sessions.redeem(&late, expires), None);
    }

    #[test]
    fn a_session_is_bound_to_its_host_and_ends() {
        let (folder, sessions) = sessions();
        let secret = sessions.open(grant(SessionAccess::Full), "LocalHost:9977", NOW, Span::HOUR).unwrap();
        let find = |host, now| sessions.find(&secret, host, now).map(|session| session.scope);
        assert_eq!(find("localhost:9977", NOW), Some(SessionAccess::Full));
        assert_eq!(find(HOST, NOW), None);
        assert_eq!(find("localhost:9978", NOW), None);
        assert_eq!(find("localhost:9977", NOW.plus(Span::HOUR)), None);
        sessions.close(&secret).unwrap();
        assert_eq!(find("localhost:9977", NOW), None);
        let file = std::fs::read_to_string(folder.path().join("sessions.json")).unwrap();
        assert!(!file.contains(&secret), "the file contains a secret");
    }

    #[test]
    fn sessions_survive_a_restart_and_the_file_has_no_secret() {
        let (folder, sessions) = sessions();
        sessions.set_address(HOST.parse().unwrap());
        let secret = sessions.open(grant(SessionAccess::Person), HOST, NOW, Span::HOUR).unwrap();
        let found = sessions.find(&secret, HOST, NOW).unwrap();
        let path = folder.path().join("sessions.json");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&secret) && !text.contains(&found.csrf_token), "{text}");
        assert_eq!(found.tenant.to_string(), "user=ann");
        let again = Sessions::load(path.clone());
        assert_eq!(again.find(&secret, HOST, NOW), Some(found));
        assert_eq!(again.port(NOW), Some(9977));
        assert_eq!(again.port(NOW.plus(Span::HOUR)), None);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Sessions::load(path).find(&secret, HOST, NOW), None);
    }

    #[test]
    fn the_number_of_codes_and_sessions_is_limited() {
        let (_folder, sessions) = sessions();
        let at = |second: usize| NOW.plus(Span(second as i64));
        let codes: Vec<String> = (0..=MAX_CODES)
            .map(|n| sessions.create_code(grant(SessionAccess::Person), at(n)).unwrap().0)
            .collect();
        assert_eq!(sessions.redeem(&codes[0], NOW), None);
        assert_eq!(sessions.redeem(&codes[1], NOW), Some(grant(SessionAccess::Person)));
        let secrets: Vec<String> = (0..=MAX_SESSIONS)
            .map(|n| sessions.open(grant(SessionAccess::Person), HOST, at(n), Span::HOUR).unwrap())
            .collect();
        assert_eq!(sessions.find(&secrets[0], HOST, NOW), None);
        assert!(sessions.find(&secrets[1], HOST, NOW).is_some());
    }
}
