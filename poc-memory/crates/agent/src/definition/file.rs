//! Typed access to the tables of an agent file. Every value is looked up in the file, then in the defaults;
//! every diagnostic is collected with its line and column.

use super::AUTO;
use super::key_spec::{Bound, KeySpec, ValueType};
use super::keys;
use poc_config::toml_document::TomlDocument;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::time::Span;
use poc_graph::{plural, similar};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Defaults for tables without any.
static NONE: LazyLock<DeTable<'static>> = LazyLock::new(DeTable::new);

/// Maximum number of diagnostics of a file. The others are counted: to find the line of a position takes as long as to
/// read the file up to it.
const MAX_DIAGNOSTICS: usize = 100;

/// An agent file being read, with the diagnostics so far.
pub(super) struct AgentFileReader<'a> {
    document: &'a TomlDocument<'a>,
    diagnostics: RefCell<Vec<FileDiagnostic>>,
    /// Number of further diagnostics.
    left_out: Cell<usize>,
}

impl<'a> AgentFileReader<'a> {
    pub(super) fn new(document: &'a TomlDocument<'a>) -> Self {
        AgentFileReader { document, diagnostics: RefCell::default(), left_out: Cell::default() }
    }

    /// Adds a diagnostic at a byte offset of the file.
    pub(super) fn report(&self, offset: usize, diagnostic: impl Into<FileDiagnostic>) {
        if self.has_room() {
            self.report_located(diagnostic.into().at(self.document.location(offset)));
        }
    }

    /// Whether another diagnostic is listed; otherwise it is counted.
    pub(super) fn has_room(&self) -> bool {
        let has_room = self.diagnostics.borrow().len() < MAX_DIAGNOSTICS;
        if !has_room {
            self.left_out.set(self.left_out.get() + 1);
        }
        has_room
    }

    /// Adds a diagnostic at a character index within the string that starts at a byte offset.
    pub(super) fn report_within(
        &self,
        offset: usize,
        characters: usize,
        diagnostic: impl Into<FileDiagnostic>,
    ) {
        if self.has_room() {
            let at = self.document.location_in_string(offset, characters);
            self.report_located(diagnostic.into().at(at));
        }
    }

    /// Adds a diagnostic that already has a position.
    pub(super) fn report_located(&self, diagnostic: FileDiagnostic) {
        if self.has_room() {
            self.diagnostics.borrow_mut().push(diagnostic);
        }
    }

    /// The diagnostics ordered by position: those of this file first, then those of its templates.
    pub(super) fn into_diagnostics(self) -> Vec<FileDiagnostic> {
        let mut diagnostics = self.diagnostics.into_inner();
        diagnostics
            .sort_by_key(|one| (one.file.as_deref() != Some(self.document.name()), one.line, one.column));
        diagnostics.dedup();
        let left_out = self.left_out.get();
        if left_out > 0 {
            let are = if left_out == 1 { "is" } else { "are" };
            let problems = plural(left_out as u64, "more problem");
            let more = FileDiagnostic::new(format!("there {are} {problems}"));
            diagnostics.push(more.file(self.document.name()));
        }
        diagnostics
    }
}

/// A value with the position for diagnostics.
#[derive(Clone, Debug)]
pub(super) struct WithOffset<T> {
    /// The value.
    pub(super) value: T,
    /// Byte offset of the value in the file, or of its table when the value is a default.
    pub(super) offset: usize,
}

/// One table of the file, with its defaults.
pub(super) struct TomlSection<'a> {
    file: &'a AgentFileReader<'a>,
    path: String,
    /// Whether it is an element of an array of tables, such as `[[tests]]`.
    listed: bool,
    offset: usize,
    table: Option<&'a DeTable<'a>>,
    defaults: &'a DeTable<'a>,
}

impl<'a> TomlSection<'a> {
    /// The whole file.
    pub(super) fn root(
        file: &'a AgentFileReader<'a>,
        table: &'a DeTable<'a>,
        defaults: &'a DeTable<'a>,
    ) -> Self {
        TomlSection { file, path: String::new(), listed: false, offset: 0, table: Some(table), defaults }
    }

