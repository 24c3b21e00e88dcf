//! Prompt templates: file names, includes, variables and their diagnostics.

mod bounds;
mod syntax;
mod tags;

pub(super) use tags::head;

use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Error, ErrorLocation, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Component, Path};
use std::sync::LazyLock;
use tags::{Tag, TagKind, tags};
use tera::{ErrorKind, Kwargs, State, Tera, TeraResult};

/// File name of a template that is written in the agent file itself.
pub(super) const INLINE: &str = "inline template";

/// The variables of a template, in upper or lower case, in addition to `vars`.
pub(super) const VARIABLES: [&str; 10] =
    ["NODES", "TOPOLOGY", "PAIRS", "HUBS", "SIBLINGS", "DERIVED", "HEALTH", "AGENT", "DATE", "ACTIONS"];

/// Maximum number of templates that a template includes.
const MAX_INCLUDES: usize = 32;

/// An engine without templates, from which the others are cloned: it takes long to register all filters.
static ENGINE: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::new();
    bounds::bind(&mut tera);
    tera.autoescape_on(Vec::<&str>::new());
    tera
});

/// Checks that a template name is a path inside the `prompts` folder.
pub(super) fn checked_name(name: &str) -> Result<()> {
    let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if inside && !name.is_empty() {
        return Ok(());
    }
    if name.is_empty() {
        return Err(Error::config("the name of the template is empty")
            .hint("name a file in the `prompts` folder, such as `linker.md`"));
    }
    Err(Error::config(format!("the template `{name}` is outside the `prompts` folder"))
        .hint("name a file in that folder, such as `linker.md`"))
}

/// All templates that `text` includes or extends, directly or indirectly, by name.
pub(super) fn includes(
    name: &str,
    text: &str,
    read: &dyn Fn(&str) -> Result<String>,
) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut open = VecDeque::from([(name.to_owned(), text.to_owned())]);
    while let Some((from, text)) = open.pop_front() {
        for (included, offset) in references(&text) {
            if included == name || found.contains_key(&included) {
                continue;
            }
            let located = |error: Error| {
                error.at(ErrorLocation { file: Some(from.clone()), ..ErrorLocation::offset(&text, offset) })
            };
            checked_name(&included).map_err(located)?;
            if found.len() == MAX_INCLUDES {
                return Err(located(Error::config(format!(
                    "more than {MAX_INCLUDES} templates are included, directly or indirectly"
                ))));
            }
            let source = read(&included).map_err(located)?;
            open.push_back((included.clone(), source.clone()));
            found.insert(included, source);
        }
    }
    Ok(found)
}

/// The names in `include` and `extends` tags, each with the byte offset of its tag.
fn references(text: &str) -> Vec<(String, usize)> {
    let name = |tag: Tag<'_>| {
        let quoted = tag.inside.strip_prefix("include").or_else(|| tag.inside.strip_prefix("extends"))?;
        Some((unquoted(quoted.trim())?.to_owned(), tag.start))
    };
    tags(text).into_iter().filter(|tag| tag.kind == TagKind::Block).filter_map(name).collect()
}

