//! Parses the text of an agent file into a [`Definition`] and reports all problems.

mod agent_tests;
mod prompt;

use super::file::{AgentFileReader, DurationText, OneOrSeveral, TomlSection, WithOffset};
use super::tenant_patterns::{self, TenantPattern, TenantPatterns};
use super::{
    ActionKind, Budget, CATCH_UP, DEFAULTS, Definition, DefinitionContext, Execution, FailureRules,
    FreshnessRules, LONGEST_WAIT, Limits, Mode, OVERLAP, PromptRules, QueryRules, RetryRules,
    SUPERSEDE_MODES, ScheduleRules, Targets, TenantBudget, check_name,
};
use crate::definition::check;
use crate::schedule::Schedule;
use poc_config::toml_document::TomlDocument;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::similar;
use poc_graph::time::Span;
use poc_search::query::Pipeline;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use toml::de::DeTable;

/// The parsed defaults.
static DEFAULT_DOCUMENT: LazyLock<Result<TomlDocument<'static>, Vec<FileDiagnostic>>> =
    LazyLock::new(|| TomlDocument::parse("defaults/agent.toml", DEFAULTS));

impl Definition {
    /// Parses and checks an agent file. `file` names it in messages.
    ///
    /// # Errors
    /// All diagnostics of the file and its templates, each with file, line and column.
    pub fn parse(
        name: &str,
        file: &str,
        text: &str,
        context: &DefinitionContext<'_>,
    ) -> Result<Definition, Vec<FileDiagnostic>> {
        match Self::parse_despite_errors(name, file, text, context) {
            (Some(definition), diagnostics) if diagnostics.is_empty() => Ok(definition),
            (_, diagnostics) => Err(diagnostics),
        }
    }

    /// Like [`Definition::parse`], but with the definition of a file with errors, if it has one: nothing may run it, but
    /// further mistakes can be found in it.
    pub(crate) fn parse_despite_errors(
        name: &str,
        file: &str,
        text: &str,
        context: &DefinitionContext<'_>,
    ) -> (Option<Definition>, Vec<FileDiagnostic>) {
        let defaults = match DEFAULT_DOCUMENT.as_ref() {
            Ok(defaults) => defaults,
            Err(diagnostics) => return (None, diagnostics.clone()),
        };
        // Syntax errors are reported alone, because further ones would only follow from them.
        let document = match TomlDocument::parse(file, text) {
            Ok(document) => document,
            Err(diagnostics) => return (None, diagnostics),
        };
        let file = AgentFileReader::new(&document);
        if let Err(error) = check_name(name) {
            file.report(0, error);
        }
        let definition = Reader { name, text, file: &file, context: *context }
            .definition(document.root(), defaults.root());
        (definition, file.into_diagnostics())
    }
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    file: &'a AgentFileReader<'a>,
    context: DefinitionContext<'a>,
}

impl<'a> Reader<'a> {
    /// The definition; `None` when a required key is missing. It is valid only if there are no problems.
    fn definition(&self, document: &'a DeTable<'a>, defaults: &'a DeTable<'a>) -> Option<Definition> {
        let root = TomlSection::root(self.file, document, defaults);
        root.refuse_unknown();
        // Read every section before the first `?`, so that all problems are reported at once.
        let (description, enabled) = (root.get("description"), root.get("enabled"));
        let mode = root.one_of("mode", &Mode::NAMES);
        let query = self.query(&root.section("query"));
        let freshness = self.freshness(&root.section("freshness"));
        let execution = self.execution(&root.section("execution"));
        let actions = execution.as_ref().map(|execution| execution.actions.as_slice());
        let prompt = self.prompt(&root.section("prompt"));
        let schedule = self.schedule(&root.section("schedule"));
        let limits = self.limits(&root.section("limits"), actions);
        let budget = self.budget(&root.section("budget"));
        let retry = self.retry(&root.section("retry"));
        let failure = self.failure(&root.section("failure"));
        self.require_run_limit(&root, execution.as_ref(), budget.as_ref());
        let tests = self.tests(&root);
        let prompt = prompt?;
        let (query, limits) = (query?, limits?);
        Some(Definition {
            name: self.name.to_owned(),
            fingerprint: fingerprint(self.text, &prompt, &written_out(&query, &limits)),
            source: self.text.to_owned(),
            description: description?.value,
            enabled: enabled?.value,
            mode: mode?,
            query,
            freshness: freshness?,
            prompt,
            execution: execution?,
            schedule: schedule?,
            limits,
            budget: budget?,
            retry: retry?,
            failure: failure?,
            tests,
        })
    }

