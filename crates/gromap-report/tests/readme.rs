//! The README's snippet is the body of the test below, line by line, and so is known to run.

use std::error::Error;

#[test]
#[rustfmt::skip] // as the README has it
fn the_snippet_of_the_readme_runs() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("gromap-readme-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    std::env::set_current_dir(&folder)?;

    use gromap::{GromovDr, Matrix};
    use gromap_report::{Column, Report};

    let samples = Matrix::from_fn(60, 2, |i, j| ((i * (j + 3)) % 17) as f64 + 40.0 * (i % 3) as f64);
    let model = GromovDr::builder().prototypes(6).perplexity(5.0).fit(&samples)?;
    let report = Report::new(&model)                      // or Report::of_path(&path), with the slider
        .title("Three groups")
        .samples(&samples)                                // orders the members of a prototype; not shown
        .classes(vec!["a".into(), "b".into(), "c".into()], (0..60).map(|i| i % 3).collect())
        .column("height", Column::Numbers((0..60).map(f64::from).collect()));
    std::fs::write("map.html", report.html()?)?;
    std::fs::write("map.svg", report.svg()?)?;

    assert!(std::fs::metadata("map.html")?.len() > 100_000 && std::fs::metadata("map.svg")?.len() > 500);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

#[test]
fn it_is_the_snippet_of_the_readme() {
    let blocks = include_str!("../../../README.md").split("```rust\n").skip(1);
    let block = blocks.filter_map(|block| block.split("```").next()).find(|block| block.contains("gromap_report"));
    let (block, test) = (block.unwrap_or("no snippet of gromap_report"), include_str!("readme.rs"));
    for line in block.lines() {
        assert!(test.lines().any(|ours| ours.trim_start() == line.trim_start()), "the README says {line:?}");
    }
}
