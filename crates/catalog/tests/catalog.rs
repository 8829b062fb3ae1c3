//! The catalog against a store in memory, with the real DuckDB library.

mod source;

use sim_catalog::{Catalog, CatalogError, Format, TableShape};
use source::Fake;
use std::fs;

fn ask(catalog: &Catalog, sql: &str) -> String {
    catalog.query(sql, &Format::Csv).expect("query").text
}

#[test]
fn an_index_is_built_updated_and_forgets_what_is_gone() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("cache/catalog.duckdb");
    let mut fake = Fake::with_trials(3);
    let catalog = Catalog::refresh(&path, &fake).expect("refresh");
    assert!(catalog.notes().is_empty(), "{:?}", catalog.notes());
    assert_eq!(ask(&catalog, "select count(*) as n from samples"), "n\n3\n");
    drop(catalog);

    fake.observe_again(0);
    let catalog = Catalog::refresh(&path, &fake).expect("refresh");
    let sql = "select generation, latest from actions where label like '%r0' order by generation";
    assert_eq!(ask(&catalog, sql), "generation,latest\n0,false\n1,true\n");
    assert_eq!(ask(&catalog, "select count(*) as n from trials where latest"), "n\n3\n");
    drop(catalog);

    fake.records.truncate(1);
    let catalog = Catalog::refresh(&path, &fake).expect("refresh");
    for table in ["actions", "trials", "samples", "outputs"] {
        let sql = format!("select count(*) as n from {table}");
        assert_eq!(ask(&catalog, &sql), "n\n1\n", "{table}");
    }
}

#[test]
fn a_damaged_or_foreign_index_is_built_anew() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("catalog.duckdb");
    fs::write(&path, "this is no database").expect("write");
    let catalog = Catalog::refresh(&path, &Fake::with_trials(2)).expect("refresh");
    assert_eq!(catalog.notes().len(), 1, "{:?}", catalog.notes());
    assert_eq!(ask(&catalog, "select count(*) as n from trials"), "n\n2\n");
    drop(catalog);
    // Cut in half.
    let bytes = fs::read(&path).expect("read");
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("write");
    let catalog = Catalog::refresh(&path, &Fake::with_trials(2)).expect("refresh");
    assert_eq!(ask(&catalog, "select count(*) as n from trials"), "n\n2\n");
}

#[test]
fn a_place_that_cannot_be_written_gives_an_index_in_memory() {
    let dir = tempfile::tempdir().expect("tempdir");
    let file = dir.path().join("file");
    fs::write(&file, "x").expect("write");
    let catalog =
        Catalog::refresh(&file.join("catalog.duckdb"), &Fake::with_trials(1)).expect("refresh");
    assert!(catalog.notes()[0].contains("in memory"), "{:?}", catalog.notes());
    assert_eq!(ask(&catalog, "select count(*) as n from trials"), "n\n1\n");
}

/// Not a test by itself: the process that [`an_index_in_use_is_built_in_memory`] starts to hold one.
#[test]
fn hold_an_index() {
    let Some(path) = std::env::var_os("SIM_PIPE_HOLD") else { return };
    let path = std::path::PathBuf::from(path);
    let _catalog = Catalog::refresh(&path, &Fake::with_trials(1)).expect("refresh");
    fs::write(path.with_extension("held"), "").expect("write");
    // Held until the other process closes this one's input.
    let _ = std::io::read_to_string(std::io::stdin());
}

#[test]
fn an_index_in_use_is_built_in_memory() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("catalog.duckdb");
    let exe = std::env::current_exe().expect("this program");
    let mut holder = std::process::Command::new(exe)
        .args(["--exact", "hold_an_index"])
        .env("SIM_PIPE_HOLD", &path)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("spawn");
    while !path.with_extension("held").exists() {
        assert!(holder.try_wait().expect("wait").is_none(), "the holder ended early");
        std::thread::yield_now();
    }
    let catalog = Catalog::refresh(&path, &Fake::with_trials(2)).expect("refresh");
    assert!(catalog.notes()[0].contains("in use"), "{:?}", catalog.notes());
    assert_eq!(ask(&catalog, "select count(*) as n from trials"), "n\n2\n");
    drop(holder.stdin.take());
    assert!(holder.wait().expect("wait").success());
    let catalog = Catalog::refresh(&path, &Fake::with_trials(2)).expect("refresh");
    assert!(catalog.notes().is_empty(), "{:?}", catalog.notes());
}

