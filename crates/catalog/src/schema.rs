//! The tables and what each column means: one definition that makes the database, its comments
//! and `docs/query.md`.

mod tables;

use std::fmt::Write as _;

/// Version of the tables; an index of another one is built anew.
pub const SCHEMA_VERSION: u32 = 5;

/// A table of the catalog.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// What a row is, and why there may be none.
    pub doc: &'static str,
    /// Columns in order.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// DuckDB type.
    pub ty: &'static str,
    /// Meaning, with its unit.
    pub doc: &'static str,
}

/// All tables, in the order of the reference.
pub fn tables() -> &'static [Table] {
    tables::TABLES
}

/// The statements that create all tables with their comments.
pub(crate) fn create() -> String {
    let mut sql = String::new();
    for table in tables() {
        let columns: Vec<String> =
            table.columns.iter().map(|c| format!("{} {}", identifier(c.name), c.ty)).collect();
        let name = identifier(table.name);
        let _ = writeln!(sql, "CREATE TABLE {name} ({});", columns.join(", "));
        let _ = writeln!(sql, "COMMENT ON TABLE {name} IS {};", literal(table.doc));
        for c in table.columns {
            let column = identifier(c.name);
            let _ = writeln!(sql, "COMMENT ON COLUMN {name}.{column} IS {};", literal(c.doc));
        }
    }
    for table in tables() {
        let (name, about) = (literal(table.name), literal(table.doc));
        let _ = writeln!(sql, "INSERT INTO tables VALUES ({name}, {about});");
    }
    sql
}

/// A quoted identifier.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A quoted text.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The reference part of `docs/query.md`.
pub fn reference() -> String {
    let mut out = String::new();
    for table in tables() {
        let _ = write!(out, "\n## {}\n\n{}\n\n", table.name, table.doc);
        out += "| column | type | meaning |\n| --- | --- | --- |\n";
        for c in table.columns {
            let _ = writeln!(out, "| `{}` | {} | {} |", c.name, c.ty, c.doc);
        }
    }
    out
}
