//! Reading evaluation sets, and the errors of invalid ones.

use super::*;

const DOCS: &str = "{\"id\": \"d1\", \"text\": \"one\", \"meta\": {\"group\": \"a\"}}\n\n{\"id\": 2, \"title\": \"Two\", \"text\": \"two\", \"meta\": {\"group\": \"b\"}}\n{\"id\": \"d3\", \"text\": \"three\", \"meta\": {\"group\": \"a\"}}\n";
const ASKED: &str = "{\"id\": \"q1\", \"text\": \"one?\", \"type\": \"easy\", \"meta\": {\"group\": \"a\"}}\n{\"id\": \"q2\", \"text\": \"two?\", \"meta\": {\"group\": \"b\"}}\n";
const JUDGED: &str = "query\tdocument\tworth\nq1\td1\t1\nq1\td3\t2\nq2\t2\t0\n";

fn read(files: [&str; 3]) -> Result<EvalSet> {
    let folder = poc_graph::testing::folder();
    for (name, text) in [DOCUMENTS, QUESTIONS, JUDGMENTS].iter().zip(files) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    EvalSet::read(folder.path()).map_err(|error| {
        let place = folder.path().display().to_string();
        Error {
            at: error.at.map(|at| {
                Box::new(ErrorLocation { file: at.file.map(|file| file.replace(&place, "")), ..*at })
            }),
            ..error
        }
    })
}

#[test]
fn a_folder_is_read_into_groups_and_questions() {
    let set = read([DOCS, ASKED, JUDGED]).unwrap();
    let groups: Vec<_> =
        set.groups.iter().map(|group| (group.name.as_deref(), group.ids.join(" "))).collect();
    assert_eq!(groups, [(Some("a"), "d1 d3".to_owned()), (Some("b"), "2".to_owned())]);
    assert_eq!(set.groups[0].lines.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 4]);
    let [question] = set.questions.as_slice() else { panic!("{:?}", set.questions) };
    assert_eq!((question.kind.as_str(), question.group), ("easy", 0));
    assert_eq!(question.relevant, BTreeMap::from([("d1".to_owned(), 1.0), ("d3".to_owned(), 2.0)]));
    let unanswered: Vec<&str> = set.unanswered.iter().map(|question| question.id.as_str()).collect();
    assert_eq!((unanswered, set.len()), (vec!["q2"], 3));
}

#[test]
fn errors_name_file_and_line() {
    let reported = |files: [&str; 3]| {
        let error = read(files).unwrap_err();
        format!("{error} ({})", error.hint.as_deref().unwrap_or("-"))
    };
    let docs = |line: &str| reported([&format!("{DOCS}{line}"), ASKED, JUDGED]);
    let asked = |line: &str| reported([DOCS, &format!("{ASKED}{line}"), JUDGED]);
    let judged = |line: &str| reported([DOCS, ASKED, &format!("{JUDGED}{line}")]);
    let all = [
        docs("{\"id\": \"x\""),
        docs("[]"),
        docs("{\"text\": \"x\"}"),
        docs("{\"id\": \"d1\", \"text\": \"again\"}"),
        asked("{\"id\": \"q1\", \"text\": \"x\"}"),
        asked("{\"id\": \"q3\", \"text\": \" \"}"),
        asked("{\"id\": \"q3\", \"text\": \"x\", \"meta\": {\"group\": \"c\"}}"),
        asked("{\"id\": \"q3\", \"text\": \"x\"}"),
        judged("q1\td1"),
        judged("q1\td1\tmany"),
        judged("q9\td1\t1"),
        judged("q1\td9\t1"),
        judged("q1\t2\t1"),
        judged("q1\td1\t1"),
        reported([DOCS, ASKED, ""]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    /docs.jsonl:5: it is not JSON: EOF while parsing an object at column 10 (-)
    /docs.jsonl:5: it is JSON but not an object (write {"id": …, "text": …})
    /docs.jsonl:5: the line has no `id` (give each line an `id`: a string or a number)
    /docs.jsonl:5: duplicate document id `d1` (give each its own id)
    /queries.jsonl:3: duplicate question id `q1`, first used at line 1 (give each its own id)
    /queries.jsonl:3: the question `q3` has no `text` (write the question as `text`)
    /queries.jsonl:3: no document belongs to the group `c` (use the `meta.group` of documents in `docs.jsonl`)
    /queries.jsonl:3: the question `q3` has no group, and every document has one (add `"meta": {"group": …}`)
    /qrels.tsv:5: the line has 2 columns (write question, document and 1, separated by tabs; 0 for an irrelevant document)
    /qrels.tsv:5: the grade `many` is not a number of at least 0 (write 1 for relevant and 0 for irrelevant; greater numbers are more relevant)
    /qrels.tsv:5: there is no question `q9` (the first column is the `id` of a line in `queries.jsonl`)
    /qrels.tsv:5: there is no document `d9` (the second column is the `id` of a line in `docs.jsonl`)
    /qrels.tsv:5: `2` belongs to another group than the question `q1` (a question searches the documents of its group only)
    /qrels.tsv:5: `d1` has a grade for `q1` already (write each pair once)
    /qrels.tsv: no question has a relevant document (write a line `question<TAB>document<TAB>1` for each document that answers a question)
    "#);
    let error = EvalSet::read(Path::new("/nowhere")).unwrap_err();
    insta::assert_snapshot!(error, @"/nowhere/docs.jsonl: there is no such file");
}
