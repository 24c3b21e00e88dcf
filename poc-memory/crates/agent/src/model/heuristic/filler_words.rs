//! English words that do not describe the subject of a note: common words of conversations, opinions,
//! relative times, and words for notes themselves. A key made of them could belong to any note.

use std::collections::HashSet;
use std::sync::LazyLock;

const WORDS: &str = "\
absolutely actually after again agree agreed all almost already alright also always amazing another any anyone \
anything anyway around asap ask asked asking awesome away awful back bad beautiful because become before believe best \
better big bit brand brief bring brings brought bye call called came can care certainly chat check come comes coming \
cool could couple cute day days dear deal definitely different document draft each early either else enjoy enough even \
eight evening ever every everyone everything exactly excited exciting extra fantastic far feel feeling feels felt few final \
find fine finally first five follow four following forward found friend friends fun funny gave general get gets getting give \
given glad go goes going gonna good got great guess guy guys had happen happened happy hard hear heard hello help here \
hey hi home hope hopefully hour hours huge idea ideas important info interesting item just keep kept kind know knows \
lately later latest least let lets life like liked little lol long look looking looks lot lots love loved lovely lucky \
made make makes making many matter may maybe mean means memo met might mind minute misc miss moment month months more \
morning most much must name need needed needs never new news nine next nice night no nope not note notes nothing now of off \
often oh ok okay old once one only other out over own part past people perfect person pic place plan please point \
pretty probably put question quick quite rather ready real really reason recent recently right said same saw say \
saying says see seem seems seen sent session seven several share short side simple simply six small some someone something \
sometimes soon sorry sounds special start started stay still stuff super sure take taken takes taking talk talked \
talking tell text thank thanks thats thing things think thinking thought though time times ten three today todo together told \
tomorrow tonight too took totally toward tried true truly try trying two unfortunately untitled until update updated \
updates upon use used very via wait waiting wanna want wanted wants was way ways week weekend weeks well went where \
whole wish without wonder wonderful word words worth wow write wrote yay yeah year years yep yes yesterday yet";

static FILLER: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.split_ascii_whitespace().collect());

/// Whether a lower-case word does not describe a subject.
pub(super) fn is_filler(word: &str) -> bool {
    let word: String = word.chars().filter(|c| !matches!(c, '\'' | '’')).collect();
    FILLER.contains(word.as_str())
}
