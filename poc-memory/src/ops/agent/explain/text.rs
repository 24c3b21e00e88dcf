//! The answer of `agent explain` as text.

use super::{
    ActionLimit, AgentExplainOutput, CostEstimate, ModelRow, Obstacle, PermitSummary, ScheduledTenants,
    SelectionSummary, TenantCosts,
};
use crate::ops::Terminal;
use crate::ops::explanation_text::explanation_text;
use crate::ops::text::{diagnostic_text, minute, plural};
use std::fmt::Write as _;

impl AgentExplainOutput {
    pub(super) fn text(&self, terminal: &Terminal) -> String {
        let agent = &self.agent;
        let verdict = if self.would_run { "would run now" } else { "would not run now" };
        let mut text = format!("{}: {verdict}\n", agent.name);
        for Obstacle { reason, why } in &self.obstacles {
            let _ = writeln!(text, "  {reason}: {why}");
        }
        let next = agent.next.map_or_else(|| "never by itself".to_owned(), |next| minute(Some(next)));
        let schedule = agent.schedule.as_deref().unwrap_or("-");
        let next = if schedule == "on-change" { "when notes change".to_owned() } else { next };
        let _ = writeln!(text, "\nschedule   {schedule}; next: {next}");
        if let Some(rerun) = &agent.rerun {
            let _ = writeln!(text, "           {rerun}");
        }
        if let Some(tenants) = self.tenants.as_ref().and_then(ScheduledTenants::line) {
            let _ = writeln!(text, "tenants    {tenants}");
        }
        if let Some(finds) = &self.finds {
            finds.write_to(&mut text, terminal);
        }
        if let Some(may) = &self.may {
            may.write_to(&mut text);
        }
        if let Some(costs) = &self.costs {
            costs.write_to(&mut text);
        }
        let pause = match self.pause_after {
            0 => String::new(),
            after => format!(" (paused after {after})"),
        };
        let _ = writeln!(text, "past       {} failed in a row{pause}", self.failures);
        for run in &self.past {
            let _ = writeln!(text, "           {}", run.line());
        }
        text.extend(agent.errors.iter().map(diagnostic_text));
        text
    }
}

impl SelectionSummary {
    fn write_to(&self, text: &mut String, terminal: &Terminal) {
        let _ = writeln!(text, "pipeline   {}\n", self.pipeline);
        text.push_str(&explanation_text(terminal, &self.stages));
        let stale = self.never + self.changed + self.old;
        let _ = writeln!(
            text,
            "\nstale      {stale}: {} never visited, {} edited since, {} visited too long ago",
            self.never, self.changed, self.old
        );
        let window = match &self.window {
            Some(window) => format!("for {window}"),
            None => "until the note changes".to_owned(),
        };
        let _ = writeln!(text, "           {} fresh (a visit is valid {window})", self.fresh);
        if self.kept_away > 0 {
            let _ = writeln!(text, "           {} hidden from agents", self.kept_away);
        }
        let least = match (self.min_results, self.min_stale) {
            (results, stale) if results == stale => plural(results as u64, "stale result"),
            (results, 1) => format!("{}, of which 1 is stale", plural(results as u64, "result")),
            (results, stale) => format!("{}, of which {stale} are stale", plural(results as u64, "result")),
        };
        let _ = writeln!(
            text,
            "           a run takes at most {}; it starts with at least {least}",
            self.max_results
        );
    }
}

impl PermitSummary {
    fn write_to(&self, text: &mut String) {
        let action = |allowed: &ActionLimit| {
            let proposed = if allowed.proposed { ", for a person to decide" } else { "" };
            format!("{} (at most {}{proposed})", allowed.action, allowed.max)
        };
        let actions: Vec<String> = self.actions.iter().map(action).collect();
        let _ = writeln!(text, "may        {}; {} in all", actions.join(", "), self.max_actions);
        if self.mode != "apply" {
            let _ = writeln!(text, "           mode: {}", self.mode);
        }
        if !self.protect.is_empty() {
            let protect: Vec<String> = self.protect.iter().map(|filter| format!("`{filter}`")).collect();
            let _ = writeln!(
                text,
                "protected  notes with {}: they are never superseded ({} of the next prompt)",
                protect.join(" or "),
                plural(self.protected as u64, "note")
            );
        }
    }
}

impl CostEstimate {
    fn write_to(&self, text: &mut String) {
        let describe = |model: &ModelRow| match (&model.missing, model.prices) {
            (Some(missing), _) => format!("{} (cannot be called: {missing})", model.name),
            (None, Some((input, output))) => format!("{} (${input} in, ${output} out a million)", model.name),
            (None, None) => model.name.clone(),
        };
        let models: Vec<String> = self.models.iter().map(describe).collect();
        let _ = writeln!(text, "model      {}", models.join(", else "));
        let max = self.most_usd.filter(|max| *max > 0.0);
        let max =
            max.map_or_else(|| "price unknown or zero".to_owned(), |max| format!("at most ${max:.4} a call"));
        let cut = if self.cut > 0 { format!(", {} shortened", self.cut) } else { String::new() };
        let _ = match self.notes {
            0 => writeln!(text, "next run   no notes to work on"),
            notes => writeln!(
                text,
                "next run   {}{cut}, about {} tokens; {max}",
                plural(notes as u64, "note"),
                self.tokens
            ),
        };
        let runs = match self.max_runs_per_day {
            0 => plural(u64::from(self.runs_today), "run"),
            max => format!("{} of {}", self.runs_today, plural(u64::from(max), "run")),
        };
        let mut money = format!("${:.4}", self.usd_today);
        if let Some(max) = self.max_usd_per_day {
            let _ = write!(money, " of ${max:.4}");
        }
        if let Some(max) = self.max_usd_per_run {
            let _ = write!(money, ", ${max:.4} a run");
        }
        let _ = writeln!(
            text,
            "today      {runs}, {money}; all agents ${:.4} of ${:.4}",
            self.usd_today_of_all, self.max_usd_per_day_of_all
        );
        if let Some(of_tenant) = &self.of_tenant {
            of_tenant.write_to(text);
        }
    }
}

impl TenantCosts {
    fn write_to(&self, text: &mut String) {
        let TenantCosts { tenant, runs_today, max_runs_per_day, usd_today, max_usd_per_day } = self;
        let runs = match max_runs_per_day {
            None => plural(u64::from(*runs_today), "run"),
            Some(max) => format!("{runs_today} of {}", plural(u64::from(*max), "run")),
        };
        let max_usd = max_usd_per_day.map_or_else(String::new, |max| format!(" of ${max:.4}"));
        let _ = writeln!(text, "           for the tenant {tenant}: {runs}, ${usd_today:.4}{max_usd}");
    }
}
