//! Parquet and Arrow: tables whose columns know their types.
//!
//! Numbers (also booleans, dates, and lists of numbers of one length, as embeddings are stored) are features, text is shown; labels,
//! weights and names are found as in text (`table.rs`). If all features are in single precision they stay so. The libraries
//! that decode these formats trust a file more than we do: a damaged one may make them panic, which is an error here.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};
use bytes::Bytes;
use gromap::table::Shell;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;

use super::source::{Room, Source};
use super::table::{Role, asked_wrongly, named_role, settled};
use super::{Content, Loaded, Values, Wanted};
use super::{claims, footer};
use crate::failure::{Failure, Outcome, clipped, listed};

/// Rows decoded at once.
const BATCH: usize = 8192;

/// A Parquet file.
pub(super) fn parquet(source: &Source, wanted: &Wanted, room: Room) -> Outcome<Loaded> {
    let bytes = Bytes::from_owner(source.whole(room)?);
    footer::check(&bytes).map_err(|failure| failure.about(&source.name))?;
    guarded(source, || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).map_err(|error| bad(source, &error))?;
        check_claims(source, &bytes, builder.metadata(), room)?;
        let schema = Arc::clone(builder.schema());
        let reader = builder.with_batch_size(BATCH).build().map_err(|error| bad(source, &error))?;
        gather(source, &schema, reader, wanted, room)
    })
}

/// An Arrow file, or a stream of Arrow.
pub(super) fn arrow(source: &Source, wanted: &Wanted, room: Room) -> Outcome<Loaded> {
    let bytes = source.whole(room)?;
    guarded(source, || {
        let cursor = std::io::Cursor::new(Arc::clone(&bytes));
        if bytes.starts_with(b"ARROW1") {
            claims::check_file(&bytes, room).map_err(|failure| failure.about(&source.name))?;
            let reader = FileReader::try_new(cursor, None).map_err(|error| bad(source, &error))?;
            let schema = reader.schema();
            return gather(source, &schema, reader, wanted, room);
        }
        claims::check_stream(&bytes, room).map_err(|failure| failure.about(&source.name))?;
        let reader = StreamReader::try_new(cursor, None).map_err(|error| bad(source, &error))?;
        let schema = reader.schema();
        gather(source, &schema, reader, wanted, room)
    })
}

fn bad(source: &Source, error: &dyn std::fmt::Display) -> Failure {
    Failure::data(format!("{}: {error}", source.name))
}

/// Refuses chunks and pages that claim to become larger than we may hold.
fn check_claims(source: &Source, bytes: &[u8], metadata: &ParquetMetaData, room: Room) -> Outcome<()> {
    for group in metadata.row_groups() {
        let sizes = group.columns().iter().map(|chunk| chunk.uncompressed_size());
        let whole = sizes.fold(0_u64, |sum, size| sum.saturating_add(u64::try_from(size).unwrap_or(u64::MAX)));
        room.check(&source.name, whole)?;
        for chunk in group.columns() {
            let (start, length) = chunk.byte_range();
            let end = start.saturating_add(length).min(bytes.len() as u64);
            let pages = bytes.get(start as usize..end as usize).unwrap_or_default();
            footer::check_pages(pages, chunk.num_values(), room).map_err(|failure| failure.about(&source.name))?;
        }
    }
    Ok(())
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Turns a panic of a decoder into an error about the file, and keeps it from being printed.
fn guarded(source: &Source, read: impl FnOnce() -> Outcome<Loaded>) -> Outcome<Loaded> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(read));
    QUIET.set(false);
    outcome.unwrap_or_else(|_| Err(Failure::data(format!("{}: the file is damaged", source.name))))
}

/// A column and what it is for.
struct Column {
    name: String,
    role: Role,
    /// Numbers in each row, more than one for lists; known from the first row.
    width: usize,
}

fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating() || *kind == DataType::Boolean
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => is_text(value),
        _ => false,
    }
}

fn is_date(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}

/// Dates as days since 1970.
fn days(array: &ArrayRef) -> Vec<f64> {
    const SECONDS: f64 = 86_400.0;
    macro_rules! divided {
        ($kind:ty, $by:expr) => {
            array.as_primitive::<$kind>().values().iter().map(|&value| value as f64 / $by).collect()
        };
    }
    match array.data_type() {
        DataType::Date32 => divided!(Date32Type, 1.0),
        DataType::Date64 => divided!(Date64Type, 1e3 * SECONDS),
        DataType::Timestamp(TimeUnit::Second, _) => divided!(TimestampSecondType, SECONDS),
        DataType::Timestamp(TimeUnit::Millisecond, _) => divided!(TimestampMillisecondType, 1e3 * SECONDS),
        DataType::Timestamp(TimeUnit::Microsecond, _) => divided!(TimestampMicrosecondType, 1e6 * SECONDS),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => divided!(TimestampNanosecondType, 1e9 * SECONDS),
        _ => Vec::new(),
    }
}

