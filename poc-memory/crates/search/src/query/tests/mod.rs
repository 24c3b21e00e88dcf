//! Tests of the language.

mod algorithms;
mod any;
mod examples;
mod messages;
mod naive;
mod params;
mod problem_kinds;
mod reference;
mod robust;
mod sample;
mod saved;
mod stories;
mod text;

use super::{Names, Pipeline};
use poc_config::Config;
use poc_graph::error::Result;
use std::sync::LazyLock;

static NAMES: LazyLock<Names> = LazyLock::new(|| Names::of(&Config::defaults().unwrap()));

/// Parses a pipeline with the names of the default settings.
fn parse(text: &str) -> Result<Pipeline> {
    Pipeline::parse(text, &NAMES)
}

/// Parses terms and stages from the command line.
fn from_parts(terms: &[String], stages: &[String]) -> Result<Pipeline> {
    Pipeline::from_parts(terms, stages, &NAMES)
}
