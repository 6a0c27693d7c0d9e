//! Every verb and what it writes, with the real program on small data.

mod common;

use common::*;
use serde_json::Value;

/// A bench with samples, a table and labels.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("x.npy", npy_f64());
    bench.write("x.csv", csv(","));
    bench.write("labels.csv", (0..SAMPLES).map(|i| format!("{}\n", label(i))).collect::<String>());
    bench
}

fn fit(more: &[&str]) -> Vec<String> {
    [&["fit", "x.npy"], &QUICK[..], more].concat().iter().map(ToString::to_string).collect()
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn fit_writes_a_model_that_other_verbs_take() {
    let bench = bench();
    let found = bench.json(&words(&fit(&["--labels", "labels.csv", "-o", "m.gromap", "--report", "map.html"])));
    assert_eq!(found["n_used"], 6);
    let history = numbers(&found["loss_history"]);
    assert!(history.is_sorted_by(|before, after| after <= before), "{history:?}");
    assert!(bench.text("map.html").starts_with("<!doctype html>"));

    let info = bench.json(&["info", "m.gromap"]);
    for key in ["method", "n_samples", "n_features", "n_prototypes", "n_used", "dims", "loss", "loss_history", "seed"] {
        assert_eq!(info[key], found[key], "{key}");
    }
    assert_eq!(bench.json(&["score", "m.gromap", "--labels", "labels.csv"])["metrics"], found["metrics"]);

    // Training samples go where the fit put them.
    let placed = bench.json(&["transform", "m.gromap", "x.npy", "--labels", "labels.csv"]);
    let members = |k: usize| placed["labels"].as_array().expect("labels").iter().filter(|label| **label == k).count();
    for prototype in found["prototypes"].as_array().expect("prototypes") {
        let k = prototype["index"].as_u64().expect("an index") as usize;
        assert_eq!(prototype["members"], members(k), "{prototype}");
    }
    assert_eq!(placed["metrics"]["homogeneity"], found["metrics"]["homogeneity"]);
    let silhouette = |found: &Value| found["metrics"]["silhouette"].as_f64().expect("a score");
    assert!((silhouette(&placed) - silhouette(&found)).abs() < 1e-12);
}

#[test]
fn transform_writes_tables_and_arrays() {
    let bench = bench();
    bench.json(&words(&fit(&["-o", "m.gromap"])));
    let printed = bench.printed(&["transform", "m.gromap", "x.npy", "--quiet"]);
    bench.json(&["transform", "m.gromap", "x.npy", "-o", "out.csv"]);
    assert_eq!(printed, bench.text("out.csv"));
    assert_eq!(printed.lines().next(), Some("sample,label,x,y"));
    assert_eq!(printed.lines().count(), SAMPLES + 1);
    bench.json(&["transform", "m.gromap", "x.npy", "-o", "out.npy"]);
    // The coordinates are an array that the program itself can read.
    let again = bench.json(&["embed", "out.npy", "--method", "pca", "-o", "again.csv"]);
    assert_eq!((&again["n_samples"], &again["n_features"]), (&SAMPLES.into(), &2.into()));
    let narrow = bench.write("narrow.csv", "a,b\n1,2\n3,4\n");
    let refused = bench.error(&["transform", "m.gromap", narrow.to_str().expect("a path")], 3);
    assert_eq!(refused["message"], "number of features: expected 4, found 2");
}

#[test]
fn transform_takes_a_model_with_a_prototype_for_every_sample() {
    let bench = bench();
    bench.json(&["fit", "x.npy", "--prototypes", "90", "--method", "pca", "-o", "m.gromap"]);
    let placed = bench.json(&["transform", "m.gromap", "x.npy", "--labels", "labels.csv"]);
    assert_eq!((&placed["labels"], &placed["metrics"]), (&Value::Null, &Value::Null));
    assert_eq!(placed["coordinates"].as_array().map(Vec::len), Some(SAMPLES));
    let printed = bench.printed(&["transform", "m.gromap", "x.npy", "--quiet"]);
    assert_eq!((printed.lines().next(), printed.lines().count()), (Some("sample,x,y"), SAMPLES + 1));
}

/// Scores, the order of classes and pictures are the same in the JSON and in the page, and weights count.
#[test]
fn the_page_and_the_json_give_one_answer() {
    let bench = bench();
    bench.write("w.txt", (0..SAMPLES).map(|i| format!("{}\n", 1 + i * i)).collect::<String>());
    bench.write("numbers.csv", (0..SAMPLES).map(|i| format!("{}\n", [10, 9, 2][(i / 7) % 3])).collect::<String>());
    let more = ["--weights", "w.txt", "--labels", "numbers.csv", "--images", "2x2", "--report", "map.html"];
    let found = bench.json(&words(&fit(&with(&more, &["-o", "m.gromap"]))));
    let page = page_data(&bench.text("map.html"));
    let silhouette = found["metrics"]["silhouette"].as_f64().expect("a score");
    assert_eq!(page["levels"][0]["silhouette"].as_f64(), Some(silhouette));
    let scored = bench.json(&["score", "m.gromap", "--labels", "numbers.csv"]);
    assert_eq!(scored["metrics"]["silhouette"].as_f64(), Some(silhouette));
    let model = gromap::Model::from_bytes(&bench.read("m.gromap")).expect("a model");
    let classes = gromap_report::Classes::new(&(0..SAMPLES).map(|i| ["10", "9", "2"][(i / 7) % 3]).collect::<Vec<_>>());
    assert_eq!(gromap_report::silhouette(&model, &classes.of_samples), Some(silhouette));
    assert_eq!(page["classes"]["names"], serde_json::json!(["2", "9", "10"]));
    assert_eq!((&page["pictures"]["width"], &page["pictures"]["height"]), (&2.into(), &2.into()));
}

#[test]
fn reports_are_made_from_models_too() {
    let bench = bench();
    bench.json(&words(&fit(&["-o", "m.gromap"])));
    let made = bench.json(&[
        "report",
        "m.gromap",
        "--data",
        "x.npy",
        "--labels",
        "labels.csv",
        "--images",
        "2x2",
        "-o",
        "map.html",
    ]);
    let page = bench.text("map.html");
    assert_eq!(made["bytes"], page.len());
    bench.json(&["report", "m.gromap", "-o", "plain.html", "--title", "Mine"]);
    assert!(bench.text("plain.html").contains("Mine") && page.len() > bench.text("plain.html").len());
    bench.json(&["report", "m.gromap", "-o", "map.svg"]);
    assert!(bench.text("map.svg").starts_with("<svg"));
    bench.write("few.csv", "a,b,c,d\n1,2,3,4\n2,3,4,5\n");
    let refused = bench.error(&["report", "m.gromap", "--data", "few.csv", "-o", "no.html"], 3);
    assert_eq!(refused["message"], format!("few.csv has 2 samples, but the model was fitted to {SAMPLES}"));
}

#[test]
fn path_has_levels_and_lineage() {
    let bench = bench();
    let path = ["path", "x.npy", "--prototypes", "3,6,9", "--perplexity", "8", "--labels", "labels.csv"];
    let found = bench.json(&with(&path, &["-o", "m-{n}.gromap", "--report", "map.html"]));
    let levels = found["levels"].as_array().expect("levels");
    assert_eq!(levels.iter().map(|level| &level["n_prototypes"]).collect::<Vec<_>>(), [3, 6, 9]);
    assert_eq!(found["lineage"].as_array().map(Vec::len), Some(2));
    let mass: f64 = found["lineage"][0].as_array().expect("links").iter().filter_map(|link| link[2].as_f64()).sum();
    assert!((mass - 1.0).abs() < 1e-9);
    assert_eq!(bench.json(&["info", "m-6.gromap"])["loss"], levels[1]["loss"]);
    assert!(bench.text("map.html").starts_with("<!doctype html>"));
    let warm = bench.json(&with(&path, &["--warm"]));
    assert_eq!(warm["levels"][0]["loss"], levels[0]["loss"]);
    assert_eq!(bench.printed(&path).lines().count(), 4);
}

#[test]
fn clusters_become_labels() {
    let bench = bench();
    let cluster = ["cluster", "x.npy", "--clusters", "3", "--perplexity", "8"];
    let found = bench.json(&with(&cluster, &["--labels", "labels.csv"]));
    assert_eq!((&found["metrics"]["ari"], &found["dims"]), (&1.0.into(), &Value::Null));
    let printed = bench.printed(&with(&cluster, &["-q"]));
    bench.json(&with(&cluster, &["-o", "found.csv"]));
    assert_eq!(printed, bench.text("found.csv"));
    let of_json: Vec<String> = found["labels"].as_array().expect("labels").iter().map(ToString::to_string).collect();
    let of_table: Vec<&str> = printed.lines().skip(1).map(|line| line.split_once(',').expect("a comma").1).collect();
    assert_eq!(of_json, of_table);
    let scores = bench.json(&["score", "found.csv", "--labels", "labels.csv"]);
    assert_eq!((&scores["metrics"]["ari"], &scores["n_samples"]), (&1.0.into(), &SAMPLES.into()));
    let identity = bench.json(&with(&cluster, &["--target", "identity", "-o", "found.npy"]));
    assert_ne!(identity["loss"], found["loss"]);
    assert!(identity["labels"].is_null());
}

#[test]
fn clusters_become_models() {
    let bench = bench();
    bench.write("new.csv", csv(",").replacen("kind", "type", 1));
    let cluster =
        ["cluster", "x.csv", "--labels", "kind", "--weights", "weight", "--clusters", "3", "--perplexity", "8"];
    let labels = bench.json(&cluster)["labels"].take();
    let found = bench.json(&with(&cluster, &["-o", "c.gromap"]));
    assert!(found["labels"].is_null());
    let placed = bench.json(&["transform", "c.gromap", "new.csv"]);
    assert_eq!((&placed["labels"], &placed["coordinates"], &placed["dims"]), (&labels, &Value::Null, &Value::Null));
    let printed = bench.printed(&["transform", "c.gromap", "new.csv", "--quiet"]);
    assert_eq!((printed.lines().next(), printed.lines().count()), (Some("sample,label"), SAMPLES + 1));
    let info = bench.json(&["info", "c.gromap"]);
    for key in ["method", "n_samples", "n_features", "n_prototypes", "n_used", "dims", "loss", "loss_history", "seed"] {
        assert_eq!(info[key], found[key], "{key}");
    }
    assert_eq!((&info["parameters"]["clusters"], &info["parameters"]["target"]), (&3.into(), &"free".into()));
    assert!(bench.printed(&["info", "c.gromap"]).contains("target_scale       max"));
    assert_eq!(bench.json(&["score", "c.gromap", "--labels", "labels.csv"])["metrics"], found["metrics"]);
    let refused = bench.error(&["report", "c.gromap", "-o", "map.html"], 2);
    assert!(
        refused["message"].as_str().is_some_and(|text| text.contains("clusters, which have no places")),
        "{refused}"
    );
    // Kernels are those of the similarity, which clusters have too.
    bench.json(&["cluster", "x.npy", "--clusters", "3", "--method", "kernel-pca", "--kernel", "poly", "--degree", "2"]);
}

#[test]
fn clusters_become_a_coarse_graph() {
    let bench = bench();
    let cluster = ["cluster", "x.npy", "--clusters", "3", "--perplexity", "8", "-o", "labels.npy", "--force"];
    let with = |more: &[&'static str]| [&cluster[..], more].concat();
    bench.json(&with(&["--coarse", "coarse.npz"]));
    bench.json(&with(&["--coarse", "coarse.mtx"]));
    let text = bench.text("coarse.mtx");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[2], lines.len()), ("%%MatrixMarket matrix array real general", "3 3", 12));
    let weights = lines[1].trim_start_matches("% weights of the clusters: ").split(' ');
    let sum: f64 = weights.map(|weight| weight.parse::<f64>().expect("a number")).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    // What was learnt is symmetric, and clusters are most alike to themselves.
    let entry = |k: usize, l: usize| lines[3 + 3 * l + k].parse::<f64>().expect("a number");
    assert!((0..3).all(|k| (0..3).all(|l| (entry(k, l) - entry(l, k)).abs() < 1e-9 && entry(k, l) <= entry(k, k))));
    // The program reads it back.
    bench.json(&["cluster", "coarse.mtx", "--precomputed", "similarity", "--clusters", "2"]);
    let refused = bench.error(&with(&["--coarse", "c.npz", "--target", "identity"]), 2);
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("--coarse has no effect")));
    let refused = bench.error(&with(&["--coarse", "c.csv"]), 2);
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("must end in .npz or .mtx")));
}

