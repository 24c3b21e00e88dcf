//! A model that links whatever the prompt offers has not read the notes.

use super::world::{FnModel, World, agent};
use crate::model::Request;
use serde_json::{Value, json};

/// Links each note of the prompt to its first candidates.
fn linking(count: usize) -> impl Fn(&Request<'_>) -> Value {
    move |request| {
        let link =
            |from: &str, to: &str| json!({"reason": "offered", "from": from, "to": to, "strength": 0.5});
        let handles = request.selection.selected();
        let links: Vec<Value> = handles
            .flat_map(|handle| {
                let candidates = handle.candidates.iter().take(count);
                candidates.map(|candidate| link(&handle.name, &candidate.handle)).collect::<Vec<_>>()
            })
            .collect();
        json!({"notes": "", "link-add": links})
    }
}

#[test]
fn a_model_that_links_every_candidate_gets_no_links() {
    let mut world = World::new();
    world.candidates_from(-1.0);
    for number in 0..20 {
        world.note(&format!("note-{number}"), &format!("Remark {number} about the harbour and the weather."));
    }
    let definition = agent("\"link-add\"", "[limits.link-add]\nmax = 100\n");
    let run = world.run(&definition, &FnModel(linking(usize::MAX)));
    assert!(run.actions.len() >= 50, "{run:#?}");
    for action in &run.actions {
        assert_eq!(action.refusal_code.as_deref(), Some("unsupported"), "{action:#?}");
        let detail = action.detail.as_deref().unwrap_or_default();
        assert!(detail.ends_with("candidates of the prompt are linked"), "{detail}");
    }
}
