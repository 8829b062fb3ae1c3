//! JSON schemas of the documents, for editors and for adapters in other languages.

use schemars::schema_for;

/// The schema of each document, by name.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("scene", schema_for!(crate::Scene)),
        ("job", schema_for!(crate::Job)),
        ("result", schema_for!(crate::JobResult)),
        ("description", schema_for!(crate::Description)),
        ("capacity-samples", schema_for!(crate::CapacitySamples)),
        ("device-samples", schema_for!(crate::DeviceSamples)),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_document_has_a_closed_schema() {
        let all = super::schemas();
        assert_eq!(all.len(), 6);
        for (name, schema) in all {
            let closed = schema.get("additionalProperties").and_then(|v| v.as_bool());
            assert_eq!(closed, Some(false), "{name}");
        }
    }
}
