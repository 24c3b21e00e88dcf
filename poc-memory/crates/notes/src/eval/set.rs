//! An evaluation set: a folder with documents, questions and judgments.
//!
//! `docs.jsonl` has one document per line: `id`, `title`, `text`, and `meta` with any metadata, of which
//! `group` is the group of the document. `queries.jsonl` has one question per line: `id`, `text`, `type`, and
//! `meta` with `group`. `qrels.tsv` has one judgment per line: question, document and relevance grade,
//! separated by tabs; 0 is not relevant.

use poc_graph::error::{Error, ErrorLocation, Result};
use poc_graph::json::invalid_line;
use poc_graph::plural;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The file of the documents.
pub const DOCUMENTS: &str = "docs.jsonl";
/// The file of the questions.
pub const QUESTIONS: &str = "queries.jsonl";
/// The file of the judgments.
pub const JUDGMENTS: &str = "qrels.tsv";

/// The type of questions that have none.
pub(super) const NO_TYPE: &str = "-";

/// An evaluation set.
#[derive(Clone, Debug)]
pub struct EvalSet {
    /// The folder's name.
    pub name: String,
    /// The file of the documents.
    pub documents: PathBuf,
    /// Groups in the order of their first document.
    pub groups: Vec<Group>,
    /// Questions that have an answer, in the order of their file.
    pub questions: Vec<Question>,
    /// Questions without an answer, in the order of their file.
    pub unanswered: Vec<Question>,
}

/// Documents that are searched together: a tenant.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name; `None` for documents without a group.
    pub name: Option<String>,
    /// Line number (from 1) and text of each document, in the order of the file.
    pub lines: Vec<(u64, String)>,
    /// The id of each document.
    pub ids: Vec<String>,
}

/// A question with its relevant documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Its type.
    pub kind: String,
    /// Index of its group.
    pub group: usize,
    /// The relevant documents with their grades, above 0.
    pub relevant: BTreeMap<String, f64>,
}

impl EvalSet {
    /// Reads the three files of a folder.
    ///
    /// # Errors
    /// `not_found` if a file is missing; `invalid_argument` with file and line for malformed lines, unknown ids
    /// and duplicates.
    pub fn read(folder: &Path) -> Result<EvalSet> {
        let documents = folder.join(DOCUMENTS);
        let (groups, group_of) = groups(&documents)?;
        let questions = questions(&folder.join(QUESTIONS), &groups)?;
        let questions = add_judgments(&folder.join(JUDGMENTS), questions, &group_of)?;
        let (questions, unanswered): (Vec<Question>, Vec<Question>) =
            questions.into_iter().partition(|question| !question.relevant.is_empty());
        if questions.is_empty() {
            return Err(Error::invalid("no question has a relevant document")
                .hint("write a line `question<TAB>document<TAB>1` for each document that answers a question")
                .file(folder.join(JUDGMENTS).display().to_string()));
        }
        let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Ok(EvalSet {
            name: name.file_name().unwrap_or(name.as_os_str()).to_string_lossy().into_owned(),
            documents,
            groups,
            questions,
            unanswered,
        })
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.ids.len()).sum()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An error at a line of a file.
pub(super) fn line_error(file: &Path, line: u64, message: impl Into<String>) -> Error {
    let line = u32::try_from(line).ok();
    Error::invalid(message).at(ErrorLocation {
        file: Some(file.display().to_string()),
        line,
        ..ErrorLocation::default()
    })
}

fn text_of(file: &Path) -> Result<String> {
    poc_config::files::read_text(file).map_err(|error| {
        let error = match error.kind() {
            std::io::ErrorKind::NotFound => Error::not_found("there is no such file"),
            _ => Error::invalid(format!("cannot be read: {error}")),
        };
        error
            .hint(format!("the folder needs `{DOCUMENTS}`, `{QUESTIONS}` and `{JUDGMENTS}`"))
            .file(file.display().to_string())
    })
}

/// The lines that are not blank, with their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

/// The fields of a line of JSON.
pub(super) fn fields(file: &Path, number: u64, line: &str) -> Result<Map<String, Value>> {
    match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => {
            Err(line_error(file, number, "it is JSON but not an object")
                .hint("write {\"id\": …, \"text\": …}"))
        }
        Err(error) => Err(line_error(file, number, invalid_line(&error).message)),
    }
}