#[test]
fn embed_places_every_sample() {
    let bench = bench();
    let found = bench.json(&["embed", "x.csv", "--labels", "kind", "--weights", "weight", "--method", "pca"]);
    assert_eq!(found["coordinates"].as_array().map(Vec::len), Some(SAMPLES));
    assert_eq!((&found["n_prototypes"], &found["prototypes"]), (&SAMPLES.into(), &Value::Array(Vec::new())));
    let printed = bench.printed(&["embed", "x.npy", "--method", "pca", "--dims", "3", "--quiet"]);
    assert_eq!(printed.lines().next(), Some("sample,x,y,z"));
}

#[test]
fn the_start_may_come_from_a_file() {
    let bench = bench();
    bench.write("start.csv", (0..SAMPLES).map(|i| format!("{}\n", i % 6)).collect::<String>());
    let found = bench.json(&words(&fit(&["--init", "start.csv", "--max-rounds", "0"])));
    let members: Vec<u64> =
        found["prototypes"].as_array().expect("prototypes").iter().filter_map(|p| p["members"].as_u64()).collect();
    assert_eq!(members, [15; 6]);
}

#[test]
fn weights_count() {
    let bench = bench();
    let weights: String = (0..SAMPLES).map(|i| if i % GROUPS == 0 { "8\n" } else { "1\n" }).collect();
    bench.write("w.txt", weights);
    let found = bench.json(&words(&fit(&["--weights", "w.txt", "--labels", "labels.csv"])));
    let heavy = found["prototypes"].as_array().expect("prototypes").iter().filter(|p| p["majority"] == "ant");
    let weight: f64 = heavy.filter_map(|p| p["weight"].as_f64()).sum();
    assert!((weight - 0.8).abs() < 1e-9, "{weight}");
}

