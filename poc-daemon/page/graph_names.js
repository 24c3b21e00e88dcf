// Names for communities: the words that the titles of a community have and those of the others do not.

/** Words of a name, and letters of a word at least. Shorter words rarely say what notes are about. */
const WORDS = 3;
const LETTERS = 4;

/** A word must be in at least so many titles of its community, and in this share of them. */
const LEAST = 2;
const SHARE = 0.03;

/** A word must be so many times as frequent in its community as in all titles. */
const LIFT = 2;

/** Letters of a title that is a name. */
const LONGEST = 28;

const shortened = (title) => (title.length > LONGEST ? `${title.slice(0, LONGEST - 1)}…` : title);

const wordsOf = (title) => new Set((title.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}-]+/gu) ?? []).filter((word) => word.length >= LETTERS && /\p{L}/u.test(word)));

/**
 * The names of the communities of nodes ({title, community, degree}), by number. A community whose titles have no words
 * in common is called by the title of the note with the most links. Words are ordered by how many titles have them, times
 * the logarithm of how much more frequent they are there than in all titles.
 */
export function communityNames(nodes) {
  const [all, groups] = [new Map(), new Map()];
  for (const node of nodes) {
    const { title, community, degree } = node;
    if (community === null) continue;
    if (!groups.has(community)) groups.set(community, { size: 0, words: new Map(), first: node });
    const group = groups.get(community);
    group.size += 1;
    if (degree > group.first.degree) group.first = node;
    for (const word of wordsOf(title)) {
      group.words.set(word, (group.words.get(word) ?? 0) + 1);
      all.set(word, (all.get(word) ?? 0) + 1);
    }
  }
  const total = nodes.length;
  const [names, taken] = [new Map(), new Set()];
  for (const [community, { size, words, first }] of groups) {
    const least = Math.max(LEAST, SHARE * size);
    const lift = (word, number) => (number / size) / (all.get(word) / total);
    const best = [...words].filter(([word, number]) => number >= least && (lift(word, number) >= LIFT || groups.size === 1))
      .map(([word, number]) => [word, number * Math.log(lift(word, number))])
      .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, WORDS);
    const name = best.map(([word]) => word).join(", ") || shortened(first.title || `community ${community}`);
    names.set(community, taken.has(name) ? `${name} (${community})` : name);
    taken.add(name);
  }
  return names;
}
