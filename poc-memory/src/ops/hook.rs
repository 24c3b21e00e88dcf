//! `hook`

mod machine_turn;
mod render;
mod sessions;

use super::{Access, Ctx, Op, TenantScope, Terminal};
use machine_turn::MachineTurn;
use poc_graph::error::Result;
use poc_notes::project::Project;
use poc_notes::session_context::{self, ContextNote, SessionFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sessions::HookSession;
pub use sessions::followed_transcripts;
pub(crate) use sessions::forget_sessions;
use std::path::{Path, PathBuf};

/// Answers a hook of an assistant with the text to add to the conversation. Follows the transcript of the
/// session, so that it is captured.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hook {
    /// When the hook is called
    #[arg(value_enum)]
    pub(crate) event: HookEvent,
    /// The assistant's id of the session
    #[arg(long, value_name = "ID")]
    #[serde(default)]
    pub(crate) session: String,
    /// The folder that the assistant works in
    #[arg(long, value_name = "FOLDER")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<PathBuf>,
    /// The transcript of the session
    #[arg(long, value_name = "FILE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transcript: Option<PathBuf>,
    /// What was typed
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    /// How the session starts: `startup`, `resume`, `clear` or `compact`
    #[arg(long, value_name = "WORD")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// Whether a subagent of the assistant is asked
    #[arg(long)]
    #[serde(default)]
    pub(crate) subagent: bool,
}

/// When a hook is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HookEvent {
    /// A session starts or continues: adds what matters in its project
    #[default]
    SessionStart,
    /// A person has typed a prompt: adds notes on it
    Prompt,
    /// The conversation is about to be compacted: captures it
    PreCompact,
    /// The assistant has answered: captures the session
    Stop,
    /// The session ends: captures it
    SessionEnd,
    /// A tool is used: captures the session
    Tool,
}

impl HookEvent {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            HookEvent::SessionStart => "session-start",
            HookEvent::Prompt => "prompt",
            HookEvent::PreCompact => "pre-compact",
            HookEvent::Stop => "stop",
            HookEvent::SessionEnd => "session-end",
            HookEvent::Tool => "tool",
        }
    }
}

/// The text to add to the conversation.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HookOutput {
    /// The text; absent if nothing is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<String>,
    /// The keys of the notes in it.
    pub(crate) notes: Vec<String>,
    /// Why nothing is added, or another remark for the log.
    pub(crate) why: String,
}

impl HookOutput {
    fn silent(why: impl Into<String>) -> HookOutput {
        HookOutput { why: why.into(), ..HookOutput::default() }
    }
}

impl Op for Hook {
    const NAME: &'static str = "hook";
    const ACCESS: Access = Access::Write;
    const NEEDS_DAEMON: bool = true;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    type Output = HookOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<HookOutput> {
        if let Some(transcript) = self.transcript.as_deref().filter(|path| path.is_absolute()) {
            ctx.host.daemon()?.follow(transcript);
            // The start of a session is missed if the daemon is not ready in time. A start replaces the whole state.
            if !self.subagent && self.event != HookEvent::SessionStart {
                sessions::set_transcript(ctx.memory, &self.session, transcript)?;
            }
        }
        if self.subagent {
            return Ok(HookOutput::silent("a subagent asks"));
        }
        match self.event {
            HookEvent::SessionStart => self.start(ctx),
            HookEvent::Prompt => self.prompt(ctx),
            HookEvent::PreCompact | HookEvent::Stop | HookEvent::SessionEnd | HookEvent::Tool => {
                let Some(transcript) = &self.transcript else {
                    return Ok(HookOutput::silent("the assistant names no transcript"));
                };
                Ok(HookOutput::silent(match ctx.host.daemon()?.capture_failure(transcript) {
                    Some(failure) => format!("the session is not captured completely: {failure}"),
                    None => "the session is captured".to_owned(),
                }))
            }
        }
    }

