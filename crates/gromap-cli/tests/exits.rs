//! Every exit code and every kind of error, with the real program; what went wrong is named, and so is the way out.

mod common;

use common::*;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("x.npy", npy_f64());
    bench.write("x.csv", csv(","));
    bench
}

/// An error of this kind and code whose message has all these words.
fn refused(arguments: &[&str], code: i32, kind: &str, words: &[&str]) -> serde_json::Value {
    refused_in(&bench(), arguments, code, kind, words)
}

fn refused_in(bench: &Bench, arguments: &[&str], code: i32, kind: &str, words: &[&str]) -> serde_json::Value {
    let error = bench.error(arguments, code);
    assert_eq!(error["kind"], kind, "{error}");
    let text = format!("{} {}", error["message"], error["hint"]);
    for word in words {
        assert!(text.contains(word), "{arguments:?} does not say {word}: {text}");
    }
    error
}

#[test]
fn one_is_a_failure_of_the_system() {
    refused(&["fit", "nowhere.npy"], 1, "io", &["cannot read nowhere.npy"]);
    refused(&["fit", "x.npy", "-o", "nowhere/m.gromap"], 1, "io", &["no folder"]);
    let bench = bench();
    bench.write("m.gromap", "mine");
    refused_in(&bench, &["fit", "x.npy", "-o", "m.gromap"], 1, "io", &["m.gromap exists already", "--force"]);
    assert_eq!(bench.text("m.gromap"), "mine");
}

#[test]
fn two_is_wrong_usage() {
    refused(&["fit", "x.npy", "--method", "tsn"], 2, "usage", &["tsn", "pca, kernel-pca, mds"]);
    refused(&["fit", "x.npy", "--solver", "newton"], 2, "usage", &["newton", "vertex, cg, mirror"]);
    refused(&["fit", "x.npy", "--prototypes", "0"], 2, "usage", &["at least 1"]);
    refused(&["fit", "x.npy", "--prototypes", "91"], 2, "usage", &["--prototypes is 91", "from 1 to 90"]);
    refused(&["fit", "x.npy", "--perplexity", "90"], 2, "usage", &["--perplexity is 90", "less than 89"]);
    refused(&["fit", "x.npy", "--pca", "0"], 2, "usage", &["auto, none, a number"]);
    refused(&["fit", "x.npy", "--alpha", "2"], 2, "usage", &["from 0 to 1"]);
    refused(&["fit", "x.npy", "--images", "28y28"], 2, "usage", &["28x28"]);
    refused(&["fit", "x.npy", "--max-memory", "lots"], 2, "usage", &["8GiB"]);
    refused(&["fit", "x.npy", "--init", "agglomerativ"], 2, "usage", &["neither a file", "--init agglomerative"]);
    refused(&["fit", "x.npy", "--colour"], 2, "usage", &["--colour"]);
    refused(&["fit"], 2, "usage", &["DATA"]);
    refused(&["cluster", "x.npy"], 2, "usage", &["--clusters"]);
    refused(
        &["cluster", "x.npy", "--clusters", "3", "-o", "labels.txt"],
        2,
        "usage",
        &[".csv, .tsv or .npy", ".gromap"],
    );
    refused(&["cluster", "x.npy", "--clusters", "91"], 2, "usage", &["--clusters is 91", "from 1 to 90"]);
    refused(&["path", "x.npy", "--prototypes", "9,3"], 2, "usage", &["ascending"]);
    refused(&["path", "x.npy", "--prototypes", "3,9", "-o", "m.gromap"], 2, "usage", &["{n}"]);
    let bench = bench();
    bench.write("x.data", "1,2\n");
    refused_in(&bench, &["fit", "x.data"], 2, "usage", &[".npy, .npz, .csv", "--format"]);
}

#[test]
fn columns_that_do_not_exist_are_answered_with_those_that_do() {
    let error = refused(&["fit", "x.csv", "--labels", "knd"], 2, "usage", &["a, b, c, d, kind, weight"]);
    assert_eq!(error["hint"], "did you mean --labels kind?");
    refused(&["fit", "x.csv", "--labels", "kind", "--weights", "wait"], 2, "usage", &["the columns of x.csv are"]);
    refused(&["fit", "x.npy", "--labels", "kind"], 2, "usage", &["has no columns with names"]);
}