#[test]
fn failed_trials_are_rows_and_no_samples() {
    let catalog = Catalog::in_memory(&Fake::with_failures()).expect("catalog");
    let sql = "select status, engine, size, reason from trials order by label";
    assert_eq!(
        ask(&catalog, sql),
        "status,engine,size,reason\n\
         timed_out,rapier,100,\"no answer within 120 s, killed\"\n\
         gate_failed,rapier,100,floor_penetration\n"
    );
    assert_eq!(ask(&catalog, "select count(*) as n from samples"), "n\n0\n");
    assert_eq!(
        ask(&catalog, "select gate, passed from gates"),
        "gate,passed\nfloor_penetration,false\n"
    );
    assert_eq!(
        ask(&catalog, "select id, error, unit, time_s from accuracy"),
        "id,error,unit,time_s\nroll,0.25,m,2.0\n"
    );
}

#[test]
fn tables_are_boxes_with_types_and_an_elided_middle() {
    let catalog = Catalog::in_memory(&Fake::with_trials(1)).expect("catalog");
    let shape = TableShape { rows: 4, width: 0 };
    let sql = "select i, 'x' || i as t from range(10) r(i)";
    let text = catalog.query(sql, &Format::Table(shape)).expect("query").text;
    let expected = "\
┌───────┬─────────┐
│   i   │    t    │
│ int64 │ varchar │
├───────┼─────────┤
│     0 │ x0      │
│     1 │ x1      │
│   ·   │    ·    │
│   ·   │    ·    │
│   ·   │    ·    │
│     8 │ x8      │
│     9 │ x9      │
└───────┴─────────┘
10 rows (4 shown)
";
    assert_eq!(text, expected);
    let narrow = TableShape { rows: 0, width: 40 };
    let sql = "select 1 as a, 'a long text here' as b, 'another long text' as c, 4 as d";
    let text = catalog.query(sql, &Format::Table(narrow)).expect("query").text;
    assert!(text.lines().all(|l| l.chars().count() <= 40), "{text}");
    assert!(text.contains("4 columns (3 shown)"), "{text}");
}

#[test]
fn every_format_says_the_same() {
    let dir = tempfile::tempdir().expect("tempdir");
    let catalog = Catalog::in_memory(&Fake::with_trials(1)).expect("catalog");
    let sql = "from (values (1, 'a|b'), (2, NULL), (3, '')) t(n, s)";
    assert_eq!(ask(&catalog, sql), "n,s\n1,a|b\n2,\n3,\"\"\n");
    let md = catalog.query(sql, &Format::Markdown).expect("query").text;
    assert_eq!(md, "| n | s |\n| ---: | --- |\n| 1 | a\\|b |\n| 2 |  |\n| 3 |  |\n");
    let json = catalog.query(sql, &Format::Json).expect("query").text;
    assert_eq!(
        json,
        "[\n{\"n\":1,\"s\":\"a|b\"},\n{\"n\":2,\"s\":null},\n{\"n\":3,\"s\":\"\"}\n]\n"
    );

    let catalog = Catalog::in_memory(&Fake::with_trials(1)).expect("catalog");
    let path = dir.path().join("it's.parquet");
    let done = catalog.query(sql, &Format::Parquet(path.clone())).expect("query");
    assert_eq!((done.rows, done.text.as_str()), (3, ""));
    assert_eq!(&fs::read(&path).expect("read")[..4], b"PAR1");
    assert_eq!(fs::read_dir(dir.path()).expect("list").count(), 1);
}

