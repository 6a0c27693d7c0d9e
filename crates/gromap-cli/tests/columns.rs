//! Columns by name: a model knows those it was fitted with, and finds them in new tables.

mod common;

use common::*;
use serde_json::Value;

/// A folder with the small data and a model of them, fitted to the columns a, b, c and d.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("x.csv", csv(","));
    bench.write("x.npy", npy_f64());
    bench.json(&[&["fit", "x.csv", "--labels", "kind", "--weights", "weight", "-o", "m.gromap"], &QUICK[..]].concat());
    bench
}

/// A table of the small data with these columns; any but a, b, c and d hold what no reader takes for numbers.
fn table(columns: &[&str]) -> String {
    let mut text = columns.join(",") + "\n";
    for i in 0..SAMPLES {
        let cell = |name: &&str| match "abcd".find(name) {
            Some(j) => value(i, j).to_string(),
            None => ["7", "", "some text"][i % 3].to_owned(),
        };
        text += &(columns.iter().map(cell).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

/// Labels and coordinates of a file of new samples.
fn placed(bench: &Bench, name: &str) -> (Value, Value) {
    let mut found = bench.json(&["transform", "m.gromap", name]);
    assert_eq!((&found["n_features"], &found["warnings"]), (&FEATURES.into(), &Value::Array(Vec::new())), "{found}");
    (found["labels"].take(), found["coordinates"].take())
}

#[test]
fn they_may_come_in_any_order_among_others() {
    let bench = bench();
    let expected = placed(&bench, "x.csv");
    assert_eq!(expected.0.as_array().map(Vec::len), Some(SAMPLES));
    bench.write("new.csv", table(&["note", "d", "b", "mixed", "a", "c"]));
    assert_eq!(placed(&bench, "new.csv"), expected);
    bench.write("new.tsv", table(&["c", "a", "extra", "d", "b"]).replace(',', "\t"));
    assert_eq!(placed(&bench, "new.tsv"), expected);
    // An array has no names: its columns go by position.
    assert_eq!(placed(&bench, "x.npy"), expected);
    // Known classes may stand beside them.
    let scored = bench.json(&["transform", "m.gromap", "x.csv", "--labels", "kind"]);
    assert_eq!(scored["metrics"]["homogeneity"], 1.0);
}

#[test]
fn a_missing_one_is_named() {
    let bench = bench();
    let refused = |text: &str, words: &[&str]| {
        bench.write("new.csv", text);
        let error = bench.error(&["transform", "m.gromap", "new.csv"], 3);
        let message = format!("{} {}", error["message"], error["hint"]).replace("\\\"", "\"");
        for word in words {
            assert!(message.contains(word), "it does not say {word}: {message}");
        }
    };
    refused(&table(&["d", "b", "a", "e"]), &["new.csv: ", "the column \"c\"", "the columns of new.csv are d, b, a, e"]);
    refused(&table(&["a", "b"]), &["the columns \"c\", \"d\""]);
    refused(&table(&["p", "q"]), &["the columns \"a\", \"b\", \"c\", \"d\""]);
    refused("1,2,3,4\n5,6,7,8\n", &["new.csv: it has no header", "a, b, c, d", "go"]);
    refused("a,b,c,d\n1,2,3,none\n", &["line 2, column \"d\"", "the number is missing"]);
}

#[test]
fn a_model_without_names_goes_by_position() {
    let bench = Bench::new();
    bench.write("x.npy", npy_f64());
    // The first line is a sample, not a header.
    bench.write("x.csv", table(&["a", "b", "c", "d"]).split_once('\n').expect("lines").1);
    bench.write("named.csv", table(&["d", "c", "b", "a"]));
    for data in ["x.npy", "x.csv"] {
        bench.json(&[&["fit", data, "-o", "m.gromap", "--force"], &QUICK[..]].concat());
        assert_eq!(placed(&bench, "x.csv"), placed(&bench, "x.npy"), "{data}");
        assert_ne!(placed(&bench, "named.csv"), placed(&bench, "x.npy"), "{data}");
    }
}

#[test]
fn equal_names_name_nothing() {
    let bench = Bench::new();
    bench.write("x.csv", table(&["a", "b", "c", "d"]).replacen("a,b,c,d", "a,a,c,d", 1));
    bench.write("x.npy", npy_f64());
    bench.json(&[&["fit", "x.csv", "-o", "m.gromap"], &QUICK[..]].concat());
    assert_eq!(placed(&bench, "x.csv"), placed(&bench, "x.npy"));
}

#[test]
fn reports_match_them_too() {
    let bench = bench();
    bench.write("wide.csv", table(&["note", "d", "b", "a", "c"]));
    bench.json(&["report", "m.gromap", "--data", "wide.csv", "-o", "map.html"]);
    let page = page_data(&bench.text("map.html"));
    assert_eq!(page["features"], serde_json::json!(["a", "b", "c", "d"]));
    assert_eq!(page["columns"][0]["name"], "note");
    bench.json(&["report", "m.gromap", "-o", "plain.html"]);
    assert_eq!(page_data(&bench.text("plain.html"))["features"], page["features"]);
}