#[test]
fn results_do_not_depend_on_threads_or_on_the_way_options_came() {
    let bench = bench();
    let run = |more: &[&str]| {
        let mut found = bench.json(&words(&fit(more)));
        without_times(&mut found);
        found["threads"].take();
        found
    };
    let alone = run(&["--threads", "1"]);
    assert_eq!(alone, run(&["--threads", "3"]));
    bench.write("c.toml", "threads = 2\nseed = 0\n# prototypes of the command line come first\nprototypes = 2\n");
    assert_eq!(alone, run(&["--config", "c.toml"]));
    assert_ne!(alone, run(&["--seed", "1", "--init", "random"]));
}

#[test]
fn printed_options_are_a_config_that_gives_them_back() {
    let bench = bench();
    let arguments =
        fit(&["--method", "tsne", "--scale", "standard", "--strict", "--labels", "labels.csv", "--print-config"]);
    let printed = bench.printed(&words(&arguments));
    assert!(
        printed.contains("method = \"tsne\"\n")
            && printed.contains("strict = true\n")
            && printed.contains("seed = 0\n")
    );
    bench.write("c.toml", &printed);
    assert_eq!(bench.printed(&["fit", "x.npy", "--config", "c.toml", "--print-config"]), printed);
    bench.write("bad.toml", "colour = 3\n");
    let refused = bench.error(&["fit", "x.npy", "--config", "bad.toml"], 2);
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("--colour")), "{refused}");
}

