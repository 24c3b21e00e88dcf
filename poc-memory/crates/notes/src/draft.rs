//! A note as it was submitted, and its validation.

use super::{key, keyword_normalization};
use poc_config::Config;
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use poc_graph::time::Timestamp;
use poc_graph::{Category, NodeId, Trust, normal_key, one_line, title_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum emotional intensity of a node.
pub const EMOTION_MAX: f32 = 10.0;

/// Maximum number of characters of the author and of the source of a note that a request gives. `get` and prompts
/// contain them in full. Imports keep longer ones.
const MAX_ORIGIN_CHARS: usize = 2000;

/// A field of a note that an update can remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClearableField {
    /// All keywords.
    Keywords,
    /// Who wrote or said the text.
    Author,
    /// Where the text comes from.
    Source,
    /// When the note expires.
    Expires,
}

impl ClearableField {
    /// Every field, in the order of the fields of a note.
    pub const ALL: [ClearableField; 4] = [Self::Keywords, Self::Author, Self::Source, Self::Expires];

    /// The name of the field in requests.
    pub fn name(self) -> &'static str {
        match self {
            ClearableField::Keywords => "keywords",
            ClearableField::Author => "author",
            ClearableField::Source => "source",
            ClearableField::Expires => "expires",
        }
    }
}

/// A note to store. A field that is `None` gets its default, or stays unchanged if a node is updated.
// Proposals store it serialized: the order of the fields is part of the format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Title, one line; the first heading or sentence of the body by default.
    pub title: Option<String>,
    /// The text, in Markdown.
    pub body: Option<String>,
    /// Keywords in any spelling; they are normalised when stored.
    pub keywords: Option<Vec<String>>,
    /// Unique name; derived from the title by default.
    pub key: Option<String>,
    /// Type; `semantic` by default.
    pub node_type: Option<String>,
    /// Category, which sets how fast the weight decays; `general` by default.
    pub category: Option<Category>,
    /// Who wrote or said the text.
    pub author: Option<String>,
    /// Where the text comes from, for example a URL or a file.
    pub source: Option<String>,
    /// Emotional intensity, 0 to 10; 0 by default.
    pub emotion: Option<f32>,
    /// When the note expires; never by default.
    pub expires: Option<Timestamp>,
    /// Initial weight; 1 by default.
    pub weight: Option<f64>,
    /// When it was first written; the time of its file or now by default.
    pub created: Option<Timestamp>,
    /// When it was last changed; `created` or now by default.
    pub modified: Option<Timestamp>,
    /// The node that the note supersedes.
    pub supersedes: Option<NodeId>,
    /// Whether this becomes a new version of the node that has the key.
    pub update: bool,
    /// Who stores the note: `manual`, `import:FILE`, `agent:NAME`.
    pub provenance: String,
    /// How far its text is trusted.
    pub trust: Trust,
    /// The version that the node to update must have; 0 if there must be no such node.
    // Not serialized: a stored proposal has no expected version.
    #[serde(skip)]
    pub if_version: Option<u32>,
    /// Whether there must be a node to update, of any version.
    // Not serialized, for the same reason.
    #[serde(skip)]
    pub must_exist: bool,
    /// The fields that an update removes.
    // Not serialized: a proposal removes none.
    #[serde(skip)]
    pub clear: Vec<ClearableField>,
    /// Other names of the note, which need not be unique.
    // Not serialized: only files have them.
    #[serde(skip)]
    pub other_names: Option<Vec<String>>,
    /// Whether a stored note without the labels of projects counts as the same note.
    // Not serialized: a proposal names its keywords itself.
    #[serde(skip)]
    pub ignores_labels: bool,
    /// If `title` was made from the text: the title that earlier releases made from it. A stored note with that title
    /// keeps it as long as its text stays the same.
    // Not serialized: only notes that are read from a source again have it.
    #[serde(skip)]
    pub former_title: Option<String>,
    /// When the file of the note was last changed: the default of `created` for a new note.
    // Not serialized: only files have it. It never changes a stored note, because programs such as Git do not keep it.
    #[serde(skip)]
    pub file_modified: Option<Timestamp>,
}

impl Draft {
    /// A draft without any text.
    pub fn new(provenance: impl Into<String>, trust: Trust) -> Draft {
        Draft {
            title: None,
            body: None,
            keywords: None,
            key: None,
            node_type: None,
            category: None,
            author: None,
            source: None,
            emotion: None,
            expires: None,
            weight: None,
            created: None,
            modified: None,
            supersedes: None,
            update: false,
            provenance: provenance.into(),
            trust,
            if_version: None,
            must_exist: false,
            clear: Vec::new(),
            other_names: None,
            ignores_labels: false,
            former_title: None,
            file_modified: None,
        }
    }

