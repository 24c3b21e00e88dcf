//! The fixture of a test: JSON Lines in the format of `import`, with ages and visits relative to the time of
//! the test.

use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::normal_key;
use poc_graph::similar;
use poc_graph::time::{Span, Timestamp};
use poc_notes::import;
use serde_json::{Map, Value};

/// Fields of a fixture in addition to those of `import`.
const AGE: &str = "age";
const VISITS: &str = "visits";

/// A parsed fixture.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fixture {
    /// The lines for `import`.
    pub(super) lines: String,
    /// The keys of its notes.
    pub(super) keys: Vec<String>,
    pub(super) visits: Vec<FixtureVisit>,
}

/// A visit of a note of a fixture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FixtureVisit {
    /// Key of the note.
    pub(super) key: String,
    pub(super) agent: String,
    /// How long before the test.
    pub(super) ago: Span,
}

impl Fixture {
    /// Parses a fixture for a test that runs at `now`.
    ///
    /// # Errors
    /// All diagnostics with their lines.
    pub(super) fn read(text: &str, now: Timestamp) -> Result<Fixture, Vec<FileDiagnostic>> {
        let mut fixture = Fixture::default();
        let mut diagnostics = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            if let Err(diagnostic) = fixture.add(line, now) {
                diagnostics.push(FileDiagnostic { line: Some(number), ..diagnostic });
            }
        }
        if diagnostics.is_empty() { Ok(fixture) } else { Err(diagnostics) }
    }

    fn add(&mut self, line: &str, now: Timestamp) -> Result<(), FileDiagnostic> {
        let parsed: Value = serde_json::from_str(line).map_err(|error| {
            FileDiagnostic::new(format!("invalid JSON: {error}"))
                .hint("write one note per line: {\"key\": \"…\"}")
        })?;
        let Value::Object(mut note) = parsed else {
            return Err(
                FileDiagnostic::new("not a JSON object").hint("write one note per line: {\"key\": \"…\"}")
            );
        };
        let named = note.get("key").or_else(|| note.get("id")).and_then(Value::as_str);
        let Some(key) = named.map(|key| normal_key(key).into_owned()) else {
            return Err(FileDiagnostic::new("the note has no `key`")
                .hint("give each note a key, which the test can name"));
        };
        if self.keys.contains(&key) {
            return Err(FileDiagnostic::new(format!("two notes have the key `{key}`"))
                .hint("give each note its own key"));
        }
        // Exported notes contain their own times and visits.
        if !note.contains_key("schema_version") {
            self.age(&mut note, now)?;
            self.visits(&mut note, &key)?;
            let unknown = note.keys().find(|name| !import::fields().any(|known| known == *name)).cloned();
            if let Some(name) = unknown {
                let diagnostic = FileDiagnostic::new(format!("unknown field `{name}`"));
                let known = import::fields().chain([AGE, VISITS]);
                return Err(match similar::closest(&name, known) {
                    Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                    None => diagnostic.hint("use the fields of `import`, `age` and `visits`"),
                });
            }
        }
        self.keys.push(key);
        self.lines.push_str(&Value::Object(note).to_string());
        self.lines.push('\n');
        Ok(())
    }

    /// `"age": "3d"`: created and last changed this long before the test.
    fn age(&self, note: &mut Map<String, Value>, now: Timestamp) -> Result<(), FileDiagnostic> {
        let at = match note.remove(AGE) {
            Some(age) => now.minus(span(&age, AGE)?),
            None => now,
        };
        for (field, other) in [("created", "date"), ("modified", "updated")] {
            if !note.contains_key(other) {
                note.entry(field).or_insert_with(|| Value::String(at.to_string()));
            }
        }
        Ok(())
    }

    /// `"visits": {"linker": "2d"}`: visited by the agent this long before the test.
    fn visits(&mut self, note: &mut Map<String, Value>, key: &str) -> Result<(), FileDiagnostic> {
        let Some(visits) = note.remove(VISITS) else { return Ok(()) };
        let Value::Object(visits) = visits else {
            return Err(FileDiagnostic::new("`visits` is not an object").hint("write {\"linker\": \"2d\"}"));
        };
        for (agent, ago) in visits {
            self.visits.push(FixtureVisit { key: key.to_owned(), agent, ago: span(&ago, VISITS)? });
        }
        Ok(())
    }
}

fn span(value: &Value, field: &str) -> Result<Span, FileDiagnostic> {
    let wrong = |what: String| {
        FileDiagnostic::new(format!("`{field}`: {what}")).hint("write \"3d\", \"12h\" or \"0s\"")
    };
    let text = value.as_str().ok_or_else(|| wrong(format!("{value} is not a duration")))?;
    Span::parse(text).map_err(|error| wrong(error.message))
}
