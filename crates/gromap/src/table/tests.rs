use super::*;
use crate::error::Error;

fn text(name: &str, words: &[&str]) -> Column {
    Column { name: name.into(), cells: Cells::Text(words.iter().map(ToString::to_string).collect()) }
}

fn numbers(name: &str, values: &[f64]) -> Column {
    Column { name: name.into(), cells: Cells::Numbers(values.to_vec()) }
}

fn encoded(rules: &Rules, columns: &[Column]) -> (Encoding, Encoded, Vec<String>) {
    let Learnt { encoding, notes } = rules.learn(columns).unwrap();
    let encoded = encoding.apply(columns, Gaps::MayDrop, Shell::Command).unwrap();
    (encoding, encoded, notes)
}

fn refused(rules: &Rules, columns: &[Column]) -> String {
    let learnt = rules.learn(columns).and_then(|learnt| learnt.encoding.apply(columns, Gaps::MayDrop, rules.shell));
    learnt.unwrap_err().to_string()
}

fn missing(missing: Missing) -> Rules {
    Rules { missing, ..Rules::default() }
}

#[test]
fn numbers_dates_and_words_become_features() {
    let columns = [
        numbers("x", &[0.5, 2.0, 1.0, 4.0]),
        text("city", &["Rome", "Oslo", "Rome", " Oslo "]),
        text("price", &["1,5", "2", "1.000,25", "0,5"]),
        text("day", &["1970-01-02", "1970-02-01T12:00", "1969-12-31", "2000-03-01"]),
    ];
    let (encoding, table, notes) = encoded(&Rules::default(), &columns);
    assert_eq!(encoding.feature_names(), ["x", "city=Oslo", "city=Rome", "price", "day"]);
    assert_eq!(table.values.row(0), [0.5, 0.0, 1.0, 1.5, 1.0]);
    assert_eq!(table.values.row(1), [2.0, 1.0, 0.0, 2.0, 31.5]);
    assert_eq!(table.values.row(2), [1.0, 0.0, 1.0, 1000.25, -1.0]);
    assert_eq!(table.values.row(3), [4.0, 1.0, 0.0, 0.5, 11017.0]);
    assert!(encoding.is_mixed() && table.rows.is_none());
    let said = notes.join("\n");
    for words in ["price: commas", "city (2 values); --categorical show", "in days: day"] {
        assert!(said.contains(words), "{said}");
    }
    let shown = Rules { categorical: Categorical::Show, ..Rules::default() };
    let (encoding, _, notes) = encoded(&shown, &columns);
    assert_eq!(encoding.feature_names(), ["x", "price", "day"]);
    assert!(notes.join("\n").contains("not used as features: city"));
}

#[test]
fn dates_come_in_the_usual_forms() {
    let order = |words: &[&str]| dates::order(words.iter().copied());
    assert_eq!(order(&["2024-03-05", "2024/3/5", "2024.03.05", "2024-03"]), Ok(Some(DateOrder::YearFirst)));
    assert_eq!(order(&["05.03.2024", "1.2.2024"]), Ok(Some(DateOrder::DayFirst)));
    assert_eq!(order(&["5/3/2024", "13/3/2024"]), Ok(Some(DateOrder::DayFirst)));
    assert_eq!(order(&["5/3/2024", "3/13/2024 2:30 PM"]), Ok(Some(DateOrder::MonthFirst)));
    assert_eq!(order(&["5/3/2024", "3/4/2024"]), Err(()));
    assert_eq!(order(&["5 Mar 2024", "March 5, 2024", "5-Mar-2024"]), Ok(Some(DateOrder::DayFirst)));
    for words in ["2024", "1.5", "-2024-03-05", "2024-13-05", "2023-02-29", "2024-03-05-06", "12:30", "a-b-c", ""] {
        assert_eq!(order(&[words]), Ok(None), "{words}");
    }
    let at = |text: &str, order: DateOrder| dates::days(text, order).unwrap();
    // Days of `date -u -d … +%s` divided by 86,400.
    assert_eq!(at("2024-02-29", DateOrder::YearFirst), 19782.0);
    assert_eq!(at("0001-01-01", DateOrder::YearFirst), -719_162.0);
    assert_eq!(at("1900-03-01", DateOrder::YearFirst), -25508.0);
    assert_eq!(at("2024-02-29T18:00:00+06:00", DateOrder::YearFirst), 19782.5);
    assert_eq!(at("2024-02-29 06:00Z", DateOrder::YearFirst), 19782.25);
    assert_eq!(at("2/29/2024 12:00 AM", DateOrder::MonthFirst), 19782.0);
    assert_eq!(at("29 Feb 2024, 12:00:00 pm", DateOrder::DayFirst), 19782.5);
    assert_eq!(dates::days("2024-02-29 25:00", DateOrder::YearFirst), None);
    assert_eq!(dates::days("2024-02-29 10:61", DateOrder::YearFirst), None);
}

