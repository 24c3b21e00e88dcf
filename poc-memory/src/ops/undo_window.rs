//! The time for which a change can be undone.

use super::{Ctx, Terminal};
use poc_config::HistoryRetention;

/// The minimum time for which a change made now can be undone.
pub(super) fn undo_window(ctx: &Ctx<'_>) -> HistoryRetention {
    ctx.memory.config.history.keep
}

/// Says how changes with these numbers are undone, and until when. The commands have the options of the call.
pub(super) fn undo_line(changes: &[u64], window: HistoryRetention, terminal: &Terminal) -> String {
    let within = match window {
        HistoryRetention::For(_) => format!(" within {window}"),
        HistoryRetention::All => String::new(),
    };
    let line = match changes {
        [] => String::new(),
        [change] => format!("`poc-memory undo {change}` reverts this{within}\n"),
        [first, .., last] if last - first == changes.len() as u64 - 1 => {
            format!("`poc-memory undo N` reverts a part of this{within}, for N from {first} to {last}\n")
        }
        _ => {
            let numbers: Vec<String> = changes.iter().map(u64::to_string).collect();
            let numbers = numbers.join(", ");
            format!("`poc-memory undo N` reverts a part of this{within}, for N one of {numbers}\n")
        }
    };
    // `undo` takes the option.
    terminal.with_options(&line, |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::time::Span;

    #[test]
    fn the_line_names_changes_and_time() {
        let ninety = HistoryRetention::For(Span(90 * Span::DAY.0));
        let line = |changes: &[u64], window| undo_line(changes, window, &Terminal::default());
        assert_eq!(line(&[], ninety), "");
        assert_eq!(line(&[7], HistoryRetention::All), "`poc-memory undo 7` reverts this\n");
        assert_eq!(line(&[7], ninety), "`poc-memory undo 7` reverts this within 90d\n");
        assert_eq!(
            line(&[7, 8, 9], ninety),
            "`poc-memory undo N` reverts a part of this within 90d, for N from 7 to 9\n"
        );
        assert_eq!(
            line(&[7, 9], HistoryRetention::All),
            "`poc-memory undo N` reverts a part of this, for N one of 7, 9\n"
        );
    }

    #[test]
    fn the_line_names_the_memory_of_the_call() {
        let terminal = Terminal::new(None, &["--profile".into(), "five".into()], &[]);
        assert_eq!(
            undo_line(&[7], HistoryRetention::All, &terminal),
            "`poc-memory --profile five undo 7` reverts this\n"
        );
    }
}
