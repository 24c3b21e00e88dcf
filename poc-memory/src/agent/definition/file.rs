//! An agent file as tables with places: every value is looked up in the file, then in the
//! defaults, and every problem is kept with its line and column.

use crate::error::{At, Error};
use crate::similar;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::LazyLock;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The defaults of a table that has none.
static NONE: LazyLock<DeTable<'static>> = LazyLock::new(DeTable::new);

/// An agent file being read, and what is wrong with it so far.
pub(super) struct File<'a> {
    name: &'a str,
    text: &'a str,
    problems: RefCell<Vec<Error>>,
}

impl<'a> File<'a> {
    pub(super) fn new(name: &'a str, text: &'a str) -> Self {
        File { name, text, problems: RefCell::default() }
    }

    /// Notes a problem at a byte of the file.
    pub(super) fn problem(&self, offset: usize, error: Error) {
        let at = At { file: Some(self.name.to_owned()), ..At::offset(self.text, offset) };
        self.problems.borrow_mut().push(error.at(at));
    }

    /// Notes a problem that has its place already.
    pub(super) fn placed(&self, error: Error) {
        self.problems.borrow_mut().push(error);
    }

    /// The problems in the order they stand: those of this file, then those of its templates.
    pub(super) fn into_problems(self) -> Vec<Error> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|error| {
            let at = error.at.clone().unwrap_or_default();
            (at.file.as_deref() != Some(self.name), at.line, at.column)
        });
        problems.dedup();
        problems
    }
}

/// A value with the place to report it at.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    /// The value.
    pub(super) value: T,
    /// The first byte of the value in the file; of the table, where the default stands in.
    pub(super) offset: usize,
}

/// One table of the file, with the same table of the defaults.
pub(super) struct Section<'a> {
    file: &'a File<'a>,
    path: String,
    /// Whether it is one of a list: `[[tests]]`.
    listed: bool,
    offset: usize,
    table: Option<&'a DeTable<'a>>,
    defaults: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub(super) fn root(file: &'a File<'a>, table: &'a DeTable<'a>, defaults: &'a DeTable<'a>) -> Self {
        Section { file, path: String::new(), listed: false, offset: 0, table: Some(table), defaults }
    }

    /// The table with a name.
    pub(super) fn section(&self, key: &str) -> Section<'a> {
        let defaults = self.defaults.get(key).and_then(|value| value.get_ref().as_table());
        let mut section = Section {
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
                self.mistyped(key, value, "a table");
            }
        }
        section
    }

    /// The tables of a list, which have no defaults: `[[tests]]`.
    pub(super) fn sections(&self, key: &str) -> Vec<Section<'a>> {
        let Some((_, value)) = self.entry(key) else { return Vec::new() };
        let Some(items) = value.get_ref().as_array() else {
            self.mistyped(key, value, &format!("a list of tables: `[[{key}]]`"));
            return Vec::new();
        };
        let mut sections = Vec::new();
        for item in items.iter() {
            let table = item.get_ref().as_table();
            if table.is_none() {
                self.mistyped(key, item, &format!("a list of tables: `[[{key}]]`"));
                continue;
            }
            let (path, offset) = (self.path_of(key), item.span().start);
            sections.push(Section { file: self.file, path, listed: true, offset, table, defaults: &NONE });
        }
        sections
    }

    /// Where it begins.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Notes every key that is neither among the defaults nor one of `more`.
    pub(super) fn refuse_unknown(&self, more: &[&str]) {
        for (name, _) in self.table.into_iter().flatten() {
            let key = name.get_ref().as_ref();
            if self.defaults.contains_key(key) || more.contains(&key) {
                continue;
            }
            let known =
                || self.defaults.keys().map(|name| name.get_ref().as_ref()).chain(more.iter().copied());
            let error = Error::config(format!("unknown key `{}`", self.path_of(key)));
            let error = match similar::to(key, known()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => {
                    let mut known: Vec<String> = known().map(|key| format!("`{key}`")).collect();
                    known.sort_unstable();
                    error.hint(format!("known here: {}", known.join(", ")))
                }
            };
            self.file.problem(name.span().start, error);
        }
    }

    /// Whether the file itself says something about a key.
    pub(super) fn place(&self, key: &str) -> Option<usize> {
        self.entry(key).map(|(name, _)| name.span().start)
    }

    /// The names the file uses here, with the place of each.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'a str, usize)> {
        self.table.into_iter().flatten().map(|(name, _)| (name.get_ref().as_ref(), name.span().start))
    }

    /// The value of a key, from the file or the defaults.
    pub(super) fn get<T: Read>(&self, key: &str) -> Option<Placed<T>> {
        if let Some((_, value)) = self.entry(key) {
            match T::read(value.get_ref()) {
                Ok(read) => return Some(Placed { value: read, offset: value.span().start }),
                Err(Wrong::Type) => self.mistyped(key, value, T::EXPECTED),
                Err(Wrong::Value(error)) => self.file.problem(value.span().start, error),
            }
        }
        let value = T::read(self.defaults.get(key)?.get_ref()).ok()?;
        Some(Placed { value, offset: self.offset })
    }

    /// The value of a key that has no default.
    pub(super) fn required<T: Read>(&self, key: &str, example: &str) -> Option<Placed<T>> {
        if self.entry(key).is_none() {
            let error = Error::config(format!("`{}` is missing", self.path_of(key)));
            let (open, close) = if self.listed { ("[[", "]]") } else { ("[", "]") };
            let hint = format!("add `{key} = {example}` under `{open}{}{close}`", self.path);
            self.file.problem(self.offset, error.hint(hint));
        }
        self.get(key)
    }

    /// The value of a key that has one of a few names, as what the name stands for.
    pub(super) fn one_of<T: Copy>(&self, key: &str, names: &[(&str, T)]) -> Option<T> {
        let said = self.get::<String>(key)?;
        let found = names.iter().find(|(name, _)| *name == said.value);
        if found.is_none() {
            let error = Error::config(format!("`{}` cannot be `{}`", self.path_of(key), said.value));
            let known: Vec<String> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.file.problem(
                said.offset,
                match similar::to(&said.value, names.iter().map(|(name, _)| *name)) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.hint(format!("write {}", known.join(" or "))),
                },
            );
        }
        found.or(names.first()).map(|(_, value)| *value)
    }

    /// Notes a problem at the value of a key, when it does not hold.
    pub(super) fn expect<T>(&self, key: &str, placed: &Placed<T>, holds: bool, rule: &str) {
        if !holds {
            let error = Error::config(format!("`{}` is out of range", self.path_of(key)));
            self.file.problem(placed.offset, error.hint(rule));
        }
    }

    fn entry(&self, key: &str) -> Option<(&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)> {
        self.table?.get_key_value(key)
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn mistyped(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) {
        let found = value.get_ref().type_str();
        let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
        let error = Error::config(format!("`{}` is {article} {found}", self.path_of(key)));
        self.file.problem(value.span().start, error.hint(format!("give {expected}")));
    }
}