#[test]
fn a_query_touches_no_file_and_changes_nothing() {
    let dir = tempfile::tempdir().expect("tempdir");
    let secret = dir.path().join("secret.csv");
    fs::write(&secret, "a\n1\n").expect("write");
    let target = dir.path().join("out.csv");
    let (secret, target) = (secret.display(), target.display());
    let catalog = Catalog::in_memory(&Fake::with_trials(1)).expect("catalog");
    for sql in [
        format!("copy (select 1) to '{target}'"),
        format!("from '{secret}'"),
        format!("select * from read_csv('{secret}')"),
        format!("attach '{target}' as x"),
        "delete from trials".to_owned(),
        "drop table trials".to_owned(),
        "set enable_external_access = true".to_owned(),
        "install httpfs".to_owned(),
        "load httpfs".to_owned(),
        "select 1; select 2".to_owned(),
        "select 1) ; drop table trials; select (1".to_owned(),
        String::new(),
        "-- nothing".to_owned(),
        "pragma database_list; ".to_owned(),
        "select \0".to_owned(),
        "explain select 1".to_owned(),
    ] {
        let _ = catalog.query(&sql, &Format::Csv).map(|r| {
            assert!(sql.starts_with("pragma"), "{sql}: {}", r.text);
        });
    }
    assert_eq!(fs::read_dir(dir.path()).expect("list").count(), 1);
    assert_eq!(ask(&catalog, "select count(*) as n from trials"), "n\n1\n");
    // And reading in all its forms works.
    for sql in [
        "describe trials",
        "show tables",
        "summarize samples",
        "from trials;",
        "with a as (select 1 as x) from a -- end",
    ] {
        catalog.query(sql, &Format::Csv).expect(sql);
    }
}

#[test]
fn mistakes_are_shown_at_their_place_with_what_may_be_meant() {
    let catalog = Catalog::in_memory(&Fake::with_trials(1)).expect("catalog");
    let error = |sql: &str| match catalog.query(sql, &Format::Csv) {
        Err(CatalogError::Sql(e)) => e,
        other => panic!("{sql}: {other:?}"),
    };
    let e = error("select label\nfrom trails");
    assert_eq!(e.place.as_ref().map(|(l, c, _)| (*l, *c)), Some((2, 6)), "{e:?}");
    assert!(e.hint.as_deref().is_some_and(|h| h.contains("trials")), "{e:?}");
    assert!(e.to_string().ends_with("  |\n2 | from trails\n  |      ^"), "{e}");
    let e = error("select enginee from trials");
    assert!(e.hint.as_deref().is_some_and(|h| h.contains("engine")), "{e:?}");
    assert_eq!(e.place.map(|(l, c, _)| (l, c)), Some((1, 8)));
    let e = error("select from where");
    assert!(e.place.is_some() && e.message.contains("syntax error"), "{e:?}");
}

#[test]
fn every_column_is_documented_in_the_database_and_in_the_reference() {
    let catalog = Catalog::in_memory(&Fake::with_trials(1)).expect("catalog");
    let sql = "select count(*) as n from duckdb_columns() where schema_name = 'main' \
               and comment is null and table_name != 'index_version' and database_name = current_database() and not internal";
    assert_eq!(ask(&catalog, sql), "n\n0\n");
    assert_eq!(
        ask(&catalog, "from tables select name where name = 'samples' or about is null"),
        "name\nsamples\n"
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/query.md");
    let text = fs::read_to_string(path).expect("docs/query.md");
    let marker = "<!-- The rest is generated from the schema; a test compares. -->\n";
    let (head, old) = text.split_once(marker).expect("the marker");
    if old != sim_catalog::reference() {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(path, format!("{head}{marker}{}", sim_catalog::reference())).expect("write");
            return;
        }
        panic!("docs/query.md is out of date; run the tests with UPDATE_DOCS=1");
    }
}
