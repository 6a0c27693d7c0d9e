//! The cells of a column as they were read, and how text becomes numbers.

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What stands in the header.
    pub name: String,
    /// One cell for each row.
    pub cells: Cells,
}

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Numbers; NaN is a missing one.
    Numbers(Vec<f64>),
    /// Dates as days since 1970; NaN is a missing one.
    Days(Vec<f64>),
    /// Text; what [`is_missing`] says is missing.
    Text(Vec<String>),
}

impl Cells {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) | Self::Days(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A cell as text.
    pub fn word(&self, row: usize) -> String {
        match self {
            Self::Numbers(values) | Self::Days(values) if values[row].is_nan() => String::new(),
            Self::Numbers(values) | Self::Days(values) => values[row].to_string(),
            Self::Text(values) => values[row].trim().to_owned(),
        }
    }

    /// Whether a cell holds nothing.
    pub(super) fn lacks(&self, row: usize) -> bool {
        match self {
            Self::Numbers(values) | Self::Days(values) => values[row].is_nan(),
            Self::Text(values) => is_missing(&values[row]),
        }
    }
}

/// What stands for a value that is not known.
pub fn is_missing(text: &str) -> bool {
    let text = text.trim();
    // Most cells are none of these words, and none of these words is long.
    text.len() <= 4 && matches!(text.to_lowercase().as_str(), "" | "na" | "n/a" | "nan" | "nat" | "null" | "none" | "?")
}

/// What a column of text says where its cells are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decimals {
    /// Numbers as programs write them.
    Points,
    /// Commas before the decimals.
    Commas,
    /// Every comma could separate thousands as well.
    Unclear,
}

/// A number with a decimal comma, such as 1,5 or 1.234,5.
///
/// ```
/// use gromap::table::decimal;
/// assert_eq!([decimal("1,5"), decimal("-1.234,5"), decimal("12")], [Some(1.5), Some(-1234.5), Some(12.0)]);
/// assert_eq!([decimal("1,5,6"), decimal("12.34,5"), decimal("x")], [None; 3]);
/// ```
pub fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let Some((whole, decimals)) = text.split_once(',') else { return number(text) };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (sign, plain) = whole.strip_prefix('-').map_or(("", whole), |rest| ("-", rest));
    let plain = plain.strip_prefix('+').unwrap_or(plain);
    let mut groups = plain.split('.');
    let first = groups.next().filter(|first| digits(first))?;
    let has_groups = plain.contains('.');
    if !digits(decimals) || has_groups && first.len() > 3 || !groups.all(|group| group.len() == 3 && digits(group)) {
        return None;
    }
    number(&format!("{sign}{}.{decimals}", plain.replace('.', "")))
}

/// A finite number as programs write it.
pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// How numbers are written in a column of text, if all its cells are numbers.
pub(super) fn decimals(words: &[String]) -> Option<Decimals> {
    let (mut commas, mut is_clear, mut any) = (false, false, false);
    for word in words.iter().map(|word| word.trim()).filter(|word| !is_missing(word)) {
        any = true;
        match word.split_once(',') {
            None => drop(number(word)?),
            Some((whole, decimals)) => {
                decimal(word)?;
                commas = true;
                // 1,234 could be more than a thousand; 0,123, 1234,567 and 1,5 could not.
                let whole = whole.trim_start_matches(['-', '+']);
                is_clear |= decimals.len() != 3 || whole.len() > 3 || whole.starts_with('0') || whole.contains('.');
            }
        }
    }
    // 1.234 among commas could be more than a thousand, or less than two.
    let has_points = || words.iter().any(|word| !word.contains(',') && word.contains('.') && !is_missing(word));
    match (any, commas) {
        (false, _) => None,
        (true, false) => Some(Decimals::Points),
        (true, true) => Some(if is_clear && !has_points() { Decimals::Commas } else { Decimals::Unclear }),
    }
}
