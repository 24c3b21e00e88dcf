//! The keys of rows in the store: agent, NUL, id.

use super::Run;
use super::trigger::TriggerKind;
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

/// Key of the occurrence record for a slot or a rerun; `None` for other rows. Slot and rerun keys have
/// different lengths.
pub(super) fn occurrence_key(row: &Run) -> Option<Vec<u8>> {
    let key = |what: &[u8]| [prefix(&row.agent).as_slice(), what].concat();
    match row.trigger {
        TriggerKind::Rerun => row.rerun_of.map(|run| key(run.as_bytes())),
        TriggerKind::Schedule => row.scheduled_at.map(|slot| key(&slot.0.to_be_bytes())),
        TriggerKind::Manual | TriggerKind::Change => None,
    }
}
