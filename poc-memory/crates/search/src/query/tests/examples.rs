//! Checks the examples in the definitions of stages and fields.

use super::sample::notes;
use crate::query::{Presence, vocabulary};
use std::collections::HashSet;

#[test]
fn every_example_returns_the_documented_keys() {
    let world = notes();
    for stage in vocabulary() {
        let example = stage.example;
        assert!(example.pipeline.contains(stage.word), "`{}` does not use its word", example.pipeline);
        assert_eq!(world.keys(example.pipeline), example.output, "`{}`", example.pipeline);
    }
}

#[test]
fn stage_words_are_distinct_and_defaults_parse() {
    let mut seen = HashSet::new();
    for stage in vocabulary() {
        assert!(seen.insert(stage.word), "`{}` occurs twice", stage.word);
        assert!(!stage.doc.is_empty() && !stage.doc.ends_with('.'), "{}", stage.doc);
        for param in stage.params {
            if let Presence::Default(text) = param.presence {
                assert!(param.value_type.parse(text).is_ok(), "{} {}", stage.word, param.name);
            }
        }
    }
}

#[test]
fn every_stage_has_a_signature() {
    let all: Vec<String> = vocabulary()
        .iter()
        .map(|stage| format!("{:9}  {}", stage.kind().name(), stage.signature()))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    algorithm  spread[,max_hops=3][,edge_decay=0.3][,min_activation=0.005]
    algorithm  confluence[,max_hops=3][,edge_decay=0.3][,min_sources=2][,min_activation=0.005]
    algorithm  spectral[,k=20]
    algorithm  geodesic[,max_path=6][,k=20]
    algorithm  manifold[,k=20]
    generator  all
    generator  match:TERMS
    generator  similar:TEXT[,k=50]
    generator  hybrid:TEXT[,k=50][,derived=0]
    generator  neighbors:KEY[,hops=1]
    generator  interference-pairs[,min_sim=…][,k=10][,probes=5000]
    filter     type:NAME
    filter     category:NAME
    filter     key:GLOB
    filter     generated-key[,len=60]
    filter     keyword:WORD
    filter     project:NAME
    filter     provenance:NAME
    filter     state:NAME
    filter     not-visited:AGENT[,DURATION]
    filter     visited:AGENT[,DURATION]
    filter     community:N
    filter     linked-to:KEY
    transform  sort:FIELD[ asc|desc]
    transform  limit:N
    transform  offset:N
    transform  diverse[,lambda=0.7][,pool=1000]
    filter     weight:CMP
    filter     age:CMP
    filter     modified:CMP
    filter     created:CMP
    filter     degree:CMP
    filter     content-len:CMP
    filter     key-len:CMP
    ");
}
