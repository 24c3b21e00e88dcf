//! Renders a template on a separate thread with a time limit, into a bounded buffer.

use super::fence::Fence;
use super::variables::{self, NotesShown};
use crate::Definition;
use crate::selection::{Selection, may_be_read};
use crate::template;
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, Trust};
use poc_notes::Memory;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Instant;
use tera::{Context, Tera};

/// Messages of the rendering thread.
enum RenderMessage {
    /// The template calls `node(key)`; the answer goes back through the sender.
    NodeRequested(String, Sender<Result<String, String>>),
    /// It is done.
    Done(Result<String, Error>),
}

/// The rendered template, and the notes it shows without a handle.
pub(super) fn render(
    memory: &Memory,
    definition: &Definition,
    selection: &Selection,
    fence: &Fence,
) -> Result<(String, NotesShown)> {
    let (say, hear) = mpsc::channel();
    let tera = engine(definition, say.clone())?;
    let (mut context, mut read) = (Context::new(), NotesShown::new());
    context.insert("vars", &definition.prompt.vars);
    for used in template::variables(&tera, name(definition)) {
        let name = used.to_uppercase();
        if let Some(value) = variables::value(&name, memory, definition, selection, fence, &mut read) {
            context.insert(used, &value);
        }
    }
    let limits = &memory.config.agents;
    let deadline = Instant::now() + limits.render_timeout.std();
    let too_slow = too_slow(definition, memory);
    let page = BoundedPage {
        text: Vec::new(),
        max: limits.render_max_bytes,
        deadline,
        is_late: false,
        too_slow: too_slow.clone(),
    };
    let name = name(definition).to_owned();
    // The thread is not joined, because an endless template must not block the run.
    thread::Builder::new()
        .name("render".into())
        .spawn(move || say.send(RenderMessage::Done(page.fill(&tera, &name, &context))))
        .map_err(|error| Error::unavailable(format!("the rendering thread cannot be started: {error}")))?;
    loop {
        match hear.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(RenderMessage::Done(text)) => return text.map(|text| (text, read)),
            Ok(RenderMessage::NodeRequested(key, answer)) => {
                let asked = node(memory, selection, fence, &key).map(|(text, asked)| {
                    read.push(asked);
                    text
                });
                // The renderer may have ended already.
                let _ = answer.send(asked);
            }
            Err(RecvTimeoutError::Timeout) => return Err(too_slow),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::internal(format!("rendering the prompt of `{}` failed", definition.name)));
            }
        }
    }
}

/// Number of bytes at the start of a rendered template that are the same in every run: the text before the
/// first tag.
pub(super) fn stable(definition: &Definition, rendered: &str) -> usize {
    let head = template::head(&definition.prompt.text);
    let same = head.chars().zip(rendered.chars()).take_while(|(a, b)| a == b);
    same.map(|(char, _)| char.len_utf8()).sum()
}

fn name(definition: &Definition) -> &str {
    definition.prompt.template.as_deref().unwrap_or(template::INLINE)
}

fn engine(definition: &Definition, say: Sender<RenderMessage>) -> Result<Tera> {
    let prompt = &definition.prompt;
    let ask = move |key: &str| {
        let (answer, answered) = mpsc::channel();
        let run_ended = || tera::Error::message("the run is over");
        say.send(RenderMessage::NodeRequested(key.to_owned(), answer)).map_err(|_| run_ended())?;
        answered.recv().map_err(|_| run_ended())?.map_err(tera::Error::message)
    };
    template::engine(name(definition), &prompt.text, &prompt.includes, ask).map_err(|diagnostics| {
        let first = diagnostics.into_iter().next().map(Error::from);
        first.unwrap_or_else(|| Error::config(format!("the template of `{}` is invalid", definition.name)))
    })
}

/// The result of the template function `node`, with the note's id and trust.
fn node(
    memory: &Memory,
    selection: &Selection,
    fence: &Fence,
    key: &str,
) -> Result<(String, (NodeId, Trust)), String> {
    let view = &selection.view;
    let ix = view.find_key(key).filter(|&ix| may_be_read(view, ix));
    let stored = ix.and_then(|ix| view.id(ix)).map(|id| memory.store.node(id));
    match stored {
        Some(Ok(Some(node))) => {
            let text = fence.enclose(&format!("{}\n\n{}", node.title, node.body));
            Ok((text, (node.id, node.trust)))
        }
        Some(Err(error)) => Err(error.message),
        _ => Err(format!("there is no readable note `{key}`")),
    }
}

fn too_slow(definition: &Definition, memory: &Memory) -> Error {
    let limit = memory.config.agents.render_timeout;
    Error::config(format!("rendering the prompt of `{}` took longer than {limit}", definition.name))
        .hint("look for loops in the template")
}

/// A buffer with a size limit and a deadline.
struct BoundedPage {
    text: Vec<u8>,
    max: usize,
    deadline: Instant,
    /// Whether a write came after the deadline.
    is_late: bool,
    /// The error for a late write.
    too_slow: Error,
}

impl BoundedPage {
    fn fill(mut self, tera: &Tera, name: &str, context: &Context) -> Result<String> {
        let max = self.max;
        match tera.render_to(name, context, &mut self) {
            Ok(()) => {
                String::from_utf8(self.text).map_err(|_| Error::internal("the rendered prompt is not text"))
            }
            Err(_) if self.text.len() > max => {
                Err(Error::config(format!("the prompt is longer than {max} bytes"))
                    .hint("look for loops in the template, or lower `max-node-chars`"))
            }
            Err(_) if self.is_late => Err(self.too_slow),
            Err(error) => Err(template::diagnostics(&error)
                .into_iter()
                .next()
                .map(Error::from)
                .unwrap_or_else(|| Error::config("the template cannot be rendered"))),
        }
    }
}

impl Write for BoundedPage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        self.is_late = Instant::now() > self.deadline;
        if self.text.len() > self.max || self.is_late {
            return Err(io::Error::other("the prompt is too long"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