/// The numbers of a list's items, if they are numbers.
fn items(kind: &DataType) -> Option<&DataType> {
    match kind {
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => {
            Some(item.data_type()).filter(|kind| is_number(kind))
        }
        _ => None,
    }
}

fn columns(source: &Source, schema: &Schema, wanted: &Wanted) -> Outcome<Vec<Column>> {
    let column = |field: &Arc<arrow_schema::Field>| {
        let (name, kind) = (field.name(), field.data_type());
        let role = match named_role(name, wanted) {
            Some(Role::Text) if !is_text(kind) && !is_number(kind) => Role::Unused,
            Some(role) => role,
            None if is_number(kind) || is_date(kind) || items(kind).is_some() => settled(Role::Feature, name, wanted),
            None if is_text(kind) => Role::Text,
            None => {
                let (file, name, kind) = (&source.name, clipped(name), clipped(&kind.to_string()));
                let message = format!("{file}: column \"{name}\" holds {kind}, neither numbers nor text");
                let leave_out = Shell::Command.columns("exclude", &name);
                return Err(Failure::data(message).hint(format!("leave it out with {leave_out}")));
            }
        };
        Ok(Column { name: name.clone(), role, width: 1 })
    };
    schema.fields().iter().map(column).collect()
}

/// Everything a table has, batch by batch.
fn gather(
    source: &Source,
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    wanted: &Wanted,
    room: Room,
) -> Outcome<Loaded> {
    if let Some(rules) = &wanted.rules {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        rules.check(&names).map_err(|error| asked_wrongly(error, &source.name))?;
    }
    let mut columns = columns(source, schema, wanted)?;
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut values = Vec::new();
    let mut weights = Vec::new();
    let mut texts: Vec<Vec<String>> = vec![Vec::new(); columns.len()];
    let mut rows = 0;
    for batch in batches {
        let batch = batch.map_err(|error| bad(source, &error))?;
        let about = |column: &Column| format!("{}, column \"{}\"", source.name, clipped(&column.name));
        let mut blocks = Vec::new();
        for (at, column) in columns.iter_mut().enumerate() {
            let array = batch.column(at);
            match column.role {
                Role::Feature => {
                    let (block, width) = numbers(array, rows).map_err(|failure| failure.about(about(column)))?;
                    if rows == 0 {
                        column.width = width;
                    } else if width != column.width {
                        let message = format!("lists of {width} numbers after lists of {}", column.width);
                        return Err(Failure::data(message).about(about(column)));
                    }
                    blocks.push((block, width));
                }
                Role::Unused => {}
                Role::Weight => {
                    let (block, _) = numbers(array, rows).map_err(|failure| failure.about(about(column)))?;
                    if let Some(at) = block.iter().position(|weight| weight.is_nan()) {
                        let message = format!("the number in row {} is missing", rows + at);
                        return Err(Failure::data(message).about(about(column)));
                    }
                    weights.extend(block);
                }
                _ => texts[at].extend(words(array).map_err(|failure| failure.about(about(column)))?),
            }
        }
        // Rows of nothing can be any number.
        room.check_values(&source.name, batch.num_rows(), 1, 1)?;
        for row in 0..batch.num_rows() {
            blocks.iter().for_each(|(block, width)| values.extend_from_slice(&block[row * width..(row + 1) * width]));
        }
        rows += batch.num_rows();
        let held = rows as u64
            + 8 * values.len() as u64
            + texts.iter().flatten().map(|text| (text.len() + 24) as u64).sum::<u64>();
        room.check(&source.name, held)?;
    }
    let features: usize = columns.iter().filter(|column| column.role == Role::Feature).map(|column| column.width).sum();
    let is_settled = wanted.features.is_some() || wanted.table.is_some() || wanted.rules.is_some();
    if (features == 0 && !is_settled) || rows == 0 {
        let message = format!(
            "{rows} rows and {features} columns of numbers; there are {}",
            listed(names.iter().map(String::as_str))
        );
        return Err(Failure::data(message).about(&source.name));
    }
    let is_single = |(field, column): (&Arc<arrow_schema::Field>, &Column)| {
        let kind = field.data_type();
        column.role != Role::Feature || matches!(items(kind).unwrap_or(kind), DataType::Float32 | DataType::Float16)
    };
    let values = match schema.fields().iter().zip(&columns).all(is_single) {
        true => Values::F32(values.iter().map(|&value| value as f32).collect()),
        false => Values::F64(values),
    };
    let mut loaded = Loaded::new(Content::Dense(values.into_samples(rows, features)?));
    loaded.feature_names =
        Some(columns.iter().filter(|column| column.role == Role::Feature).flat_map(feature_names).collect());
    let is_date = |(field, column): &(&Arc<arrow_schema::Field>, &Column)| {
        column.role == Role::Feature && is_date(field.data_type())
    };
    let dates = schema.fields().iter().zip(&columns).filter(is_date);
    loaded.dates = dates.map(|(_, column)| column.name.clone()).collect();
    for (column, words) in columns.into_iter().zip(texts) {
        match column.role {
            Role::Label => loaded.labels = Some(words),
            Role::Id if loaded.ids.is_none() => (loaded.ids, loaded.id) = (Some(words), Some(column.name)),
            Role::Text => loaded.texts.push((column.name, words)),
            Role::Weight => loaded.weights = Some(std::mem::take(&mut weights)),
            Role::Id | Role::Feature | Role::Unused => {}
        }
    }
    loaded.names = names;
    Ok(loaded)
}

