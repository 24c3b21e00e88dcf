//! Reads the texts to which a table is fitted.

use poc_graph::error::{Error, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Why a file cannot be used as a corpus.
#[derive(Debug, thiserror::Error)]
enum CorpusError {
    #[error("the corpus `{}` cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("line {line} of `{}` is not an object with a `text`: {problem}", path.display())]
    Line { path: PathBuf, line: usize, problem: String },
    #[error("the corpus `{}` has no texts", path.display())]
    Empty { path: PathBuf },
}

impl From<CorpusError> for Error {
    fn from(error: CorpusError) -> Error {
        Error::invalid(error.to_string())
            .hint("give a text file with one text per line, or a file `.jsonl` with lines such as {\"text\": \"…\"}")
            .field("corpus")
    }
}

/// A line of a file `.jsonl`. Other fields are ignored.
#[derive(Deserialize)]
struct CorpusLine {
    text: String,
}

/// The texts of a file. A file whose name ends in `.jsonl` has an object with a `text` per line; any other file has one
/// text per line. Blank lines, blank texts and a byte order mark at the start are skipped.
///
/// # Errors
/// `invalid_argument` if the file cannot be read as UTF-8, if a line is not such an object, or if there is no text.
pub fn read_corpus(path: &Path) -> Result<Vec<String>> {
    let content = std::fs::read_to_string(path)
        .map_err(|source| CorpusError::Read { path: path.to_owned(), source })?;
    let is_json = path.extension().is_some_and(|extension| extension == "jsonl");
    let lines =
        (1..).zip(content.trim_start_matches('\u{feff}').lines()).filter(|(_, line)| !line.trim().is_empty());
    let text = |(line, text): (usize, &str)| match is_json {
        true => serde_json::from_str(text)
            .map(|CorpusLine { text }| text)
            .map_err(|error| CorpusError::Line { path: path.to_owned(), line, problem: problem(&error) }),
        false => Ok(text.to_owned()),
    };
    let mut texts = lines.map(text).collect::<Result<Vec<String>, CorpusError>>()?;
    texts.retain(|text| !text.trim().is_empty());
    if texts.is_empty() {
        return Err(CorpusError::Empty { path: path.to_owned() }.into());
    }
    Ok(texts)
}

/// The error of a line. The parser counts every line as the first one, so its number is left out.
fn problem(error: &serde_json::Error) -> String {
    let message = error.to_string();
    format!("{} at column {}", message.split(" at line ").next().unwrap_or_default(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_has_a_text_or_an_object_per_line() {
        let folder = poc_graph::testing::folder();
        let read = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            read_corpus(&path)
                .map_err(|error| error.message.replace(&folder.path().display().to_string(), "DIR"))
        };
        assert_eq!(read("a.txt", "one text\n\n {\"text\": 1}\n").unwrap(), ["one text", " {\"text\": 1}"]);
        let lines =
            "\u{feff}{\"text\": \"one\", \"id\": 7}\r\n\n{\"text\": \" \"}\n{\"text\": \"two\\nlines\"}\n";
        assert_eq!(read("a.jsonl", lines).unwrap(), ["one", "two\nlines"]);
        let wrong = read("b.jsonl", "{\"text\": \"one\"}\n\n{\"body\": \"two\"}\n").unwrap_err();
        assert_eq!(
            wrong,
            "line 3 of `DIR/b.jsonl` is not an object with a `text`: missing field `text` at column 15"
        );
        assert_eq!(read("c.txt", " \n").unwrap_err(), "the corpus `DIR/c.txt` has no texts");
        let missing = read_corpus(&folder.path().join("none.txt")).unwrap_err();
        assert!(missing.message.contains("cannot be read"), "{missing:?}");
    }
}
