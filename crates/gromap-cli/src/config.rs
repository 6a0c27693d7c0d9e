//! Options from a file: each `name = value` of a TOML file is the option `--name value`, put before those of the command
//! line, which therefore win. So a file can say whatever the command line can, and is checked by the same rules.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;
use toml::{Table, Value};

use crate::args::values::Bytes;
use crate::failure::{Failure, Outcome, clipped, shown};

/// No file of options is this long; what is made of one takes fifty times as much.
const LONGEST: u64 = 1 << 16;

/// Not options of a run, but about where they come from.
const ABOUT_OPTIONS: [&str; 4] = ["config", "print_config", "help", "dry_run"];

/// The arguments with those of `--config FILE.toml` put after the verb.
pub(crate) fn expanded(arguments: Vec<OsString>) -> Outcome<Vec<OsString>> {
    let Some(path) = named(&arguments) else { return Ok(arguments) };
    let name = shown(Path::new(&path));
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    read.map_err(|error| Failure::reading(&name, &error))?;
    let options = options(&name, &text)?;
    let mut all = arguments;
    // The program, the verb, and what the file says.
    let rest = all.split_off(all.len().min(2));
    all.extend(options.into_iter().map(OsString::from));
    all.extend(rest);
    Ok(all)
}

/// The options that the text of a file stands for.
pub(crate) fn options(name: &str, text: &str) -> Outcome<Vec<String>> {
    if text.len() as u64 > LONGEST {
        return Err(Failure::usage(format!("{name}: it is longer than {}, no file of options", Bytes(LONGEST))));
    }
    let table: Table =
        text.parse().map_err(|error: toml::de::Error| Failure::usage(format!("{name}: {}", error.message())))?;
    let mut options = Vec::new();
    for (key, value) in &table {
        if ABOUT_OPTIONS.contains(&key.replace('-', "_").as_str()) {
            return Err(Failure::usage(format!("{name}: {} cannot come from a file", clipped(key))));
        }
        match value {
            Value::Boolean(true) => options.push(format!("--{key}")),
            Value::Boolean(false) => {}
            // Names of files may have commas, and the option can be given again.
            Value::Array(files) if key == "view" => {
                for file in files {
                    options.push(format!("--{key}={}", word(name, key, file)?));
                }
            }
            value => options.push(format!("--{key}={}", word(name, key, value)?)),
        }
    }
    Ok(options)
}

/// The file that `--config` names, the last one if there are several.
fn named(arguments: &[OsString]) -> Option<OsString> {
    let mut found = None;
    for (at, argument) in arguments.iter().enumerate() {
        match argument.to_str() {
            Some("--") => break,
            Some("--config") => found = arguments.get(at + 1).cloned(),
            Some(text) => found = text.strip_prefix("--config=").map(OsString::from).or(found),
            None => {}
        }
    }
    found
}

/// A value as the command line would write it.
fn word(file: &str, key: &str, value: &Value) -> Outcome<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Array(values) => {
            let words: Outcome<Vec<String>> = values.iter().map(|value| word(file, key, value)).collect();
            words.map(|words| words.join(","))
        }
        _ => {
            let key = clipped(key);
            Err(Failure::usage(format!("{file}: {key} must be a number, text, true, false or a list")))
        }
    }
}

/// Every option that has a value, given or by default, in the order of the help text.
pub(crate) fn effective(command: &clap::Command, matches: &ArgMatches) -> Vec<(String, Value)> {
    let options = command.get_arguments().filter(|arg| arg.get_long().is_some());
    let options = options.filter(|arg| !ABOUT_OPTIONS.contains(&arg.get_id().as_str()));
    let value = |arg: &clap::Arg| {
        let (name, id) = (arg.get_long()?.to_owned(), arg.get_id().as_str());
        if !arg.get_action().takes_values() {
            let given = matches.value_source(id) == Some(ValueSource::CommandLine);
            return given.then_some((name, Value::Boolean(true)));
        }
        // An option that hides itself here means nothing to this verb.
        let given = matches.value_source(id) == Some(ValueSource::CommandLine);
        let raw = || matches.get_raw(id).into_iter().flatten().map(|raw| raw.to_string_lossy().into_owned());
        if matches!(arg.get_action(), clap::ArgAction::Append) {
            return given.then(|| (name, Value::Array(raw().map(Value::String).collect())));
        }
        let last = raw().next_back()?;
        (given || !arg.is_hide_set()).then(|| (name, typed(last)))
    };
    options.filter_map(value).collect()
}

fn typed(raw: String) -> Value {
    match (raw.parse::<i64>(), raw.parse::<f64>()) {
        (Ok(number), _) => Value::Integer(number),
        (_, Ok(number)) if number.is_finite() => Value::Float(number),
        _ => Value::String(raw),
    }
}

/// The options as a file.
pub(crate) fn printed(options: Vec<(String, Value)>) -> String {
    options.into_iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(arguments: &[&str]) -> Vec<OsString> {
        arguments.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_file_comes_before_the_command_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        let text = "method = \"pca\"\nn-init = 3\nperplexity = [15, 1.5]\nstrict = true\njson = false\nview = [\"a,b.csv\", \"c.csv\"]\n";
        std::fs::write(&path, text).unwrap();
        let config = path.to_str().unwrap();
        let found = expanded(words(&["gromap", "fit", "x.npy", "--config", config])).unwrap();
        let expected = [
            "gromap",
            "fit",
            "--method=pca",
            "--n-init=3",
            "--perplexity=15,1.5",
            "--strict",
            "--view=a,b.csv",
            "--view=c.csv",
            "x.npy",
            "--config",
            config,
        ];
        assert_eq!(found, words(&expected));
    }

    #[test]
    fn a_wrong_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let message = |text: &str| {
            let path = folder.path().join("a.toml");
            std::fs::write(&path, text).unwrap();
            expanded(words(&["gromap", "fit", &format!("--config={}", path.display())])).unwrap_err().message
        };
        assert!(message("method = {}").contains("method must be a number, text"));
        assert!(message("config = \"b.toml\"").contains("config cannot come from a file"));
        assert!(message("= 3").contains("a.toml"));
        assert!(message(&"# endless".repeat(1 << 16)).contains("a.toml: it is longer than 64.0 KiB"));
        assert!(
            expanded(words(&["gromap", "fit", "--config", "/nowhere.toml"]))
                .unwrap_err()
                .message
                .contains("cannot read")
        );
    }
}