#[test]
fn options_without_effect_are_refused() {
    refused(&["fit", "x.npy", "--method", "pca", "--perplexity", "20"], 2, "usage", &["pca has no perplexity"]);
    refused(&["fit", "x.npy", "--method", "mds", "--neighbors", "20"], 2, "usage", &["all pairs"]);
    refused(&["fit", "x.npy", "--gamma", "2"], 2, "usage", &["--method kernel-pca"]);
    refused(&["fit", "x.npy", "--method", "kernel-pca", "--degree", "2"], 2, "usage", &["the kernel is rbf"]);
    refused(&["fit", "x.npy", "--method", "pca", "--normalization", "cells"], 2, "usage", &["tsne, snekhorn"]);
    refused(&["fit", "x.npy", "--alpha-scale", "raw"], 2, "usage", &["nothing to weigh"]);
    refused(&["fit", "x.npy", "--images", "2x2"], 2, "usage", &["--report"]);
    refused(&["fit", "x.npy", "--precomputed", "similarity", "--pca", "3"], 2, "usage", &["not samples"]);
    refused(&["embed", "x.npy", "--solver", "cg"], 2, "usage", &["embed gives every sample its own place"]);
    refused(&["cluster", "x.npy", "--clusters", "3", "--dims", "3"], 2, "usage", &["no places"]);
    refused(&["cluster", "x.npy", "--clusters", "3", "--target-scale", "raw"], 2, "usage", &["--target identity"]);
    // The default, said aloud, is fine.
    bench().json(&["embed", "x.npy", "--method", "pca", "--alpha", "1", "--init", "auto"]);
}

#[test]
fn pages_are_written_as_html_and_pictures_as_svg() {
    let bench = bench();
    bench.json(&[&["fit", "x.npy", "-o", "m.gromap"], &QUICK[..]].concat());
    for name in ["map.pdf", "map.png", "map"] {
        refused_in(&bench, &["report", "m.gromap", "-o", name], 2, "usage", &[name, "must end in .html or .svg"]);
        // Nothing is read before: there is no such file.
        refused_in(&bench, &["fit", "no.npy", "--report", name], 2, "usage", &["--report", name, "must end in .html"]);
        let path = ["path", "no.npy", "--prototypes", "3,6", "--report", name];
        refused_in(&bench, &path, 2, "usage", &["--report", name, "must end in .html"]);
        refused_in(&bench, &["demo", "-o", name], 2, "usage", &[name, "must end in .html"]);
    }
    refused_in(&bench, &["fit", "no.npy", "--report", "map.svg"], 2, "usage", &["must end in .html"]);
    bench.json(&["report", "m.gromap", "-o", "map.HTM"]);
    bench.json(&["report", "m.gromap", "-o", "/dev/null"]);
    assert!(bench.text("map.HTM").starts_with("<!doctype html>"));
}

