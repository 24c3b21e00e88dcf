//! Laws and stories of the language.
