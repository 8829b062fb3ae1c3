//! Replays: pictures of captures, engines side by side, and what the interactive replay loads.

use super::{Ctx, words};
use crate::error::{At, ReportError};
use crate::number::{bytes, significant, whole};
use crate::replay::Replay;
use crate::site::Site;
use crate::{svg, text};
use base64::Engine as _;
use serde::Serialize;
use sim_engine_protocol::StateComparison;
use sim_stage_render::status::{Shown, Status};
use std::collections::BTreeMap;
use std::fs;

/// All replays of a site.
#[derive(Default)]
pub(crate) struct Replays {
    /// By scenario; those of captures that no trial of the report is behind under an empty name.
    by_scenario: BTreeMap<String, Vec<ReplayCase>>,
}

/// The captures of one case.
#[derive(Clone, Serialize)]
pub(crate) struct ReplayCase {
    /// Anchor on the scene's page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The case's page, relative to the site; empty where there is none.
    pub(crate) href: String,
    pub(crate) views: Vec<ReplayView>,
    /// How many of the views the interactive replay can show.
    pub(crate) tracks: usize,
    /// What a viewer of the figure should know.
    pub(crate) notes: Vec<String>,
    /// Bytes of the interactive replay's tracks.
    pub(crate) track_size: String,
    /// Labels of the actions that made the captures.
    #[serde(skip)]
    labels: Vec<String>,
}

impl ReplayCase {
    /// Whether a capture of it is of an action below `prefix`.
    pub(crate) fn is_of(&self, prefix: &str) -> bool {
        self.labels.iter().any(|label| label.starts_with(prefix))
    }
}

/// One engine's capture.
#[derive(Clone, Default, Serialize)]
pub(crate) struct ReplayView {
    pub(crate) name: String,
    pub(crate) style: usize,
    pub(crate) key: String,
    /// What it shows, for those who do not see it.
    pub(crate) alt: String,
    /// Pictures and track, relative to the site; empty where there are none.
    pub(crate) poster: String,
    pub(crate) animation: String,
    pub(crate) animation_size: String,
    pub(crate) track: String,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// `gate failed` and the like, where there is something to say.
    pub(crate) outcome: String,
    pub(crate) tone: &'static str,
    pub(crate) reason: String,
    /// Page of the capture's action, relative to the site.
    pub(crate) page: String,
    /// Where its column stands.
    #[serde(skip)]
    place: (usize, String),
}

/// A picture of a scene, for the first page.
#[derive(Serialize)]
pub(crate) struct Thumb {
    pub(crate) title: String,
    pub(crate) href: String,
    pub(crate) poster: String,
}

impl Replays {
    /// The cases of a scenario.
    pub(crate) fn of(&self, scenario: &str) -> &[ReplayCase] {
        self.by_scenario.get(scenario).map_or(&[], Vec::as_slice)
    }

    /// Replays that belong to no trial of the report.
    pub(crate) fn strays(&self) -> &[ReplayCase] {
        self.of("")
    }

    /// One picture a scenario: the first there is.
    pub(crate) fn thumbs(&self, ctx: &Ctx<'_>) -> Vec<Thumb> {
        let thumb = |(name, cases): (&String, &Vec<ReplayCase>)| {
            let title = ctx.cases.scenarios.get(name)?;
            let view = cases.iter().flat_map(|c| &c.views).find(|v| !v.poster.is_empty())?;
            Some(Thumb {
                title: text::line(title),
                href: format!("scenes/{}.html#replay", text::slug(name)),
                poster: view.poster.clone(),
            })
        };
        self.by_scenario.iter().filter_map(thumb).collect()
    }

    /// The case's first picture, and the figure that it is in.
    pub(crate) fn figure(&self, scenario: &str, case: &str) -> Option<String> {
        let id = format!("replay-{case}");
        let found = self.of(scenario).iter().find(|c| c.id == id)?;
        Some(format!("../scenes/{}.html#{}", text::slug(scenario), found.id))
    }
}