#[test]
fn two_outputs_that_are_one_file_are_refused_before_anything_is_read() {
    let bench = bench();
    let same = ["two outputs are the same file"];
    let fit = |output: &str, report: &str| {
        let arguments = ["fit", "no.npy", "-o", output, "--report", report, "--force"];
        refused_in(&bench, &arguments, 2, "usage", &same);
    };
    bench.write("b.html", "mine");
    std::fs::hard_link(bench.path("b.html"), bench.path("hard-6")).expect("a link");
    fit("hard-6", bench.path("b.html").to_str().expect("a path"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("b.html", bench.path("link")).expect("a link");
        std::os::unix::fs::symlink("a.html", bench.path("dangling")).expect("a link");
        fit("link", "./b.html");
        fit("dangling", "a.html");
    }
    let path = ["path", "no.npy", "--prototypes", "3,6", "-o", "hard-{n}", "--report", "./b.html", "--force"];
    refused_in(&bench, &path, 2, "usage", &same);
    assert_eq!(bench.text("b.html"), "mine");
    assert!(!bench.files().contains(&"a.html".to_owned()));
}

#[test]
fn a_model_is_not_named_like_something_else() {
    let bench = bench();
    for (name, way_out) in [
        ("map.html", "--report FILE.html"),
        ("map.SVG", "gromap report"),
        ("out.csv", "gromap transform"),
        ("out.npy", "gromap transform"),
        ("out.json", "--json prints"),
    ] {
        // Nothing is read before: there is no such file.
        refused_in(&bench, &["fit", "no.npy", "-o", name, "--force"], 2, "usage", &[name, "FILE.gromap", way_out]);
        let path = ["path", "no.npy", "--prototypes", "3,6", "-o", &format!("{{n}}-{name}")];
        refused_in(&bench, &path, 2, "usage", &[name, "FILE.gromap", way_out]);
    }
    assert_eq!(bench.files(), ["x.csv", "x.npy"]);
}

#[test]
fn no_output_replaces_what_is_read() {
    let bench = bench();
    bench.json(&[&["fit", "x.npy", "-o", "m.gromap"], &QUICK[..]].concat());
    bench.write("labels.csv", "a\n".repeat(SAMPLES));
    bench.write("options.csv", "seed = 1\n");
    std::fs::copy(bench.path("x.npy"), bench.path("t-images-idx3-ubyte")).expect("a copy");
    bench.write("t-labels-idx1-ubyte", "beside");
    bench.write("pictures/a/1.png", "a picture");
    for (name, link) in [
        ("x.csv", "hard.csv"),
        ("m.gromap", "model.csv"),
        ("m.gromap", "model.html"),
        ("m.gromap", "level-6"),
        ("pictures/a/1.png", "1.csv"),
        ("t-labels-idx1-ubyte", "idx.csv"),
    ] {
        std::fs::hard_link(bench.path(name), bench.path(link)).expect("a link");
    }
    let before: Vec<Vec<u8>> =
        bench.files().iter().filter(|name| *name != "pictures").map(|name| bench.read(name)).collect();
    let kept = |arguments: &[&str]| {
        // With --force and without, the answer is the same, and does not advise --force.
        for force in [&[][..], &["--force"]] {
            let error =
                refused_in(&bench, &[arguments, force].concat(), 2, "usage", &["is read", "must not be replaced"]);
            assert_eq!(error["hint"], "give the output another name");
        }
    };
    kept(&["embed", "x.csv", "-o", "x.csv"]);
    kept(&["embed", "x.csv", "-o", "./x.csv"]);
    kept(&["embed", "x.csv", "-o", "hard.csv"]);
    kept(&["embed", "x.npy", "--labels", "labels.csv", "-o", "labels.csv"]);
    kept(&["embed", "x.npy", "--weights", "labels.csv", "-o", "labels.csv"]);
    kept(&["cluster", "x.npy", "--clusters", "3", "--init", "labels.csv", "-o", "labels.csv"]);
    kept(&["cluster", "x.npy", "--clusters", "3", "--config", "options.csv", "-o", "options.csv"]);
    kept(&["embed", "pictures", "-o", "1.csv"]);
    kept(&["embed", "t-images-idx3-ubyte", "-o", "idx.csv"]);
    kept(&["transform", "m.gromap", "x.csv", "-o", "x.csv"]);
    kept(&["transform", "m.gromap", "x.csv", "-o", "model.csv"]);
    kept(&["report", "m.gromap", "-o", "model.html"]);
    kept(&["fit", "m.gromap", "-o", "m.gromap"]);
    kept(&["path", "m.gromap", "--prototypes", "3,6", "-o", "level-{n}"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("x.csv", bench.path("link.csv")).expect("a link");
        kept(&["embed", "x.csv", "-o", "link.csv"]);
        kept(&["embed", "link.csv", "-o", "x.csv"]);
        std::fs::remove_file(bench.path("link.csv")).expect("a link");
        // What standard input is redirected from is read too.
        let input = std::fs::File::open(bench.path("x.csv")).expect("a file");
        let mut command =
            bench.command(&["embed", "-", "--format", "csv", "--method", "pca", "-o", "x.csv", "--force"]);
        let output = command.stdin(input).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let after: Vec<Vec<u8>> =
        bench.files().iter().filter(|name| *name != "pictures").map(|name| bench.read(name)).collect();
    assert!(before == after, "{:?}", bench.files());
    // The same data under another name are fine.
    bench.run(&["embed", "x.csv", "--method", "pca", "-o", "places.csv"]);
    assert!(bench.text("places.csv").starts_with("sample,x,y"));
}

#[test]
#[cfg(target_os = "linux")]
fn folders_that_take_no_file_are_named_before_anything_is_read() {
    refused(&["fit", "no.npy", "-o", "/proc/m.gromap"], 1, "io", &["cannot write /proc/m.gromap"]);
    refused(&["fit", "no.npy", "--report", "/proc/map.html", "--force"], 1, "io", &["cannot write /proc/map.html"]);
    let bench = bench();
    std::os::unix::fs::symlink("nowhere", bench.path("link.gromap")).expect("a link");
    refused_in(&bench, &["fit", "no.npy", "-o", "link.gromap"], 1, "io", &["link.gromap exists already", "--force"]);
    // What stands for standard output, which here is a file.
    let output = std::fs::File::create(bench.path("out")).expect("a file");
    let mut command = bench.command(&["fit", "no.npy", "-o", "/proc/self/fd/1", "--force", "--json"]);
    assert_eq!(command.stdout(output).status().expect("it starts").code(), Some(1));
    assert!(bench.text("out").contains("a link of the system to a file"), "{}", bench.text("out"));
}

#[test]
fn threads_have_a_limit() {
    for wrong in ["0", "10000", "18446744073709551616"] {
        refused(&["fit", "x.npy", "--threads", wrong], 2, "usage", &["--threads", "a whole number from 1 to"]);
    }
    let bench = bench();
    let fit = [&["fit", "x.npy", "--json"], &QUICK[..]].concat();
    let output = bench.command(&fit).env("RAYON_NUM_THREADS", "10000").output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(found["threads"].as_u64() <= Some(1024), "{}", found["threads"]);
}

/// What never ends is refused once it is longer than it may be, and what is repeated of it is short.
#[test]
fn endless_input_is_refused() {
    let bench = bench();
    let long = "9".repeat(5_000_000);
    bench.write("line.csv", format!("a,b\n1,2\n3,{long}\n"));
    bench.write("cell.csv", format!("a,b\n1,2\n3,{long}z\n"));
    bench.write("labels.csv", format!("a\nb\n{long}"));
    bench.write("header.csv", format!("a,{long}z\n1,2\n3,x\n"));
    let small = |arguments: &[&str], code: i32, kind: &str, words: &[&str]| {
        let error = refused_in(&bench, arguments, code, kind, words);
        assert!(error.to_string().len() < 1000, "{} bytes", error.to_string().len());
    };
    small(&["fit", "line.csv", "--max-memory", "16MiB"], 1, "memory", &["line.csv, line 3", "longer than 1.0 MiB"]);
    small(&["fit", "x.npy", "--labels", "labels.csv", "--max-memory", "64MiB"], 1, "memory", &["labels.csv, line 3"]);
    small(&["fit", "cell.csv"], 3, "data", &["cell.csv, line 3, column", "999…", "is not a number"]);
    small(&["fit", "header.csv"], 3, "data", &["header.csv, line 3, column", "999…", "\\\"x\\\" is not a number"]);
    bench.write("header.csv", format!("a,{long}z\n1,2\n3,4\n"));
    small(&["fit", "header.csv", "--labels", "q"], 2, "usage", &["the columns of header.csv are a, 999"]);
    #[cfg(unix)]
    {
        small(&["fit", "x.npy", "--config", "/dev/zero"], 2, "usage", &["/dev/zero: it is longer than 64.0 KiB"]);
        for format in ["csv", "npy", "edges", "mtx", "arrow"] {
            let fit = ["fit", "/dev/zero", "--format", format, "--max-memory", "16MiB"];
            small(&fit, 1, "memory", &["/dev/zero needs"]);
        }
        small(&["fit", "x.npy", "--labels", "/dev/zero"], 2, "usage", &["neither a column nor a file"]);
        small(&["transform", "/dev/zero", "x.npy", "--max-memory", "16MiB"], 1, "memory", &["/dev/zero needs"]);
        let score = ["score", "/dev/zero", "--labels", "/dev/zero", "--max-memory", "16MiB"];
        small(&score, 1, "memory", &["/dev/zero needs"]);
    }
}

/// Whatever a file says, what is printed does nothing to a terminal but appear there.
#[test]
fn no_input_reaches_a_terminal_as_more_than_letters() {
    let bench = bench();
    let evil = ["\u{1b}[31mant", "bee\u{1b}]0;owned\u{7}", "cat\u{202e}tac\u{9b}2J"];
    let names = ["ant", "bee", "cat"];
    let text = names.iter().zip(evil).fold(csv(","), |text, (name, evil)| text.replace(name, evil));
    bench.write("x.csv", text.replacen("a,b,c,d,kind", "a\u{1b}[2J,b,c,d,kind", 1));
    let is_plain = |bytes: &[u8], what: &str| {
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let acts = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(acts), "{what}: {text:?}");
        text
    };
    let quick = [&["fit", "x.csv", "--labels", "kind", "-o", "m.gromap", "--force"], &QUICK[..]].concat();
    let output = bench.run(&quick);
    assert!(is_plain(&output.stdout, "a table").contains("\\u001b[31mant"));
    is_plain(&output.stderr, "warnings");
    // JSON has the same values, written another way.
    let output = bench.run(&with(&quick, &["--json"]));
    let found: serde_json::Value = serde_json::from_str(&is_plain(&output.stdout, "JSON")).expect("JSON");
    let majorities = found["prototypes"].as_array().expect("a list").iter().map(|line| &line["majority"]);
    assert!(majorities.clone().all(|majority| evil.iter().any(|evil| majority == evil)), "{found}");
    let name = "\u{1b}[2Jx.npy";
    bench.write(name, "no array");
    for arguments in [
        &["fit", name][..],
        &["fit", "x.csv", "--labels", "k\u{1b}[31mnd"],
        &["fit", "x.csv", "--labels", "kind", "--weights", "kind"],
        &["fit", "x.csv", "--method", "\u{1b}[31m\u{202e}"],
        &["fit", "x.csv", "--init", "\u{1b}[31m"],
        &["transform", "m.gromap", name],
        &["fit", "x.csv", "--print-config", "--labels", "\u{1b}[31m"],
    ] {
        for json in [&[][..], &["--json"]] {
            let output = bench.run(&[arguments, json].concat());
            is_plain(&output.stdout, &format!("{arguments:?}"));
            is_plain(&output.stderr, &format!("{arguments:?}"));
        }
    }
}

#[test]
fn three_is_bad_data() {
    let bench = bench();
    let bad = |name: &str, bytes: &[u8], words: &[&str]| {
        bench.write(name, bytes);
        refused_in(&bench, &["fit", name], 3, "data", words);
    };
    bad("short.npy", &npy_f64()[..300], &["claims 2880 bytes of values"]);
    bad("text.npy", b"hello, this is text", &["not an array of numpy"]);
    bad("ragged.csv", b"a,b\n1,2\n3\n", &["line 3: 1 cells, but there are 2 columns"]);
    bad("hole.csv", b"a,b\n1,2\n3,\n", &["line 3, column", "missing"]);
    bad("empty.csv", b"", &["empty.csv is empty"]);
    bad("equal.csv", b"a,b\n1,2\n", &["size of the samples"]);
    bad("x.npz", b"PK, but no archive", &["no archive of arrays"]);
    bad("x.parquet", b"PAR1 and then nothing", &["x.parquet"]);
    bad("x.arrow", b"ARROW1 and then nothing", &["x.arrow"]);
    let nan = npy("<f8", "(3, 1)", [1.0, f64::NAN, 2.0].into_iter().flat_map(f64::to_le_bytes));
    bad("nan.npy", &nan, &["samples[1, 0] is NaN"]);
    bench.write("w.txt", "-1\n".repeat(SAMPLES));
    refused_in(&bench, &["fit", "x.npy", "--weights", "w.txt"], 3, "data", &["sample_weights[0] is -1"]);
    bench.write("few.txt", "a\nb\n");
    refused_in(&bench, &["fit", "x.npy", "--labels", "few.txt"], 3, "data", &["2 labels, but 90 samples"]);
}

#[test]
fn damaged_models_are_bad_data_too() {
    let bench = bench();
    bench.json(&[&["fit", "x.npy", "-o", "m.gromap"], &QUICK[..]].concat());
    let mut bytes = bench.read("m.gromap");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bench.write("m.gromap", &bytes);
    refused_in(&bench, &["info", "m.gromap"], 3, "data", &["m.gromap", "damaged"]);
    bench.write("m.gromap", &bytes[..middle]);
    refused_in(&bench, &["transform", "m.gromap", "x.npy"], 3, "data", &["damaged"]);
    refused_in(&bench, &["score", "m.gromap", "--labels", "x.csv"], 3, "data", &[]);
}

#[test]
fn four_is_a_strict_stop_before_convergence() {
    let bench = bench();
    let fit = [&["fit", "x.npy", "--max-rounds", "0", "-o", "m.gromap"], &QUICK[..]].concat();
    let strict = bench.json_with_code(&with(&fit, &["--strict"]), 4);
    assert_eq!(strict["stop_reason"], "max_rounds");
    // It is a result all the same.
    assert_eq!(bench.json(&["info", "m.gromap"])["loss"], strict["loss"]);
    bench.json(&with(&fit, &["--force"]));
}

/// Five gigabytes of kernel matrix: the head of the file is enough to refuse it, so the file has nothing but a head, and zeros
/// that take no room on disk.
#[test]
fn a_plan_beyond_the_limit_is_refused_before_anything_is_allocated() {
    let bench = bench();
    let path = bench.write("wide.npy", npy("<f8", "(25000, 10)", []));
    let file = std::fs::File::options().write(true).open(&path).expect("a file");
    file.set_len(std::fs::metadata(&path).expect("a file").len() + 25_000 * 10 * 8).expect("a file with a hole");
    let fit = ["fit", "wide.npy", "--method", "kernel-pca", "--max-memory", "1GiB"];
    let error = refused_in(&bench, &fit, 1, "memory", &["GiB of memory, and the limit is 1.0 GiB", "kernel matrix"]);
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.starts_with("--method fuzzy-tsne needs") && hint.contains("raise --max-memory to "), "{hint}");
    // What the hint says is true.
    let raised = hint.rsplit(' ').next().expect("a size").to_owned();
    let plan = |more: &[&str]| bench.json(&[&["fit", "wide.npy", "--dry-run"], more].concat());
    assert_eq!(plan(&["--method", "kernel-pca", "--max-memory", &raised])["memory"]["fits"], true);
    assert_eq!(plan(&["--method", "fuzzy-tsne", "--max-memory", "1GiB"])["memory"]["fits"], true);
    let refused = plan(&["--method", "kernel-pca", "--max-memory", "1GiB"]);
    assert_eq!(refused["memory"]["fits"], false);
    assert!(refused["memory"]["peak_bytes"].as_u64() > Some(5_000_000_000), "{refused}");
    // A claim beyond the limit is refused as it stands in the header.
    refused_in(&bench, &["fit", "wide.npy", "--max-memory", "1MiB"], 1, "memory", &["1.0 MiB"]);
}

/// A fit with so many starts that no machine comes to their end, once it has told of its first round: then there is a state
/// worth keeping.
#[cfg(unix)]
fn endless(bench: &Bench) -> std::process::Child {
    let starts = ["--n-init", "100000000", "--init", "random", "-v", "-o", "m.gromap", "--force"];
    let arguments = [&["fit", "x.npy"], &QUICK[..], &starts].concat();
    let (piped, null) = (std::process::Stdio::piped(), std::process::Stdio::null());
    let mut child = bench.command(&arguments).stderr(piped).stdout(null).spawn().expect("it starts");
    let mut log = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with("round ") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut log, &mut line).expect("text") > 0, "it ended before its first round");
    }
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    child
}