    /// The subtable with this name.
    pub(super) fn section(&self, key: &str) -> TomlSection<'a> {
        let defaults = self.defaults.get(key).and_then(|value| value.get_ref().as_table());
        let mut section = TomlSection {
            file: self.file,
            path: self.path_of(key),
            listed: false,
            offset: self.offset,
            table: None,
            defaults: defaults.unwrap_or(self.defaults),
        };
        if let Some((name, value)) = self.entry(key) {
            section.offset = name.span().start;
            section.table = value.get_ref().as_table();
            if section.table.is_none() {
                self.mistyped(key, value, value.get_ref());
            }
        }
        section
    }

    /// The tables of an array such as `[[tests]]`; they have no defaults.
    pub(super) fn sections(&self, key: &str) -> Vec<TomlSection<'a>> {
        let Some((_, value)) = self.entry(key) else { return Vec::new() };
        let Some(items) = value.get_ref().as_array() else {
            self.mistyped(key, value, value.get_ref());
            return Vec::new();
        };
        let mut sections = Vec::new();
        for item in items.iter() {
            let table = item.get_ref().as_table();
            if table.is_none() {
                let diagnostic =
                    mistyped(&self.path_of(key), "holds", item.get_ref().type_str(), self.takes(key));
                self.file.report(item.span().start, diagnostic);
                continue;
            }
            let (path, offset) = (self.path_of(key), item.span().start);
            sections.push(TomlSection {
                file: self.file,
                path,
                listed: true,
                offset,
                table,
                defaults: &NONE,
            });
        }
        sections
    }

    /// Whether the table is missing or empty in the file.
    pub(super) fn is_empty(&self) -> bool {
        self.table.is_none_or(|table| table.is_empty())
    }

    /// Byte offset where it begins.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Reports every unknown key of this table.
    pub(super) fn refuse_unknown(&self) {
        for (name, _) in self.table.into_iter().flatten() {
            let key = name.get_ref().as_ref();
            if keys::find(&self.path_of(key)).is_none() && self.file.has_room() {
                let diagnostic = FileDiagnostic::new(format!("unknown key `{}`", self.path_of(key)));
                self.file.report(name.span().start, diagnostic.hint(self.instead_of(key)));
            }
        }
    }

    /// A hint for an unknown key.
    fn instead_of(&self, key: &str) -> String {
        let here = || keys::within(&self.path).map(KeySpec::name);
        let elsewhere = || keys::KEYS.iter().filter(|row| row.table() != self.path);
        if let Some(row) = elsewhere().find(|row| row.name() == key) {
            return match row.table() {
                "" => format!("`{key}` belongs at the top of the file, before the first `[…]`"),
                table => format!("`{key}` belongs under `[{table}]`"),
            };
        }
        if let Some(near) = similar::closest(key, here()) {
            return format!("did you mean `{near}`?");
        }
        let known: Vec<String> = here().map(|key| format!("`{key}`")).collect();
        format!("known here: {}", known.join(", "))
    }

    /// Byte offset of a key, if the file itself sets it.
    pub(super) fn place(&self, key: &str) -> Option<usize> {
        self.entry(key).map(|(name, _)| name.span().start)
    }

    /// The values of a table with custom names, as text, each located at its name.
    pub(super) fn values(&self) -> BTreeMap<String, WithOffset<String>> {
        let mut values = BTreeMap::new();
        for (name, value) in self.table.into_iter().flatten() {
            let (key, offset) = (name.get_ref().as_ref(), name.span().start);
            if key.is_empty() || !key.chars().all(|c| c.is_alphanumeric() || "-_".contains(c)) {
                let diagnostic =
                    FileDiagnostic::new(format!("`{key}` is not a name under `[{}]`", self.path));
                self.file.report(offset, diagnostic.hint("a name has letters, digits, `-` and `_`"));
                continue;
            }
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.to_string(),
                DeValue::Float(number) => number.to_string(),
                DeValue::Boolean(flag) => flag.to_string(),
                other => {
                    let diagnostic = mistyped(&self.path_of(key), "is", other.type_str(), ValueType::Text);
                    self.file.report(value.span().start, diagnostic);
                    continue;
                }
            };
            values.insert(key.to_owned(), WithOffset { value: text, offset });
        }
        values
    }

    /// The value of a key from the file, or else its default.
    pub(super) fn get<T: FromToml>(&self, key: &str) -> Option<WithOffset<T>> {
        if let Some((_, value)) = self.entry(key) {
            let (offset, takes) = (value.span().start, self.takes(key));
            match T::read(value.get_ref()) {
                Ok(read) => {
                    if !read.fits(takes) {
                        self.out_of_range(key, value);
                    }
                    return Some(WithOffset { value: read, offset });
                }
                Err(ReadError::Type) => self.mistyped(key, value, value.get_ref()),
                Err(ReadError::Item(offset, item)) => {
                    self.file.report(offset, mistyped(&self.path_of(key), "holds", item, takes));
                }
                Err(ReadError::Range) => self.out_of_range(key, value),
                Err(ReadError::Value(diagnostic)) => self.file.report(offset, diagnostic),
            }
        }
        let value = T::read(self.defaults.get(key)?.get_ref()).ok()?;
        Some(WithOffset { value, offset: self.offset })
    }

    /// The value of a required key.
    pub(super) fn required<T: FromToml>(&self, key: &str) -> Option<WithOffset<T>> {
        if self.entry(key).is_none() {
            self.missing(key, keys::find(&self.path_of(key)).and_then(|row| row.example).unwrap_or("…"));
        }
        self.get(key)
    }

    /// Reports a missing key with an example.
    pub(super) fn missing(&self, key: &str, example: &str) {
        let diagnostic = FileDiagnostic::new(format!("`{}` is missing", self.path_of(key)));
        let (open, close) = if self.listed { ("[[", "]]") } else { ("[", "]") };
        let hint = format!("add `{key} = {example}` under `{open}{}{close}`", self.path);
        self.file.report(self.offset, diagnostic.hint(hint));
    }

    /// The value of a key that takes one of a few names, mapped to the value of the name.
    pub(super) fn one_of<T: Copy>(&self, key: &str, names: &[(&str, T)]) -> Option<T> {
        let given = self.get::<String>(key)?;
        let found = names.iter().find(|(name, _)| *name == given.value);
        if found.is_none() {
            let diagnostic =
                FileDiagnostic::new(format!("`{}` cannot be `{}`", self.path_of(key), given.value));
            let known: Vec<String> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.file.report(
                given.offset,
                match similar::closest(&given.value, names.iter().map(|(name, _)| *name)) {
                    Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                    None => diagnostic.hint(format!("write {}", known.join(" or "))),
                },
            );
        }
        found.or(names.first()).map(|(_, value)| *value)
    }

    fn entry(&self, key: &str) -> Option<(&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)> {
        self.table?.get_key_value(key)
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value type of a key; custom names take text.
    fn takes(&self, key: &str) -> ValueType {
        keys::find(&self.path_of(key)).map_or(ValueType::Text, |row| row.takes)
    }

    fn mistyped(&self, key: &str, value: &Spanned<DeValue<'_>>, found: &DeValue<'_>) {
        let diagnostic = mistyped(&self.path_of(key), "is", found.type_str(), self.takes(key));
        self.file.report(value.span().start, diagnostic);
    }

    fn out_of_range(&self, key: &str, value: &Spanned<DeValue<'_>>) {
        let value_text = match value.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::String(text) => text.to_string(),
            other => other.type_str().to_owned(),
        };
        let diagnostic = match value.get_ref() {
            DeValue::Array(items) => {
                FileDiagnostic::new(format!("`{}` cannot have {} items", self.path_of(key), items.len()))
            }
            _ => FileDiagnostic::new(format!("`{}` cannot be `{value_text}`", self.path_of(key))),
        };
        let hint = format!("give {}", self.takes(key).description());
        self.file.report(value.span().start, diagnostic.hint(hint));
    }
}

