//! `--skip-case`: trials that whoever runs a pipeline leaves out, each with a reason that the report
//! shows (P146).

use crate::error::{CliError, exit};
use sim_model::Plan;
use std::collections::BTreeSet;

/// One wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkipCase {
    /// `ENGINE:SCENARIO:SIZE:WORLDS`, as [`sim_model::plan::Series::case`] has it.
    case: String,
    reason: String,
}

/// Reads one.
pub(crate) fn parse(text: &str) -> Result<SkipCase, String> {
    let form = "expected ENGINE:SCENARIO:SIZE:WORLDS=REASON";
    let (case, reason) = text.split_once('=').ok_or_else(|| format!("{form}; there is no `=`"))?;
    let parts: Vec<&str> = case.split(':').map(str::trim).collect();
    let [engine, scenario, size, worlds] = parts[..] else {
        return Err(format!("{form}; `{case}` has {} parts", parts.len()));
    };
    if engine.is_empty() || scenario.is_empty() {
        return Err(format!("{form}; engine or scenario is empty"));
    }
    let count = |name: &str, value: &str| match value.parse::<u64>() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(format!("{form}; {name} `{value}` is no number above 0")),
    };
    let (size, worlds) = (count("size", size)?, count("worlds", worlds)?);
    let reason = reason.trim().to_owned();
    if reason.is_empty() || reason.contains(char::is_control) {
        return Err(format!("{form}; the reason must be one line of text"));
    }
    Ok(SkipCase { case: format!("{engine}:{scenario}:{size}:{worlds}"), reason })
}

/// Marks what the wishes name; a wish that names nothing is an error.
pub(crate) fn apply(plan: &mut Plan, wishes: &[SkipCase]) -> Result<(), CliError> {
    let mut seen = BTreeSet::new();
    for wish in wishes {
        if !seen.insert(&wish.case) {
            let message = format!("--skip-case names {} twice", wish.case);
            return Err(CliError::new(exit::USAGE, message));
        }
        let mut found = false;
        for action in &mut plan.actions {
            if action.series.as_ref().is_some_and(|s| s.case == wish.case) {
                found = true;
                action.skip = Some(format!("left out on request: {}", wish.reason).into());
            }
        }
        if !found {
            return Err(nothing(plan, &wish.case));
        }
    }
    Ok(())
}

/// Nothing is called so: what is nearest by its first parts is shown.
fn nothing(plan: &Plan, case: &str) -> CliError {
    let cases: BTreeSet<&str> =
        plan.actions.iter().filter_map(|a| Some(a.series.as_ref()?.case.as_str())).collect();
    let error =
        CliError::new(exit::NOTHING, format!("--skip-case: no trial of this pipeline is {case}"));
    if cases.is_empty() {
        return error.hint("the pipeline has no trials");
    }
    let parts: Vec<&str> = case.split(':').collect();
    for kept in (1..parts.len()).rev() {
        let start = format!("{}:", parts[..kept].join(":"));
        let near: Vec<&str> =
            cases.iter().copied().filter(|c| c.starts_with(&start)).take(5).collect();
        if !near.is_empty() {
            return error.hint(format!("there are {}", near.join(", ")));
        }
    }
    let engines: BTreeSet<&str> = cases.iter().filter_map(|c| c.split(':').next()).collect();
    error.hint(format!("its engines are {}", engines.into_iter().collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_has_four_parts_and_a_reason() {
        let wish = parse("mujoco : box_pile:01000:1 = runs out of arena = known").expect("a wish");
        assert_eq!(wish.case, "mujoco:box_pile:1000:1");
        assert_eq!(wish.reason, "runs out of arena = known");
        for (text, problem) in [
            ("mujoco:box_pile:1000:1", "there is no `=`"),
            ("mujoco:box_pile:1000=x", "`mujoco:box_pile:1000` has 3 parts"),
            ("mujoco:box_pile:1000:1:2=x", "`mujoco:box_pile:1000:1:2` has 5 parts"),
            ("mujoco:box_pile:many:1=x", "size `many` is no number above 0"),
            ("mujoco:box_pile:1000:0=x", "worlds `0` is no number above 0"),
            (":box_pile:1000:1=x", "engine or scenario is empty"),
            ("mujoco:box_pile:1000:1= ", "the reason must be one line of text"),
        ] {
            let said = parse(text).expect_err(text);
            let expected = format!("expected ENGINE:SCENARIO:SIZE:WORLDS=REASON; {problem}");
            assert_eq!(said, expected);
        }
    }
}
