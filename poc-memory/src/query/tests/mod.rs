//! Laws and stories of the language.

mod messages;
mod robust;
mod text;
