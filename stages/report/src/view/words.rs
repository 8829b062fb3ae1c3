//! Outcomes and cases in words.

use crate::cases::{Case, Cell, Purpose};
use crate::load::Input;
use crate::number::{timestep, whole};
use crate::text;

/// An outcome as people say it.
pub(crate) fn outcome(word: &str) -> String {
    match word {
        "ok" => "ok",
        "gate_failed" => "gate failed",
        "unsupported" => "unsupported",
        "refused" => "refused",
        "failed" => "failed",
        "timed_out" => "timed out",
        "out_of_memory" => "out of memory",
        "not_run" => "not run",
        "skipped" => "skipped",
        "unreadable" => "unreadable",
        other => return text::line(other),
    }
    .to_owned()
}

/// The class of the style sheet for an outcome.
pub(crate) fn tone(word: &str) -> &'static str {
    match word {
        "ok" => "good",
        "unsupported" | "refused" | "not_run" | "skipped" => "quiet",
        _ => "bad",
    }
}

/// The name of an error, for headings.
pub(crate) fn quantity(id: &str) -> String {
    match id {
        "free_fall" => "place",
        "pendulum_angle" => "angle",
        "slide_at" => "place, at the friction angle",
        "slide_above" => "place, above the friction angle",
        "roll" => "place",
        "momentum" => "momentum",
        "angular_momentum" => "angular momentum",
        "energy" => "kinetic energy",
        other => return text::line(other),
    }
    .to_owned()
}

/// `100 bodies, 4 worlds`, and what sets the case apart from the usual.
pub(crate) fn case(case: &Case) -> String {
    let what = counted(&case.scenario, case.size);
    let mut out = format!("{}\u{a0}{what}", whole(case.size));
    if case.worlds != 1 {
        out += &format!(", {}\u{a0}worlds", whole(case.worlds));
    }
    if case.purpose == Purpose::Precision {
        out += &format!(", \u{394}t {}", timestep(case.timestep));
    }
    if !case.variant.is_empty() {
        out += &format!(", {}", text::line(&case.variant));
    }
    if !case.side.is_empty() {
        out += &format!(", side {}", text::line(&case.side));
    }
    out
}

/// What the size of a scene counts: `bodies`, `robots` where it is made of a robot's model, or `points` of a
/// material.
pub(crate) fn counted(scenario: &str, size: u64) -> &'static str {
    match (sim_scenes::find(scenario).map(sim_scenes::Scenario::counts), size) {
        (Some("robots"), 1) => "robot",
        (Some("robots"), _) => "robots",
        (Some("points"), _) => "points",
        (_, 1) => "body",
        (_, _) => "bodies",
    }
}

/// `480 steps of 1/240 s`.
pub(crate) fn horizon(case: &Case) -> String {
    format!("{}\u{a0}steps of {}", whole(case.steps), timestep(case.timestep))
}

/// Why the timed trials of a cell did not pass: `1 gate failed, 1 timed out`.
pub(crate) fn failures(cell: &Cell, input: &Input) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for i in &cell.timed {
        let t = &input.trials[*i];
        if !t.passed() {
            let word = outcome(&t.outcome);
            match counts.iter_mut().find(|(w, _)| *w == word) {
                Some((_, n)) => *n += 1,
                None => counts.push((word, 1)),
            }
        }
    }
    let parts: Vec<String> = counts.iter().map(|(w, n)| format!("{n} {w}")).collect();
    parts.join(", ")
}

/// The reasons of a cell's failures, one a line.
pub(crate) fn reasons(cell: &Cell) -> String {
    let lines: Vec<String> = cell
        .failures
        .iter()
        .map(|((o, why), trials)| {
            let why = if why.is_empty() { "no reason given".to_owned() } else { text::line(why) };
            format!("{} \u{d7} {}: {why}", trials.len(), outcome(o))
        })
        .collect();
    lines.join("\n")
}

/// `s` unless there is one.
pub(crate) fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn a_size_counts_bodies_or_robots() {
        assert_eq!((counted("box_pile", 1), counted("box_pile", 2)), ("body", "bodies"));
        assert_eq!((counted("robot_go1", 1), counted("robot_t1", 2)), ("robot", "robots"));
        assert_eq!(counted("sand_column", 512), "points");
        assert_eq!(counted("no_longer_there", 3), "bodies");
    }
}
