//! `query`

use super::argument::TextArgument;
use super::hit::{NoteRow, is_zero, truncated};
use super::request::FormerText;
use super::retrieve::{self, RetrieveRow};
use super::terminal::{StyledText, Terminal};
use super::text::{one_line, plural};
use super::{Access, Ctx, Op, Route, ToolEffect};
use poc_config::GateKind;
use poc_graph::Node;
use poc_graph::error::Result;
use poc_notes::answer_status::{self, AsOf};
use poc_notes::query_gate::{self, GateReason, GateResult};
use poc_notes::resolve::operand;
use poc_notes::samples;
use poc_rank::gate::{CertaintySignals, GateSignals, TitleSignals, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Check whether a note about something exists. Returns the note if there is one on this subject (STRONG), a candidate
/// to verify if there may be one (WEAK), and otherwise the nearest notes (MISS). STRONG does not mean that the note
/// contains the answer: read it. Words that no note contains count against a match, and a name or number in the
/// question that the note lacks makes it WEAK at most, as does another subject of the same kind (`the mail worker` and
/// `the invoice worker`). The setting `[query] gate` chooses the rule. A STRONG answer counts as a use of the note,
/// which is a change of the memory; if you ask for signals only, nothing is changed. On the command line,
/// `query --calibrate` proposes thresholds (see `calibrate`).
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// What to look up: words or a question
    #[command(flatten)]
    #[schemars(regex(pattern = r"\S"))]
    text: TextArgument,
    /// Only decide: return no fallback, and do not count the note as used
    #[arg(long)]
    #[serde(default)]
    signals_only: bool,
    /// Also show the thresholds that the signals were compared with
    #[arg(long)]
    #[serde(default)]
    explain: bool,
    /// Include quarantined notes, which no person has approved. Only models need this: a person always sees them
    #[arg(long)]
    #[serde(default)]
    quarantined: bool,
}

/// The verdict and the matching note.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct QueryOutput {
    /// How certain it is that there is a note on this subject.
    hit: Verdict,
    /// The matching note; absent for a miss.
    #[serde(flatten)]
    note: Option<NoteRow>,
    /// Its text, at most 20,000 characters; only present if the verdict is STRONG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Number of characters at the end of the text that were left out. `get` returns all.
    #[serde(default, skip_serializing_if = "is_zero")]
    body_left_out: usize,
    /// The gate that decided.
    gate: GateKind,
    /// The rule that decided the verdict.
    decided_by: GateReason,
    /// The signals the verdict is based on.
    signals: GateSignals,
    /// The thresholds and weights of the gate by setting, if an explanation is requested.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    thresholds: BTreeMap<String, f64>,
    /// Names in the question (`INC-90037`) that no note contains; they prevent the verdict STRONG.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unheld: Vec<String>,
    /// The names in the question if the matching note contains none of them, the numbers if it contains none of those,
    /// pairs of words (`mail worker`) of which the note joins one with another word (`invoice worker`), days, weekdays,
    /// months and times of day if the note only has others, and words in whose place the note has others (`hotel` where
    /// it has `the password of the office`), case-folded. They prevent the verdict STRONG, because the note may be
    /// about another person, place, number, time or thing. Absent for a miss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// For a miss: the nearest notes, unverified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fallback: Vec<RetrieveRow>,
    as_of: AsOf,
    /// How many transactions the slowest index is behind.
    lag: u64,
    /// Problems that may make this answer incomplete.
    degraded: Vec<String>,
}

/// Maximum number of characters of the text of a STRONG match.
const MAX_BODY_CHARS: usize = 20_000;

/// Maximum number of lines of it that the text for a person shows.
const MAX_BODY_LINES: usize = 40;

impl Op for Query {
    const NAME: &'static str = "query";
    const ACCESS: Access = Access::Read;
    const ROUTE: Option<Route> = Route::get("/v1/query");
    const FORMER_PATH: Option<&'static str> = Some("/v1/match");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Cumulative);
    const FORMER_TEXT: Option<FormerText> = Some(FormerText::word("query"));
    type Output = QueryOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<QueryOutput> {
        let text = self.text.question(&ctx.memory.config.search)?;
        let (memory, visibility) = (ctx.memory, ctx.visibility(self.quarantined));
        let view = memory.store.view();
        let known = query_gate::find(memory, &view, text, visibility)?;
        let thresholds = match self.explain {
            true => query_gate::thresholds(memory, known.gate)?,
            false => BTreeMap::new(),
        };
        let mut status = answer_status::of(memory, &view);
        let fallback = match known.verdict {
            Verdict::Miss if !self.signals_only => retrieve::rows(ctx, &view, known.found, text, false)?,
            _ => Vec::new(),
        };
        let counts = ctx.may_write && !self.signals_only;
        if counts {
            samples::record_query(memory, &known.cosines);
        }
        let node = known.best.filter(|_| known.verdict > Verdict::Miss);
        if let (Verdict::Strong, Some(node), true) = (known.verdict, &node, counts)
            && let Err(error) = query_gate::touch(memory, node.id, ctx.cause(Self::NAME))
        {
            status.degraded.push(format!("the use of `{}` was not counted: {error}", node.key));
        }
        let hit = |node: &Node| {
            // A note stored since the view was taken is not in it.
            view.find(node.id).map(|ix| NoteRow::new(&view, ix, Some(node), None, Some(text))).transpose()
        };
        let note = node.as_ref().map(hit).transpose()?.flatten();
        let GateResult { gate, reason: decided_by, signals, .. } = known;
        // Without a matching note, nothing lacks them.
        let missing = if node.is_some() { known.missing_subjects } else { Vec::new() };
        let certain = node.as_ref().filter(|_| known.verdict == Verdict::Strong);
        let body = certain.map(|node| truncated(&node.body, MAX_BODY_CHARS));
        Ok(QueryOutput {
            hit: known.verdict,
            note,
            body: body.map(|(text, _)| text.to_owned()),
            body_left_out: body.map_or(0, |(_, left_out)| left_out),
            gate,
            decided_by,
            signals,
            thresholds,
            unheld: known.unknown_names,
            missing,
            fallback,
            as_of: status.as_of,
            lag: status.lag,
            degraded: status.degraded,
        })
    }

