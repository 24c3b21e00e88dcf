//! Why a pipeline gives an agent nothing to do, and what would help.

use crate::definition::QueryRules;
use poc_graph::plural;
use poc_search::query::{Explanation, StageReport};

/// The inputs of a message about an agent without work.
pub(super) struct EmptySelection<'a> {
    pub(super) agent: &'a str,
    pub(super) rules: &'a QueryRules,
    pub(super) stages: &'a Explanation,
    /// Number of results, and of those that agents may not read.
    pub(super) results: usize,
    pub(super) hidden: usize,
    /// Number of results that the run needs.
    pub(super) min: usize,
}

impl EmptySelection<'_> {
    /// The first stage that left too few nodes, with its counts, and what would help.
    pub(super) fn too_few(&self) -> String {
        let EmptySelection { stages, results, hidden, min, .. } = self;
        let needed =
            if *min > 1 { format!(", and a run needs {min} (`query.min-results`)") } else { String::new() };
        if let Some(stage) = stages.stages.iter().find(|stage| stage.output < *min) {
            let other_value = self.other_value(stage).unwrap_or_default();
            return format!("{}{needed}; {}{other_value}", left_by(stage), help(stage));
        }
        let (read, them) = if *hidden == 1 { ("note is", "it") } else { ("notes are", "them") };
        format!(
            "{hidden} of {results} {read} quarantined, and agents do not read {them}{needed}; give them a higher \
             trust or wait for other notes"
        )
    }

    /// How to run once with another value of the parameter that a stage contains; `None` if it contains none.
    fn other_value(&self, stage: &StageReport) -> Option<String> {
        let QueryRules { text, params, .. } = self.rules;
        let placeholder = |name: &str| format!("${{{name}}}");
        let with_values = |written: &str| {
            let replace =
                |filled: String, (name, value): (&String, &String)| filled.replace(&placeholder(name), value);
            params.iter().fold(written.to_owned(), replace)
        };
        let written = text.split('|').map(str::trim).find(|written| with_values(written) == stage.stage)?;
        let name = params.keys().find(|name| written.contains(&placeholder(name)))?;
        let agent = self.agent;
        Some(format!("; `poc-memory agent run {agent} --set {name}=VALUE` uses another value once"))
    }

    /// A message that the agent has visited all results, and when it reads them again. `fresh` is the number of visited
    /// results, and `window` is the time for which a visit counts.
    pub(super) fn not_stale(&self, fresh: usize, window: Option<String>) -> String {
        let notes = plural(fresh as u64, "note");
        let agent = self.agent;
        match window {
            Some(window) => format!(
                "`{agent}` has read all {notes} of its pipeline within {window} and they have not changed since; \
                 `--force` reads them again"
            ),
            None => format!(
                "`{agent}` has read all {notes} of its pipeline and they have not changed since; new and edited \
                 notes are read in the next run, `--force` reads all again"
            ),
        }
    }
}

fn left_by(stage: &StageReport) -> String {
    match (stage.kind.as_str(), stage.stage.as_str(), stage.output) {
        ("generator", "all", 0) => "the memory has no notes".to_owned(),
        ("generator", text, output) => format!("`{text}` found {}", plural(output as u64, "note")),
        (_, text, output) => format!("`{text}` left {output} of {}", plural(stage.input as u64, "note")),
    }
}

/// Advice for a stage that left too few nodes, by the word of the stage.
fn help(stage: &StageReport) -> String {
    let text = stage.stage.trim_start_matches('!');
    let (word, argument) = text.split_once(':').unwrap_or((text.split(',').next().unwrap_or(text), ""));
    let is_negated = stage.stage.starts_with('!');
    match word {
        "all" => "`poc-memory insert` and `poc-memory import` add some".to_owned(),
        "type" if !is_negated => format!("import notes with `type: {argument}`, or change the pipeline"),
        "keyword" if !is_negated => format!("give notes the keyword `{argument}`, or change the pipeline"),
        "interference-pairs" => {
            "no pair is similar enough; this can be correct, otherwise lower `min_sim` in the pipeline"
                .to_owned()
        }
        // `!age:<7d` asks for old notes, as `age:>=7d` does.
        "age" | "created" => match argument.starts_with('<') != is_negated {
            true => "the notes are older; newer ones will pass, or change the pipeline".to_owned(),
            false => "wait until notes have that age, or change the pipeline".to_owned(),
        },
        "visited" | "not-visited" => "this stage depends on which notes another agent has visited".to_owned(),
        "provenance" | "key" | "state" | "content-len" | "key-len" | "weight" | "degree" => {
            "no note matches; this can be correct, otherwise change the pipeline".to_owned()
        }
        "generated-key" => "no key is generated, so no note needs another key".to_owned(),
        _ => "change the pipeline: `poc-memory agent explain` shows what each stage leaves".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_about_ages_depends_on_their_direction() {
        let advice = |stage: &str| {
            let report = StageReport {
                stage: stage.to_owned(),
                kind: "filter".to_owned(),
                does: String::new(),
                input: 9,
                output: 0,
                micros: 0.0,
                note: None,
                saved: None,
            };
            help(&report)
        };
        for recent in ["created:<30d", "age:<=7d", "!age:>7d"] {
            assert!(advice(recent).starts_with("the notes are older"), "{recent}: {}", advice(recent));
        }
        for old in ["age:>30d", "created:>=1d", "!age:<7d"] {
            assert!(advice(old).starts_with("wait until notes have that age"), "{old}: {}", advice(old));
        }
    }
}
