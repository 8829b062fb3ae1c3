//! Fills the tables from a source: adds what is new, takes away what is gone.

mod rows;

use crate::duck::{Cell, Connection};
use crate::error::CatalogError;
use crate::schema::literal;
use crate::source::Source;
use rows::Tables;
use std::collections::{BTreeMap, BTreeSet};

/// Tables whose rows belong to one record.
const BY_RECORD: &[&str] = &[
    "actions",
    "inputs",
    "outputs",
    "trials",
    "samples",
    "phases",
    "gates",
    "accuracy",
    "memory",
    "memory_snapshots",
    "device_time",
    "protocols",
    "protocol_checks",
    "protocol_metrics",
    "batch_checks",
    "batch_scales",
    "logs",
];

/// Tables whose rows belong to a key, whatever the generation.
const BY_KEY: &[&str] = &["components", "pins"];

/// Brings all tables up to date, in one transaction.
pub(crate) fn update(connection: &Connection, source: &dyn Source) -> Result<(), CatalogError> {
    let records = source.records().map_err(CatalogError::Source)?;
    let known: BTreeSet<(String, u32)> = connection
        .rows("SELECT key, generation FROM actions")?
        .rows
        .into_iter()
        .filter_map(|row| {
            let mut row = row.into_iter().flatten();
            Some((row.next()?, row.next()?.parse().ok()?))
        })
        .collect();
    let mut gone = known.clone();
    let mut tables = Tables::default();
    let (mut keys, mut trees, mut machines) = known_names(connection)?;
    let mut added = 0;
    for record in &records {
        let id = (record.key.to_string(), record.generation);
        gone.remove(&id);
        if known.contains(&id) {
            continue;
        }
        added += 1;
        tables.record(record, source, keys.insert(id.0.clone()))?;
        if let Some(output) = &record.output
            && trees.insert(output.digest.to_string())
        {
            tables.tree(&output.digest, source)?;
        }
        if machines.insert(record.machine.identity().to_string()) {
            tables.machine(&record.machine);
        }
    }
    let lines = source.journal().map_err(CatalogError::Source)?;
    let runs = rows::runs(&lines);

    connection.execute("BEGIN")?;
    let done = write(connection, tables, &gone, runs, added > 0);
    match done {
        Ok(()) => connection.execute("COMMIT"),
        Err(e) => {
            let _ = connection.execute("ROLLBACK");
            Err(e)
        }
    }
}

type Names = BTreeSet<String>;

fn known_names(connection: &Connection) -> Result<(Names, Names, Names), CatalogError> {
    let names = |sql: &str| -> Result<Names, CatalogError> {
        Ok(connection.rows(sql)?.rows.into_iter().flatten().flatten().collect())
    };
    Ok((
        names("SELECT DISTINCT key FROM components")?,
        names("SELECT DISTINCT tree FROM files")?,
        names("SELECT machine FROM machines")?,
    ))
}

fn write(
    connection: &Connection,
    tables: Tables,
    gone: &BTreeSet<(String, u32)>,
    runs: BTreeMap<&'static str, Vec<Vec<Cell>>>,
    added: bool,
) -> Result<(), CatalogError> {
    if !gone.is_empty() {
        forget(connection, gone)?;
    }
    for (table, rows) in &tables.rows {
        connection.append(table, rows)?;
    }
    for table in ["runs", "events"] {
        connection.execute(&format!("DELETE FROM {table}"))?;
        if let Some(rows) = runs.get(table) {
            connection.append(table, rows)?;
        }
    }
    if added || !gone.is_empty() {
        for table in ["actions", "trials"] {
            connection.execute(&format!(
                "UPDATE {table} SET latest = ({table}.generation = newest.generation)
                 FROM (SELECT key, max(generation) AS generation FROM actions GROUP BY key) newest
                 WHERE newest.key = {table}.key"
            ))?;
        }
    }
    Ok(())
}

/// Takes away records that the store no longer has, and what only they referred to.
fn forget(connection: &Connection, gone: &BTreeSet<(String, u32)>) -> Result<(), CatalogError> {
    let list: Vec<String> =
        gone.iter().map(|(key, generation)| format!("({}, {generation})", literal(key))).collect();
    connection.execute("CREATE TEMP TABLE gone (key VARCHAR, generation INTEGER)")?;
    connection.execute(&format!("INSERT INTO gone VALUES {}", list.join(", ")))?;
    for table in BY_RECORD {
        connection.execute(&format!(
            "DELETE FROM {table} USING gone
             WHERE {table}.key = gone.key AND {table}.generation = gone.generation"
        ))?;
    }
    for table in BY_KEY {
        connection
            .execute(&format!("DELETE FROM {table} WHERE key NOT IN (SELECT key FROM actions)"))?;
    }
    connection.execute(
        "DELETE FROM files WHERE tree NOT IN (SELECT tree FROM outputs);
         DELETE FROM machines WHERE machine NOT IN (SELECT machine FROM actions);
         DROP TABLE gone",
    )
}
