//! What a repair from one source keeps and loses.

use super::changes::changes_in_words;
use super::source::RepairFrom;
use crate::ops::{plural, second};
use poc_graph::time::Timestamp;
use poc_store::{ReadablePart, RepairOption, TransactionRange};
use serde::Serialize;

/// The changes and notes that one source keeps and loses.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct RepairChoice {
    pub(super) from: RepairFrom,
    /// Number of notes of all tenants that are kept.
    notes: u64,
    links: u64,
    /// How many more the most complete source keeps.
    fewer_notes: u64,
    fewer_links: u64,
    /// The number of the last change that is kept.
    pub(super) last_change: u64,
    /// The time of the last kept change whose time is known.
    until: Option<Timestamp>,
    /// Whether `until` is the time of the last kept change itself.
    until_is_exact: bool,
    /// The ranges of lost changes.
    pub(super) lost_changes: Vec<TransactionRange>,
    /// Whether the records cannot be used as a whole. Their intact blocks then keep a part of the lost changes.
    partial_records: bool,
    /// The notes that readable parts of the store have and this source does not keep, by part.
    missing_notes: Vec<MissingNotes>,
}

/// Notes of a part of the store that a source of a repair does not keep.
#[derive(Debug, Serialize)]
struct MissingNotes {
    /// `records` or `view`.
    part: &'static str,
    /// The last change that the part reflects.
    last_change: u64,
    /// Number of notes that can be read in the part.
    notes: u64,
    /// Number of those that the source does not keep.
    missing: u64,
}

impl RepairChoice {
    /// The choices of a person, from the possible repairs and the readable parts of the store.
    pub(super) fn all_of(options: &[RepairOption], parts: &[ReadablePart]) -> Vec<RepairChoice> {
        let max = |count: fn(&RepairOption) -> u64| options.iter().map(count).max().unwrap_or(0);
        let (notes, links) = (max(|option| option.notes), max(|option| option.links));
        let missing_notes = |option: &RepairOption| {
            let missing = |(part, missing): (&ReadablePart, &u64)| MissingNotes {
                part: part.name,
                last_change: part.last_seq,
                notes: part.notes,
                missing: *missing,
            };
            parts.iter().zip(&option.missing_notes).map(missing).collect::<Vec<_>>()
        };
        let choice = |option: &RepairOption| RepairChoice {
            from: RepairFrom::of(option.source),
            notes: option.notes,
            links: option.links,
            fewer_notes: notes - option.notes,
            fewer_links: links - option.links,
            last_change: option.last_seq,
            until: option.until,
            until_is_exact: option.until_is_exact,
            lost_changes: option.lost.clone(),
            partial_records: option.is_partial,
            missing_notes: missing_notes(option),
        };
        options.iter().map(choice).collect()
    }

    /// The choice as text for a person, in several lines.
    pub(super) fn text(&self) -> String {
        let description = match self.partial_records {
            true => "the intact blocks of the records, and every readable change of the log",
            false => self.from.description(),
        };
        let missing = self.missing_notes.iter().filter(|part| part.missing > 0).map(|part| {
            format!(
                "{:<10} lacks {} of the {} that can be read in `{}`, up to change {}\n",
                "",
                part.missing,
                plural(part.notes, "note"),
                part.part,
                part.last_change
            )
        });
        format!(
            "{:<10} {description}\n{:<10} {}\n{:<10} {}\n{}",
            self.from.name(),
            "",
            self.kept(),
            "",
            self.lost(),
            missing.collect::<String>()
        )
    }

    /// What is kept, in words.
    fn kept(&self) -> String {
        let until = self.until.map_or_else(String::new, |until| match self.until_is_exact {
            true => format!(" of {}", second(until)),
            false => format!(" of {} or later", second(until)),
        });
        let (notes, links) = (plural(self.notes, "note"), plural(self.links, "link"));
        format!("keeps {notes} and {links}, up to change {}{until}", self.last_change)
    }

    /// What is lost, in words.
    fn lost(&self) -> String {
        if self.lost_changes.is_empty() {
            return "loses only the history of the damaged part".to_owned();
        }
        let except = match self.partial_records {
            true => {
                ", except for what those blocks have: a note may be older than it was, or back although it was \
                 deleted"
            }
            false => "",
        };
        let fewer = match (self.fewer_notes, self.fewer_links) {
            (0, 0) => String::new(),
            (notes, 0) => format!("; has {} fewer", plural(notes, "note")),
            (0, links) => format!("; has {} fewer", plural(links, "link")),
            (notes, links) => format!("; has {} and {} fewer", plural(notes, "note"), plural(links, "link")),
        };
        format!("loses {}{except}{fewer}", changes_in_words(&self.lost_changes))
    }
}