    /// The key the note will have if that is free and the note is valid.
    pub(super) fn likely_key(&self) -> Option<String> {
        let made = || {
            let title = self.title.clone().or_else(|| title_of(self.body.as_deref().unwrap_or_default()));
            title.map(|title| key::slug(&title))
        };
        self.key.as_deref().map(|key| normal_key(key).into_owned()).or_else(made)
    }

    /// The draft with every text in its stored form, or an error that says what is wrong with it.
    pub(super) fn checked(mut self, config: &Config, now: Timestamp) -> Result<Draft> {
        for (field, text) in
            [("title", &self.title), ("body", &self.body), ("author", &self.author), ("source", &self.source)]
        {
            no_nul(text.as_deref().unwrap_or_default(), field)?;
        }
        for word in self.keywords.iter().flatten() {
            no_nul(word, "keywords")?;
        }
        self.title = filled(self.title.map(|title| one_line(&title)));
        self.body = self.body.map(|body| tidy(&body));
        self.author = filled(self.author.map(|author| one_line(&author)));
        self.source = filled(self.source.map(|source| one_line(&source)));
        self.key = self.key.map(|given| key::checked(&given)).transpose()?;
        self.other_names = self.other_names.map(|names| key::other_names(&names));
        self.keywords = self.keywords.map(|words| checked_keywords(&words, config)).transpose()?;
        if let Some(name) = &self.node_type {
            known_type(name, config)?;
        }
        if let Some(emotion) = self.emotion
            && !(0.0..=EMOTION_MAX).contains(&emotion)
        {
            return Err(Error::invalid(format!("an emotion of {emotion} is out of range"))
                .hint("give a number from 0 (none) to 10")
                .field("emotion"));
        }
        let bounds = config.weight.floor..=config.weight.cap;
        if let Some(weight) = self.weight
            && !bounds.contains(&weight)
        {
            return Err(Error::invalid(format!("a weight of {weight} is out of range"))
                .hint(format!("give a number from {} to {}", bounds.start(), bounds.end()))
                .field("weight"));
        }
        if let Some(expires) = self.expires
            && expires <= now
        {
            return Err(Error::invalid(format!("{expires} is in the past"))
                .hint("give a time in the future")
                .field("expires"));
        }
        // Version 0 asks for a new note, which is an update of a note that does not exist yet.
        self.update |= self.if_version == Some(0) && self.key.is_some();
        self.check_update()?;
        Ok(self)
    }

    /// Checks the fields that say what is updated, and how.
    fn check_update(&self) -> Result<()> {
        if self.update && self.key.is_none() {
            return Err(Error::invalid("an update has no `key`")
                .hint("give the `key` of the note to update")
                .field("key"));
        }
        if self.if_version.is_some() && !self.update {
            return Err(Error::invalid("`if_version` is for updates only")
                .hint("give `update` and `key`, or leave `if_version` out")
                .field("if_version"));
        }
        if !self.clear.is_empty() && !self.update {
            return Err(Error::invalid("`clear` is for updates only")
                .hint("give `update` and `key`, or leave `clear` out")
                .field("clear"));
        }
        if self.must_exist && !self.update {
            return Err(Error::invalid("only an update can require that the note exists")
                .hint("give `update` and `key`, or leave the condition out")
                .field("update"));
        }
        if self.update && self.supersedes.is_some() {
            return Err(Error::invalid("a note cannot update one note and supersede another at once")
                .hint("leave out `update` or `supersedes`")
                .field("update"));
        }
        Ok(())
    }
}

/// Keywords in their stored form, if a note may have that many.
pub(super) fn checked_keywords(words: &[String], config: &Config) -> Result<Vec<String>> {
    let words = keyword_normalization::normalize(words)?;
    let (count, max) = (words.len(), config.insert.max_keywords);
    if count > max {
        return Err(Error::invalid(format!("the note has {count} keywords, more than the maximum of {max}"))
            .hint("keep the ones that other notes share")
            .field("keywords"));
    }
    Ok(words)
}

/// Refuses a text with a NUL character, which other programs treat as the end of the text.
pub(super) fn no_nul(text: &str, field: &str) -> Result<()> {
    match text.contains('\0') {
        false => Ok(()),
        true => Err(Error::invalid(format!("the {field} contains a NUL character"))
            .hint("remove it")
            .field(field)),
    }
}

/// Checks that a text about a note, such as its source, has at most `max` characters.
pub(super) fn check_length(text: &str, field: &str, max: usize, hint: &str) -> Result<()> {
    let chars = text.chars().count();
    if chars > max {
        return Err(Error::invalid(format!(
            "the {field} has {chars} characters, more than the maximum of {max}"
        ))
        .hint(hint)
        .field(field));
    }
    Ok(())
}

