//! `sim-pipe run --check`: what it says of repeats that came out otherwise.

use crate::error::CliError;
use crate::global::Global;
use crate::project::Project;
use crate::text;
use sim_exec::{Cancel, Checked, Disagreement, Options, Resolver, Summary};
use sim_store::Store;
use sim_store::difference::{Difference, How};

/// Files shown of one disagreement.
const SHOWN: usize = 20;

/// Runs the pure actions again, says what differs, and gives the outcome.
pub(crate) fn check(
    global: &Global,
    project: &Project,
    store: &Store,
    options: &Options,
    cancel: &Cancel,
    summary: &Summary,
    rounds: u32,
) -> Result<Checked, CliError> {
    let resolver = Resolver::new(
        store,
        &project.plan,
        &project.root,
        project.machine.clone(),
        options.path_var.clone(),
    );
    let checked = sim_exec::check(&resolver, options, cancel, &summary.outcomes, rounds)?;
    for d in &checked.disagreements {
        if global.json {
            text::out(&as_json(d).to_string());
        } else {
            show(d);
        }
    }
    let wrong: std::collections::BTreeSet<&str> =
        checked.disagreements.iter().map(|d| d.label.as_str()).collect();
    if global.json {
        let line = serde_json::json!({
            "v": 1, "checked": checked.actions, "rounds": rounds, "differ": wrong.len(),
            "without_result": checked.without_result, "not_pure": checked.not_pure,
            "interrupted": checked.interrupted,
        });
        text::out(&line.to_string());
        return Ok(checked);
    }
    let times = if rounds == 1 { "again".to_owned() } else { format!("{rounds} times again") };
    let mut parts =
        vec![format!("{} ran {times} elsewhere", text::count(checked.actions, "pure action"))];
    parts.push(match wrong.len() {
        _ if checked.interrupted => "interrupted".to_owned(),
        0 => "the same bytes".to_owned(),
        1 => "1 differs".to_owned(),
        n => format!("{n} differ"),
    });
    if checked.without_result > 0 {
        parts.push(format!("{} without a result", checked.without_result));
    }
    if checked.not_pure > 0 {
        parts.push(format!("{} not pure, left out", checked.not_pure));
    }
    text::say(&format!("{}: check: {}", project.plan.name, parts.join(" · ")));
    if let Some(first) = wrong.first() {
        text::say(&format!(
            "hint: a result must not depend on time, place, user or chance: fix the program of \
             '{first}', or declare `class = \"machine\"` or \"measured\""
        ));
    }
    Ok(checked)
}

fn show(d: &Disagreement) {
    let round = if d.round > 1 { format!(" · repeat {}", d.round) } else { String::new() };
    text::out(&format!("{}: not the same when run again · key {}{round}", d.label, d.key.short()));
    if let Some((recorded, again)) = &d.ended {
        text::out(&format!("  recorded: {recorded}"));
        text::out(&format!("     again: {again}"));
    }
    for file in d.files.iter().take(SHOWN) {
        text::out(&format!("  {}", line(file)));
    }
    if d.files.len() > SHOWN {
        text::out(&format!("  and {} more", d.files.len() - SHOWN));
    }
}

fn line(file: &Difference) -> String {
    let name = if file.path.is_empty() { "(the file)".to_owned() } else { shown(&file.path) };
    match &file.how {
        How::OnlyFirst => format!("- {name}: only recorded"),
        How::OnlySecond => format!("+ {name}: only in the repeat"),
        How::Kind => format!("~ {name}: a file in one, something else in the other"),
        How::Mode => format!("~ {name}: executable in one, not in the other"),
        How::Target => format!("~ {name}: a link to somewhere else"),
        How::Bytes { offset, first, second } if first == second => {
            format!("~ {name}: first difference at byte {offset} of {first}")
        }
        How::Bytes { offset, first, second } => format!(
            "~ {name}: first difference at byte {offset}; {first} bytes recorded, {second} now"
        ),
    }
}

fn as_json(d: &Disagreement) -> serde_json::Value {
    let files: Vec<serde_json::Value> = d
        .files
        .iter()
        .map(|f| {
            let mut value = serde_json::json!({ "path": shown(&f.path) });
            let how = match &f.how {
                How::OnlyFirst => "only_recorded",
                How::OnlySecond => "only_repeated",
                How::Kind => "kind",
                How::Mode => "mode",
                How::Target => "target",
                How::Bytes { offset, first, second } => {
                    value["offset"] = (*offset).into();
                    value["recorded_bytes"] = (*first).into();
                    value["repeated_bytes"] = (*second).into();
                    "bytes"
                }
            };
            value["how"] = how.into();
            value
        })
        .collect();
    let (recorded, repeated) = d.ended.clone().unzip();
    serde_json::json!({
        "v": 1, "label": d.label, "key": d.key, "repeat": d.round,
        "recorded": recorded, "repeated": repeated, "files": files,
    })
}

/// A name as it can be printed on one line.
fn shown(path: &[u8]) -> String {
    let escaped = |text: &str| text.escape_debug().to_string();
    path.utf8_chunks()
        .map(|chunk| {
            let bytes = chunk.invalid().iter().map(|b| format!("\\x{b:02x}"));
            escaped(chunk.valid()) + &bytes.collect::<String>()
        })
        .collect()
}
