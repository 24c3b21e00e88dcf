//! The weight of a word for embedders without a corpus to count frequencies in.

use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// English function words, such as articles, pronouns and auxiliary verbs. They say little about the topic.
const FUNCTION_WORDS: &str = "\
a about above after again against ago all almost along already also although always am among an and \
any anyone anything are aren't around as at away back be became because become been before being below \
between both but by came can can't cannot come could couldn't did didn't do does doesn't doing don't \
done down during each either else enough even ever every everyone everything few first for from further \
gave get gets getting give given go goes going gone gonna got had hadn't has hasn't have haven't having \
he he'd he'll he's hence her here hers herself hey hi him himself his how however i i'd i'll i'm i've if \
in indeed instead into is isn't it it'd it'll it's its itself just keep kind last least less let let's \
like likely made make makes making many may maybe me mean might mine more most much must my myself near \
need never new next no nobody none nor not nothing now of off often oh ok okay on once one ones only or \
other others our ours ourselves out over own per perhaps pretty put quite rather really said same saw say \
says see seem seems seen shall she she'd she'll she's should shouldn't since so some someone something \
sometimes soon still such sure take taken takes taking than thanks that that's the their theirs them \
themselves then there there's therefore these they they'd they'll they're they've thing things this \
those though through thus to together too took toward towards try two under until up upon us use used \
using very via want wants was wasn't way we we'd we'll we're we've well went were weren't what what's \
whatever when where whether which while who who's whoever whole whom whose why will with within without \
won't wow would wouldn't yeah yes yet you you'd you'll you're you've your yours yourself yourselves";

static FUNCTION: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| FUNCTION_WORDS.split_ascii_whitespace().collect());

/// Weight of a function word, relative to 1.0 for a content word.
const FUNCTION_WEIGHT: f32 = 0.15;

/// Weight of a word in lower case, 0–1. Function words and single letters have low weights.
pub(super) fn weight(word: &str) -> f32 {
    let plain = word.replace('’', "'");
    if FUNCTION.contains(plain.as_str()) {
        FUNCTION_WEIGHT
    } else if plain.chars().nth(1).is_none() && plain.is_ascii() {
        0.5
    } else {
        1.0
    }
}
