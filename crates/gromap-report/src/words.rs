//! Names of prototypes by the words of their samples' texts.
//!
//! A word (or two that follow each other) names a prototype as far as it sets it apart: it is in many texts of its members and
//! in few of all the others. With p the share of the members' texts that have it and p̄ the share of all texts,
//!
//! ```text
//! score = p · ln(p / p̄)
//! ```
//!
//! the class-based TF-IDF of shares: p is the frequency of the term in the class, 1/p̄ the inverse one of all documents, and a
//! word that is as frequent everywhere, as "the" and "und" and "по" are, scores 0. So no language needs a list of stop
//! words: a word must be at least twice as frequent in a prototype as in all texts to name it, if any is.

use std::collections::HashMap;

use gromap::Model;

/// Words in a name.
const WORDS: usize = 3;
/// Words of a text that are looked at.
const WORDS_PER_TEXT: usize = 400;
/// How much more frequent a word must be among the members; each word of a pair too: "exchange rate", not "the exchange".
const LIFT: f64 = 2.0;
/// A pair is taken for its words if it scores this share of the better one.
const PAIR: f64 = 0.7;

/// A name for each prototype by the words that set it apart; empty where its members have no texts.
///
/// ```
/// # let samples = gromap::Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
/// let model = gromap::GromovDr::builder().prototypes(3).perplexity(5.0).fit(&samples)?;
/// let texts: Vec<String> = (0..60).map(|i| format!("the {} is here", ["cat", "dog", "cow"][i % 3])).collect();
/// let names = gromap_report::names_from_texts(&model, &texts);
/// assert_eq!(names[model.plan.labels()[0] as usize], "cat");
/// # Ok::<(), gromap::Error>(())
/// ```
pub fn names_from_texts<T: AsRef<str>>(model: &Model, texts: &[T]) -> Vec<String> {
    let n = model.weights.len();
    let labels = model.plan.labels();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); n];
    labels.iter().enumerate().take(texts.len()).for_each(|(sample, &k)| members[k as usize].push(sample));
    let corpus = Corpus::new(texts);
    members.iter().map(|members| corpus.name(members)).collect()
}

/// Texts as terms: words, and pairs of words that follow each other.
struct Corpus {
    /// The terms of each text, each once, ascending.
    texts: Vec<Vec<u32>>,
    terms: Vec<Term>,
    /// Texts with at least one word.
    filled: f64,
}

struct Term {
    text: String,
    /// Texts that have it.
    count: u32,
    /// The words of a pair.
    pair: Option<(u32, u32)>,
}

/// The words of a text, in lower case: letters and digits, with an apostrophe between them; no numbers, no single letters.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let runs = text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’')).take(WORDS_PER_TEXT);
    let trimmed = runs.map(|run| run.trim_matches(['\'', '’']));
    // Scripts without spaces between words have words of one letter.
    let is_word = |run: &&str| {
        let mut letters = run.chars();
        let first = letters.next();
        run.chars().any(char::is_alphabetic)
            && (letters.next().is_some() || first.is_some_and(|c| u32::from(c) > 0x2e7f))
    };
    trimmed.filter(is_word).map(str::to_lowercase)
}

impl Corpus {
    fn new<T: AsRef<str>>(texts: &[T]) -> Self {
        let mut ids: HashMap<String, u32> = HashMap::new();
        let mut pairs: HashMap<(u32, u32), u32> = HashMap::new();
        let mut terms: Vec<Term> = Vec::new();
        let mut corpus = Vec::with_capacity(texts.len());
        for text in texts {
            let mut found = Vec::new();
            let mut before: Option<u32> = None;
            for word in words(text.as_ref()) {
                let next = terms.len() as u32;
                let id = *ids.entry(word).or_insert_with_key(|word| {
                    terms.push(Term { text: word.clone(), count: 0, pair: None });
                    next
                });
                found.push(id);
                if let Some(first) = before.filter(|&first| first != id) {
                    let next = terms.len() as u32;
                    let pair = *pairs.entry((first, id)).or_insert_with(|| {
                        let text = format!("{} {}", terms[first as usize].text, terms[id as usize].text);
                        terms.push(Term { text, count: 0, pair: Some((first, id)) });
                        next
                    });
                    found.push(pair);
                }
                before = Some(id);
            }
            found.sort_unstable();
            found.dedup();
            found.iter().for_each(|&term| terms[term as usize].count += 1);
            corpus.push(found);
        }
        let filled = corpus.iter().filter(|terms| !terms.is_empty()).count() as f64;
        Self { texts: corpus, terms, filled }
    }

