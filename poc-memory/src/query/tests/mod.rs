//! Laws and stories of the language.

mod examples;
mod messages;
mod naive;
mod robust;
mod sample;
mod stories;
mod text;