#[test]
fn verbose_tells_rounds_and_quiet_tells_nothing() {
    let bench = bench();
    let loud = bench.run(&words(&fit(&["-v", "--init", "random"])));
    let lines = String::from_utf8(loud.stderr).expect("text");
    assert!(lines.lines().all(|line| line.starts_with("round ")) && lines.lines().count() > 1, "{lines}");
    let quiet = bench.run(&words(&fit(&["-q"])));
    assert!(quiet.status.success() && quiet.stdout.is_empty() && quiet.stderr.is_empty());
    // Without a terminal there is no bar.
    let plain = bench.run(&words(&fit(&[])));
    assert!(plain.stderr.is_empty() && !plain.stdout.is_empty());
    assert!(!String::from_utf8_lossy(&plain.stdout).contains('\x1b'));
}

#[test]
fn a_plan_is_told_and_nothing_is_done() {
    let bench = bench();
    let plan = bench.json(&words(&fit(&["--dry-run", "-o", "m.gromap"])));
    assert_eq!((&plan["neighbors"]["k"], &plan["neighbors"]["search"]), (&14.into(), &"exact".into()));
    assert_eq!(plan["memory"]["fits"], true);
    let parts = plan["memory"]["parts"].as_array().expect("parts");
    assert!(parts.iter().all(|part| part["bytes"].as_u64() <= plan["memory"]["peak_bytes"].as_u64()));
    assert!(!bench.files().contains(&"m.gromap".to_owned()));
    assert!(bench.printed(&words(&fit(&["--dry-run"]))).contains("14 of each sample, exact search"));
    // Of a table the plan is known once it is read: with its weights, and a column for each of its three kinds.
    assert_eq!(bench.json(&["fit", "x.csv", "--dry-run"])["n_features"], FEATURES + 1 + 3);
}