/// Ctrl-C, SIGTERM, SIGHUP: the best model so far is written, and the code says so.
#[test]
#[cfg(unix)]
fn one_hundred_and_twenty_eight_and_more_are_signals() {
    let bench = bench();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        if signal == "HUP" && ignores_hangups() {
            continue;
        }
        let mut child = endless(&bench);
        send(signal, &child);
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "{signal}");
        assert_eq!(bench.json(&["info", "m.gromap"])["n_samples"], SAMPLES);
        std::fs::remove_file(bench.path("m.gromap")).expect("a model");
    }
    assert_eq!(bench.files(), ["x.csv", "x.npy"]);
}

/// Where there is nothing to keep, the first signal ends the program, even if it waits for input that does not come.
#[test]
#[cfg(unix)]
fn a_signal_ends_reading() {
    let bench = bench();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut command = bench.command(&["fit", "-", "--format", "csv", "-o", "m.gromap", "--json"]);
        let (piped, out) = (std::process::Stdio::piped(), std::process::Stdio::piped());
        let mut child = command.stdin(piped).stdout(out).spawn().expect("it starts");
        // It listens before it reads, and has read as soon as it takes more than a pipe holds.
        let mut input = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, "1,2\n".repeat(100_000).as_bytes()).expect("it reads");
        send(signal, &child);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(found["error"]["kind"], "interrupted", "{found}");
        drop(input);
    }
    assert_eq!(bench.files(), ["x.csv", "x.npy"]);
}

/// Under nohup a program outlives its terminal.
#[test]
#[cfg(target_os = "linux")]
fn hangups_stay_ignored() {
    let bench = bench();
    let arguments = ["fit", "-", "--format", "csv", "--quiet", "--method", "pca", "--prototypes", "2"];
    let ignoring = "trap '' HUP; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", ignoring, env!("CARGO_BIN_EXE_gromap")]).args(arguments).current_dir(bench.path("."));
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let text: String = (0..8000).map(|i| format!("{}.25,{}.5\n", (i * 37) % 1009, (i * 101) % 997)).collect();
    std::io::Write::write_all(&mut input, text.as_bytes()).expect("it reads");
    send("HUP", &child);
    drop(input);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