    fn query(&self, section: &TomlSection<'a>) -> Option<QueryRules> {
        section.refuse_unknown();
        let text: Option<WithOffset<String>> = section.required("pipeline");
        let params = section.section("params").values();
        let (min_results, max_results) =
            (section.get("min-results")?.value, section.get("max-results")?.value);
        let text = text?;
        let used = Pipeline::parameters(&text.value);
        for (name, placed) in params.iter().filter(|(name, _)| !used.contains(*name)) {
            let diagnostic = FileDiagnostic::new(format!("the pipeline does not use the parameter `{name}`"));
            self.file.report(
                placed.offset,
                diagnostic.hint(format!("write `${{{name}}}` in the pipeline or remove it here")),
            );
        }
        let params = params.into_iter().map(|(name, placed)| (name, placed.value)).collect();
        let pipeline = self.pipeline(&text, &params)?;
        Some(QueryRules { pipeline, text: text.value, params, min_results, max_results })
    }

    fn pipeline(&self, text: &WithOffset<String>, params: &BTreeMap<String, String>) -> Option<Pipeline> {
        match Pipeline::with_values(&text.value, self.context.names, params) {
            Ok(pipeline) => Some(pipeline),
            Err(error) => {
                // Only problems in this pipeline text have a position in the file.
                let own =
                    error.at.as_ref().and_then(|at| at.pipelines.iter().find(|own| own.saved.is_none()));
                let first = own.and_then(|own| own.problems.first()).map_or(0, |problem| problem.offset);
                self.file.report_within(text.offset, first, error);
                None
            }
        }
    }

    fn freshness(&self, section: &TomlSection<'a>) -> Option<FreshnessRules> {
        section.refuse_unknown();
        Some(FreshnessRules {
            window: section.get("window")?.value,
            min_stale: section.get("min-stale")?.value,
            revisit_on_change: section.get("revisit-on-change")?.value,
            ignore_own_writes: section.get("ignore-own-writes")?.value,
        })
    }

    fn execution(&self, section: &TomlSection<'a>) -> Option<Execution> {
        section.refuse_unknown();
        let model: Option<WithOffset<String>> = section.required("model");
        if let Some(model) = &model
            && let Some(diagnostic) = check::model(&model.value, self.context.config)
        {
            self.file.report(model.offset, diagnostic);
        }
        let fallback: WithOffset<Vec<WithOffset<String>>> = section.get("fallback")?;
        let fallback = self.fallback(&fallback.value, model.as_ref());
        let actions: Option<WithOffset<Vec<WithOffset<String>>>> = section.required("actions");
        let actions = actions.map(|actions| self.actions(&actions.value));
        let text: WithOffset<String> = section.get("schedule")?;
        let schedule = match Schedule::parse(&text.value, self.name) {
            Ok(schedule) => Some(schedule),
            Err(error) => {
                self.file.report(text.offset, error);
                None
            }
        };
        let timeout = section.get("timeout")?.value;
        let max_minutes = i64::from(count(section, "max-minutes")?);
        let replay = section.get("replay")?.value;
        Some(Execution {
            model: model?.value,
            fallback,
            actions: actions?,
            schedule: schedule?,
            timeout,
            max_duration: Span(max_minutes.saturating_mul(Span::MINUTE.0)),
            replay,
        })
    }

    fn fallback(&self, names: &[WithOffset<String>], model: Option<&WithOffset<String>>) -> Vec<String> {
        let mut asked: Vec<&str> = model.map(|model| model.value.as_str()).into_iter().collect();
        for name in names {
            if asked.contains(&name.value.as_str()) {
                let diagnostic = FileDiagnostic::new(format!("the model `{}` is named twice", name.value));
                self.file.report(name.offset, diagnostic.hint("name it once"));
            } else if let Some(diagnostic) = check::model(&name.value, self.context.config) {
                self.file.report(name.offset, diagnostic);
            }
            asked.push(&name.value);
        }
        names.iter().map(|name| name.value.clone()).collect()
    }

    /// The named actions; all actions when a name is unknown, to avoid follow-up problems.
    fn actions(&self, names: &[WithOffset<String>]) -> Vec<ActionKind> {
        let known = || ActionKind::ALL.into_iter().map(ActionKind::name);
        let mut actions = Vec::new();
        let mut all_known = true;
        for name in names {
            match ActionKind::parse(&name.value) {
                Some(kind) if actions.contains(&kind) => {
                    let diagnostic =
                        FileDiagnostic::new(format!("the action `{}` is named twice", name.value));
                    self.file.report(name.offset, diagnostic.hint("name it once"));
                }
                Some(kind) => actions.push(kind),
                None => {
                    all_known = false;
                    let diagnostic = FileDiagnostic::new(format!("unknown action `{}`", name.value));
                    self.file.report(
                        name.offset,
                        match similar::closest(&name.value, known()) {
                            Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                            None => diagnostic
                                .hint("the actions are `link-add`, `weight`, `insert` and `supersede`"),
                        },
                    );
                }
            }
        }
        actions.sort_unstable();
        if all_known { actions } else { ActionKind::ALL.to_vec() }
    }