/// Copies the files of all replays and says how to show them.
pub(crate) fn write(ctx: &Ctx<'_>, site: &Site) -> Result<Replays, ReportError> {
    type Key<'a> = (Option<usize>, &'a str);
    let mut groups: BTreeMap<Key<'_>, Vec<&Replay>> = BTreeMap::new();
    for replay in &ctx.input.replays {
        let case = replay.trial.map(|t| ctx.cases.case_of[t]);
        let scene = match (case, &replay.rendered.shown) {
            (Some(_), _) => "",
            (None, Some(shown)) => &shown.scene_digest,
            (None, None) => &replay.rendered.label,
        };
        groups.entry((case, scene)).or_default().push(replay);
    }
    let mut out = Replays::default();
    for ((case, _), list) in groups {
        let mut views = Vec::with_capacity(list.len());
        for replay in &list {
            views.push(view(ctx, site, replay)?);
        }
        views.sort_by(|a, b| a.place.cmp(&b.place));
        if case.is_none() {
            // No column lends them a style; a protocol's candidates have one.
            for (i, view) in views.iter_mut().enumerate() {
                let label = &view.place.1;
                let style = super::protocol::candidate(ctx, label, &view.name).unwrap_or(i);
                (view.style, view.key) = (style % svg::STYLES, svg::key(style));
            }
            views.sort_by_key(|v| v.style);
        }
        let scenario = case.map_or("", |c| &ctx.cases.cases[c].scenario);
        let made = figure(ctx, case, &list, views);
        out.by_scenario.entry(scenario.to_owned()).or_default().push(made);
    }
    Ok(out)
}

fn figure(
    ctx: &Ctx<'_>,
    case: Option<usize>,
    list: &[&Replay],
    views: Vec<ReplayView>,
) -> ReplayCase {
    let shown = || list.iter().filter_map(|r| r.rendered.shown.as_ref());
    let (id, title, href) = match case.map(|c| &ctx.cases.cases[c]) {
        Some(c) => (format!("replay-{}", c.page), words::case(c), format!("cases/{}.html", c.page)),
        None => {
            let name = shown().next().map_or_else(|| list[0].label.clone(), |s| s.scene.clone());
            (
                format!("replay-{}", text::slug(&list[0].rendered.label)),
                text::line(&name),
                String::new(),
            )
        }
    };
    let size = |r: &&Replay| {
        let track = r.rendered.shown.as_ref()?.track.as_ref()?;
        Some(fs::metadata(r.file(&track.file).ok()?).ok()?.len())
    };
    let sizes: u64 = list.iter().filter_map(size).sum();
    ReplayCase {
        id,
        title,
        href,
        tracks: views.iter().filter(|v| !v.track.is_empty()).count(),
        notes: notes(ctx, list),
        track_size: bytes(sizes.div_ceil(3) * 4),
        labels: list.iter().map(|r| r.rendered.label.clone()).collect(),
        views,
    }
}

/// What was drawn, how exactly, and whether it is the run that was timed.
fn notes(ctx: &Ctx<'_>, list: &[&Replay]) -> Vec<String> {
    let mut out = Vec::new();
    let shown: Vec<(&Replay, &Shown)> =
        list.iter().filter_map(|r| Some((*r, r.rendered.shown.as_ref()?))).collect();
    if let Some((replay, s)) = shown.first() {
        let bodies = if s.bodies == 1 { "body".to_owned() } else { "bodies".to_owned() };
        out.push(format!(
            "World 0, {} moving {bodies}, {} s of simulated time. Drawn by {}.",
            whole(s.bodies),
            significant(s.seconds, 3),
            text::line(&replay.renderer),
        ));
    }
    if shown.iter().any(|(_, s)| s.camera_follows) {
        out.push(
            "The camera goes with the bodies; the squares of the ground show how far.".to_owned(),
        );
    }
    let worst = shown
        .iter()
        .filter_map(|(_, s)| s.track.as_ref())
        .map(|t| t.position_error_m)
        .reduce(f64::max);
    if let Some(error) = worst {
        let error = significant(error * 1e3, 2);
        out.push(format!("In 3D, places are rounded by at most {error} mm."));
    }
    for (replay, s) in &shown {
        let name = name(ctx, replay).0;
        if s.rendered_bodies < s.bodies {
            let missing = s.bodies - s.rendered_bodies;
            out.push(format!(
                "{name}: {missing} of the moving bodies are not drawn; they have no shape or end \
                 without a finite pose."
            ));
        }
        if let Some(why) = &s.no_track {
            out.push(format!("{name} is not in 3D: {}.", text::line(why)));
        }
    }
    out.extend(states(ctx, &shown));
    out
}