#[test]
fn gaps_are_refused_with_the_way_out_or_filled_or_left_out() {
    let columns = [
        numbers("x", &[1.0, f64::NAN, 4.0, 2.0, 1.0]),
        text("c", &["a", "b", "", "a", "b"]),
        text("note", &["", "", "", "", ""]),
    ];
    let message = refused(&Rules::default(), &columns);
    assert_eq!(
        message,
        "row 1, column \"x\": the number is missing; --missing median or --missing mean fills gaps, --missing drop leaves \
         such rows out, --exclude x the column"
    );
    let python = Rules { shell: Shell::Python, ..Rules::default() };
    assert!(refused(&python, &columns[1..2]).contains("missing=\"median\" or missing=\"mean\" fills gaps"));
    let (_, median, _) = encoded(&missing(Missing::Median), &columns);
    assert_eq!((median.values.row(1), median.values.row(2)), (&[1.5, 0.0, 1.0][..], &[4.0, 1.0, 0.0][..]));
    let (_, mean, _) = encoded(&missing(Missing::Mean), &columns);
    assert_eq!((mean.values[(1, 0)], &mean.values.row(2)[1..]), (2.0, &[0.5, 0.5][..]));
    let (encoding, dropped, _) = encoded(&missing(Missing::Drop), &columns);
    assert_eq!((dropped.rows.clone(), dropped.values.rows()), (Some(vec![0, 3, 4]), 3));
    assert_eq!(dropped.kept(vec!['a', 'b', 'c', 'd', 'e']), ['a', 'd', 'e']);
    assert_eq!(dropped.notes, ["2 of 5 rows have missing values and are left out"]);
    let all = encoding.apply(&columns, Gaps::Refuse, Shell::Python).unwrap_err().to_string();
    assert!(
        all.contains("row 1, column \"x\"") && all.contains("leave such rows out, or fit with missing=\"median\""),
        "{all}"
    );
    let nothing = [numbers("x", &[f64::NAN, f64::NAN])];
    assert!(refused(&missing(Missing::Drop), &nothing).starts_with("every row lacks a value of x"));
}

#[test]
fn new_tables_are_encoded_alike() {
    let columns = [
        numbers("x", &[1.0, 2.0, 3.0, 5.0]),
        text("c", &["a", "b", "a", "b"]),
        text("d", &["05/03/2024", "13/03/2024", "", "01/01/2024"]),
    ];
    let (encoding, table, _) = encoded(&missing(Missing::Median), &columns);
    let [x, c, d] = columns;
    let again =
        encoding.apply(&[numbers("y", &[0.0; 4]), d.clone(), c.clone(), x.clone()], Gaps::Refuse, Shell::Command);
    assert_eq!(again.unwrap().values, table.values);
    // One date alone could be read both ways, and a category may look like a number.
    let new = [text("x", &["2,5"]), text("d", &["05/03/2024"]), numbers("c", &[7.0])];
    let new = encoding.apply(&new, Gaps::Refuse, Shell::Command).unwrap();
    assert_eq!(new.values.row(0), [2.5, 0.0, 0.0, table.values[(0, 3)]]);
    assert!(new.notes[0].contains("column c: 1 row has values that were not seen in fitting (7)"), "{:?}", new.notes);
    let lost = encoding.apply(&[x, d], Gaps::Refuse, Shell::Command).unwrap_err();
    assert_eq!(lost, Error::MissingColumns { missing: vec!["c".into()] });
    let wrong = [numbers("x", &[1.0]), c, text("d", &["13/13/2024"])];
    let wrong = wrong.map(|column| match column.cells {
        Cells::Text(words) => Column { cells: Cells::Text(words[..1].to_vec()), ..column },
        _ => column,
    });
    let message = encoding.apply(&wrong, Gaps::Refuse, Shell::Command).unwrap_err().to_string();
    assert!(message.starts_with("row 0, column \"d\": \"13/13/2024\" is not a date"), "{message}");
    let json = serde_json::to_string(&encoding).unwrap();
    assert_eq!(serde_json::from_str::<Encoding>(&json).unwrap(), encoding);
}

