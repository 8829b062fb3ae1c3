//! The documents say what the program does.

use crate::kinds::{planned, registry, with_head};
use sim_plan::{codes, diagnostics_markdown, explain_code, json_schema, render};
use std::path::PathBuf;

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares a generated page with the file; with `UPDATE_PAGES` set, writes it.
fn same(name: &str, made: &str) {
    let path = page(name);
    if std::env::var_os("UPDATE_PAGES").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made).unwrap();
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(have == made, "{name} is not up to date: run this test with UPDATE_PAGES=1");
}

/// The fenced blocks of a Markdown text with their language.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut out = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => out.push(block),
            (Some(language), None) => open = Some((language, String::new())),
            (None, Some((language, body))) => open = Some((language, body + line + "\n")),
            (None, None) => {}
        }
    }
    out
}

#[test]
fn the_page_of_codes_is_generated() {
    same("diagnostics.md", &diagnostics_markdown());
}

#[test]
fn each_wrong_example_provokes_its_code_and_each_right_one_plans() {
    for code in codes() {
        let text = explain_code(code).unwrap();
        assert!(text.lines().next().is_some_and(|title| !title.is_empty()), "{code}");
        let blocks = blocks(text);
        assert!(blocks.len() == 2 || code == "SP0408", "{code} has no wrong and right example");
        for (i, (language, body)) in blocks.iter().enumerate() {
            if *language != "toml" {
                continue;
            }
            let outcome = planned(&with_head(body));
            let shown = render(&outcome, false, 100);
            let found = outcome.diagnostics.iter().any(|d| d.code == code);
            assert_eq!(found, i == 0, "{code}:\n{body}\n{shown}");
            if i == 1 {
                assert!(outcome.plan.is_some(), "{code}:\n{body}\n{shown}");
            } else {
                let other = outcome.diagnostics.iter().find(|d| d.code != code);
                assert!(other.is_none(), "{code} comes with others:\n{shown}");
            }
        }
    }
}

#[test]
fn every_example_of_the_language_page_plans() {
    let text = std::fs::read_to_string(page("pipeline.md")).unwrap();
    let blocks = blocks(&text);
    assert!(blocks.iter().filter(|(language, _)| *language == "toml").count() > 5);
    for (language, body) in blocks {
        if language == "toml" {
            let outcome = planned(&with_head(&body));
            assert!(outcome.plan.is_some(), "{body}\n{}", render(&outcome, false, 100));
            assert!(outcome.diagnostics.is_empty(), "{body}\n{}", render(&outcome, false, 100));
        }
    }
}

#[test]
fn the_schema_names_every_kind_and_parameter() {
    let schema = json_schema(&registry());
    let kinds = schema["properties"]["stage"]["items"]["anyOf"].as_array().unwrap();
    let names: Vec<_> = kinds.iter().map(|k| k["title"].as_str().unwrap()).collect();
    assert_eq!(names, ["broken", "build-engine", "command", "probe", "render", "report", "trial"]);
    let command = &kinds[2];
    assert_eq!(command["additionalProperties"], false);
    assert_eq!(command["required"], serde_json::json!(["name", "kind", "run"]));
    assert_eq!(command["properties"]["class"]["anyOf"][0]["enum"][2], "measured");
    for property in command["properties"].as_object().unwrap().values() {
        assert!(property["description"].is_string(), "{property}");
    }
    assert_eq!(kinds[5]["properties"]["inputs"]["required"], serde_json::json!(["trials"]));
}
