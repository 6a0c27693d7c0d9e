//! Lists of edges: two nodes in every line, and perhaps a weight.
//!
//! Nodes go by any name; if all are whole numbers they are ordered by value, otherwise by their first appearance. Edges have
//! no direction; one that is given more than once, or both ways, has the largest of its weights.

use std::collections::HashMap;

use super::source::{Room, Source};
use super::sparse::Rows;
use super::{Content, Loaded, lines, table};
use crate::failure::{Failure, Outcome, clipped};

/// Bytes that an entry of an edge takes while it is read, with its share of new names but for their letters.
const BYTES_PER_EDGE: u64 = 200;

/// What looking at a header may take.
const HEADER_ROOM: Room = Room(1 << 20);

/// The first rows of tables that are lists of edges, with a weight or without.
const HEADERS: [[&str; 3]; 2] = [["source", "target", "weight"], ["from", "to", "weight"]];

/// Whether the columns of a table are those of edges.
pub(super) fn is_header<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    let names: Vec<String> = names.map(|name| name.trim().trim_start_matches('\u{feff}').to_lowercase()).collect();
    names.len() >= 2 && HEADERS.iter().any(|header| names == header[..2] || names == header[..])
}

/// Whether a table begins with the columns of edges.
pub(super) fn is_table(source: &Source) -> bool {
    let first = table::records(source, b',', HEADER_ROOM).and_then(|mut records| records.next());
    let is_edges =
        |record: &csv::ByteRecord| is_header(record.iter().map(|cell| std::str::from_utf8(cell).unwrap_or("?")));
    first.ok().flatten().is_some_and(|record| is_edges(&record))
}

/// A graph from a table of the columns source, target and perhaps weight; names of nodes may have spaces.
pub(super) fn table(source: &Source, room: Room) -> Outcome<Loaded> {
    let mut records = table::records(source, b',', room)?;
    let mut graph = Graph::default();
    records.next()?;
    while let Some(record) = records.next()? {
        let line = record.position().map_or(0, csv::Position::line);
        let words: Vec<String> = record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
        let about = |failure: Failure| failure.about(format_args!("{}, line {line}", source.name));
        graph.push(words.iter().map(String::as_str)).map_err(about)?;
        graph.check(&source.name, room)?;
    }
    graph.finish(&source.name)
}

/// A graph in the making.
#[derive(Default)]
struct Graph {
    nodes: HashMap<String, u32>,
    edges: Vec<(u32, u32, f64)>,
    letters: u64,
}

impl Graph {
    /// Adds an edge: two nodes, and perhaps a weight.
    fn push<'w>(&mut self, mut words: impl Iterator<Item = &'w str>) -> Outcome<()> {
        let (Some(from), Some(to), weight, None) = (words.next(), words.next(), words.next(), words.next()) else {
            return Err(Failure::data("an edge is two nodes and perhaps a weight"));
        };
        if from.is_empty() || to.is_empty() {
            return Err(Failure::data("a node has no name"));
        }
        let weight = weight.map_or(Ok(1.0), |weight| {
            let number = weight.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
            number.ok_or_else(|| {
                Failure::data(format!("the weight \"{}\" must be a number that is not negative", clipped(weight)))
            })
        })?;
        let (from, to) = (self.node(from), self.node(to));
        self.edges.push((from, to, weight));
        if from != to {
            self.edges.push((to, from, weight));
        }
        Ok(())
    }

    fn node(&mut self, word: &str) -> u32 {
        if let Some(&node) = self.nodes.get(word) {
            return node;
        }
        let next = self.nodes.len() as u32;
        self.letters += word.len() as u64;
        self.nodes.insert(word.to_owned(), next);
        next
    }

    fn check(&self, name: &str, room: Room) -> Outcome<()> {
        room.check(name, self.letters + BYTES_PER_EDGE * self.edges.len() as u64)
    }

    fn finish(mut self, name: &str) -> Outcome<Loaded> {
        if self.edges.is_empty() {
            return Err(Failure::data(format!("{name}: there is no edge")));
        }
        let ids = ordered(self.nodes, &mut self.edges);
        let rows = Rows::from_entries((ids.len(), ids.len()), &self.edges, f64::max)?;
        Ok(Loaded { ids: Some(ids), is_graph: true, ..Loaded::new(Content::Sparse(rows)) })
    }
}

/// A graph with a name for each node.
pub(super) fn read(source: &Source, room: Room) -> Outcome<Loaded> {
    let mut stream = source.stream()?;
    let name = stream.name.clone();
    let mut graph = Graph::default();
    lines::for_each(&mut stream, &['#', '%'], |number, text| {
        let words = text.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|word| !word.is_empty());
        let about = |failure: Failure| failure.about(format_args!("{name}, line {number}"));
        // A list may begin with what its columns are.
        if graph.edges.is_empty() && is_header(words.clone()) {
            return Ok(());
        }
        graph.push(words).map_err(about)?;
        graph.check(&name, room)
    })?;
    graph.finish(&name)
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
    fn a_table_of_edges_is_told_by_its_header() {
        let source = |text: &str| Source::memory("g.csv", text.as_bytes());
        assert!(is_table(&source("Source;Target;Weight\nNew York;Rome;2\n")));
        assert!(is_table(&source("from,to\n1,2\n")));
        for text in ["source,target,weight,kind\na,b,1,x\n", "target,source\na,b\n", "a,b\n1,2\n", "source\na\n"] {
            assert!(!is_table(&source(text)), "{text}");
        }
        let loaded = table(&source("source,target,weight\nNew York,Rome,2\nRome,Oslo,1\n"), Room(1 << 20)).unwrap();
        assert_eq!(loaded.ids.unwrap(), ["New York", "Rome", "Oslo"]);
        let message = |text: &str| table(&source(text), Room(1 << 20)).unwrap_err().message;
        assert_eq!(message("source,target\na,b\nc\n"), "g.csv, line 3: an edge is two nodes and perhaps a weight");
        assert_eq!(message("source,target\na,\n"), "g.csv, line 2: a node has no name");
        assert_eq!(load("source target weight\na b 2\n").0, [0.0, 2.0, 2.0, 0.0]);
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
