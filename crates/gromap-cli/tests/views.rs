//! Several views of the same samples: what the verbs make of `--view`.

mod common;

use common::*;

/// Four numbers and two of them in another order as views of the same samples.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("x.npy", npy_f64());
    bench.write("x.csv", csv(","));
    bench.write(
        "other.csv",
        (0..SAMPLES).fold("a,b\n".to_string(), |text, i| {
            let noise = (i * 7 % 5) as f64 / 5.0;
            text + &format!("{},{}\n", 10.0 * (i % 3) as f64 + noise, noise)
        }),
    );
    bench
}

fn fit<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["fit", "x.npy", "--view", "other.csv"], &QUICK[..], more].concat()
}

#[test]
fn views_are_weighed_and_new_ones_are_placed() {
    let bench = bench();
    let equal = bench.json(&fit(&["-o", "m.gromap", "--report", "map.html"]));
    assert_eq!(numbers(&equal["view_weights"]), [0.5, 0.5]);
    assert_eq!(equal["n_features"], 6);
    let placed = bench.json(&["transform", "m.gromap", "x.npy", "--view", "other.csv"]);
    assert_eq!(placed["labels"].as_array().map(Vec::len), Some(SAMPLES));
    assert_eq!(bench.json(&["info", "m.gromap"])["view_weights"], equal["view_weights"]);
    bench.json(&["report", "m.gromap", "--data", "x.npy", "--view", "other.csv", "-o", "again.html"]);
    let given = bench.json(&fit(&["--view-weights", "1,3"]));
    assert_eq!(numbers(&given["view_weights"]), [0.25, 0.75]);
    let learned = numbers(&bench.json(&fit(&["--view-weights", "learned"]))["view_weights"]);
    assert!((learned.iter().sum::<f64>() - 1.0).abs() < 1e-12 && learned.iter().all(|weight| *weight > 0.0));
    let planned = bench.json(&fit(&["--dry-run"]));
    assert_eq!((&planned["n_samples"], &planned["n_features"]), (&SAMPLES.into(), &6.into()));
}

#[test]
fn views_that_do_not_fit_are_named() {
    let bench = bench();
    bench.write("short.csv", "a\n1\n2\n");
    bench.write("flat.csv", "a\n".to_string() + &"1\n".repeat(SAMPLES));
    let message =
        |arguments: &[&str], code| bench.error(arguments, code)["message"].as_str().unwrap_or_default().to_owned();
    let fit = |more: &[&str]| {
        [&["fit", "x.npy"], &QUICK[..], more].concat().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let check = |more: &[&str], code, expected: &str| {
        let words = fit(more);
        let found = message(&words.iter().map(String::as_str).collect::<Vec<_>>(), code);
        assert!(found.contains(expected), "{found}");
    };
    check(&["--view", "short.csv"], 3, "short.csv has 2 samples");
    check(&["--view", "flat.csv"], 3, "view 2 of 2: number of different samples is 1");
    check(&["--view", "nowhere.csv"], 1, "nowhere.csv");
    check(&["--view", "other.csv", "--view-weights", "1,2,3"], 3, "number of view_weights: expected 2, found 3");
    check(&["--view", "other.csv", "--view-weights", "1,-1"], 2, "--view-weights is -1");
    check(&["--view-weights", "learned"], 2, "--view-weights has no effect");
}

/// Verbs that know one view refuse a second one; they used to read it and leave it out.
#[test]
fn a_view_that_would_be_left_out_is_refused() {
    let bench = bench();
    bench.json(&[&["fit", "x.npy", "-o", "m.gromap"], &QUICK[..]].concat());
    for verb in ["stability", "compare"] {
        let error = bench.error(&[verb, "m.gromap", "x.npy", "--view", "other.csv"], 2);
        assert!(error["message"].as_str().is_some_and(|message| message.contains("--view")), "{error}");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("one view")), "{error}");
    }
}
