// What the kinds of links are called.

/** For each kind its name in a sentence and as a heading, in the order in which a note shows them. */
const NAMES = {
  link: ["link", "Links"],
  "derived-from": ["derived", "Derived from, or source of"],
  supersedes: ["replaced", "Replaces, or replaced by"],
  contradicts: ["contradiction", "Contradicts, or contradicted by"],
  structural: ["before and after", "Before and after"],
  co_retrieval: ["recalled together", "Recalled together"],
  co_traversal: ["led to it", "Led from one to the other"],
  semantic: ["similar", "Similar"],
  keyword: ["shared keywords", "Shared keywords"],
};

export const LINK_KINDS = Object.keys(NAMES);

/** The name of a kind in a sentence. A kind that is not known here is called as it is. */
export const kindName = (kind) => NAMES[kind]?.[0] ?? kind;

/** The name of a kind as a heading. */
export const kindHeading = (kind) => NAMES[kind]?.[1] ?? kind;