fn mistyped(path: &str, does: &str, found: &str, takes: ValueType) -> FileDiagnostic {
    let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
    FileDiagnostic::new(format!("`{path}` {does} {article} {found}"))
        .hint(format!("give {}", takes.description()))
}

/// Why a value could not be read.
pub(super) enum ReadError {
    /// Wrong type.
    Type,
    /// A list item has the wrong type: its offset and that type.
    Item(usize, &'static str),
    /// Right type, but out of range.
    Range,
    /// Right type, but an invalid value.
    Value(FileDiagnostic),
}

/// Types that a key can have.
pub(super) trait FromToml: Sized {
    /// Converts a TOML value.
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError>;

    /// Whether the value is in the range of the key's type.
    fn fits(&self, _takes: ValueType) -> bool {
        true
    }
}

impl FromToml for String {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        value.as_str().map(str::to_owned).ok_or(ReadError::Type)
    }
}

/// One text, or a list of texts.
pub(super) enum OneOrSeveral {
    One(String),
    Several(Vec<WithOffset<String>>),
}

impl FromToml for OneOrSeveral {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        match value {
            DeValue::String(text) => Ok(OneOrSeveral::One(text.to_string())),
            list => Vec::<WithOffset<String>>::read(list).map(OneOrSeveral::Several),
        }
    }
}

