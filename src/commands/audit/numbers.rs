//! From each number of a site's data to the record or result that it comes from.
//!
//! Independent of the code that writes reports: the tables below `data/` are read as any reader would,
//! and each row's number is looked up where its key leads.

use super::Findings;
use super::objects::Objects;
use crate::error::CliError;
use serde_json::Value;
use sim_model::{Digest, PlannedAction, Record};
use sim_provenance::audit::What;
use sim_store::Store;
use std::collections::BTreeMap;
use std::path::Path;

/// Columns of `samples`, and where the value lies in the trial's `result.json`.
const SAMPLES: [(&str, &str); 6] = [
    ("ms_per_step", "/ms_per_step"),
    ("setup_ns", "/phases/setup_ns"),
    ("warmup_ns", "/phases/warmup_ns"),
    ("measured_ns", "/phases/measured_ns"),
    ("contacts", "/counters/contacts"),
    ("final_state", "/final_state_digest"),
];

/// A table of a site.
struct Table {
    columns: BTreeMap<String, usize>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    fn read(path: &Path) -> Result<Option<Self>, String> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.to_string()),
        };
        let json: Value = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
        let list = |v: &Value| v.as_array().cloned();
        let columns = list(&json["columns"]).ok_or("it has no columns")?;
        let rows = list(&json["rows"]).ok_or("it has no rows")?;
        let name = |(i, c): (usize, &Value)| Some((c.as_str()?.to_owned(), i));
        Ok(Some(Self {
            columns: columns.iter().enumerate().filter_map(name).collect(),
            rows: rows.iter().filter_map(list).collect(),
        }))
    }

    fn get<'r>(&self, row: &'r [Value], column: &str) -> &'r Value {
        self.columns.get(column).and_then(|i| row.get(*i)).unwrap_or(&Value::Null)
    }
}

/// Follows the numbers of one site.
pub(super) fn follow(
    store: &Store,
    objects: &Objects,
    action: &PlannedAction,
    site: &Path,
    found: &mut Findings,
) -> Result<(), CliError> {
    let mut follower = Follower { store, objects, action, results: BTreeMap::new(), found };
    // By label: the key of a row in the table of gates.
    let mut labels = BTreeMap::new();
    for name in ["samples", "gates", "actions"] {
        let file = format!("data/{name}.json");
        let table = match Table::read(&site.join(&file)) {
            Ok(Some(table)) => table,
            Ok(None) => continue,
            Err(problem) => {
                follower.found.file(What::Number, &action.label, file, problem);
                continue;
            }
        };
        for row in &table.rows {
            match name {
                "samples" => follower.sample(&file, &table, row, &mut labels),
                "gates" => follower.gate(&file, &table, row, &labels),
                _ => follower.action(&file, &table, row),
            }
        }
    }
    Ok(())
}

struct Follower<'a> {
    store: &'a Store,
    objects: &'a Objects,
    action: &'a PlannedAction,
    /// Results by tree; none where the output has no readable one.
    results: BTreeMap<Digest, Option<Value>>,
    found: &'a mut Findings,
}

impl Follower<'_> {
    /// The record of a row that names one by key and generation.
    fn record(&mut self, file: &str, table: &Table, row: &[Value]) -> Option<Record> {
        let key = table.get(row, "key").as_str()?;
        let generation = table.get(row, "generation").as_u64().and_then(|g| u32::try_from(g).ok());
        let digest: Option<Digest> = key.parse().ok();
        let record = digest
            .zip(generation)
            .and_then(|(key, generation)| self.objects.records.get(&(key, generation)));
        if record.is_none() {
            let label = table.get(row, "label").as_str().unwrap_or_default();
            let problem =
                format!("the row of {label} names key {key}, which the run did not reach");
            self.found.file(What::Number, &self.action.label, file.to_owned(), problem);
        }
        record.cloned()
    }

    fn result(&mut self, record: &Record) -> Option<Value> {
        let tree = record.output.as_ref()?.digest;
        let store = self.store;
        let read = || {
            let bytes = std::fs::read(store.tree_path(&tree).join("result.json")).ok()?;
            serde_json::from_slice(&bytes).ok()
        };
        self.results.entry(tree).or_insert_with(read).clone()
    }

    /// A value of the site against the one it comes from; what the site leaves empty is no number.
    fn compare(&mut self, file: &str, label: &str, what: &str, shown: &Value, is: &Value) {
        if shown.is_null() {
            return;
        }
        self.found.checked.numbers += 1;
        let equal = match (shown.as_f64(), is.as_f64()) {
            (Some(a), Some(b)) => a == b,
            _ => shown == is,
        };
        if !equal {
            let is = if is.is_null() { "nothing".to_owned() } else { is.to_string() };
            let problem = format!("{what} of {label} is {shown} here, {is} in what it comes from");
            self.found.file(What::Number, &self.action.label, file.to_owned(), problem);
        }
    }

    fn sample(
        &mut self,
        file: &str,
        table: &Table,
        row: &[Value],
        labels: &mut BTreeMap<String, Record>,
    ) {
        let Some(record) = self.record(file, table, row) else { return };
        let label = table.get(row, "label").as_str().unwrap_or_default().to_owned();
        let started = Value::from(record.started_unix_ms);
        self.compare(file, &label, "started_unix_ms", table.get(row, "started_unix_ms"), &started);
        let result = self.result(&record).unwrap_or(Value::Null);
        for (column, place) in SAMPLES {
            let is = result.pointer(place).unwrap_or(&Value::Null);
            self.compare(file, &label, column, table.get(row, column), is);
        }
        // Not the adapter's own number, but what the report makes of the two before it.
        let ms = result["ms_per_step"].as_f64();
        let rate = ms.zip(result["worlds"].as_f64()).map(|(ms, worlds)| worlds * 1000.0 / ms);
        let column = "world_steps_per_second";
        self.compare(file, &label, column, table.get(row, column), &rate.into());
        labels.insert(label, record);
    }

    fn gate(
        &mut self,
        file: &str,
        table: &Table,
        row: &[Value],
        labels: &BTreeMap<String, Record>,
    ) {
        let label = table.get(row, "label").as_str().unwrap_or_default();
        let Some(record) = labels.get(label) else {
            let problem = format!("the row of {label} belongs to no trial of this site");
            self.found.file(What::Number, &self.action.label, file.to_owned(), problem);
            return;
        };
        let result = self.result(record).unwrap_or(Value::Null);
        let gates = result["gates"].as_array().cloned().unwrap_or_default();
        let name = table.get(row, "gate");
        let gate = gates.iter().find(|g| g["id"] == *name).cloned().unwrap_or(Value::Null);
        for (column, field) in [("value", "value"), ("threshold", "limit"), ("passed", "passed")] {
            let what = format!("{column} of gate {}", name.as_str().unwrap_or_default());
            self.compare(file, label, &what, table.get(row, column), &gate[field]);
        }
    }

    fn action(&mut self, file: &str, table: &Table, row: &[Value]) {
        let Some(r) = self.record(file, table, row) else { return };
        let label = table.get(row, "label").as_str().unwrap_or_default().to_owned();
        let output = r.output.as_ref().map(|t| t.digest.to_string());
        for (column, is) in [
            ("status", Value::from(r.status.name())),
            ("wall_ms", r.usage.wall_ms.into()),
            ("cpu_ms", r.usage.cpu_ms.into()),
            ("peak_tree_bytes", r.usage.peak_tree_bytes.into()),
            ("output", output.into()),
        ] {
            self.compare(file, &label, column, table.get(row, column), &is);
        }
    }
}