#[test]
fn ids_are_noticed_and_said() {
    let count: Vec<f64> = (1..=12).map(f64::from).collect();
    let orders: Vec<f64> = (0..12).map(|i| f64::from((i * 7) % 12 + 100)).collect();
    let years: Vec<f64> = (0..12).map(|i| f64::from(1990 + i)).collect();
    let noise: Vec<f64> = (0..12).map(|i| f64::from((i * 5) % 7)).collect();
    let columns = [
        numbers("row", &count),
        numbers("order_id", &orders),
        numbers("year", &years),
        numbers("x", &noise),
        numbers("paid", &noise),
    ];
    let (encoding, table, notes) = encoded(&Rules::default(), &columns);
    assert_eq!(
        (encoding.feature_names(), encoding.id.as_deref()),
        (vec!["year".into(), "x".into(), "paid".into()], Some("row"))
    );
    assert_eq!(table.ids.unwrap()[11], "12");
    assert_eq!(notes[0], "column row holds ids and is not used as a feature; --columns row would use it");
    assert!(
        notes[1].starts_with("column order_id holds ids") && notes[2].starts_with("column year rises with every row")
    );
    assert_eq!(notes.len(), 3);
    let asked = Rules { columns: Some(vec!["row".into(), "x".into()]), ..Rules::default() };
    assert_eq!(encoded(&asked, &columns).0.feature_names(), ["row", "x"]);
    let named = Rules { id: Some("x".into()), exclude: vec!["year".into()], ..Rules::default() };
    let (encoding, table, _) = encoded(&named, &columns);
    assert_eq!((encoding.feature_names(), table.ids.unwrap()[1].as_str()), (vec!["paid".to_owned()], "5"));
}

#[test]
fn words_of_many_values_are_shown_unless_asked_for() {
    let names: Vec<String> = (0..200).map(|i| format!("v{}", i % 60)).collect();
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns = [numbers("x", &(0..200).map(|i| f64::from(i % 9)).collect::<Vec<_>>()), text("many", &words)];
    let (encoding, _, notes) = encoded(&Rules::default(), &columns);
    assert_eq!(encoding.width(), 1);
    assert!(notes[0].contains("many has 60 different values, more than 50: it is shown"), "{notes:?}");
    let asked = Rules { columns: Some(vec!["many".into()]), ..Rules::default() };
    assert_eq!(encoded(&asked, &columns).0.width(), 60);
    let few = [text("note", &["hello there", "good morning", "bye"])];
    assert!(
        refused(&Rules::default(), &few).starts_with(
            "no column is left as a feature; there are note; column note has 3 different values, too many"
        )
    );
    // However many columns there are, and however long their names.
    let many: Vec<Column> =
        (0..200).map(|i| text(&format!("{i} {}", "é".repeat(500)), &["hello there", "good morning", "bye"])).collect();
    let message = refused(&Rules::default(), &many);
    assert!(message.contains("and 194 more") && message.len() < 2000, "{} bytes: {message}", message.len());
}

#[test]
fn what_cannot_be_decided_is_refused() {
    let message = |words: &[&str]| refused(&Rules::default(), &[text("c", words)]);
    assert!(message(&["1,234", "2,345"]).contains("decimal comma or a comma between thousands"));
    assert!(message(&["1,5", "1.234"]).contains("decimal comma or a comma between thousands"));
    assert!(message(&["1/2/2024", "3/4/2024"]).contains("may begin with the day or with the month"));
    let check = |rules: Rules| rules.check(&["a".into(), "b".into()]).unwrap_err().to_string();
    let columns = Some(vec!["a".to_owned()]);
    assert_eq!(
        check(Rules { exclude: vec!["c".into()], ..Rules::default() }),
        "--exclude c: there is no column of this name; the columns are a, b"
    );
    assert!(check(Rules { id: Some("z".into()), ..Rules::default() }).starts_with("--id z: "));
    assert!(check(Rules { columns, exclude: vec!["a".into()], ..Rules::default() }).contains("asked for and left out"));
}
