//! Tables as people have them: text, dates, gaps, ids and other delimiters, from one command to a map.

mod common;

use common::*;
use serde_json::Value;

const FIT: [&str; 5] = ["fit", "sales.csv", "-o", "m.gromap", "--force"];

/// A table with every difficulty: semicolons, decimal commas, a running number, ids, dates, words of few and of many values,
/// gaps, a constant, a comment. Two groups of customers differ in city, revenue and what they write.
fn sales() -> String {
    let mut text = String::from("nr;customer_id;since;city;revenue;visits;segment;comment\n");
    for i in 0..80 {
        let big = i % 2 == 0;
        let city = if i == 7 { "" } else { ["Oslo", "Rome"][i % 2] };
        let revenue = if big { 5000.0 } else { 40.0 } + ((i * 37) % 23) as f64 / 4.0;
        let visits = if i == 11 { "NA".to_owned() } else { (1 + (i * 7) % 5).to_string() };
        let comment = if big { format!("late delivery again {i}") } else { format!("lovely colour {i}") };
        let (customer, day, segment) = (9000 + (i * 13) % 80, 1 + i % 28, ["a", "b", "c"][i % 3]);
        let revenue = format!("{revenue:.2}").replace('.', ",");
        text += &format!("{};{customer};{day:02}.03.2024;{city};{revenue};{visits};{segment};{comment}\n", i + 1);
    }
    text
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("sales.csv", sales());
    bench
}

fn fit(bench: &Bench, more: &[&str]) -> Value {
    bench.json(&[&FIT[..], &QUICK[..], more].concat())
}

