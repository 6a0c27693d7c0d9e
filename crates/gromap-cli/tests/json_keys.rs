//! The keys of the JSON are a contract: here they are, with their types, and `docs/json.md` has every one of them.

mod common;

use std::collections::BTreeSet;

use common::*;
use serde_json::Value;

/// `key.key[]: type` of everything in a value.
fn keys(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(value, "", &mut found);
    found
}

fn collect(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(value, &path, found);
            }
            return;
        }
        Value::Array(values) => {
            values.iter().for_each(|value| collect(value, &format!("{path}[]"), found));
            if !values.is_empty() {
                return;
            }
            "empty list"
        }
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "whole number",
        Value::String(_) => "text",
    };
    found.insert(format!("{path}: {kind}"));
}

/// What the objects of this file look like; written anew with GROMAP_BLESS=1.
fn check(name: &str, value: &Value) {
    let found: String = keys(value).iter().map(|line| format!("{line}\n")).collect();
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/json/{name}.txt"));
    if std::env::var_os("GROMAP_BLESS").is_some() {
        std::fs::create_dir_all(golden.parent().expect("a folder")).expect("a folder");
        std::fs::write(&golden, &found).expect("a file");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(found, expected, "{name}");
    let documented =
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md"))
            .expect("docs/json.md");
    for line in keys(value) {
        let path = line.split_once(':').map_or("", |(path, _)| path);
        // What a model was fitted with is named in the model file, and passed on.
        for key in path.split('.').take_while(|key| *key != "parameters").map(|key| key.trim_end_matches("[]")) {
            assert!(documented.contains(&format!("`{key}`")), "docs/json.md does not tell of {key} ({name}: {path})");
        }
    }
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("x.csv", csv(","));
    bench.write("labels.csv", (0..SAMPLES).map(|i| format!("{}\n", label(i))).collect::<String>());
    bench
}

const DATA: [&str; 7] = ["x.csv", "--labels", "kind", "--weights", "weight", "--perplexity", "8"];

#[test]
fn fit() {
    check("fit", &bench().json(&[&["fit"], &DATA[..], &["--prototypes", "6"]].concat()));
}

#[test]
fn describe() {
    let bench = bench();
    bench.json(&[&["fit"], &DATA[..], &["--prototypes", "6", "-o", "m.gromap"]].concat());
    check("describe", &bench.json(&["describe", "m.gromap", "--data", "x.csv"]));
}

#[test]
fn path() {
    check("path", &bench().json(&[&["path"], &DATA[..], &["--prototypes", "3,6"]].concat()));
}

#[test]
fn cluster() {
    check("cluster", &bench().json(&[&["cluster"], &DATA[..], &["--clusters", "3"]].concat()));
}

#[test]
fn coot() {
    let coot = ["--labels", "kind", "--method", "coot", "--clusters", "3", "--feature-clusters", "2"];
    check("coot", &bench().json(&[&["cluster", "x.csv"], &coot[..]].concat()));
}

#[test]
fn embed() {
    check("embed", &bench().json(&[&["embed"], &DATA[..]].concat()));
}

#[test]
fn of_models() {
    let bench = bench();
    bench.json(&[&["fit"], &DATA[..], &["--prototypes", "6", "-o", "m.gromap"]].concat());
    check("info", &bench.json(&["info", "m.gromap"]));
    bench.write("new.csv", "a,b,c,d,kind\n1,2,3,4,ant\n8,0,0,8,bee\n");
    check("transform", &bench.json(&["transform", "m.gromap", "new.csv", "--labels", "kind"]));
    check("score", &bench.json(&["score", "m.gromap", "--labels", "labels.csv"]));
    check("report", &bench.json(&["report", "m.gromap", "-o", "map.html"]));
}

#[test]
fn plan() {
    check("plan", &bench().json(&[&["fit"], &DATA[..], &["--dry-run"]].concat()));
}

#[test]
fn error() {
    check("error", &bench().json_with_code(&["fit", "x.csv", "--labels", "knd"], 2));
}

#[test]
fn demo() {
    check("demo", &bench().json(&["demo", "--prototypes", "2"]));
}

#[test]
fn suggest() {
    check("suggest", &bench().json(&["suggest", "x.csv", "--labels", "kind", "--perplexity", "8"]));
}

#[test]
fn stability_and_compare() {
    let bench = bench();
    bench.json(&[&["fit"], &DATA[..], &["--prototypes", "9", "-o", "m.gromap"]].concat());
    check("stability", &bench.json(&["stability", "m.gromap", "x.csv", "--resamples", "3"]));
    check("compare", &bench.json(&["compare", "m.gromap", "x.csv"]));
}