/// clap takes `{n}` for the end of a line.
#[test]
fn the_placeholder_of_a_path_is_shown() {
    let bench = bench();
    for arguments in [&["path", "-h"], &["path", "--help"], &["help", "path"], &["man", "path"]] {
        let text = bench.printed(arguments).replace("\\-", "-");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("{n} in the name becomes its number of prototypes"), "{arguments:?}\n{text}");
        assert!(text.contains("cells-{n}.gromap"), "{arguments:?}\n{text}");
        assert!(!text.contains('\x1b'), "{arguments:?}\n{text}");
    }
}

#[test]
fn manuals_and_completions_come_from_the_definition() {
    let bench = bench();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(bench.printed(&["completions", shell]).contains("perplexity"), "{shell}");
    }
    assert!(bench.printed(&["man"]).contains("weighted prototypes"));
    assert!(bench.printed(&["man", "fit"]).contains("perplexity"));
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("a path");
    assert_eq!(bench.run(&["man", "-o", folder]).status.code(), Some(0));
    assert!(std::path::Path::new(folder).join("gromap-transform.1").is_file());
    assert_eq!(bench.run(&["man", "-o", folder]).status.code(), Some(1));
    assert_eq!(bench.run(&["man", "dream"]).status.code(), Some(2));
}

#[test]
fn samples_have_places_of_their_own() {
    let bench = bench();
    bench.json(&words(&fit(&["-o", "m.gromap", "--places", "own.csv"])));
    let own = bench.text("own.csv");
    assert!(own.starts_with("sample,label,x,y\n"), "{own}");
    assert_eq!(own.lines().count(), SAMPLES + 1);
    // Samples that were there before have the places they had, copies of one the first one's, and the table of prototypes'
    // places is another one.
    bench.json(&["transform", "m.gromap", "x.npy", "-o", "placed.csv", "--places", "again.csv"]);
    let again = bench.text("again.csv");
    let numbers = |line: &str| line.split(',').map(|cell| cell.parse().expect("a number")).collect::<Vec<f64>>();
    let rows: Vec<Vec<f64>> = own.lines().skip(1).map(numbers).collect();
    let sample = |i: usize| (0..FEATURES).map(|j| value(i, j)).collect::<Vec<_>>();
    for (i, after) in again.lines().skip(1).map(numbers).enumerate() {
        let first = (0..i).find(|&other| sample(other) == sample(i)).unwrap_or(i);
        assert_eq!(after[1..], rows[first][1..], "sample {i} is sample {first}");
    }
    assert_ne!(bench.text("placed.csv"), own);
    bench.json(&["transform", "m.gromap", "x.npy", "-o", "plain.csv"]);
    assert_eq!(bench.text("placed.csv"), bench.text("plain.csv"));
    bench.json(&["transform", "m.gromap", "x.npy", "-o", "p.csv", "--places", "own.npy"]);
    assert_eq!(bench.read("own.npy").len(), 128 + SAMPLES * 2 * 8);
    // The same file from the same seed on other threads.
    bench.json(&words(&fit(&["--threads", "1", "--places", "one.csv"])));
    bench.json(&words(&fit(&["--threads", "3", "--places", "three.csv"])));
    assert_eq!((bench.text("one.csv"), bench.text("three.csv")), (own.clone(), own));
}

