//! What stands in the documents and follows from the tables of the program.

use poc_memory::query::vocabulary;
use std::path::Path;

/// ARCHITECTURE.md opens with the words of the language, as the stage table has them.
#[test]
fn the_stage_table_of_the_architecture_is_fresh() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md")).unwrap();
    let rows: Vec<String> = vocabulary()
        .iter()
        .map(|stage| {
            // A bar within a cell would end it.
            let cell = |text: &str| text.replace('|', "\\|");
            format!("| `{}` | {} | {} |", cell(&stage.signature()), stage.kind().name(), cell(stage.doc))
        })
        .collect();
    let wanted = format!("| stage | kind | what it does |\n|---|---|---|\n{}\n", rows.join("\n"));
    assert!(page.contains(&wanted), "the table of stages in ARCHITECTURE.md shall be:\n{wanted}");
}