    /// The words that set these texts apart from all.
    fn name(&self, members: &[usize]) -> String {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let filled = members.iter().filter(|&&sample| !self.texts[sample].is_empty()).count();
        members.iter().flat_map(|&sample| &self.texts[sample]).for_each(|&term| *counts.entry(term).or_default() += 1);
        let lift = |term: u32| {
            let here = f64::from(counts.get(&term).copied().unwrap_or(0)) / filled.max(1) as f64;
            (here, here * self.filled / f64::from(self.terms[term as usize].count.max(1)))
        };
        // What one member alone says is no word of the group.
        let least = if filled >= 3 { 2 } else { 1 };
        let scored = |least_lift: f64| {
            let score = |(&term, &count): (&u32, &u32)| {
                let (here, lifted) = lift(term);
                let pair_holds = |(a, b): (u32, u32)| lift(a).1 >= LIFT && lift(b).1 >= LIFT;
                let holds = self.terms[term as usize].pair.is_none_or(pair_holds);
                (count >= least && lifted >= least_lift && holds).then(|| (here * lifted.ln(), term))
            };
            let mut scores: Vec<(f64, u32)> = counts.iter().filter_map(score).collect();
            scores.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| self.text(a.1).cmp(self.text(b.1))));
            scores
        };
        let mut scores = scored(LIFT);
        if scores.is_empty() {
            scores = scored(0.0);
        }
        self.chosen(&scores).join(", ")
    }

    fn text(&self, term: u32) -> &str {
        &self.terms[term as usize].text
    }

    /// The best terms that do not repeat each other; a pair instead of a word of it where it says about as much.
    fn chosen(&self, scores: &[(f64, u32)]) -> Vec<&str> {
        let mut chosen: Vec<u32> = Vec::new();
        for &(score, term) in scores {
            if chosen.len() == WORDS {
                break;
            }
            let with_word = |&&(other, pair): &&(f64, u32)| {
                let has = |(a, b): (u32, u32)| a == term || b == term;
                other >= PAIR * score && self.terms[pair as usize].pair.is_some_and(has)
            };
            let best = scores.iter().find(with_word).map_or(term, |&(_, pair)| pair);
            let repeats = |&other: &u32| {
                let alike = |a: &str, b: &str| same_word(a, b) || same_word(b, a);
                self.text(other).split(' ').any(|a| self.text(best).split(' ').any(|b| alike(a, b)))
            };
            if !chosen.iter().any(repeats) {
                chosen.push(best);
            }
        }
        chosen.into_iter().map(|term| self.text(term)).collect()
    }
}

/// Whether a word is another with an ending, such as cards and card.
fn same_word(longer: &str, word: &str) -> bool {
    longer
        .strip_prefix(word)
        .is_some_and(|end| end.chars().count() <= 2 && (end.is_empty() || word.chars().count() >= 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(all: &[&str], members: &[usize]) -> String {
        Corpus::new(all).name(members)
    }

    #[test]
    fn what_is_frequent_everywhere_names_nothing() {
        let texts = [
            "what is the exchange rate",
            "the exchange rate of today",
            "is the exchange rate good",
            "where is the card",
            "the card is lost",
            "is the card here",
            "what is the fee",
            "the fee is high",
        ];
        assert_eq!(name(&texts, &[0, 1, 2]), "exchange rate");
        assert_eq!(name(&texts, &[3, 4, 5]), "card");
    }

    #[test]
    fn words_are_those_of_any_script() {
        let found = |text: &str| words(text).collect::<Vec<_>>();
        assert_eq!(found("Don’t PAY 12 € a x2, naïve ÄRGER!"), ["don’t", "pay", "x2", "naïve", "ärger"]);
        assert_eq!(found("где карта?"), ["где", "карта"]);
        assert_eq!(name(&["где моя карта", "карта где", "где деньги", "где вы"], &[0, 1]), "карта");
    }

    #[test]
    fn a_name_does_not_repeat_itself() {
        let texts = ["lost card cards", "card lost cards", "cards card lost", "pin here", "pin there", "pin pin"];
        let found = name(&texts, &[0, 1, 2]);
        assert_eq!(found.matches("card").count(), 1, "{found}");
        assert_eq!(name(&texts, &[]), "");
        assert_eq!(name(&["", "12", "a"], &[0, 1]), "");
    }
}