fn unquoted(text: &str) -> Option<&str> {
    ['"', '\'', '`'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// A Tera engine with a template and its includes. `node` implements the function `node(key="…")`.
///
/// # Errors
/// The diagnostics of the templates.
pub(super) fn engine(
    name: &str,
    text: &str,
    includes: &BTreeMap<String, String>,
    node: impl Fn(&str) -> TeraResult<String> + Send + Sync + 'static,
) -> Result<Tera, Vec<FileDiagnostic>> {
    let sources = || {
        let included = includes.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        included.chain([(name, text)])
    };
    let unbounded: Vec<FileDiagnostic> =
        sources().flat_map(|(name, text)| bounds::diagnostics(name, text)).collect();
    if !unbounded.is_empty() {
        return Err(unbounded);
    }
    let mut tera = ENGINE.clone();
    tera.register_function("node", move |arguments: Kwargs, _: &State| {
        node(arguments.must_get::<&str>("key")?)
    });
    match tera.add_raw_templates(sources()) {
        Ok(()) => Ok(tera),
        Err(error) => {
            let explain = |found: FileDiagnostic| {
                let source = sources().find(|(name, _)| found.file.as_deref() == Some(*name));
                match source {
                    Some((_, text)) => syntax::explain(found, text),
                    None => found,
                }
            };
            Err(diagnostics(&error).into_iter().map(explain).collect())
        }
    }
}

/// The variables that a template shows in tags of their own, such as `{{ NODES }}`, with the byte offset of their first
/// use, except those that its blocks may define. Unlike [`variables`], this works for a template that is invalid.
pub(super) fn shown_variables(text: &str) -> BTreeMap<&str, usize> {
    let tags = tags(text);
    let in_blocks: BTreeSet<&str> = tags
        .iter()
        .filter(|tag| tag.kind == TagKind::Block)
        .flat_map(tags::words)
        .map(|(word, _)| word)
        .collect();
    let mut found = BTreeMap::new();
    for tag in tags.iter().filter(|tag| tag.kind == TagKind::Value) {
        if let [(word, offset)] = tags::words(tag).as_slice()
            && *word == tag.inside
            && word.starts_with(|char: char| char.is_ascii_alphabetic())
            && word.is_ascii()
            && !in_blocks.contains(word)
        {
            found.entry(*word).or_insert(*offset);
        }
    }
    found
}

/// The variables of a template, except `vars`.
pub(super) fn variables(tera: &Tera, name: &str) -> BTreeSet<String> {
    let found = tera.get_template_variables(name).unwrap_or_default();
    found.into_iter().filter(|name| *name != "vars").map(str::to_owned).collect()
}

/// The custom variables (`vars.NAME`) in the tags of a text, each with its byte offset.
pub(super) fn vars(text: &str) -> Vec<(&str, usize)> {
    tags(text).into_iter().flat_map(|tag| tags::vars(&tag)).collect()
}

/// The words in the tags of a text, each with the byte offset of its first use. A word after a `.` is the name of an
/// attribute and does not count.
pub(super) fn words(text: &str) -> HashMap<&str, usize> {
    let mut first_uses = HashMap::new();
    for (word, offset) in tags(text).iter().flat_map(tags::words) {
        first_uses.entry(word).or_insert(offset);
    }
    first_uses
}

/// The custom variables that some tag tests for existence or gives a default.
pub(super) fn guarded_vars<'t>(texts: impl Iterator<Item = (&'t str, &'t str)>) -> BTreeSet<&'t str> {
    let mut guarded = BTreeSet::new();
    for (_, text) in texts {
        for tag in tags(text) {
            let words = || tag.inside.split(|char: char| !char.is_alphanumeric() && char != '_');
            if words().any(|word| matches!(word, "default" | "defined" | "undefined")) {
                guarded.extend(tags::vars(&tag).into_iter().map(|(name, _)| name));
            }
        }
    }
    guarded
}

/// The diagnostics in an error of Tera.
pub(super) fn diagnostics(error: &tera::Error) -> Vec<FileDiagnostic> {
    match error.kind() {
        ErrorKind::SyntaxError(report) | ErrorKind::RenderingError(report) => {
            let span = report.span();
            let at = ErrorLocation {
                file: Some(report.filename().to_owned()),
                line: u32::try_from(span.start_line).ok(),
                column: u32::try_from(span.start_col + 1).ok(),
                ..ErrorLocation::default()
            };
            vec![FileDiagnostic::new(sentence(report.message())).at(at)]
        }
        ErrorKind::Msg(reports) => reports.split("\n\n").map(report).collect(),
        other => vec![FileDiagnostic::new(sentence(&other.to_string()))],
    }
}

/// The diagnostic of one printed report of Tera: `error: MESSAGE`, then ` --> FILE:LINE:COLUMN` and the line.
fn report(text: &str) -> FileDiagnostic {
    let mut lines = text.lines();
    let message = lines.next().unwrap_or("");
    let diagnostic = FileDiagnostic::new(sentence(message.strip_prefix("error: ").unwrap_or(message)));
    let place = || {
        let place = lines.next()?.trim().strip_prefix("--> ")?;
        let (rest, column) = place.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        Some(ErrorLocation {
            file: Some(file.to_owned()),
            line: line.parse().ok(),
            column: column.parse().ok(),
            ..ErrorLocation::default()
        })
    };
    let mut place = place;
    match place() {
        Some(at) => diagnostic.at(at),
        None => diagnostic,
    }
}

/// A message of Tera without initial capital and full stop, like all messages.
fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
