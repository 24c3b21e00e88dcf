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
        // The bar has its message before it is drawn for the first time.
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::no_length().with_style(style(progress.total.is_some()));
            bar.with_message(progress.what.clone())
        });
        if let Some(total) = progress.total {
            bar.set_length(total);
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
