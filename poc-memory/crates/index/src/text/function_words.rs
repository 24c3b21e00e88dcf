//! Function words of other languages than English: articles, pronouns, auxiliaries, question words, prepositions and
//! conjunctions, which a query in the language ignores like the English stop words (`stop_words.rs`).
//!
//! Many of them are content words in English (`die`, `man`, `met`) or names (`Mia`). They are therefore ignored only in
//! a query that is certainly in the language: it has two words of the list that are no English words, and no English
//! stop word. The lists have no negations and no words with a meaning of their own, which lists of stop words for the
//! statistics of texts contain.

use super::fold::fold;
use super::stop_words::is_stop_word;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The number of different words of a list, without those that are also English words or names, that show its language.
const MIN_FUNCTION_WORDS: usize = 2;

/// The folded function words of a language.
struct FunctionWords {
    /// Words that are not English.
    own: &'static str,
    /// Words that are also English words, abbreviations or names.
    shared: &'static str,
}

const GERMAN: FunctionWords = FunctionWords {
    own: "\
aber auf aus bei dann dass dein deine dem der des dich doch durch ein eine einem einen einer eines euch fur gegen \
gibt habe haben hatte hatten ich ihm ihn ihr ihre ihren ist kann konnen konnte mein meine mich nach oder sein seine \
sich sie sind uber und uns unser unsere unter vom von wann warum weil welche welchem welchen welcher welches wem wen \
wenn werde werden wie wir wird woher wohin wurde wurden zum zur zwischen",
    shared: "\
als am an bin bis da das den die dir du er es hast hat im in man mir mit ob so um vor war was wer will wo zu",
};

const FRENCH: FunctionWords = FunctionWords {
    own: "\
au avec ces cet cette combien dans des elle elles est et etait etaient ete ils je le leur leurs lui mais mes nos \
notre nous ou ont pourquoi quand que quel quelle quelles quels qui quoi ses sont sur tes tu une vos votre vous",
    shared: "\
a as aux ce comment de du en entre il la les ma me moi mon on or par pour sa se si son ta te toi ton un y",
};

const SPANISH: FunctionWords = FunctionWords {
    own: "\
cual cuales cuando cuanta cuantas cuanto cuantos desde donde ella ellas ellos esta estaba estan estas este esto \
estos fue fueron hasta nosotros para pero por porque que quien quienes sobre su sus tambien tiene tienen una unas \
unos yo",
    shared: "\
a al como con de del el en entre era eran es esa ese eso ha han hay he la las le les lo los me mi mis o se ser si \
son te tu tus un y",
};

const ITALIAN: FunctionWords = FunctionWords {
    own: "\
agli alla alle cosa cui da dal dalla del della delle degli dello di erano gli hanno lei loro nei nel nella nelle noi \
perche piu quale quali quando quanta quante quanti quanto questa queste questi questo sono sua sui sul sulla tra tua \
tuo una uno voi",
    shared: "\
a ai al che chi come con dei do dove e ed era fra ha ho i il in io la le lo lui ma mi mia mio no o per se si su sue \
suo te ti un vi",
};

const PORTUGUESE: FunctionWords = FunctionWords {
    own: "\
ao aos como da dela dele elas ele eles essa esse esta estao estava este eu foi foram isso isto lhe mais meu minha \
nao nas nossa nosso numa onde os pela pelo porque qual quais quando quanto quantos que quem ser seu seus sua suas \
sao tambem tem tinha uma voce voces",
    shared: "\
a as com das de do dos e ela em era ha ja mas me na nem no nos num o ou para por se sem te tu um",
};

const DUTCH: FunctionWords = FunctionWords {
    own: "\
aan bij deze een hadden heb hebben heeft het hij hoeveel ik jij jouw jullie kunnen mij mijn naar nog ons onze ook \
uit voor waar waarom wanneer welk welke werd wie wij worden wordt zal zich zij zijn zou zullen",
    shared: "\
als dan dat de den der die dit door en er haar had hem hoe hun in is je kan kun me met of om onder op over te tot \
van was wat we ze",
};

/// For each language, its words with whether they are not English.
static LANGUAGES: LazyLock<Vec<FxHashMap<&str, bool>>> = LazyLock::new(|| {
    let words = |list: &'static str, is_own| list.split_ascii_whitespace().map(move |word| (word, is_own));
    [GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH]
        .into_iter()
        .map(|language| words(language.own, true).chain(words(language.shared, false)).collect())
        .collect()
});

/// The folded function words of a text that is certainly in one of the languages; otherwise none.
pub(super) fn of_foreign(text: &str) -> Vec<String> {
    let words: FxHashSet<String> = text.unicode_words().map(fold).collect();
    let count_own = |language: &&FxHashMap<&str, bool>| {
        words.iter().filter(|word| language.get(word.as_str()).is_some_and(|is_own| *is_own)).count()
    };
    let Some(language) = LANGUAGES.iter().max_by_key(count_own) else { return Vec::new() };
    let is_english = |word: &String| is_stop_word(word) && !language.contains_key(word.as_str());
    if count_own(&language) < MIN_FUNCTION_WORDS || words.iter().any(is_english) {
        return Vec::new();
    }
    words.into_iter().filter(|word| language.contains_key(word.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut found = of_foreign(text);
        found.sort();
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn questions_in_other_languages_have_function_words() {
        check("Wie schwer ist das Radar?", "das ist wie");
        check("was hat der Mann über die Hütte gesagt", "der die hat uber was");
        check("Où est le radar ?", "est le ou");
        check("¿Dónde está la llave de la casa?", "de donde esta la");
        check("dove sono le chiavi della casa", "della dove le sono");
        check("onde estão as chaves da casa", "as da estao onde");
        check("waar is het wachtwoord van de hut", "de het is van waar");
    }

    /// A title in another language, names and homographs do not make a question foreign.
    #[test]
    fn english_texts_have_none() {
        for text in [
            "",
            "who wrote La vie est belle and Le Jour se lève?",
            "what did the man in the war die of",
            "where is El Paso",
            "IST DAS",
            "Los Angeles Las Vegas",
            "LA flight 7 EST",
            "not on die over man",
            "Mia met van den Berg",
        ] {
            check(text, "");
        }
    }

    #[test]
    fn a_word_is_in_a_language_once_and_shared_if_english_ignores_it() {
        for language in [GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH] {
            let mut seen = FxHashSet::default();
            for word in language.own.split_ascii_whitespace().chain(language.shared.split_ascii_whitespace())
            {
                assert_eq!(fold(word), word);
                assert!(seen.insert(word), "{word}");
            }
            assert!(!language.own.split_ascii_whitespace().any(is_stop_word));
        }
    }
}
