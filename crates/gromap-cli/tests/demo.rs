//! Runs the demo as a user would.

mod common;

use common::{Bench, numbers, without_times};
use serde_json::Value;
use std::process::Output;

fn gromap(arguments: &[&str]) -> Output {
    Bench::new().run(arguments)
}

/// The JSON of a run without what is never the same.
fn json(arguments: &[&str], threads: &str) -> Value {
    let bench = Bench::new();
    let output = bench.command(arguments).arg("--json").env("RAYON_NUM_THREADS", threads).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    let mut found: Value = serde_json::from_slice(&output.stdout).expect("standard output is one JSON value");
    assert!(found["seconds"]["total"].as_f64() > Some(0.0));
    without_times(&mut found);
    found["threads"].take();
    found
}

#[test]
fn demo_finds_the_kinds_of_clothing() {
    let found = json(&["demo"], "2");
    assert_eq!((&found["n_samples"], &found["n_prototypes"], &found["seed"]), (&2000.into(), &20.into(), &0.into()));

    let prototypes = found["prototypes"].as_array().expect("a list");
    assert_eq!(found["n_used"], prototypes.len());
    assert_eq!(prototypes.iter().filter_map(|p| p["members"].as_u64()).sum::<u64>(), 2000);
    // Every image weighs the same and goes to one prototype.
    assert_eq!((&found["method"], &found["hardness"]), (&"fuzzy-tsne".into(), &1.0.into()));
    for prototype in prototypes {
        let (weight, members) = (prototype["weight"].as_f64(), prototype["members"].as_f64());
        let off = weight.expect("a weight") - members.expect("a count") / 2000.0;
        assert!(off.abs() < 1e-12, "{prototype}");
        assert!(numbers(&prototype["place"]).iter().all(|place| place.is_finite()) && prototype["place"][1].is_f64());
    }

    let history = numbers(&found["loss_history"]);
    assert!(history.is_sorted_by(|before, after| after <= before), "{history:?}");
    let (loss, last) = (found["loss"].as_f64().expect("a loss"), *history.last().expect("a history"));
    assert!((loss - last).abs() <= 1e-9 * loss.abs(), "{loss} {last}");

    // One prototype gives 0; twenty that know the kinds would give 1.
    let homogeneity = found["metrics"]["homogeneity"].as_f64().expect("a score");
    assert!(homogeneity > 0.6, "homogeneity {homogeneity}");
}

#[test]
fn the_page_goes_from_five_prototypes_to_two_hundred() {
    let bench = Bench::new();
    bench.json(&["demo"]);
    let page = bench.text("gromap-demo.html");
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert!(page.contains("<title>Fashion-MNIST, 2,000 pictures</title>"));
}

#[test]
fn the_seed_decides_the_result() {
    let run = |seed| json(&["demo", "--prototypes", "5", "--seed", seed], "2");
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3")["loss_history"], run("4")["loss_history"]);
}

#[test]
fn the_number_of_threads_does_not() {
    let run = |threads| json(&["demo", "--prototypes", "5"], threads);
    let alone = run("1");
    assert_eq!(alone, run("2"));
    assert_eq!(alone, run("4"));
}

#[test]
fn one_prototype_holds_everything() {
    let found = json(&["demo", "--prototypes", "1"], "2");
    assert_eq!(found["prototypes"][0]["members"], 2000);
    assert_eq!(found["prototypes"][0]["purity"], 0.1);
    assert_eq!(found["metrics"]["ari"], 0.0);
}

#[test]
fn the_table_has_a_line_for_each_prototype_in_use() {
    let output = gromap(&["demo", "--prototypes", "3"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("text");
    let starts_with_number =
        |line: &&str| line.split_whitespace().next().is_some_and(|word| word.parse::<usize>().is_ok());
    assert_eq!(text.lines().filter(starts_with_number).count(), 3);
}

#[test]
fn the_map_is_written_and_named() {
    let bench = Bench::new();
    let found = bench.json(&["demo", "--prototypes", "3"]);
    assert_eq!(found["report"], "gromap-demo.html");
    let page = bench.text("gromap-demo.html");
    assert!(page.starts_with("<!doctype html>") && page.len() > 100_000);
    // Its own file is replaced; another one only on demand.
    bench.json(&["demo", "--prototypes", "2"]);
    assert_ne!(bench.text("gromap-demo.html"), page);
    let refused = bench.error(&["demo", "-o", "gromap-demo.html"], 1);
    assert_eq!((&refused["kind"], &refused["hint"]), (&"io".into(), &"add --force to replace it".into()));
    bench.json(&["demo", "--prototypes", "2", "-o", "gromap-demo.html", "--force"]);
    assert_eq!(bench.files(), ["gromap-demo.html"]);
}

/// One test for each list of arguments, so that a failure has a name.
macro_rules! exits {
    ($code:literal, $check:path: $($name:ident $arguments:expr;)*) => {
        $(#[test]
        fn $name() {
            let output = gromap(&$arguments);
            assert_eq!(output.status.code(), Some($code));
            $check(&output);
        })*
    };
}

/// The complaint goes to standard error, and nothing that could be taken for a result is printed.
fn only_complains(output: &Output) {
    assert!(output.stdout.is_empty() && !output.stderr.is_empty());
}

fn only_prints(output: &Output) {
    assert!(!output.stdout.is_empty() && output.stderr.is_empty());
}

exits! { 2, only_complains:
    no_verb_is_refused [];
    an_unknown_verb_is_refused ["dream"];
    an_unknown_option_is_refused ["demo", "--colour"];
    no_prototypes_are_refused ["demo", "--prototypes", "0"];
    more_prototypes_than_images_are_refused ["demo", "--prototypes", "2001"];
    a_word_for_a_number_is_refused ["demo", "--prototypes", "ten"];
    a_negative_seed_is_refused ["demo", "--seed", "-1"];
}

exits! { 0, only_prints:
    help_is_not_an_error ["--help"];
    help_of_a_verb_is_not_an_error ["help", "demo"];
    the_version_is_not_an_error ["--version"];
}