    fn lists_nothing(output: &QueryOutput) -> bool {
        output.note.is_none() && output.fallback.is_empty()
    }

    fn show(output: &QueryOutput, terminal: &Terminal) -> StyledText {
        let (key, title) = match &output.note {
            Some(note) => (note.key.as_str(), one_line(&note.title)),
            None => ("", String::new()),
        };
        let mut text = match output.hit {
            Verdict::Strong => {
                format!("STRONG  {key}  {title}\na note on this subject; it may not contain the answer\n")
            }
            Verdict::Weak => format!(
                "WEAK  {key}  {title}\nunverified: `{} get {}` shows whether it is what you mean\n",
                terminal.program,
                operand(key)
            ),
            Verdict::Miss => "MISS\n".to_owned(),
        };
        if let Some(body) = output.body.as_ref().filter(|body| !body.is_empty()) {
            let (shown, more_lines) = first_lines(body);
            text.push_str(&format!("\n{}\n\n", terminal.wrapped_note(shown)));
            if more_lines > 0 {
                let more = match output.body_left_out {
                    0 => plural(more_lines as u64, "more line"),
                    _ => "more lines".to_owned(),
                };
                text.push_str(&format!(
                    "… {more}: `{} get {}` shows all\n\n",
                    terminal.program,
                    operand(key)
                ));
            } else if output.body_left_out > 0 {
                let more = plural(output.body_left_out as u64, "more character");
                text.push_str(&format!("{more}: `{} get {}` shows all\n\n", terminal.program, operand(key)));
            }
        }
        text.push_str(&signals(&output.signals));
        // Writing to a string cannot fail.
        let _ = writeln!(text, ", decided by {} (gate `{}`)", output.decided_by.name(), output.gate.name());
        for (setting, value) in &output.thresholds {
            let _ = writeln!(text, "  {setting} = {value}");
        }
        for name in &output.unheld {
            text.push_str(&format!("no note contains `{name}`\n"));
        }
        for name in &output.missing {
            text.push_str(&format!("`{key}` does not contain `{name}`\n"));
        }
        let mut styled = StyledText::default();
        if !output.fallback.is_empty() {
            text.push_str("\nnearest, unverified\n");
            styled.push(std::mem::take(&mut text));
            retrieve::push_lines(&mut styled, terminal, &output.fallback);
        }
        styled.push(text);
        styled
    }
}

/// The first lines of a text, and how many more it has.
fn first_lines(text: &str) -> (&str, usize) {
    let Some((end, _)) = text.match_indices('\n').nth(MAX_BODY_LINES - 1) else { return (text, 0) };
    match text.split_at(end) {
        (_, rest) if rest.trim().is_empty() => (text, 0),
        (shown, rest) => (shown, rest.trim_end().lines().count() - 1),
    }
}

/// The signals as one line.
fn signals(signals: &GateSignals) -> String {
    let likelihood =
        |value: &Option<f64>| value.map(|value| format!(", likelihood {value:.3}")).unwrap_or_default();
    match signals {
        GateSignals::Certainty(CertaintySignals { coverage, cosine, likelihood: judged, certainty }) => {
            let judged = likelihood(judged);
            format!("coverage {coverage:.3}, meaning {cosine:.3}{judged}, certainty {certainty:.3}")
        }
        GateSignals::Titles(TitleSignals { cosine, trigrams, words, likelihood: judged, fused }) => {
            let fused = fused.map(|fused| format!(", fused {fused:.3}")).unwrap_or_default();
            let judged = likelihood(judged);
            format!("meaning {cosine:.3}, spelling {trigrams:.3}, word overlap {words:.3}{judged}{fused}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::first_lines;

    #[test]
    fn a_long_text_is_cut_between_lines() {
        let text = |lines: usize| (1..=lines).map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
        for lines in [1, 39, 40] {
            assert_eq!(first_lines(&text(lines)), (text(lines).as_str(), 0));
        }
        assert_eq!(first_lines(&format!("{}\n\n", text(40))).1, 0);
        assert_eq!(first_lines(&text(43)), (text(40).as_str(), 3));
    }
}