impl FromToml for bool {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        value.as_bool().ok_or(ReadError::Type)
    }
}

impl FromToml for usize {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        let number = value.as_integer().ok_or(ReadError::Type)?;
        usize::from_str_radix(number.as_str(), number.radix()).map_err(|_| ReadError::Range)
    }

    fn fits(&self, takes: ValueType) -> bool {
        !matches!(takes, ValueType::Count(min, max) if !(min..=max).contains(self))
    }
}

impl FromToml for f64 {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        let text = match value {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return Err(ReadError::Type),
        };
        text.parse().map_err(|_| ReadError::Type)
    }

    fn fits(&self, takes: ValueType) -> bool {
        match takes {
            ValueType::Share => *self > 0.0 && *self <= 1.0,
            ValueType::Number(min, Bound::From) => self.is_finite() && *self >= min,
            ValueType::Number(min, Bound::Above) => self.is_finite() && *self > min,
            _ => true,
        }
    }
}

/// The text of a duration, which may be a bare number of seconds, as in the settings.
pub(super) struct DurationText(pub(super) String);

impl FromToml for DurationText {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        match value {
            DeValue::String(text) => Ok(DurationText(text.to_string())),
            DeValue::Integer(number) => {
                let seconds = i64::from_str_radix(number.as_str(), number.radix());
                Ok(DurationText(seconds.map_or_else(|_| number.to_string(), |seconds| seconds.to_string())))
            }
            _ => Err(ReadError::Type),
        }
    }
}

impl FromToml for Span {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        let DurationText(text) = DurationText::read(value)?;
        Span::parse(&text).map_err(|error| ReadError::Value(error.into()))
    }

    fn fits(&self, takes: ValueType) -> bool {
        !matches!(takes, ValueType::Duration(min) if self.0 < min)
    }
}

/// A duration, or `None` for [`AUTO`].
impl FromToml for Option<Span> {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        match value.as_str() {
            Some(AUTO) => Ok(None),
            _ => Span::read(value).map(Some),
        }
    }
}

/// A list of texts or of [`DurationText`].
impl<T: FromToml> FromToml for Vec<WithOffset<T>> {
    fn read(value: &DeValue<'_>) -> Result<Self, ReadError> {
        let place = |item: &Spanned<DeValue<'_>>| -> Result<WithOffset<T>, ReadError> {
            let offset = item.span().start;
            let wrong = |_| ReadError::Item(offset, item.get_ref().type_str());
            Ok(WithOffset { value: T::read(item.get_ref()).map_err(wrong)?, offset })
        };
        value.as_array().ok_or(ReadError::Type)?.iter().map(place).collect()
    }

    fn fits(&self, takes: ValueType) -> bool {
        !matches!(takes, ValueType::Durations(max) if self.len() > max)
    }
}
