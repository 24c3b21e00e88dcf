//! The keys of rows in the store: agent, NUL, id.

use poc_graph::RunId;

/// Key prefix of all rows of an agent.
pub(super) fn prefix(agent: &str) -> Vec<u8> {
    [agent.as_bytes(), b"\0"].concat()
}

/// Key of a row.
pub(super) fn run_key(agent: &str, id: RunId) -> Vec<u8> {
    [prefix(agent).as_slice(), id.as_bytes()].concat()
}

/// Agent and id of a row's key.
pub(super) fn read_key(key: &[u8]) -> Option<(&str, RunId)> {
    let (front, id) = key.split_last_chunk::<16>()?;
    let agent = std::str::from_utf8(front.strip_suffix(b"\0")?).ok()?;
    Some((agent, RunId::from_bytes(*id)))
}
