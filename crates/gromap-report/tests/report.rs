//! What a report holds, and what it refuses: the payload is taken out of the page and read back.

#![allow(clippy::unwrap_used)] // a test that unwraps fails with the line that failed

use std::io::Read;

use gromap::options::Level;
use gromap::{GromovDr, Matrix, Model, Path, Plan, SampleWeights};
use gromap_report::{Classes, Column, Error, Images, Report};
use serde_json::Value;

const SAMPLES: usize = 60;

/// Three groups of twenty, far apart.
fn samples() -> Matrix<'static> {
    Matrix::from_fn(SAMPLES, 4, |i, j| ((i * (j + 3)) % 17) as f64 + 60.0 * (i % 3) as f64)
}

fn model() -> Model {
    GromovDr::builder().prototypes(6).perplexity(5.0).fit(samples()).unwrap()
}

fn path() -> Path {
    GromovDr::builder().perplexity(5.0).path(samples(), &[3, 6, 12], Level::Warm).unwrap()
}

fn names() -> Vec<String> {
    ["first", "second", "third"].map(String::from).to_vec()
}

fn classes() -> Vec<u32> {
    (0..SAMPLES as u32).map(|i| i % 3).collect()
}

/// Pictures of 2×3 pixels in colour, one brightness for each sample.
fn pictures() -> Images {
    let pixels = (0..SAMPLES).flat_map(|i| [i as u8 * 4; 2 * 3 * 3]).collect();
    Images { width: 2, height: 3, channels: 3, pixels }
}

/// The payload of a page.
struct Payload {
    header: Value,
    arrays: Vec<u8>,
}

