//! The JSON Schema of the event stream, made from the types themselves.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::{Event, VERSION};

/// The schema of one line of `--events ndjson`. Lines of a journal fit it too, but for the checksum that
/// stands at their end.
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let mut schema = generator.root_schema_for::<Event>().to_value();
    let about = format!(
        "One line of `--events ndjson`, version {VERSION}. A newer version may add kinds and fields: skip what \
         you do not know."
    );
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("title".to_owned(), json!("Butler event"));
        fields.insert("description".to_owned(), json!(about));
    }
    schema
}
