//! Leaves out fields with invalid values, so that one invalid property does not prevent the import of a note.

use super::ParsedNote;
use super::location::SourceLocation;
use super::run::Import;
use crate::draft::{self, EMOTION_MAX};
use crate::{key, keyword_normalization};
use poc_graph::error::{Error, Result};

impl Import<'_> {
    /// An error unless the type is known.
    pub(super) fn known_type(&self, name: &str) -> Result<()> {
        draft::known_type(name, &self.memory.config)
    }

    /// The note without fields that have invalid values. Each such field is reported as a warning.
    pub(super) fn without_faults(&mut self, location: &SourceLocation, note: ParsedNote) -> ParsedNote {
        let ParsedNote::Foreign(mut foreign) = note else { return note };
        let mut warnings = std::mem::take(&mut foreign.warnings);
        let draft = &mut foreign.draft;
        if let Some(Err(error)) = draft.node_type.as_deref().map(|name| self.known_type(name)) {
            // An unknown type on the command line is an error, not a warning.
            if draft.node_type != self.options.node_type {
                draft.node_type.clone_from(&self.options.node_type);
                warnings.push(error);
            }
        }
        if let Some(words) = &mut draft.keywords {
            words.retain(|word| match keyword_normalization::normalize(std::slice::from_ref(word)) {
                Ok(_) => true,
                Err(error) => {
                    warnings.push(error);
                    false
                }
            });
        }
        if let Some(emotion) = draft.emotion.filter(|emotion| !(0.0..=EMOTION_MAX).contains(emotion)) {
            draft.emotion = None;
            warnings.push(
                Error::invalid(format!("an emotion of {emotion} is out of range"))
                    .hint("give a number from 0 (none) to 10")
                    .field("emotion"),
            );
        }
        let bounds = self.memory.config.weight.floor..=self.memory.config.weight.cap;
        if let Some(weight) = draft.weight.filter(|weight| !bounds.contains(weight)) {
            draft.weight = None;
            warnings.push(
                Error::invalid(format!("a weight of {weight} is out of range"))
                    .hint(format!("give a number from {} to {}", bounds.start(), bounds.end()))
                    .field("weight"),
            );
        }
        for (field, text) in [("author", &mut draft.author), ("source", &mut draft.source)] {
            if let Some(Err(error)) = text.as_deref().map(|text| draft::no_nul(text, field)) {
                *text = None;
                warnings.push(error);
            }
        }
        // Without its own key, the note gets one from its title.
        if let Some(Err(error)) = draft.key.as_deref().map(key::checked) {
            draft.key = None;
            draft.update = false;
            warnings.push(error);
        }
        self.report.warnings.extend(warnings.into_iter().map(|error| (location.clone(), error)));
        ParsedNote::Foreign(foreign)
    }
}
