//! Three kinds of notes with questions: a conversation, facts in several steps, and paraphrases.

use poc_graph::rng::{Rng as _, SeededRng};

/// Notes, and questions with the numbers of the notes that answer them.
pub(super) type NotesAndQuestions = (Vec<String>, Vec<(String, Vec<usize>)>);

pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) generate: fn() -> NotesAndQuestions,
}

pub(super) const SHAPES: [Shape; 3] = [
    Shape { name: "a conversation", generate: conversation },
    Shape { name: "answers in two steps", generate: two_steps },
    Shape { name: "paraphrases", generate: paraphrases },
];

struct Picker(SeededRng);

impl Picker {
    fn of<'a>(&self, from: &[&'a str]) -> &'a str {
        from[self.0.next_u64() as usize % from.len()]
    }
}

/// Turns of two people about recurring subjects, each time with another detail.
fn conversation() -> NotesAndQuestions {
    const THINGS: [&str; 24] = [
        "bicycle",
        "garden",
        "piano",
        "kitchen",
        "dentist",
        "cousin",
        "exam",
        "boat",
        "flat",
        "dog",
        "choir",
        "novel",
        "marathon",
        "passport",
        "oven",
        "tent",
        "camera",
        "sofa",
        "recipe",
        "neighbour",
        "scarf",
        "lamp",
        "festival",
        "allotment",
    ];
    const DETAILS: [&str; 24] = [
        "it rained the whole time",
        "it cost forty euros",
        "my brother laughed about it",
        "nobody came",
        "it broke after an hour",
        "we stayed until midnight",
        "the colour is wrong",
        "I was too late",
        "they gave it away for free",
        "the key was missing",
        "it smells of paint",
        "I forgot the tickets",
        "a stranger helped us",
        "the handle came off",
        "we ate far too much",
        "it is heavier than I thought",
        "the letter had no stamp",
        "two of them were sick",
        "it snowed in the morning",
        "I slept badly",
        "the train was cancelled",
        "it took three attempts",
        "she cried a little",
        "the battery was empty",
    ];
    const PLACES: [&str; 12] = [
        "at the station",
        "in the library",
        "near the bridge",
        "at my aunt's",
        "in the basement",
        "by the lake",
        "behind the school",
        "at the market",
        "in the attic",
        "on the ferry",
        "in the office",
        "at the bakery",
    ];
    let pick = Picker(SeededRng::new(3));
    let (mut notes, mut questions) = (Vec::new(), Vec::new());
    for number in 0..150 {
        let who = if number % 2 == 0 { "Ann" } else { "Bob" };
        let (thing, detail, place) = (pick.of(&THINGS), pick.of(&DETAILS), pick.of(&PLACES));
        notes.push(format!("{who}: So about the {thing}, {place}: {detail}. What do you think?"));
        if number % 2 == 0 {
            questions.push((format!("What did {who} say about the {thing} {place}?"), vec![number]));
        }
    }
    (notes, questions)
}

/// People with their towns, and towns with their rivers. Other notes name some of the towns and the words of the
/// questions, but no answer.
fn two_steps() -> NotesAndQuestions {
    const FRONT: [&str; 12] =
        ["Vel", "Dros", "Karm", "Ostr", "Pell", "Quin", "Rav", "Sund", "Tarv", "Ulm", "Wex", "Zor"];
    const BACK: [&str; 10] = ["ano", "bek", "dale", "efsk", "gard", "holm", "inka", "mont", "sted", "wick"];
    const TRADES: [&str; 8] =
        ["a baker", "a judge", "a sailor", "a painter", "a nurse", "a clerk", "a smith", "a singer"];
    const TOWNS: [&str; 5] = [
        "is a quiet town with a market on Fridays",
        "is known for its cheese",
        "has a castle and two mills",
        "lost its railway in the war",
        "is visited by many pilgrims",
    ];
    let pick = Picker(SeededRng::new(5));
    let name = |number: usize| format!("{}{}", FRONT[number % 12], BACK[number / 12 % 10]);
    let (mut notes, mut questions) = (Vec::new(), Vec::new());
    for number in 0..60 {
        let (person, town, river) = (name(number), name(60 + number), name((7 * number + 3) % 120));
        let at = notes.len();
        notes
            .push(format!("The elder {person} was {} and was born in the town of {town}.", pick.of(&TRADES)));
        notes.push(format!("As for {town}, it {} and lies on the river {river}water.", pick.of(&TOWNS)));
        if number % 3 == 0 {
            notes.push(format!("A song asks on which river the town of {town} lies."));
        }
        if number % 2 == 1 {
            let text = format!("On which river lies the birthplace of the elder {person}?");
            questions.push((text, vec![at, at + 1]));
        }
    }
    (notes, questions)
}

/// Questions of customers, each intent in several wordings.
fn paraphrases() -> NotesAndQuestions {
    const INTENTS: [[[&str; 4]; 2]; 8] = [
        [
            ["I have lost", "I cannot find", "I misplaced", "somebody stole"],
            ["my card", "my bank card", "the plastic", "my debit card"],
        ],
        [
            ["when does it arrive", "how long does delivery take of", "is it on its way", "tracking of"],
            ["the new card", "my replacement", "the parcel with the card", "the letter"],
        ],
        [
            ["please raise", "I need a higher", "can you increase", "lift"],
            ["my limit", "the daily limit", "the maximum I may spend", "the ceiling"],
        ],
        [
            ["why was I charged", "what is this fee", "there is a cost", "you took money"],
            ["for a transfer abroad", "on a foreign payment", "in another currency", "for sending euros"],
        ],
        [
            ["I want to close", "how do I cancel", "please delete", "end"],
            ["my account", "the contract", "my profile with you", "the agreement"],
        ],
        [
            [
                "the machine kept",
                "the cash dispenser swallowed",
                "it did not give back",
                "the teller machine ate",
            ],
            ["my card yesterday", "the card at the airport", "it after the third try", "everything I put in"],
        ],
        [
            ["I forgot", "I do not remember", "how do I change", "reset"],
            ["my PIN", "the four digits", "the secret number", "my code"],
        ],
        [
            [
                "my salary is not there",
                "a deposit is missing",
                "the money has not come",
                "where is the transfer",
            ],
            ["from my employer", "that was sent on Monday", "although they paid it", "since last week"],
        ],
    ];
    let (mut notes, mut questions) = (Vec::new(), Vec::new());
    for [fronts, backs] in INTENTS {
        let mut own = Vec::new();
        let mut asked = Vec::new();
        for (at, front) in fronts.iter().enumerate() {
            for (behind, back) in backs.iter().enumerate() {
                if (at + behind) % 4 == 3 {
                    asked.push(format!("Hello, {front} {back}?"));
                } else {
                    own.push(notes.len());
                    notes.push(format!("Good day, {front} {back}, thank you."));
                }
            }
        }
        questions.extend(asked.into_iter().map(|text| (text, own.clone())));
    }
    (notes, questions)
}
