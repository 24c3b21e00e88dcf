//! Turns of conversations, which become notes that are linked in their order.

use super::conversation::{Conversation, Turn};
use super::run::{Import, SessionNote};
use super::source_file::SourceFile;
use super::transcript::Transcript;
use super::{ParsedNote, SourceLocation};
use crate::{Draft, Memory};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, normal_key};

impl Import<'_> {
    /// Adds the turns of a transcript.
    pub(super) fn add_transcript(&mut self, file: &SourceFile<'_>, read: Transcript) -> Result<()> {
        let Transcript { conversation, turns, abandoned, skipped, failed, .. } = read;
        self.report.skipped.merge(&skipped);
        for turn in &abandoned {
            let whole = conversation.whole_key(turn);
            let is_stored = self.memory.store.find_key(&normal_key(&whole))?.is_some();
            self.detached.push(if is_stored { whole } else { conversation.key(turn) });
        }
        for (line, error) in failed {
            self.add_note(file.line(line), 0, Err(error))?;
        }
        turns
            .iter()
            .try_for_each(|placed| self.add_turn(file.line(placed.place.line), &conversation, &placed.turn))
    }

    /// Adds a turn of a conversation.
    pub(super) fn add_turn(
        &mut self,
        location: SourceLocation,
        conversation: &Conversation,
        turn: &Turn,
    ) -> Result<()> {
        let provenance = self.cause.actor.clone();
        let note = conversation.note(turn, self.options, &provenance, &mut self.report.secrets);
        let Some(mut note) = note else { return Ok(()) };
        note.draft.key = Some(self.turn_key(conversation, &turn.id, &note.draft)?);
        let bytes = note.draft.body.as_deref().map_or(0, str::len);
        self.add_note(location, bytes, Ok(ParsedNote::Foreign(Box::new(note))))
    }

    /// The key of the note of a turn. It shows a part of the id, or the whole id if another turn has the same part:
    /// an earlier one of this source, or one that is stored, which has another time and begins with another line.
    fn turn_key(&mut self, conversation: &Conversation, turn: &str, draft: &Draft) -> Result<String> {
        let (key, whole) = (conversation.key(turn), conversation.whole_key(turn));
        if key == whole {
            return Ok(key);
        }
        let store = &self.memory.store;
        let first = self.turns.entry(key.clone()).or_insert_with(|| turn.to_owned());
        if first.as_str() != turn || store.find_key(&normal_key(&whole))?.is_some() {
            return Ok(whole);
        }
        let stored = store.find_key(&normal_key(&key))?.map(|id| store.node(id)).transpose()?.flatten();
        let is_of_other = stored.is_some_and(|stored| {
            let body = draft.body.as_deref().unwrap_or_default();
            draft.created.is_some_and(|created| created != stored.created)
                && body.lines().next() != stored.body.lines().next()
        });
        Ok(if is_of_other { whole } else { key })
    }

    /// Adds a turn that is already stored, so that the next turn is linked to it.
    pub(super) fn continue_session(&mut self, conversation: &Conversation, turn: &str) -> Result<()> {
        if let Some(id) = note_of_turn(self.memory, conversation, turn)? {
            let before =
                SessionNote { id, location: SourceLocation::Line(0), created: Timestamp(0), position: None };
            self.sessions.entry(conversation.session()).or_default().push(before);
        }
        Ok(())
    }
}

/// The stored note of a turn.
pub(super) fn note_of_turn(
    memory: &Memory,
    conversation: &Conversation,
    turn: &str,
) -> Result<Option<NodeId>> {
    let store = &memory.store;
    match store.find_key(&normal_key(&conversation.whole_key(turn)))? {
        Some(id) => Ok(Some(id)),
        None => store.find_key(&normal_key(&conversation.key(turn))),
    }
}