#[test]
fn places_are_an_output_like_any_other() {
    let bench = bench();
    let message = |arguments: &[&str], code: i32| {
        let refused = bench.error(arguments, code);
        refused["message"].as_str().unwrap_or_default().to_owned()
    };
    let fitted = words(&fit(&[])).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let fitted: Vec<&str> = fitted.iter().map(String::as_str).collect();
    assert!(message(&with(&fitted, &["--places", "own.txt"]), 2).contains("--places own.txt must end in .csv"));
    bench.write("own.csv", "mine");
    assert!(message(&with(&fitted, &["--places", "own.csv"]), 1).contains("own.csv exists already"));
    assert_eq!(bench.text("own.csv"), "mine");
    bench.json(&with(&fitted, &["--places", "own.csv", "--force", "-o", "m.gromap"]));
    assert!(bench.text("own.csv").starts_with("sample,label,x,y"));
    bench.write("new.csv", "a,b,c,d\n1,2,3,4\n");
    let twice = ["transform", "m.gromap", "new.csv", "-o", "a.csv", "--places", "./a.csv"];
    assert!(message(&twice, 2).contains("two outputs are the same file"));
    assert!(message(&["transform", "m.gromap", "new.csv", "--places", "new.csv", "--force"], 2).contains("is read"));
    bench.json(&["cluster", "x.npy", "--clusters", "3", "--perplexity", "8", "-o", "c.gromap"]);
    let refused = message(&["transform", "c.gromap", "x.npy", "--places", "no.csv"], 2);
    assert!(refused.contains("clusters, which have no places"), "{refused}");
    // Only what has places offers the option.
    assert!(bench.printed(&["fit", "--help"]).contains("--places"));
    assert!(!bench.printed(&["cluster", "--help"]).contains("--places"));
}

/// Samples i and i + 3 are alike, and features 0 and 3: the small data are blocks.
#[test]
fn coot_clusters_samples_and_features() {
    let bench = bench();
    let coot = ["cluster", "x.csv", "--labels", "kind", "--weights", "weight", "--method", "coot", "-k", "3"];
    let coot = with(&coot, &["--feature-clusters", "3"]);
    let found = bench.json(&coot);
    assert_eq!((&found["method"], &found["n_feature_clusters"]), (&"coot".into(), &3.into()));
    assert_eq!(found["metrics"]["ari"], 1.0);
    let features = numbers(&found["feature_labels"]);
    assert!(features[0] == features[3] && features[0] != features[1] && features[1] != features[2], "{features:?}");
    let means = |k: usize, l: f64| found["summary"][k][l as usize].as_f64().expect("a mean");
    let labels = numbers(&found["labels"]);
    assert!(means(labels[0] as usize, features[0]) > 8.0 && means(labels[0] as usize, features[1]) < 1.0);

    let files = ["-o", "l.csv", "--feature-output", "f.csv", "--summary", "s.csv", "--report", "b.html"];
    let written = bench.json(&with(&coot, &files));
    assert!(written.get("labels").is_none() && written.get("feature_labels").is_none());
    assert_eq!(written["summary"], found["summary"]);
    assert_eq!(bench.text("l.csv").lines().count(), SAMPLES + 1);
    let lines: Vec<String> = bench.text("f.csv").lines().map(Into::into).collect();
    assert_eq!(lines[0], "feature,label");
    assert_eq!(lines[1], format!("a,{}", features[0]));
    assert_eq!(bench.text("s.csv").lines().next(), Some("cluster,0,1,2"));
    let page = bench.text("b.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg") && page.contains("x.csv"));
    bench.json(&with(&coot, &["--report", "b.svg", "--summary", "s.npy"]));
    assert!(bench.text("b.svg").starts_with("<svg"));
    // People get the labels, and the means on the other stream.
    assert_eq!(bench.printed(&coot), bench.text("l.csv"));
}

#[test]
fn coot_keeps_to_weights_and_plans_its_memory() {
    let bench = bench();
    let coot = ["cluster", "x.npy", "--method", "coot", "-k", "2", "--feature-clusters", "2"];
    bench.write("shares.csv", "0.25\n0.75\n");
    let found = bench.json(&with(&coot, &["--feature-weights", "shares.csv", "--prototype-weights", "uniform"]));
    for cluster in found["prototypes"].as_array().expect("clusters") {
        assert!((cluster["weight"].as_f64().expect("a weight") - 0.5).abs() < 1e-9, "{cluster}");
    }
    let labels = numbers(&found["feature_labels"]);
    assert_eq!(labels.iter().filter(|&&label| label == 0.0).count(), 1, "{labels:?}");
    let plan = bench.json(&with(&coot, &["--dry-run"]));
    assert_eq!((&plan["method"], &plan["n_features"]), (&"coot".into(), &FEATURES.into()));
    let refused = bench.error(&with(&coot, &["--max-memory", "1MiB"]), 1);
    assert_eq!(refused["kind"], "memory");
    assert!(bench.printed(&with(&coot, &["--print-config"])).contains("n-init = 10"));
    let config = bench.printed(&with(&coot, &["--print-config"]));
    bench.write("coot.toml", config);
    let again = bench.json(&["cluster", "x.npy", "--config", "coot.toml"]);
    assert_eq!(again["loss"], bench.json(&coot)["loss"]);
}

