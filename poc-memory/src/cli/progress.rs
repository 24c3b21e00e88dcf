//! The progress bar of long commands.

use super::globals::Globals;
use crate::ops::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::OnceCell;
use std::io::IsTerminal;

/// A bar on standard error, shown only on a terminal and only once there is progress.
pub(super) struct Bar {
    wanted: bool,
    bar: OnceCell<ProgressBar>,
}

impl Bar {
    pub(super) fn new(globals: &Globals) -> Bar {
        Bar { wanted: !globals.quiet && std::io::stderr().is_terminal(), bar: OnceCell::new() }
    }

    /// Shows the progress.
    pub(super) fn show(&self, progress: &Progress) {
        if !self.wanted {
            return;
        }
        let of_part = || style(progress.total.is_some());
        // The bar has its message before it is drawn for the first time.
        let bar = self.bar.get_or_init(|| {
            ProgressBar::no_length().with_style(of_part()).with_message(progress.what.clone())
        });
        // A part may have a total although the one before had none, and the other way round.
        if bar.length().is_some() != progress.total.is_some() {
            bar.set_style(of_part());
        }
        match progress.total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
        bar.set_message(progress.what.clone());
        bar.set_position(progress.done);
    }

    /// Removes the bar from the screen.
    pub(super) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn style(bounded: bool) -> ProgressStyle {
    let template = if bounded {
        "{bar:30} {human_pos}/{human_len} {msg}, {elapsed}, about {eta} left"
    } else {
        "{spinner} {human_pos} {msg}, {elapsed}"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