/// A name for each number of a column.
fn feature_names(column: &Column) -> Vec<String> {
    match column.width {
        1 => vec![column.name.clone()],
        width => (0..width).map(|item| format!("{}[{item}]", column.name)).collect(),
    }
}

/// The numbers of a column, row by row, and how many each row has; `first` is the number of its first row.
fn numbers(array: &ArrayRef, first: usize) -> Outcome<(Vec<f64>, usize)> {
    // A column of nothing can have any number of rows: they are looked at only where some are missing.
    let rows = |array: &ArrayRef| 0..if array.null_count() > 0 { array.len() } else { 0 };
    let missing = |array: &ArrayRef, per_row: usize| match rows(array).find(|&at| array.is_null(at)) {
        None => Ok(()),
        Some(at) => Err(Failure::data(format!("the number in row {} is missing", first + at / per_row))),
    };
    let is_list = matches!(array.data_type(), DataType::FixedSizeList(..) | DataType::List(_) | DataType::LargeList(_));
    if is_list {
        missing(array, 1)?;
    }
    let (flat, width) = match array.data_type() {
        DataType::FixedSizeList(_, width) => {
            (Arc::clone(array.as_fixed_size_list().values()), usize::try_from(*width).unwrap_or(0))
        }
        DataType::List(_) => equal_lists(array.as_list::<i32>(), first)?,
        DataType::LargeList(_) => equal_lists(array.as_list::<i64>(), first)?,
        _ => (Arc::clone(array), 1),
    };
    if is_list {
        missing(&flat, width.max(1))?;
    }
    let mut doubles = doubles(&flat)?;
    // What becomes of missing numbers is decided when the whole table is known.
    rows(&flat).filter(|&at| flat.is_null(at)).for_each(|at| doubles[at] = f64::NAN);
    if doubles.len() != width * array.len() {
        return Err(Failure::data(format!("{} numbers for {} rows", doubles.len(), array.len())));
    }
    Ok((doubles, width))
}

/// The items of lists that all have as many.
fn equal_lists<O: arrow_array::OffsetSizeTrait>(
    lists: &arrow_array::GenericListArray<O>,
    first: usize,
) -> Outcome<(ArrayRef, usize)> {
    let offsets = lists.value_offsets();
    let length = |row: usize| offsets[row + 1].as_usize() - offsets[row].as_usize();
    let width = if lists.is_empty() { 0 } else { length(0) };
    if let Some(row) = (0..lists.len()).find(|&row| length(row) != width) {
        let message = format!("the list in row {} has {} numbers, and others have {width}", first + row, length(row));
        return Err(Failure::data(message));
    }
    let start = offsets.first().map_or(0, |offset| offset.as_usize());
    Ok((lists.values().slice(start, width * lists.len()), width))
}

