//! The table of `eval --gates`.

use crate::ops::{plural, table};
use poc_notes::eval::gates::GateRates;
use std::fmt::Write as _;

const HEAD: [&str; 5] = ["gate", "answerable", "precision", "foreign", "notes removed"];

/// The table as text.
pub(super) fn show(set: &str, embedder: &str, gates: &[GateRates]) -> String {
    let asked = gates.first().map_or(0, |rates| rates.questions);
    let foreign = gates.first().map_or(0, |rates| rates.foreign_questions);
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.3}"));
    let row = |rates: &GateRates| {
        vec![
            rates.gate.name().to_owned(),
            share(Some(rates.answerable.strong)),
            share(rates.answerable.right),
            share(rates.foreign.map(|foreign| foreign.strong)),
            share(Some(rates.removed.strong)),
        ]
    };
    let head = std::iter::once(HEAD.map(str::to_owned).to_vec());
    let rows: Vec<Vec<String>> = head.chain(gates.iter().map(row)).collect();
    let mut text = format!(
        "{set}: {}, {}, embedder `{embedder}`\n\n{}\n",
        plural(asked, "question"),
        plural(foreign, "foreign question"),
        table(&rows)
    );
    text.push_str(
        "shares of questions that are answered STRONG: answerable questions, foreign questions, and answerable \
         questions after their relevant notes were removed; precision is the share of STRONG answers whose note is \
         relevant\n",
    );
    for rates in gates.iter().filter(|rates| rates.other_subject + rates.removed_other_subject > 0) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {} and, with the notes removed, {} are WEAK because the note is about another subject",
            rates.gate.name(),
            plural(rates.other_subject, "question"),
            rates.removed_other_subject
        );
    }
    if foreign == 0 {
        text.push_str("no foreign questions: `--foreign FOLDER` gives a set about something else\n");
    }
    text
}