/// Checks the lengths of the author and the source that a request gives.
///
/// # Errors
/// `invalid_argument` for the one that is too long.
pub fn check_origin(author: Option<&str>, source: Option<&str>) -> Result<()> {
    check_length(author.unwrap_or_default(), "author", MAX_ORIGIN_CHARS, "give a name")?;
    check_length(source.unwrap_or_default(), "source", MAX_ORIGIN_CHARS, "give a URL, a file or a ticket")
}

/// Checks that the text of a node has at most `limit` bytes.
pub(super) fn check_size(title: &str, body: &str, keywords: &[String], limit: usize) -> Result<()> {
    let bytes = title.len() + body.len() + keywords.iter().map(String::len).sum::<usize>();
    if bytes > limit {
        let field = if title.len() > body.len() { "title" } else { "body" };
        return Err(Error::invalid(format!(
            "the note has {bytes} bytes of text, more than the maximum of {limit}"
        ))
        .hint("split it into several notes, one idea each")
        .field(field));
    }
    Ok(())
}

/// Checks that a type is known.
///
/// # Errors
/// `invalid_argument` at `type`, with the nearest type or all types as the hint.
pub fn known_type(name: &str, config: &Config) -> Result<()> {
    if config.node_types().any(|known| known == name) {
        return Ok(());
    }
    let known: Vec<&str> = config.node_types().collect();
    let hint = match similar::closest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the types are {}; `[nodes] types` adds more", list(&known)),
    };
    Err(Error::invalid(format!("unknown type `{name}`")).hint(hint).field("type"))
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// A body with `\n` line ends and without surrounding blank lines.
pub(super) fn tidy(body: &str) -> String {
    let body = body.replace("\r\n", "\n");
    let text = body.trim_end();
    let start = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
    // The indent of the first line has a meaning in Markdown; blank lines before it have none.
    let line = text.get(..start).and_then(|blank| blank.rfind('\n')).map_or(0, |end| end + 1);
    text.get(line..).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Draft {
        Draft::new("manual", Trust::User)
    }

    fn refused(draft: Draft) -> String {
        let config = Config::defaults().unwrap();
        let error = draft.checked(&config, Timestamp(1_000_000)).unwrap_err();
        format!("{error}\n{}", error.hint.clone().unwrap_or_default())
    }

    #[test]
    fn invalid_drafts_are_refused_with_hints() {
        insta::assert_snapshot!(refused(Draft { node_type: Some("semantics".into()), ..draft() }), @r"
        `type`: unknown type `semantics`
        did you mean `semantic`?
        ");
        insta::assert_snapshot!(refused(Draft { node_type: Some("x".into()), ..draft() }), @r"
        `type`: unknown type `x`
        the types are `episodic`, `daily`, `weekly`, `monthly`, `semantic`, `question`; `[nodes] types` adds more
        ");
        insta::assert_snapshot!(refused(Draft { body: Some("a\0b".into()), ..draft() }), @r"
        `body`: the body contains a NUL character
        remove it
        ");
        insta::assert_snapshot!(refused(Draft { keywords: Some(vec!["a,b".into()]), ..draft() }), @r"
        `keywords`: the keyword `a,b` has a comma in it
        give each keyword by itself
        ");
        insta::assert_snapshot!(refused(Draft { keywords: Some(vec![" ".into()]), ..draft() }), @r"
        `keywords`: a keyword is empty
        give each keyword by itself
        ");
        insta::assert_snapshot!(refused(Draft { emotion: Some(f32::NAN), ..draft() }), @r"
        `emotion`: an emotion of NaN is out of range
        give a number from 0 (none) to 10
        ");
        insta::assert_snapshot!(refused(Draft { weight: Some(0.0), ..draft() }), @r"
        `weight`: a weight of 0 is out of range
        give a number from 0.01 to 100
        ");
        insta::assert_snapshot!(refused(Draft { expires: Some(Timestamp(5)), ..draft() }), @r"
        `expires`: 1970-01-01T00:00:00.005Z is in the past
        give a time in the future
        ");
        insta::assert_snapshot!(refused(Draft { update: true, ..draft() }), @r"
        `key`: an update has no `key`
        give the `key` of the note to update
        ");
    }

    #[test]
    fn keywords_are_normalized() {
        let words = ["  B-Tree ", "b-tree", "Cafe\u{301}"].map(String::from);
        assert_eq!(keyword_normalization::normalize(&words).unwrap(), ["b-tree", "café"]);
    }

    #[test]
    fn a_body_keeps_its_first_indent() {
        assert_eq!(tidy("\r\n  \n    code\r\nmore \n\n"), "    code\nmore");
        assert_eq!(tidy(" \n "), "");
    }
}