/// Numbers of any type in double precision.
fn doubles(array: &ArrayRef) -> Outcome<Vec<f64>> {
    macro_rules! widened {
        ($kind:ty) => {
            array.as_primitive::<$kind>().values().iter().map(|&value| f64::from(value)).collect()
        };
    }
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().values().iter().map(|value| f64::from(u8::from(value))).collect(),
        DataType::Int8 => widened!(Int8Type),
        DataType::Int16 => widened!(Int16Type),
        DataType::Int32 => widened!(Int32Type),
        DataType::Int64 => array.as_primitive::<Int64Type>().values().iter().map(|&value| value as f64).collect(),
        DataType::UInt8 => widened!(UInt8Type),
        DataType::UInt16 => widened!(UInt16Type),
        DataType::UInt32 => widened!(UInt32Type),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().values().iter().map(|&value| value as f64).collect(),
        DataType::Float16 => widened!(Float16Type),
        DataType::Float32 => widened!(Float32Type),
        DataType::Float64 => array.as_primitive::<Float64Type>().values().to_vec(),
        kind if is_date(kind) => days(array),
        other => return Err(Failure::data(format!("its values are {}, not numbers", clipped(&other.to_string())))),
    })
}

/// The values of a column as text; what is missing is empty.
fn words(array: &ArrayRef) -> Outcome<Vec<String>> {
    fn owned<'a>(words: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
        words.map(|word| word.unwrap_or_default().to_owned()).collect()
    }
    match array.data_type() {
        DataType::Utf8 => Ok(owned(array.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Ok(owned(array.as_string::<i64>().iter())),
        DataType::Utf8View => Ok(owned(array.as_string_view().iter())),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let (names, keys) = (words(dictionary.values())?, dictionary.normalized_keys());
            let name = |row: usize| if array.is_null(row) { String::new() } else { names[keys[row]].clone() };
            Ok((0..array.len()).map(name).collect())
        }
        kind if is_number(kind) => {
            let numbers = doubles(array)?;
            let word = |row: usize| if array.is_null(row) { String::new() } else { numbers[row].to_string() };
            Ok((0..array.len()).map(word).collect())
        }
        other => {
            let kind = clipped(&other.to_string());
            Err(Failure::data(format!("its values are {kind}, neither numbers nor text")))
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, NullArray, RecordBatchOptions};
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

    use super::*;

    fn load(bytes: Vec<u8>) -> Outcome<Loaded> {
        let (rules, table, text) = (None, None, None);
        let features = Some(vec!["a".into()]);
        let wanted = Wanted { labels: None, weights: None, features, others: Role::Unused, rules, table, text };
        arrow(&Source::memory("t.arrow", bytes), &wanted, Room(1 << 20))
    }

    fn stream(batch: &RecordBatch) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn rows_of_nothing_are_refused_soon() {
        let rows = RecordBatchOptions::new().with_row_count(Some(1 << 40));
        let none = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &rows).unwrap();
        let column: ArrayRef = Arc::new(NullArray::new(1 << 40));
        for batch in [none, RecordBatch::try_from_iter([("a", column)]).unwrap()] {
            let refused = load(stream(&batch)).unwrap_err();
            assert!(refused.message.starts_with("t.arrow"), "{refused}");
        }
    }

    /// The reader takes as much memory as a buffer claims, and finds it without the length of the message.
    #[test]
    fn a_compressed_buffer_cannot_hide_behind_a_wrong_length() {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![0.5; 64]));
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let packed = IpcWriteOptions::default().try_with_compression(Some(arrow_ipc::CompressionType::LZ4_FRAME));
        let mut bytes = Vec::new();
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), packed.unwrap()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        assert!(load(bytes.clone()).is_ok());
        let footer = u32::from_le_bytes(*bytes[..bytes.len() - 6].last_chunk().unwrap()) as usize;
        let footer = arrow_ipc::root_as_footer(&bytes[bytes.len() - 10 - footer..bytes.len() - 10]).unwrap();
        let block = footer.recordBatches().unwrap().get(0);
        let (start, head) = (block.offset() as usize, block.metaDataLength() as usize);
        let claim = bytes[start + head..].windows(8).position(|word| word == 512_i64.to_le_bytes()).unwrap();
        let claim = start + head + claim;
        bytes[claim..claim + 8].copy_from_slice(&(1_i64 << 40).to_le_bytes());
        bytes[start + 4..start + 8].fill(0);
        assert!(load(bytes).unwrap_err().message.contains("a compressed buffer needs 1024.0 GiB"));
    }

    #[test]
    fn a_stream_cannot_claim_more_than_it_has() {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![0.5; 64]));
        let bytes = stream(&RecordBatch::try_from_iter([("a", column)]).unwrap());
        let cut = bytes[..bytes.len() - 64].to_vec();
        assert!(load(bytes).is_ok());
        assert!(load(cut).unwrap_err().message.contains("a message claims more bytes than the stream has"));
    }
}
