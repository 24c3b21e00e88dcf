//! Record format of rows, and conversions from the formats of earlier releases.

use super::status::{Status, StatusReason};
use super::trigger::TriggerKind;
use super::{ActionRecord, ActionState, NodeVersion, Run};
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId, Tuple};
use poc_store::{Record, Table, WriteRange};
use serde::Deserialize;
use std::collections::BTreeMap;

impl Record for Run {
    const TABLE: Table = Table::Runs;
    const VERSION: u8 = 5;

    fn earlier(version: u8, body: &[u8]) -> Option<postcard::Result<Run>> {
        // The fields that later versions added are at the end. Zero and an empty collection are a zero byte.
        let missing: &[u8] = match version {
            1 => return Some(postcard::from_bytes(body).map(RunV1::into)),
            // Version 2 stored every action, so `left_out` is 0.
            2 => &[0, 0, 0],
            // Version 3 had only runs for the default tenant, whose tuple is empty.
            3 => &[0, 0],
            // Version 4 named the notes of links only in the summaries of the actions.
            4 => &[0],
            _ => return None,
        };
        Some(postcard::from_bytes(&[body, missing].concat()))
    }
}

/// Version 1 of [`Run`].
#[derive(Deserialize)]
struct RunV1 {
    id: RunId,
    agent: String,
    scheduled_at: Option<Timestamp>,
    instance: String,
    started: Timestamp,
    finished: Option<Timestamp>,
    status: Status,
    reason: Option<StatusReason>,
    message: Option<String>,
    seq: Option<u64>,
    fingerprint: String,
    model: String,
    selected: Vec<NodeVersion>,
    visited: Vec<NodeId>,
    notes: String,
    actions: Vec<ActionRecordV1>,
    replays: WriteRange,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
    cost: Option<f64>,
}

/// Version 1 of [`ActionRecord`].
#[derive(Deserialize)]
struct ActionRecordV1 {
    summary: String,
    why: String,
    refusal_code: Option<String>,
    detail: Option<String>,
    writes: WriteRange,
    undone: bool,
}

impl From<RunV1> for Run {
    fn from(row: RunV1) -> Run {
        Run {
            id: row.id,
            agent: row.agent,
            trigger: if row.scheduled_at.is_some() { TriggerKind::Slot } else { TriggerKind::Manual },
            scheduled_at: row.scheduled_at,
            rerun_of: None,
            instance: row.instance,
            started: row.started,
            finished: row.finished,
            status: row.status,
            reason: row.reason,
            message: row.message,
            seq: row.seq,
            fingerprint: row.fingerprint,
            mode: None,
            model: row.model,
            set: BTreeMap::new(),
            selected: row.selected,
            visited: row.visited,
            notes: row.notes,
            actions: row.actions.into_iter().map(|action| action.of(row.seq)).collect(),
            replays: row.replays,
            tokens_in: row.tokens_in,
            tokens_out: row.tokens_out,
            cost: row.cost,
            calls: Vec::new(),
            left_out: 0,
            tenant: Tuple::default(),
            links: BTreeMap::new(),
            is_over_tenant_budget: false,
        }
    }
}

impl ActionRecordV1 {
    /// Converts to the current record; a run had one transaction.
    fn of(self, seq: Option<u64>) -> ActionRecord {
        let state = match (&self.refusal_code, self.undone) {
            (Some(_), _) => ActionState::Refused,
            (None, true) => ActionState::Undone,
            (None, false) => ActionState::Applied,
        };
        ActionRecord {
            kind: None,
            summary: self.summary,
            why: self.why,
            seq: seq.filter(|_| state != ActionState::Refused),
            state,
            refusal_code: self.refusal_code,
            detail: self.detail,
            writes: self.writes,
            changes: Vec::new(),
        }
    }
}
