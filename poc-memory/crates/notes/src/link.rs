//! Edges that people and agents create: `link`, `contradicts` and `derived-from`.

use super::draft::{check_length, no_nul};
use super::{derivation, resolve};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{Edge, EdgeKind, NodeId};
use poc_store::Transaction;

/// The kinds of edges that people and agents create.
pub const KINDS: [EdgeKind; 3] = [EdgeKind::Link, EdgeKind::Contradicts, EdgeKind::DerivedFrom];

/// Default strength of a link.
pub const STRENGTH: f64 = 0.8;

/// Maximum number of characters of a reason that is given. Answers about either note contain it.
const MAX_REASON_CHARS: usize = 2000;

/// An edge to create.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its source.
    pub src: NodeId,
    /// Its target.
    pub dst: NodeId,
    /// One of [`KINDS`].
    pub kind: EdgeKind,
    /// Strength, above 0 and at most 1.
    pub strength: f64,
    /// Why the notes are linked; may be empty.
    pub reason: String,
    /// Who creates it.
    pub provenance: String,
}

/// The result of creating an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkOutcome {
    /// It was created.
    Added,
    /// It existed with this strength and was left unchanged.
    AlreadyPresent(f64),
}

/// Checks the reason that somebody gives for an edge.
///
/// # Errors
/// `invalid_argument` if it contains a NUL character or is too long.
pub fn check_reason(reason: &str) -> Result<()> {
    no_nul(reason, "reason")?;
    check_length(reason, "reason", MAX_REASON_CHARS, "give one sentence")
}

/// Checks the strength that somebody gives for an edge. `max` is what is advised: a higher strength, up to 1, is lowered
/// to it.
///
/// # Errors
/// `invalid_argument` unless it is above 0 and at most 1.
pub fn check_strength(strength: f64, max: f64) -> Result<()> {
    if strength > 0.0 && strength <= 1.0 {
        return Ok(());
    }
    Err(Error::invalid(format!("a strength of {strength} is out of range"))
        .hint(format!("give a number above 0 and at most {max}"))
        .field("strength"))
}

/// Creates an edge unless one with the same source, kind and target exists.
///
/// # Errors
/// `invalid_argument` for a link that cannot exist, `not_found` for a missing note, `conflict` for a `derived-from`
/// link to a note that is itself derived from the first one.
pub fn add(tx: &mut Transaction<'_>, link: &Link, now: Timestamp) -> Result<LinkOutcome> {
    let Link { src, dst, kind, strength, .. } = *link;
    check_kind(kind)?;
    check_strength(strength, 1.0)?;
    if src == dst {
        return Err(Error::invalid("a note cannot be linked to itself")
            .hint("name two different notes")
            .field("to"));
    }
    let (from, to) = (resolve::expect(tx, src)?, resolve::expect(tx, dst)?);
    if let Some(there) = tx.edge(src, kind, dst)? {
        return Ok(LinkOutcome::AlreadyPresent(there.strength));
    }
    // A search shows the sources of a derived note instead of it. In a cycle, every note is derived.
    if kind == EdgeKind::DerivedFrom && derivation::is_derived_from(tx, dst, src)? {
        let message =
            format!("`{}` is itself derived from `{}`, directly or through other notes", to.key, from.key);
        return Err(Error::conflict(message).hint("remove that `derived-from` link first").field("to"));
    }
    tx.put_edge(&Edge {
        src,
        dst,
        kind,
        strength,
        created: now,
        touched: now,
        provenance: link.provenance.clone(),
        reason: link.reason.clone(),
    })?;
    Ok(LinkOutcome::Added)
}

/// Creates an edge, or updates the strength of an existing one, and its reason if one is given. Returns `None`
/// if an existing edge was changed.
pub fn set(tx: &mut Transaction<'_>, link: &Link, now: Timestamp) -> Result<Option<LinkOutcome>> {
    let linked = add(tx, link, now)?;
    let (LinkOutcome::AlreadyPresent(before), Some(there)) =
        (linked, tx.edge(link.src, link.kind, link.dst)?)
    else {
        return Ok(Some(linked));
    };
    let reason = if link.reason.is_empty() { there.reason.clone() } else { link.reason.clone() };
    if before == link.strength && reason == there.reason {
        return Ok(Some(linked));
    }
    let provenance = link.provenance.clone();
    tx.put_edge(&Edge { strength: link.strength, touched: now, reason, provenance, ..there })?;
    Ok(None)
}

/// Deletes an edge and returns whether it existed.
pub fn remove(tx: &mut Transaction<'_>, src: NodeId, kind: EdgeKind, dst: NodeId) -> Result<bool> {
    check_kind(kind)?;
    let there = tx.edge(src, kind, dst)?.is_some();
    if there {
        tx.delete_edge(src, kind, dst)?;
    }
    Ok(there)
}

fn check_kind(kind: EdgeKind) -> Result<()> {
    if KINDS.contains(&kind) {
        return Ok(());
    }
    Err(Error::invalid(format!("edges of kind `{kind}` cannot be created or removed by hand"))
        .hint("the kinds are `link`, `contradicts` and `derived-from`")
        .field("kind"))
}