/// Why a value could not be read.
pub(super) enum Wrong {
    /// It is of another type.
    Type,
    /// It is of the type and does not make sense.
    Value(Error),
}

/// What a key may hold.
pub(super) trait Read: Sized {
    /// The type as people call it.
    const EXPECTED: &str;

    /// Reads it.
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong>;
}

impl Read for String {
    const EXPECTED: &str = "text in quotes";
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong> {
        value.as_str().map(str::to_owned).ok_or(Wrong::Type)
    }
}

impl Read for bool {
    const EXPECTED: &str = "`true` or `false`";
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong> {
        value.as_bool().ok_or(Wrong::Type)
    }
}

impl Read for usize {
    const EXPECTED: &str = "a whole number";
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong> {
        let number = value.as_integer().ok_or(Wrong::Type)?;
        usize::from_str_radix(number.as_str(), number.radix()).map_err(|_| {
            Wrong::Value(Error::config(format!("{number} is out of range")).hint("give a number from 0 up"))
        })
    }
}

impl Read for f64 {
    const EXPECTED: &str = "a number";
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong> {
        let text = match value {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return Err(Wrong::Type),
        };
        text.parse().map_err(|_| Wrong::Type)
    }
}

impl Read for crate::time::Span {
    const EXPECTED: &str = "a duration in quotes: \"7d\", \"24h\", \"30m\", \"45s\"";
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong> {
        let text = value.as_str().ok_or(Wrong::Type)?;
        crate::time::Span::parse(text)
            .map_err(|error| Wrong::Value(Error { code: crate::error::Code::InvalidConfig, ..error }))
    }
}

impl Read for Vec<Placed<String>> {
    const EXPECTED: &str = "a list of texts: [\"…\"]";
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong> {
        let place = |item: &Spanned<DeValue<'_>>| -> Result<Placed<String>, Wrong> {
            let Range { start, .. } = item.span();
            Ok(Placed { value: String::read(item.get_ref())?, offset: start })
        };
        value.as_array().ok_or(Wrong::Type)?.iter().map(place).collect()
    }
}