/// Whether the captures end where the timed runs ended, engines with the same answer together.
fn states(ctx: &Ctx<'_>, shown: &[(&Replay, &Shown)]) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (replay, s) in shown {
        groups.entry(state(&s.final_state)).or_default().push(name(ctx, replay).0);
    }
    groups.into_iter().map(|(what, names)| format!("{}: {what}.", names.join(", "))).collect()
}

/// The comparison of a capture's final state with that of the timed run, in words.
pub(crate) fn state(comparison: &StateComparison) -> String {
    match comparison {
        StateComparison::Same => "the final state is that of the timed run, bit for bit".to_owned(),
        StateComparison::Differs { reason } => {
            format!("the final state is not that of the timed run ({})", text::line(reason))
        }
        StateComparison::NotCompared { reason } => {
            format!(
                "the final state was not compared with the timed run’s ({})",
                text::line(reason)
            )
        }
    }
}

/// Name, style and place of the engine behind a replay.
fn name(ctx: &Ctx<'_>, replay: &Replay) -> (String, usize, usize) {
    let engine = replay.rendered.engine.as_deref();
    let of_trial = replay.trial.map(|t| &ctx.input.trials[t]);
    let column = ctx.cases.columns.iter().position(|c| match of_trial {
        Some(t) => c.engine == t.engine && c.backend == t.backend && c.threads == t.threads,
        None => Some(c.engine.as_str()) == engine,
    });
    match column {
        Some(i) => (text::line(&ctx.cases.columns[i].name), i % svg::STYLES, i),
        None => {
            let name = engine.unwrap_or(&replay.rendered.label);
            (text::line(name), svg::STYLES - 1, usize::MAX)
        }
    }
}

fn view(ctx: &Ctx<'_>, site: &Site, replay: &Replay) -> Result<ReplayView, ReportError> {
    let (name, style, column) = name(ctx, replay);
    let rendered = &replay.rendered;
    let (outcome, tone) = match rendered.status {
        Status::Rendered => ("", ""),
        Status::GateFailed => ("gate failed", "bad"),
        Status::Absent => ("no capture", "bad"),
        Status::Failed => ("not rendered", "bad"),
    };
    let page = replay.trial.map(|t| &ctx.input.trials[t].page).or(replay.page.as_ref());
    let mut out = ReplayView {
        style,
        key: svg::key(style),
        outcome: outcome.to_owned(),
        tone,
        reason: super::coverage::shorten(&text::line(&rendered.reason)),
        page: page.map_or_else(String::new, |p| format!("provenance/{p}.html")),
        place: (column, rendered.label.clone()),
        width: replay.size[0],
        height: replay.size[1],
        alt: format!("{name}: the end of the motion"),
        name,
        ..ReplayView::default()
    };
    let Some(shown) = &rendered.shown else { return Ok(out) };
    let folder = format!("media/{}", text::slug(&rendered.label));
    let copy = |file: &str, to: &str| {
        let href = format!("{folder}/{to}");
        site.copy(&href, &replay.file(file)?)?;
        Ok::<String, ReportError>(href)
    };
    out.poster = copy(&shown.poster, "poster.webp")?;
    out.animation = copy(&shown.animation, "replay.webp")?;
    let path = replay.file(&shown.animation)?;
    out.animation_size = bytes(fs::metadata(&path).at(&path)?.len());
    if let Some(track) = &shown.track {
        let path = replay.file(&track.file)?;
        let raw = fs::read(&path).at(&path)?;
        out.track = format!("{folder}/track.js");
        let code = base64::engine::general_purpose::STANDARD.encode(raw);
        let script =
            format!("(self.SimTracks=self.SimTracks||{{}})[{:?}]=\"{code}\";\n", out.track);
        site.write(&out.track, script.as_bytes())?;
    }
    Ok(out)
}
