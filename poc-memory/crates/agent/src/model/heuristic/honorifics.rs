//! Titles and forms of address of persons, in several languages. Alone, they name nobody.

/// In lower case without accents. Military and church ranks are left out, because they are often part of other names.
const HONORIFICS: &str = "\
doctor doktor don dona dott dottor dr fraulein frau fru herr madam madame mademoiselle meneer mevrouw miss mister \
mlle mme monsieur mr mrs ms mx prof professor senhor senhora senor senora senorita signor signora signore sir";

/// Whether a word, in lower case without accents, is a title or a form of address.
pub(super) fn is_honorific(word: &str) -> bool {
    HONORIFICS.split_ascii_whitespace().any(|honorific| honorific == word)
}