/// The value of a field with a text or number, trimmed; `None` if it is missing, null or blank.
pub(super) fn string_field(fields: &Map<String, Value>, name: &str) -> Option<String> {
    let text = match fields.get(name)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

fn id(file: &Path, number: u64, fields: &Map<String, Value>) -> Result<String> {
    string_field(fields, "id").ok_or_else(|| {
        line_error(file, number, "the line has no `id`").hint("give each line an `id`: a string or a number")
    })
}

fn group(fields: &Map<String, Value>) -> Option<String> {
    string_field(fields.get("meta")?.as_object()?, "group")
}

/// The index of each document's group, by document id.
type GroupOfDocument = HashMap<String, usize>;

fn groups(file: &Path) -> Result<(Vec<Group>, GroupOfDocument)> {
    let mut groups: Vec<Group> = Vec::new();
    let mut indexes: HashMap<Option<String>, usize> = HashMap::new();
    let mut group_of = GroupOfDocument::new();
    for (number, line) in lines(&text_of(file)?) {
        let fields = fields(file, number, line)?;
        let id = id(file, number, &fields)?;
        let name = group(&fields);
        let index = *indexes.entry(name.clone()).or_insert_with(|| {
            groups.push(Group { name, lines: Vec::new(), ids: Vec::new() });
            groups.len() - 1
        });
        if group_of.insert(id.clone(), index).is_some() {
            return Err(line_error(file, number, format!("duplicate document id `{id}`"))
                .hint("give each its own id"));
        }
        if let Some(group) = groups.get_mut(index) {
            group.lines.push((number, line.to_owned()));
            group.ids.push(id);
        }
    }
    Ok((groups, group_of))
}

fn questions(file: &Path, groups: &[Group]) -> Result<Vec<Question>> {
    let indexes: HashMap<Option<&str>, usize> =
        groups.iter().enumerate().map(|(index, group)| (group.name.as_deref(), index)).collect();
    let mut seen: HashMap<String, u64> = HashMap::new();
    let mut questions = Vec::new();
    for (number, line) in lines(&text_of(file)?) {
        let fields = fields(file, number, line)?;
        let id = id(file, number, &fields)?;
        if let Some(first) = seen.insert(id.clone(), number) {
            let message = format!("duplicate question id `{id}`, first used at line {first}");
            return Err(line_error(file, number, message).hint("give each its own id"));
        }
        let text = string_field(&fields, "text").ok_or_else(|| {
            line_error(file, number, format!("the question `{id}` has no `text`"))
                .hint("write the question as `text`")
        })?;
        let own = group(&fields);
        let group = *indexes.get(&own.as_deref()).ok_or_else(|| match &own {
            Some(name) => line_error(file, number, format!("no document belongs to the group `{name}`"))
                .hint(format!("use the `meta.group` of documents in `{DOCUMENTS}`")),
            None => line_error(
                file,
                number,
                format!("the question `{id}` has no group, and every document has one"),
            )
            .hint("add `\"meta\": {\"group\": …}`"),
        })?;
        let kind = string_field(&fields, "type").unwrap_or_else(|| NO_TYPE.to_owned());
        questions.push(Question { id, text, kind, group, relevant: BTreeMap::new() });
    }
    Ok(questions)
}

/// Adds the relevant documents to the questions.
fn add_judgments(
    file: &Path,
    mut questions: Vec<Question>,
    group_of: &GroupOfDocument,
) -> Result<Vec<Question>> {
    let indexes: HashMap<String, usize> =
        questions.iter().enumerate().map(|(index, question)| (question.id.clone(), index)).collect();
    for (number, line) in lines(&text_of(file)?) {
        let cells: Vec<&str> = line.trim_end_matches('\r').split('\t').map(str::trim).collect();
        let [asked, document, grade] = cells.as_slice() else {
            let columns = plural(cells.len() as u64, "column");
            return Err(line_error(file, number, format!("the line has {columns}"))
                .hint("write question, document and 1, separated by tabs; 0 for an irrelevant document"));
        };
        // Some tools write a header line.
        if number == 1 && grade.parse::<f64>().is_err() && !indexes.contains_key(*asked) {
            continue;
        }
        let grade: f64 =
            grade.parse().ok().filter(|grade: &f64| grade.is_finite() && *grade >= 0.0).ok_or_else(|| {
                line_error(file, number, format!("the grade `{grade}` is not a number of at least 0"))
                    .hint("write 1 for relevant and 0 for irrelevant; greater numbers are more relevant")
            })?;
        let question = indexes.get(*asked).and_then(|index| questions.get_mut(*index)).ok_or_else(|| {
            line_error(file, number, format!("there is no question `{asked}`"))
                .hint(format!("the first column is the `id` of a line in `{QUESTIONS}`"))
        })?;
        let group = *group_of.get(*document).ok_or_else(|| {
            line_error(file, number, format!("there is no document `{document}`"))
                .hint(format!("the second column is the `id` of a line in `{DOCUMENTS}`"))
        })?;
        if group != question.group {
            return Err(line_error(
                file,
                number,
                format!("`{document}` belongs to another group than the question `{asked}`"),
            )
            .hint("a question searches the documents of its group only"));
        }
        if grade > 0.0 && question.relevant.insert((*document).to_owned(), grade).is_some() {
            return Err(line_error(file, number, format!("`{document}` has a grade for `{asked}` already"))
                .hint("write each pair once"));
        }
    }
    Ok(questions)
}

#[cfg(test)]
mod tests;