#[test]
fn coot_refuses_what_it_has_no_use_for() {
    let bench = bench();
    bench.write("g.edges", "a b\nb c\n");
    let coot = ["cluster", "x.npy", "--method", "coot", "-k", "3", "--feature-clusters", "2"];
    let message = |more: &[&str]| bench.error(&with(&coot, more), 2)["message"].as_str().expect("text").to_owned();
    assert!(message(&["--perplexity", "5"]).starts_with("--perplexity has no effect"));
    assert!(message(&["--scale", "standard"]).contains("takes features as they are"));
    assert!(message(&["-o", "m.gromap"]).contains("no model"));
    assert!(message(&["--report", "b.png"]).contains("--report b.png must end in .html or .svg"));
    assert_eq!(
        message(&["--feature-clusters", "5"]),
        "--feature-clusters is 5; it must be from 1 to 4, the number of features"
    );
    assert!(message(&["-k", "91"]).starts_with("--clusters is 91"));
    assert!(message(&["--feature-weights", "equal"]).contains("--feature-weights equal is neither a file nor one of"));
    let needed = bench.error(&["cluster", "x.npy", "--method", "coot", "-k", "3"], 2);
    assert_eq!(needed["hint"], "add --feature-clusters NUMBER");
    let graph = bench.error(&["cluster", "g.edges", "--method", "coot", "-k", "2", "--feature-clusters", "2"], 2);
    assert!(graph["message"].as_str().expect("text").contains("graphs"));
    // Elsewhere there is no coot, and without it no clusters of features.
    for verb in ["fit", "embed"] {
        let refused =
            bench.error(&[verb, "x.npy", "--method", "coot"], 2)["message"].as_str().expect("text").to_owned();
        assert!(refused.contains("gromap cluster DATA --method coot"), "{refused}");
    }
    for more in [["--feature-clusters", "2"], ["--summary", "s.csv"], ["--report", "b.html"]] {
        let refused = bench.error(&with(&["cluster", "x.npy", "-k", "3"], &more), 2)["message"].to_string();
        assert!(refused.contains("has no effect") && refused.contains("--method coot"), "{refused}");
    }
}

/// Names of nodes go from the list of edges to labels, to the page and to the report of the model.
#[test]
fn nodes_keep_their_names() {
    let bench = Bench::new();
    let clique = |names: [&str; 5]| {
        let pairs = (0..5).flat_map(|i| (i + 1..5).map(move |j| (i, j)));
        pairs.map(|(i, j)| format!("{},{}\n", names[i], names[j])).collect::<String>()
    };
    let (ours, theirs) = (["zoë", "al", "bo", "cy", "-x"], ["7", "di", "ed", "fay", "gus"]);
    bench.write("g.edges", clique(ours) + &clique(theirs) + "zoë,7\nal,al\nbo,al\n");
    bench.json(&["cluster", "g.edges", "--clusters", "2", "-o", "labels.csv"]);
    let text = bench.text("labels.csv");
    let labels: std::collections::BTreeMap<&str, &str> =
        text.lines().skip(1).filter_map(|line| line.split_once(',')).collect();
    assert_eq!(labels.len(), 10, "{text}");
    let all = |names: [&str; 5]| names.map(|name| labels[if name == "-x" { "'-x" } else { name }]);
    assert!(all(ours).iter().all(|label| *label == all(ours)[0]) && all(theirs).iter().all(|l| *l == all(theirs)[0]));
    assert_ne!(all(ours)[0], all(theirs)[0]);
    bench.json(&["fit", "g.edges", "--prototypes", "3", "-o", "g.gromap", "--report", "map.html"]);
    bench.json(&["report", "g.gromap", "--data", "g.edges", "-o", "again.html"]);
    for page in ["map.html", "again.html"] {
        let ids = page_data(&bench.text(page))["ids"].to_string();
        assert!(ids.contains("zoë") && ids.contains("gus"), "{page}: {ids}");
    }
}