impl Payload {
    fn of(html: &str) -> Self {
        let start = html.find("octet-stream\">").unwrap() + "octet-stream\">".len();
        let text = &html[start..start + html[start..].find('<').unwrap()];
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&decoded(text)[..]).read_to_end(&mut bytes).unwrap();
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        assert_eq!((length + 4) % 8, 0);
        let header = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        Self { header, arrays: bytes[4 + length..].to_vec() }
    }

    fn bytes(&self, array: &Value, size: usize) -> &[u8] {
        let number = |key: &str| array[key].as_u64().unwrap() as usize;
        assert_eq!(number("at") % 8, 0);
        &self.arrays[number("at")..number("at") + number("length") * size]
    }

    fn u32s(&self, array: &Value) -> Vec<u32> {
        assert_eq!(array["type"], "u32");
        self.bytes(array, 4).as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    fn u16s(&self, array: &Value) -> Vec<u16> {
        assert_eq!(array["type"], "u16");
        self.bytes(array, 2).as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect()
    }

    fn f32s(&self, array: &Value) -> Vec<f32> {
        assert_eq!(array["type"], "f32");
        self.bytes(array, 4).as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    fn f64s(&self, array: &Value) -> Vec<f64> {
        assert_eq!(array["type"], "f64");
        self.bytes(array, 8).as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }
}

/// Base64, slowly.
fn decoded(text: &str) -> Vec<u8> {
    let value = |c: char| match c {
        'A'..='Z' => c as u32 - 65,
        'a'..='z' => c as u32 - 71,
        '0'..='9' => c as u32 + 4,
        '+' => 62,
        '/' => 63,
        other => panic!("{other} is not base64"),
    };
    let bits: Vec<u32> = text.trim_end_matches('=').chars().map(value).collect();
    let all: Vec<u8> = bits.iter().flat_map(|v| (0..6).rev().map(move |bit| (v >> bit & 1) as u8)).collect();
    all.as_chunks::<8>().0.iter().map(|byte| byte.iter().fold(0, |sum, bit| sum << 1 | bit)).collect()
}

#[test]
fn the_page_holds_the_model() {
    let model = model();
    let payload = Payload::of(&Report::new(&model).title("Groups").html().unwrap());
    assert_eq!(payload.header["title"], "Groups");
    assert_eq!(payload.header["samples"], SAMPLES);
    let level = &payload.header["levels"][0];
    assert_eq!(payload.f64s(&level["places"]), model.prototypes.values());
    assert_eq!(payload.f64s(&level["weights"]), model.weights);
    assert_eq!(payload.f64s(&level["history"]), model.outcome.history);
    let (offsets, members) = (payload.u32s(&level["offsets"]), payload.u32s(&level["members"]));
    let labels = model.plan.labels();
    for k in 0..6 {
        let members = &members[offsets[k] as usize..offsets[k + 1] as usize];
        assert!(members.iter().all(|&i| labels[i as usize] as usize == k));
    }
    assert_eq!(members.len(), SAMPLES);
}

#[test]
fn the_page_holds_links_and_facts() {
    let mut model = model();
    model.links = vec![(0, 2, 0.25), (1, 5, 0.125)];
    let payload = Payload::of(&Report::new(&model).fact("coreset", "60 of 6,000").html().unwrap());
    let links = &payload.header["levels"][0]["links"];
    assert_eq!((payload.u32s(&links["from"]), payload.u32s(&links["to"])), (vec![0, 1], vec![2, 5]));
    assert_eq!(payload.f32s(&links["share"]), [0.25, 0.125]);
    assert_eq!(payload.header["graph"], false);
    let facts = payload.header["facts"].as_array().unwrap();
    assert_eq!(*facts, [serde_json::json!(["coreset", "60 of 6,000"])]);
    // Those of prototypes that are not there are left out.
    model.links.push((1, 6, 0.1));
    let payload = Payload::of(&Report::new(&model).html().unwrap());
    assert!(payload.header["levels"][0]["links"].is_null());
}

#[test]
fn the_picture_of_a_graph_has_its_edges() {
    let ring =
        Matrix::from_fn(SAMPLES, SAMPLES, |i, j| f64::from(u8::from((i + 1) % SAMPLES == j || (j + 1) % SAMPLES == i)));
    let graph = gromap::similarity::graph_of_pairs(&ring).unwrap();
    let model = GromovDr::builder().prototypes(6).fit(gromap::Data::Graph(&graph)).unwrap();
    assert!(!model.links.is_empty());
    let svg = Report::new(&model).svg().unwrap();
    assert_eq!(svg.matches("<line").count(), model.links.len() + 1, "every link, and one in the legend");
    assert!(svg.contains("of all edges"));
    assert!(!Report::new(&self::model()).svg().unwrap().contains("<line"));
}

#[test]
fn members_come_nearest_to_the_mean_first() {
    let (model, samples) = (model(), samples());
    let payload = Payload::of(&Report::new(&model).samples(&samples).html().unwrap());
    let level = &payload.header["levels"][0];
    assert_eq!(level["ordered"], true);
    let (offsets, members) = (payload.u32s(&level["offsets"]), payload.u32s(&level["members"]));
    let features = model.features.as_ref().unwrap();
    for k in 0..6 {
        let distance = |i: &u32| {
            let gaps = samples.row(*i as usize).iter().zip(features.row(k)).map(|(x, y)| (x - y).powi(2));
            gaps.sum::<f64>()
        };
        let found: Vec<f64> = members[offsets[k] as usize..offsets[k + 1] as usize].iter().map(distance).collect();
        assert!(found.is_sorted_by(|a, b| *a <= b + 1e-3), "{found:?}");
        assert!(found[0] < found[found.len() - 1]);
    }
    assert!(level["silhouette"].as_f64().unwrap() > 0.2);
}

#[test]
fn classes_bring_shares_and_scores() {
    let model = model();
    let payload =
        Payload::of(&Report::new(&model).classes(Classes { names: names(), of_samples: classes() }).html().unwrap());
    let level = &payload.header["levels"][0];
    // The groups are far apart: every prototype holds one class.
    assert_eq!(payload.u32s(&level["classes"]["offsets"]), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(level["homogeneity"], 1.0);
    assert!(level["silhouette"].as_f64().unwrap() > 0.5);
    assert_eq!(payload.header["classes"]["names"][2], "third");
}

#[test]
fn a_path_brings_its_levels_and_their_lineage() {
    let path = path();
    let payload = Payload::of(&Report::of_path(&path).images(pictures()).html().unwrap());
    let sizes: Vec<&Value> = (0..3).map(|level| &payload.header["levels"][level]["prototypes"]).collect();
    assert_eq!(sizes, [3, 6, 12]);
    let links = payload.header["lineage"].as_array().unwrap();
    assert_eq!(links.len(), 2);
    assert_eq!(payload.u32s(&links[1]["to"]), path.lineage[1].iter().map(|link| link.1).collect::<Vec<_>>());
    assert_eq!(payload.header["pictures"]["meanHeight"], 3);
    let means = payload.bytes(&payload.header["levels"][0]["means"], 1);
    assert_eq!(means.len(), 3 * 2 * 3 * 3);
}

/// 200,000 pictures of 64 bytes are more than a file has room for.
#[test]
fn where_pictures_do_not_fit_the_most_typical_members_keep_theirs() {
    let samples = 200_000;
    let labels: Vec<u32> = (0..samples as u32).map(|i| i % 6).collect();
    let mut model = model();
    model.plan = Plan::from_labels(labels, 6, SampleWeights::uniform(samples).unwrap()).unwrap();
    let pixels = (0..samples * 64).map(|i| (i / 64 * 7919 % 251) as u8).collect();
    let images = Images { width: 8, height: 8, channels: 1, pixels };
    let payload = Payload::of(&Report::new(&model).images(images).html().unwrap());
    let pictures = &payload.header["pictures"];
    let kept = payload.u32s(&pictures["of"]);
    assert!(kept.len() < samples && kept.is_sorted());
    assert_eq!(pictures["pixels"]["length"], kept.len() * 64);
    let level = &payload.header["levels"][0];
    let (offsets, members) = (payload.u32s(&level["offsets"]), payload.u32s(&level["members"]));
    for k in 0..6 {
        let members = &members[offsets[k] as usize..offsets[k + 1] as usize];
        assert!(members[..1000].iter().all(|member| kept.binary_search(member).is_ok()));
        assert!(kept.binary_search(&members[members.len() - 1]).is_err());
    }
}

#[test]
fn soft_plans_say_how_much_of_each_member() {
    let mut model = GromovDr::builder().prototypes(4).perplexity(5.0).fit(samples()).unwrap();
    // A quarter of every sample goes to the prototype after its own, and too little to mention to the next.
    let labels = model.plan.labels();
    let shares = Matrix::from_fn(SAMPLES, 4, |i, k| {
        [0.745, 0.25, 0.005, 0.0][(k + 4 - labels[i] as usize) % 4] / SAMPLES as f64
    });
    model.plan = Plan::from_dense(&shares, SampleWeights::uniform(SAMPLES).unwrap()).unwrap();
    let payload = Payload::of(&Report::new(&model).html().unwrap());
    let level = &payload.header["levels"][0];
    assert_eq!(level["shares"]["length"], level["members"]["length"]);
    assert_eq!(level["members"]["length"], 2 * SAMPLES);
    assert_eq!(level["samplePlaces"]["at"]["length"], 2 * SAMPLES);
}

#[test]
fn every_sample_has_its_own_place() {
    let model = model();
    let payload = Payload::of(&Report::new(&model).html().unwrap());
    let found = &payload.header["levels"][0]["samplePlaces"];
    let number = |key: &str, axis: usize| found[key][axis].as_f64().unwrap();
    let steps = payload.u16s(&found["at"]);
    assert_eq!(steps.len(), 2 * SAMPLES);
    for (at, (&step, &place)) in steps.iter().zip(model.sample_places().values()).enumerate() {
        let again = number("low", at % 2) + number("step", at % 2) * f64::from(step);
        assert!((again - place).abs() <= 0.51 * number("step", at % 2), "{again} {place}");
    }
    assert!(steps.contains(&0) && steps.contains(&u16::MAX));
    // Where every sample is a prototype, their places are the samples'.
    let whole = GromovDr::builder().method(gromap::Method::Pca).every_sample().fit(samples()).unwrap();
    assert!(Payload::of(&Report::new(&whole).html().unwrap()).header["levels"][0]["samplePlaces"].is_null());
}

#[test]
fn features_come_with_the_most_telling_first() {
    let (model, samples) = (model(), samples());
    let features = model.features.as_ref().unwrap();
    let payload = Payload::of(&Report::new(&model).samples(&samples).html().unwrap());
    let telling = &payload.header["telling"];
    let (columns, explained) = (payload.u32s(&telling["columns"]), payload.f32s(&telling["explained"]));
    assert!(explained.is_sorted_by(|a, b| a >= b) && explained[0] <= 1.0, "{explained:?}");
    let means = payload.f32s(&payload.header["levels"][0]["features"]);
    for (k, row) in means.chunks_exact(4).enumerate() {
        columns.iter().zip(row).for_each(|(&j, &mean)| assert_eq!(mean, features[(k, j as usize)] as f32));
    }
    // Without samples there is nothing to compare with, and with pictures nothing to tell.
    let payload = Payload::of(&Report::new(&model).html().unwrap());
    assert_eq!(payload.u32s(&payload.header["telling"]["columns"]), [0, 1, 2, 3]);
    assert!(payload.header["telling"]["explained"].is_null());
    assert!(Payload::of(&Report::new(&model).images(pictures()).html().unwrap()).header["telling"].is_null());
}

#[test]
fn prototypes_may_have_names_and_numbers_on_every_level() {
    let path = path();
    let sizes: Vec<usize> = path.models.iter().map(|model| model.weights.len()).collect();
    let names = |tail: usize| sizes.iter().map(|&n| (0..n + tail).map(|k| format!("group {k}")).collect()).collect();
    let numbers = || sizes.iter().map(|&n| (0..n).map(|k| k as f64).collect()).collect();
    let report = Report::of_path(&path).prototype_names(names(0)).prototype_numbers("stability", numbers());
    let payload = Payload::of(&report.html().unwrap());
    let last = &payload.header["levels"][2];
    assert_eq!(last["names"][1], "group 1");
    assert_eq!(last["numbers"][0]["name"], "stability");
    assert_eq!(payload.f64s(&last["numbers"][0]["values"])[2], 2.0);
    let refused = |report: Report<'_>| report.html().unwrap_err().to_string();
    let wrong = refused(Report::of_path(&path).prototype_names(names(1)));
    assert_eq!(wrong, format!("names of prototypes on level 0: expected {}, found {}", sizes[0], sizes[0] + 1));
    let wrong = refused(Report::of_path(&path).prototype_numbers("age", vec![vec![1.0]]));
    assert_eq!(wrong, "levels of values of \"age\": expected 3, found 1");
    assert_eq!(refused(report.prototype_numbers("stability", numbers())), "two columns are named \"stability\"");
}

#[test]
fn the_same_report_is_the_same_bytes() {
    let (path, samples) = (path(), samples());
    let report = || {
        Report::of_path(&path)
            .samples(&samples)
            .classes(Classes { names: names(), of_samples: classes() })
            .images(pictures())
            .column("age", Column::Numbers((0..SAMPLES).map(|i| if i == 3 { f64::NAN } else { i as f64 }).collect()))
            .column("note", Column::Text((0..SAMPLES).map(|i| format!("note {i}")).collect()))
            .parameters(vec![("seed".into(), "0".into())])
            .data_hash("abc")
    };
    assert_eq!(report().html(), report().html());
    assert_eq!(report().svg(), report().svg());
}

/// Everything that a person could write into names, ids, columns and parameters.
#[test]
fn hostile_text_appears_nowhere_as_it_is() {
    let hostile = "</script><img src=x onerror=alert(1)>";
    let model = model();
    let report = Report::new(&model)
        .title(hostile)
        .classes(Classes { names: vec![hostile.into(); 3], of_samples: classes() })
        .ids(vec![hostile.into(); SAMPLES])
        .column(hostile, Column::Text(vec![hostile.into(); SAMPLES]))
        .feature_names(vec![hostile.into(); 4])
        .parameters(vec![(hostile.into(), hostile.into())])
        .data_hash(hostile);
    let (html, svg) = (report.html().unwrap(), report.svg().unwrap());
    assert!(!html.contains("onerror=alert(1)>") && !svg.contains("<img"));
    assert_eq!(html.matches("</script>").count(), 2);
    assert!(svg.contains("&lt;/script&gt;&lt;img"));
}

#[test]
fn the_page_names_no_other_place() {
    let model = model();
    let html = Report::new(&model).html().unwrap();
    for (at, _) in html.match_indices("http") {
        let rest = &html[at..(at + 40).min(html.len())];
        // Names of XML, which nobody fetches, and the policy.
        let allowed = ["http://www.w3.org/", "http-equiv"].iter().any(|start| rest.starts_with(start));
        assert!(allowed, "{rest}");
    }
    assert!(html.contains("default-src 'none'"));
    for fetching in ["src=", "@import", "url(", "<link"] {
        let code = html.replace("default-src ", "");
        assert!(!code.contains(fetching), "{fetching} in the page");
    }
}

#[test]
fn the_code_of_the_page_is_small() {
    let model = model();
    let html = Report::new(&model).html().unwrap();
    let data = &html[html.find("octet-stream\">").unwrap()..];
    let code = html.replace(&data[..data.find('<').unwrap()], "");
    let mut gzip = flate2::bufread::GzEncoder::new(code.as_bytes(), flate2::Compression::best());
    let mut bytes = Vec::new();
    gzip.read_to_end(&mut bytes).unwrap();
    assert!(bytes.len() < 80_000, "{} bytes", bytes.len());
}

#[test]
fn svg_draws_every_prototype() {
    let model = model();
    let plain = Report::new(&model).svg().unwrap();
    assert_eq!(plain.matches("<circle").count(), 6);
    let report = Report::new(&model).images(pictures()).classes(Classes { names: names(), of_samples: classes() });
    let pictured = report.svg().unwrap();
    assert_eq!(pictured.matches("<image").count(), 6);
    assert!(names().iter().all(|name| pictured.contains(name.as_str())));
}

#[test]
fn an_svg_names_its_prototypes_and_shows_their_features() {
    let model = model();
    let groups: Vec<String> = (0..6).map(|k| format!("<group {k}>")).collect();
    let svg = Report::new(&model).prototype_names(vec![groups]).svg().unwrap();
    assert!((0..6).all(|k| svg.contains(&format!(">&lt;group {k}&gt;</text>"))), "{svg}");
    // A class is named once in each region, and once in the legend.
    let classes = Classes { names: names(), of_samples: classes() };
    let svg = Report::new(&model).classes(classes).svg().unwrap();
    assert!(names().iter().all(|name| svg.matches(&format!(">{name}</text>")).count() >= 2));
    let features = ["a", "b", "c", "d"].map(String::from).to_vec();
    let svg = Report::new(&model).feature_names(features).svg().unwrap();
    assert_eq!((svg.matches("<path d=").count(), svg.matches("<circle").count()), (6, 0));
    assert!(svg.contains(">bars: a · b · c · d</text>"), "{svg}");
}

#[test]
fn areas_in_an_svg_are_in_proportion_to_weights() {
    let model = GromovDr::builder().prototypes(4).perplexity(5.0).fit(samples()).unwrap();
    let svg = Report::new(&model).svg().unwrap();
    let radius = |circle: &str| -> f64 { circle.split('"').next().unwrap().parse().unwrap() };
    let mut areas: Vec<f64> = svg.split(" r=\"").skip(1).map(|circle| radius(circle).powi(2)).collect();
    let mut weights = model.weights.clone();
    areas.sort_by(f64::total_cmp);
    weights.sort_by(f64::total_cmp);
    assert!(weights[0] < weights[3], "the test needs weights that differ");
    for (area, weight) in areas.iter().zip(&weights) {
        assert!((area / areas[0] - weight / weights[0]).abs() < 0.01, "{areas:?} for {weights:?}");
    }
}

#[test]
fn one_prototype_and_one_dimension_are_maps_too() {
    let one = GromovDr::builder().prototypes(1).perplexity(5.0).fit(samples()).unwrap();
    let report = Report::new(&one).classes(Classes { names: names(), of_samples: classes() });
    let svg = report.svg().unwrap();
    assert!(svg.contains("<circle") && svg.contains("1 prototype of 60 samples"));
    assert_eq!(Payload::of(&report.html().unwrap()).header["levels"][0]["silhouette"], Value::Null);
    let line = GromovDr::builder().prototypes(5).dims(1).perplexity(5.0).fit(samples()).unwrap();
    assert_eq!(Report::new(&line).svg().unwrap().matches("<circle").count(), 5);
}

#[test]
fn what_does_not_fit_is_named() {
    let model = model();
    let message = |report: Report<'_>| report.html().unwrap_err().to_string();
    let report = || Report::new(&model);
    assert_eq!(
        message(report().classes(Classes { names: names(), of_samples: vec![0; 3] })),
        "number of classes of samples: expected 60, found 3"
    );
    let mut wrong = classes();
    wrong[7] = 3;
    assert_eq!(
        report().classes(Classes { names: names(), of_samples: wrong }).html(),
        Err(Error::Class { sample: 7, class: 3, classes: 3 })
    );
    assert_eq!(
        message(report().column("age", Column::Numbers(vec![0.0; 61]))),
        "values of column \"age\": expected 60, found 61"
    );
    let twice = report().column("a", Column::Text(vec!["".into(); 60])).column("a", Column::Numbers(vec![0.0; 60]));
    assert_eq!(message(twice), "two columns are named \"a\"");
    assert_eq!(message(report().ids(Vec::new())), "number of ids: expected 60, found 0");
    let short = Images { pixels: vec![0; 5], ..pictures() };
    assert_eq!(message(report().images(short)), "bytes of 60 pictures of 2×3×3: expected 1080, found 5");
    let narrow = Matrix::<f64>::zeros(60, 3);
    assert_eq!(message(report().samples(&narrow)), "features of the samples: expected 4, found 3");
    assert_eq!(message(report().feature_names(names())), "names of features: expected 4, found 3");
    let empty = Path { models: Vec::new(), lineage: Vec::new() };
    assert_eq!(Report::of_path(&empty).svg(), Err(Error::NoLevels));
}