fn warnings(found: &Value) -> String {
    found["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

fn says(text: &str, words: &[&str]) {
    words.iter().for_each(|word| assert!(text.contains(word), "it does not say {word}:\n{text}"));
}

#[test]
fn a_mixed_table_becomes_a_map_in_one_line() {
    let bench = bench();
    let found = fit(&bench, &["--missing", "median", "--text", "comment", "--report", "map.html"]);
    // since, two cities, revenue, visits, three segments.
    assert_eq!((&found["n_samples"], &found["n_features"]), (&80.into(), &8.into()), "{found}");
    let said = warnings(&found);
    says(&said, &["column nr holds ids", "column customer_id holds ids", "revenue: commas are read as decimal commas"]);
    says(
        &said,
        &["city (2 values), segment (3 values)", "dates are features, in days: since", "scaled to the same variance"],
    );
    let page = page_data(&bench.text("map.html"));
    assert_eq!(page["features"][1], "city=Oslo");
    assert_eq!(page["ids"][79], "80");
    let names = page["levels"][0]["names"].as_array().expect("names");
    assert!(
        names.iter().all(|name| {
            let name = name.as_str().unwrap_or_default();
            name.contains("delivery") != name.contains("colour")
        }),
        "{names:?}"
    );
    // The same from the model alone.
    bench.json(&["report", "m.gromap", "-o", "again.html"]);
    let again = page_data(&bench.text("again.html"));
    assert_eq!((&again["ids"], &again["levels"][0]["names"]), (&page["ids"], &page["levels"][0]["names"]));
}

#[test]
fn new_tables_are_read_as_the_model_was_fitted() {
    let bench = bench();
    fit(&bench, &["--missing", "median"]);
    let expected = bench.json(&["transform", "m.gromap", "sales.csv"]);
    // Other order, commas for semicolons, points for decimal commas, one more column.
    let mut reordered = String::from("city,extra,comment,visits,revenue,since,segment\n");
    for line in sales().lines().skip(1) {
        let cells: Vec<&str> = line.split(';').collect();
        let revenue = cells[4].replace(',', ".");
        reordered += &format!("{},7,,{},{revenue},{},{}\n", cells[3], cells[5], cells[2], cells[6]);
    }
    bench.write("new.csv", &reordered);
    let found = bench.json(&["transform", "m.gromap", "new.csv"]);
    assert_eq!((&found["labels"], &found["coordinates"]), (&expected["labels"], &expected["coordinates"]));
    bench.write("new.csv", reordered.replace("visits,revenue", "visits,money"));
    let error = bench.error(&["transform", "m.gromap", "new.csv"], 3);
    says(&error["message"].to_string(), &["new.csv: ", "the column", "revenue"]);
    bench.write("new.csv", reordered.replace("Rome", "Lima"));
    says(
        &warnings(&bench.json(&["transform", "m.gromap", "new.csv"])),
        &["column city: ", "not seen in fitting (Lima)"],
    );
}

#[test]
fn each_refusal_names_the_way_out() {
    let bench = bench();
    let refused = |table: &str, more: &[&str], code: i32, words: &[&str]| {
        bench.write("sales.csv", table);
        let error = bench.error(&[&FIT[..], &QUICK[..], more].concat(), code);
        let message = format!("{} {}", error["message"], error["hint"]).replace("\\\"", "\"");
        says(&message, words);
    };
    let sales = sales();
    refused(
        &sales,
        &[],
        3,
        &["line 9, column \"city\": the value is missing", "--missing median", "--missing drop", "--exclude city"],
    );
    refused(
        &sales,
        &["--exclude", "town"],
        2,
        &["--exclude town: there is no column", "the columns are nr, customer_id"],
    );
    refused(&sales, &["--columns", "city", "--exclude", "city"], 2, &["asked for and left out"]);
    refused(&sales, &["--missing", "median", "--text", "remark"], 2, &["--text remark", "no text column", "comment"]);
    refused(&sales, &["--missing", "none"], 2, &["none"]);
    let unclear: String = (0..40).map(|i| format!("{};1,{}\n", i % 7, 200 + i)).collect();
    refused(&format!("a;b\n{unclear}"), &[], 3, &["column \"b\": \"1,200\" may have a decimal comma", "--exclude b"]);
    let dates: String = (0..40).map(|i| format!("{},{}/{}/2024\n", i % 7, 1 + i % 9, 1 + i % 12)).collect();
    refused(&format!("a,when\n{dates}"), &[], 3, &["may begin with the day or with the month", "2024-03-05"]);
    let mixed: String = (0..40).map(|i| format!("{i},{}\n", if i == 20 { "x" } else { "3" })).collect();
    refused(&format!("a,b\n{mixed}"), &[], 3, &["line 22, column \"b\": \"x\" is not a number", "--exclude b"]);
    let notes: String = (0..40).map(|i| format!("note number {i}\n")).collect();
    refused(&format!("note\n{notes}"), &[], 3, &["no column is left as a feature", "40 different values"]);
    bench.write("x.npy", npy_f64());
    let error = bench.error(&["fit", "x.npy", "--missing", "mean"], 2);
    says(&error["message"].to_string(), &["--missing has no effect: x.npy is not a table"]);
}

#[test]
fn rows_with_gaps_may_be_left_out_everywhere() {
    let bench = bench();
    let labels: String = (0..80).map(|i| format!("{}\n", ["x", "y"][i % 2])).collect();
    bench.write("labels.txt", labels);
    let found = fit(&bench, &["--missing", "drop", "--labels", "labels.txt", "--exclude", "nr,customer_id"]);
    assert_eq!(found["n_samples"], 78);
    assert_eq!(found["metrics"]["homogeneity"], 1.0);
    says(&warnings(&found), &["2 of 80 rows have missing values and are left out"]);
    bench.run(&["transform", "m.gromap", "sales.csv", "-o", "placed.csv"]);
    let placed = bench.text("placed.csv");
    let names: Vec<&str> = placed.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!((names.len(), names[6], names[7], names[9], names[10]), (78, "6", "8", "10", "12"));
    bench.json(&["report", "m.gromap", "--data", "sales.csv", "-o", "map.html"]);
}

#[test]
fn columns_are_chosen_and_shown() {
    let bench = bench();
    let found = fit(&bench, &["--columns", "revenue,nr", "--id", "customer_id", "--report", "map.html"]);
    assert_eq!(found["n_features"], 2);
    let page = page_data(&bench.text("map.html"));
    assert_eq!((&page["features"], &page["ids"][0]), (&serde_json::json!(["nr", "revenue"]), &"9000".into()));
    let shown = fit(&bench, &["--missing", "mean", "--categorical", "show"]);
    assert_eq!(shown["n_features"], 3);
    says(&warnings(&shown), &["not used as features: city, segment"]);
}

#[test]
fn one_column_with_all_the_variance_is_said() {
    let bench = Bench::new();
    let rows: String = (0..60).map(|i| format!("{},{}\n", (i * 7919) % 100_003, (i * 31) % 7)).collect();
    bench.write("sales.csv", format!("big,small\n{rows}"));
    says(&warnings(&fit(&bench, &[])), &["column big has 99.9% of the variance", "--scale standard"]);
    assert!(warnings(&fit(&bench, &["--scale", "standard"])).is_empty());
}

#[test]
fn a_table_of_edges_is_a_graph() {
    let bench = Bench::new();
    let mut table = String::from("source;target;weight\n");
    for i in 0..40 {
        let group = i / 20 * 20;
        table += &format!("New {i};New {};2\nNew {i};New {};1\n", group + (i + 1) % 20, group + (i * 3 + 2) % 20);
    }
    bench.write("sales.csv", &table);
    let found = bench.json(&["cluster", "sales.csv", "--clusters", "2"]);
    assert_eq!((&found["n_samples"], &found["n_features"]), (&40.into(), &Value::Null));
    let labels = found["labels"].as_array().expect("labels");
    assert!((0..40).all(|i| (labels[i] == labels[0]) == (i < 20)), "{labels:?}");
}

#[test]
fn groups_are_described() {
    let bench = bench();
    fit(&bench, &["--missing", "median"]);
    let found = bench.json(&["describe", "m.gromap", "--data", "sales.csv", "--text", "comment", "-o", "groups.csv"]);
    let groups = found["groups"].as_array().expect("groups");
    let members: u64 = groups.iter().filter_map(|group| group["members"].as_u64()).sum();
    assert_eq!((groups.len(), members), (6, 80));
    for group in groups {
        let is_late = group["name"].as_str().expect("a name").contains("delivery");
        let city = group["features"].as_array().expect("features").iter().find(|f| f["feature"] == "city=Oslo");
        if let Some(city) = city {
            assert_eq!(city["against_rest"].as_f64().expect("a number") > 0.0, is_late, "{group}");
        }
    }
    let table = bench.text("groups.csv");
    assert!(
        table.starts_with("prototype,name,weight,members,typical,feature_1,mean_1,against_rest_1,against_neighbors_1,")
    );
    assert_eq!(table.lines().count(), 7);
    let printed = bench.printed(&["describe", "m.gromap"]);
    says(&printed, &["| prototype | name |", "against neighbours"]);
    let error = bench.error(&["describe", "m.gromap", "--text", "comment"], 2);
    says(&error["message"].to_string(), &["give --data"]);
    says(&bench.error(&["describe", "m.gromap", "-o", "x.png"], 2)["message"].to_string(), &[".csv, .tsv or .md"]);
}

/// Groups are counted in the table as it would be fitted: with columns on their own scales, the largest would hide the others.
#[test]
fn groups_of_a_table_are_counted_as_it_is_fitted() {
    let bench = bench();
    let suggest = |more: &[&str]| {
        bench.json(
            &[&["suggest", "sales.csv", "--missing", "median", "--text", "comment", "--perplexity", "8"], more]
                .concat(),
        )
    };
    let (own, scaled, plain) = (suggest(&[]), suggest(&["--scale", "standard"]), suggest(&["--scale", "none"]));
    assert_eq!(own["link"], scaled["link"]);
    assert_ne!(own["link"], plain["link"]);
}