    fn show(output: &HookOutput, _: &Terminal) -> String {
        match &output.context {
            Some(context) => context.clone(),
            None => format!("nothing: {}\n", output.why),
        }
    }
}

impl Hook {
    fn start(&self, ctx: &Ctx<'_>) -> Result<HookOutput> {
        let memory = ctx.memory;
        sessions::forget_old(memory)?;
        // After `startup`, `clear` and `compact`, the notes that the session was given are no longer in its
        // context.
        let mut session = match self.source.as_deref() {
            Some("resume") => HookSession::load(memory, &self.session),
            _ => HookSession::default(),
        };
        session.transcript.clone_from(&self.transcript);
        let max = memory.config.hooks.start_chars;
        let project = self.project();
        let own_notes = sessions::keys(&self.session);
        let scope = SessionFilter { project: project.as_deref(), own_notes: &own_notes };
        let mut briefing = session_context::briefing(memory, scope)?;
        let is_empty = briefing.parts.is_empty();
        for (_, notes) in &mut briefing.parts {
            notes.retain(|note| !session.has(note));
        }
        let (context, shown) = render::briefing(&briefing, project.as_deref(), max, memory.rng.as_ref());
        let (Some(context), false) = (context, shown.is_empty()) else {
            session.save(memory, &self.session)?;
            return Ok(HookOutput::silent(match (max, is_empty) {
                (0, _) => "`[hooks] start-chars` is 0",
                (_, true) => "the memory has no notes on this project",
                (_, false) => "nothing new since the last call of this session",
            }));
        };
        self.answer_with(ctx, session, context, shown)
    }

    fn prompt(&self, ctx: &Ctx<'_>) -> Result<HookOutput> {
        let memory = ctx.memory;
        let prompt = self.prompt.as_deref().unwrap_or_default();
        // A prompt that contains a whole file still gets notes for its beginning.
        let max = memory.config.search.max_question_chars;
        let prompt = prompt.char_indices().nth(max).and_then(|(end, _)| prompt.get(..end)).unwrap_or(prompt);
        if let Some(turn) = MachineTurn::of(prompt) {
            return Ok(HookOutput::silent(turn.why()));
        }
        if memory.config.hooks.notes == 0 {
            return Ok(HookOutput::silent("`[hooks] notes` is 0"));
        }
        let session = HookSession::load(memory, &self.session);
        let project = self.project();
        let own_notes = sessions::keys(&self.session);
        let scope = SessionFilter { project: project.as_deref(), own_notes: &own_notes };
        let is_known = |note: &ContextNote| session.has(note);
        let mut found = session_context::prompt_context(memory, scope, prompt, &is_known)?;
        if found.notes.is_empty() {
            return Ok(HookOutput::silent(match (found.all_known, found.is_repeated) {
                (true, _) => "nothing new since the last call of this session".to_owned(),
                (_, true) => "the same instruction was given before".to_owned(),
                _ => format!("the gate says {}", found.verdict.name()),
            }));
        }
        let max = memory.config.hooks.prompt_chars;
        let (context, shown) = render::notes(&mut found.notes, max, memory.rng.as_ref());
        self.answer_with(ctx, session, context, shown)
    }

    /// Answers with the notes that are shown, and remembers that the session has got them.
    fn answer_with(
        &self,
        ctx: &Ctx<'_>,
        mut session: HookSession,
        context: String,
        shown: Vec<&ContextNote>,
    ) -> Result<HookOutput> {
        shown.iter().for_each(|note| session.add(note));
        session.save(ctx.memory, &self.session)?;
        let notes = shown.iter().map(|note| note.node.key.clone()).collect();
        Ok(HookOutput { context: Some(context), notes, why: String::new() })
    }

    /// The name of the project of the session's folder.
    fn project(&self) -> Option<String> {
        let folder: &Path = self.folder.as_deref()?;
        Project::of(folder).map(|project| project.name)
    }
}
