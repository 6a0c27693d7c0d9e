//! Dates in the usual forms, as days since 1970-01-01; the time of a day is its fraction.
//!
//! ISO 8601 (`2024-03-05`, `2024-03`, `2024-03-05T14:30:00.5Z`, `+02:00`), the same with slashes or points, `05.03.2024`, `5/3/2024`,
//! `5 Mar 2024` and `Mar 5, 2024`, each with a time behind it or without. Whether 5/3/2024 is in March or in May only the other
//! dates of a column can tell: one of them has a number above 12.

/// What comes first where a date is three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// 2024-03-05.
    YearFirst,
    /// 05.03.2024.
    DayFirst,
    /// 03/05/2024.
    MonthFirst,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const SECONDS_A_DAY: f64 = 86_400.0;
/// No date is written with more letters than this.
const LONGEST: usize = 48;

/// The order in which all dates of a column are written, if they are dates; `Err` where two orders would do.
pub(super) fn order<'w>(words: impl Iterator<Item = &'w str> + Clone) -> Result<Option<DateOrder>, ()> {
    let fits = |order: DateOrder| words.clone().all(|word| days(word, order).is_some());
    if words.clone().next().is_none() {
        return Ok(None);
    }
    // Where all months have names the order says nothing, and any would fit.
    if fits(DateOrder::YearFirst) && !words.clone().all(names_month) {
        return Ok(Some(DateOrder::YearFirst));
    }
    match (fits(DateOrder::DayFirst), fits(DateOrder::MonthFirst)) {
        (true, false) => Ok(Some(DateOrder::DayFirst)),
        (false, true) => Ok(Some(DateOrder::MonthFirst)),
        (false, false) => Ok(None),
        // With points the day comes first, wherever points are written; with the name of a month there is nothing to tell.
        (true, true) if words.clone().all(|word| word.contains('.') || names_month(word)) => {
            Ok(Some(DateOrder::DayFirst))
        }
        (true, true) => Err(()),
    }
}

fn names_month(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic()).any(|word| month(word).is_some())
}

/// A date as days since 1970.
pub(super) fn days(text: &str, order: DateOrder) -> Option<f64> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    let (date, time) = halves(text);
    let parts: Vec<&str> =
        date.split(['-', '/', '.', ' ', ',']).map(str::trim).filter(|part| !part.is_empty()).collect();
    let has_separators = date.bytes().any(|byte| matches!(byte, b'-' | b'/' | b'.' | b' '));
    let (year, month, day) = match parts[..] {
        _ if !has_separators || date.starts_with('-') => return None,
        [year, month] if order == DateOrder::YearFirst => (year_of(year)?, two(month)?, 1),
        [a, b, c] => match (month(a), month(b)) {
            (Some(month), _) => (year_of(c)?, month, two(b)?),
            (_, Some(month)) => (year_of(c)?, month, two(a)?),
            _ => match order {
                DateOrder::YearFirst => (year_of(a)?, two(b)?, two(c)?),
                DateOrder::DayFirst => (year_of(c)?, two(b)?, two(a)?),
                DateOrder::MonthFirst => (year_of(c)?, two(a)?, two(b)?),
            },
        },
        _ => return None,
    };
    let day = civil(year, month, day)?;
    Some(day as f64 + time.map_or(Some(0.0), seconds)? / SECONDS_A_DAY)
}

/// The date and the time: after a T, or after the last space before a colon.
fn halves(text: &str) -> (&str, Option<&str>) {
    let Some(colon) = text.find(':') else { return (text, None) };
    let mut ends = text[..colon].char_indices().rev();
    let Some((at, letter)) = ends.find(|(_, c)| !c.is_ascii_digit()) else { return (text, None) };
    match letter {
        'T' | 't' | ' ' => (text[..at].trim_end(), Some(&text[at + 1..])),
        _ => (text, None),
    }
}

/// Seconds of a time such as 14:30, 14:30:05.5, 2:30 PM or 14:30Z, moved to the zone it names.
fn seconds(text: &str) -> Option<f64> {
    let lower = text.trim().to_lowercase();
    let (clock, noon) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(clock), _) => (clock.trim_end(), Some(0.0)),
        (_, Some(clock)) => (clock.trim_end(), Some(12.0)),
        _ => (lower.as_str(), None),
    };
    let (clock, offset) = match clock.strip_suffix('z').or_else(|| clock.strip_suffix("utc")) {
        Some(clock) => (clock.trim_end(), 0.0),
        None => match clock.rfind(['+', '-']) {
            Some(at) => {
                let zone = clock[at + 1..].replace(':', "");
                let hours = two(zone.get(..2)?)?;
                let minutes = if zone.len() == 4 { sixty(&zone[2..])? } else { 0 };
                let sign = if clock[at..].starts_with('-') { -1.0 } else { 1.0 };
                (clock[..at].trim_end(), sign * (3600.0 * f64::from(hours) + 60.0 * f64::from(minutes)))
            }
            None => (clock, 0.0),
        },
    };
    let mut parts = clock.split(':');
    let hour = f64::from(two(parts.next()?)?);
    let minute = f64::from(sixty(parts.next()?)?);
    let second: f64 = parts.next().map_or(Some(0.0), |text| {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !text.is_empty();
        text.parse().ok().filter(|second: &f64| plain && *second < 61.0)
    })?;
    let hour = noon.map_or(Some(hour), |noon| (1.0..=12.0).contains(&hour).then_some(hour % 12.0 + noon))?;
    (parts.next().is_none() && hour <= 24.0).then_some(3600.0 * hour + 60.0 * minute + second - offset)
}

fn year_of(text: &str) -> Option<i64> {
    (text.len() == 4).then(|| digits(text))?
}

fn two(text: &str) -> Option<u32> {
    (text.len() <= 2).then(|| digits(text))?.and_then(|number| u32::try_from(number).ok())
}

fn sixty(text: &str) -> Option<u32> {
    two(text).filter(|number| *number < 60)
}

fn digits(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn month(text: &str) -> Option<u32> {
    let word = text.to_lowercase();
    let named = MONTHS.iter().position(|name| word.starts_with(name) && word.chars().all(char::is_alphabetic))?;
    Some(named as u32 + 1)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, if there is such a day.
fn civil(year: i64, month: u32, day: u32) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        1..=12 => 31,
        _ => return None,
    };
    if day == 0 || day > length {
        return None;
    }
    // Years begin in March, so that a leap day is the last one.
    let years = if month <= 2 { year - 1 } else { year };
    let months = i64::from((month + 9) % 12);
    let in_year = (153 * months + 2) / 5 + i64::from(day) - 1;
    let leap_days = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    Some(365 * years + leap_days + in_year - 719_468)
}
