//! Lists of edges: two nodes in every line, and perhaps a weight.
//!
//! Nodes go by any name; if all are whole numbers they are ordered by value, otherwise by their first appearance. Edges have
//! no direction; one that is given more than once, or both ways, has the largest of its weights.

use std::collections::HashMap;

use super::source::{Room, Source};
use super::sparse::Rows;
use super::{Content, Loaded, lines};
use crate::failure::{Failure, Outcome, clipped};

/// Bytes that an entry of an edge takes while it is read, with its share of new names but for their letters.
const BYTES_PER_EDGE: u64 = 200;

/// A graph with a name for each node.
pub(super) fn read(source: &Source, room: Room) -> Outcome<Loaded> {
    let mut stream = source.stream()?;
    let name = stream.name.clone();
    let mut nodes: HashMap<String, u32> = HashMap::new();
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    let mut letters = 0;
    lines::for_each(&mut stream, &['#', '%'], |number, text| {
        let bad = |problem: String| Failure::data(format!("{name}, line {number}: {problem}"));
        let mut words = text.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|word| !word.is_empty());
        let (Some(from), Some(to)) = (words.next(), words.next()) else {
            return Err(bad("an edge is two nodes and perhaps a weight".into()));
        };
        let weight = match (words.next(), words.next()) {
            (None, _) => 1.0,
            (Some(weight), None) => {
                let number = weight.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
                number.ok_or_else(|| {
                    bad(format!("the weight \"{}\" must be a number that is not negative", clipped(weight)))
                })?
            }
            _ => return Err(bad("an edge is two nodes and perhaps a weight".into())),
        };
        let mut node = |word: &str| {
            let next = nodes.len() as u32;
            *nodes.entry(word.to_owned()).or_insert_with(|| {
                letters += word.len() as u64;
                next
            })
        };
        let (from, to) = (node(from), node(to));
        edges.push((from, to, weight));
        if from != to {
            edges.push((to, from, weight));
        }
        room.check(&name, letters + BYTES_PER_EDGE * edges.len() as u64)
    })?;
    if edges.is_empty() {
        return Err(Failure::data(format!("{name}: there is no edge")));
    }
    let ids = ordered(nodes, &mut edges);
    let rows = Rows::from_entries((ids.len(), ids.len()), &edges, f64::max)?;
    Ok(Loaded { ids: Some(ids), is_graph: true, ..Loaded::new(Content::Sparse(rows)) })
}

/// The names of the nodes in their order, which the edges then follow.
fn ordered(nodes: HashMap<String, u32>, edges: &mut [(u32, u32, f64)]) -> Vec<String> {
    let mut names: Vec<(String, u32)> = nodes.into_iter().collect();
    match names
        .iter()
        .map(|(name, at)| name.parse::<u64>().map(|number| (*at, number)))
        .collect::<Result<HashMap<_, _>, _>>()
    {
        Ok(numbers) => names.sort_by_key(|(_, at)| (numbers[at], *at)),
        Err(_) => names.sort_by_key(|(_, at)| *at),
    }
    let mut places = vec![0; names.len()];
    names.iter().enumerate().for_each(|(place, (_, at))| places[*at as usize] = place as u32);
    for (from, to, _) in edges {
        (*from, *to) = (places[*from as usize], places[*to as usize]);
    }
    names.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> (Vec<f64>, Vec<String>) {
        let loaded = read(&Source::memory("g.edges", text.as_bytes()), Room(1 << 20)).unwrap();
        assert!(matches!(loaded.content, Content::Sparse(_)));
        (super::super::doubles(&loaded.content), loaded.ids.unwrap())
    }

    #[test]
    fn edges_have_no_direction_and_nodes_have_names() {
        let (matrix, ids) = load("# friends\n10 9 0.5\n9 10 2\n9 9\n");
        assert_eq!((matrix, ids), (vec![1.0, 2.0, 2.0, 0.0], vec!["9".to_owned(), "10".into()]));
        assert_eq!(load("bo,al\nal;cy 3\n").1, ["bo", "al", "cy"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message =
            |text: &str| read(&Source::memory("g.edges", text.as_bytes()), Room(1000)).map(|_| ()).unwrap_err().message;
        assert_eq!(message("a b\nc\n"), "g.edges, line 2: an edge is two nodes and perhaps a weight");
        assert!(message("a b -1\n").contains("\"-1\" must be a number that is not negative"));
        assert!(message("# nothing\n").contains("no edge"));
        assert!(message(&"a b\n".repeat(100)).contains("needs"));
        assert!(message(&format!("a {}\n", "b".repeat(900))).contains("needs"));
    }
}