    fn schedule(&self, section: &TomlSection<'a>) -> Option<ScheduleRules> {
        section.refuse_unknown();
        section.one_of("overlap", &OVERLAP)?;
        let zone: WithOffset<String> = section.get("timezone")?;
        let timezone = match zone.value.as_str() {
            "local" => None,
            name => match chrono_tz::Tz::from_str_insensitive(name) {
                Ok(zone) => Some(zone),
                Err(_) => {
                    let diagnostic = FileDiagnostic::new(format!("unknown time zone `{name}`"));
                    let near = similar::closest(name, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()));
                    self.file.report(
                        zone.offset,
                        match near {
                            Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                            None => diagnostic.hint("write `local` or a name such as `Europe/Vienna`"),
                        },
                    );
                    None
                }
            },
        };
        Some(ScheduleRules {
            timezone,
            jitter: section.get("jitter")?.value,
            catch_up: section.one_of("catch-up", &CATCH_UP)?,
            catch_up_window: section.get("catch-up-window")?.value,
            cooldown: section.get("cooldown")?.value,
            tenants: self.tenants(section)?,
        })
    }

    /// Reads `schedule.tenants`.
    fn tenants(&self, section: &TomlSection<'a>) -> Option<TenantPatterns> {
        let given: WithOffset<OneOrSeveral> = section.get("tenants")?;
        let texts = match given.value {
            OneOrSeveral::One(text) if text.trim() == tenant_patterns::ALL => {
                return Some(TenantPatterns::default());
            }
            OneOrSeveral::One(text) => vec![WithOffset { value: text, offset: given.offset }],
            OneOrSeveral::Several(texts) => texts,
        };
        if texts.is_empty() {
            let diagnostic = FileDiagnostic::new("`schedule.tenants` lists no tenant");
            let hint = "write \"all\", or `enabled = false` to stop the schedule";
            self.file.report(given.offset, diagnostic.hint(hint));
        }
        let mut patterns: Vec<TenantPattern> = Vec::new();
        for text in &texts {
            if text.value.trim() == tenant_patterns::ALL {
                let diagnostic =
                    FileDiagnostic::new("`all` cannot be in a list, because it includes the others");
                self.file.report(text.offset, diagnostic.hint("write `tenants = \"all\"`, or leave it out"));
                continue;
            }
            let schema = &self.context.config.tenant_schema;
            let pattern = TenantPattern::parse(&text.value);
            match pattern.and_then(|pattern| pattern.check(schema).map(|()| pattern)) {
                Ok(pattern) if patterns.iter().any(|known| known.is_same_as(&pattern)) => {
                    let diagnostic =
                        FileDiagnostic::new(format!("the pattern `{}` is listed twice", text.value));
                    self.file.report(text.offset, diagnostic.hint("list it once"));
                }
                Ok(pattern) => patterns.push(pattern),
                Err(mistake) => {
                    let diagnostic = FileDiagnostic::new(mistake.message).hint(mistake.hint);
                    self.file.report_within(text.offset, mistake.offset, diagnostic);
                }
            }
        }
        Some(TenantPatterns::new(patterns))
    }

    /// Reads `[limits]`. `actions` are the permitted actions, if they could be read.
    fn limits(&self, section: &TomlSection<'a>, actions: Option<&[ActionKind]>) -> Option<Limits> {
        section.refuse_unknown();
        for kind in ActionKind::ALL {
            if let (Some(offset), Some(actions)) = (section.place(kind.name()), actions)
                && !actions.contains(&kind)
            {
                let name = kind.name();
                let diagnostic =
                    FileDiagnostic::new(format!("`limits.{name}` limits an action that is not permitted"));
                self.file.report(offset, diagnostic.hint(format!("add \"{name}\" to `execution.actions`")));
            }
        }
        let targets = section.one_of("targets", &Targets::NAMES)?;
        let protect: WithOffset<Vec<WithOffset<String>>> = section.get("protect")?;
        let protect = protect.value.iter().filter_map(|text| self.filter(text)).collect();
        let of = |kind: ActionKind| {
            let section = section.section(kind.name());
            section.refuse_unknown();
            section
        };
        let (weight, insert) = (of(ActionKind::Weight), of(ActionKind::Insert));
        let (link_add, supersede) = (of(ActionKind::LinkAdd), of(ActionKind::Supersede));
        Some(Limits {
            max_actions: section.get("max-actions")?.value,
            targets,
            protect,
            link_add_max: link_add.get("max")?.value,
            link_add_max_per_note: link_add.get("max-per-note")?.value,
            link_add_max_strength: link_add.get("max-strength")?.value,
            weight_max: weight.get("max")?.value,
            weight_max_delta: weight.get("max-delta")?.value,
            insert_max: insert.get("max")?.value,
            insert_max_chars: insert.get("max-chars")?.value,
            insert_min_sources: insert.get("min-sources")?.value,
            insert_max_sources: insert.get("max-sources")?.value,
            insert_max_per_source: insert.get("max-per-source")?.value,
            insert_only_quotations: insert.get("only-quotations")?.value,
            supersede_max: supersede.get("max")?.value,
            supersede_apply: supersede.one_of("mode", &SUPERSEDE_MODES)?,
        })
    }

    /// One filter of `protect`.
    fn filter(&self, text: &WithOffset<String>) -> Option<Pipeline> {
        let pipeline = self.pipeline(text, &BTreeMap::new())?;
        if pipeline.only_filters() {
            return Some(pipeline);
        }
        let diagnostic =
            FileDiagnostic::new(format!("`{}` contains a stage that is not a filter", text.value));
        self.file.report(text.offset, diagnostic.hint("use only filters, such as `provenance:manual`"));
        None
    }

    fn budget(&self, section: &TomlSection<'a>) -> Option<Budget> {
        section.refuse_unknown();
        let per_tenant = section.section("per-tenant");
        per_tenant.refuse_unknown();
        Some(Budget {
            usd_per_run: section.get("max-usd-per-run").map(|max| max.value),
            usd_per_day: section.get("max-usd-per-day").map(|max| max.value),
            runs_per_day: count(section, "max-runs-per-day")?,
            per_tenant: TenantBudget {
                usd_per_day: per_tenant.get("max-usd-per-day").map(|max| max.value),
                runs_per_day: count(&per_tenant, "max-runs-per-day")?,
            },
        })
    }

    /// Requires a daily run limit for `on-change` agents, because they may trigger each other endlessly.
    fn require_run_limit(
        &self,
        root: &TomlSection<'a>,
        execution: Option<&Execution>,
        budget: Option<&Budget>,
    ) {
        let by_changes = execution.is_some_and(|execution| execution.schedule == Schedule::OnChange);
        if let (true, Some(0)) = (by_changes, budget.map(|budget| budget.runs_per_day)) {
            let section = root.section("budget");
            let diagnostic = FileDiagnostic::new("an agent that runs `on-change` needs a limit on its runs");
            let diagnostic = diagnostic.hint("set `budget.max-runs-per-day` to at least 1");
            self.file.report(section.place("max-runs-per-day").unwrap_or_default(), diagnostic);
        }
    }

    fn retry(&self, section: &TomlSection<'a>) -> Option<RetryRules> {
        section.refuse_unknown();
        Some(RetryRules {
            attempts: count(section, "attempts")?,
            repair: count(section, "repair")?,
            rerun: self.waits("rerun", section)?,
        })
    }

    /// A list of positive durations.
    fn waits(&self, key: &str, section: &TomlSection<'a>) -> Option<Vec<Span>> {
        let texts: WithOffset<Vec<WithOffset<DurationText>>> = section.get(key)?;
        let mut waits = Vec::new();
        for WithOffset { value: DurationText(text), offset } in &texts.value {
            match Span::parse(text) {
                Ok(span) if (Span::SECOND..=LONGEST_WAIT).contains(&span) => waits.push(span),
                Ok(_) => {
                    let diagnostic = FileDiagnostic::new(format!("`{text}` is out of range"));
                    let rule = format!("give a duration from `1s` to `{LONGEST_WAIT}`");
                    self.file.report(*offset, diagnostic.hint(rule));
                }
                Err(error) => {
                    self.file.report(*offset, error);
                }
            }
        }
        Some(waits)
    }

    fn failure(&self, section: &TomlSection<'a>) -> Option<FailureRules> {
        section.refuse_unknown();
        Some(FailureRules { pause_after: count(section, "pause-after")? })
    }
}

/// A number whose range fits into `u32`.
fn count(section: &TomlSection<'_>, key: &str) -> Option<u32> {
    u32::try_from(section.get::<usize>(key)?.value).ok()
}

/// The expanded text of pipelines that use saved pipelines, as part of the fingerprint.
fn written_out(query: &QueryRules, limits: &Limits) -> Vec<String> {
    let pipelines = std::iter::once(&query.pipeline).chain(&limits.protect);
    pipelines.filter(|pipeline| pipeline.saved().next().is_some()).map(ToString::to_string).collect()
}

fn fingerprint(text: &str, prompt: &PromptRules, pipelines: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    let included = prompt.includes.values().chain(pipelines).map(String::as_str);
    for part in [text, prompt.text.as_str()].into_iter().chain(included) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}
