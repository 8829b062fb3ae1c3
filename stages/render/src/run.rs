//! The running side: groups the captures by scene, renders each, says what came of it.

use crate::camera::{Camera, middle, region, size, travels};
use crate::encode::{ENCODER, Film, still};
use crate::load::{Found, Loaded, load};
use crate::palette;
use crate::picture::{Stage, cell};
use crate::solid::places;
use crate::status::{FILE, FORMAT, RenderStatus, Rendered, Shown, Status, TrackFile};
use crate::track::{Source, track};
use fs_err as fs;
use sim_model::request::{Member, Request, RequestInput, StatusFile};
use sim_stage_sdk::{IoContext, StageError, arg, ok};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sizes and pace of the pictures.
#[derive(Clone, Copy, Debug)]
struct Format {
    width: usize,
    height: usize,
    frames_per_second: f64,
}

pub(crate) fn run(request: &Request, dir: &Path) -> Result<StatusFile, StageError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    render(request, dir, threads)
}

fn render(request: &Request, dir: &Path, threads: usize) -> Result<StatusFile, StageError> {
    let size = |name| arg::<u32>(request, name);
    let (width, height, pace) = (size("width")?, size("height")?, size("frames_per_second")?);
    let format = Format {
        width: width as usize,
        height: height as usize,
        frames_per_second: f64::from(pace),
    };
    let Some(RequestInput::Many { members }) = request.inputs.get("captures") else {
        return Err(StageError::Input("captures".to_owned()));
    };
    let mut list: Vec<(&Member, Found)> = members.iter().map(|m| (m, load(m, dir))).collect();
    list.retain(|(_, found)| !matches!(found, Found::Other));
    if list.is_empty() {
        return Err(StageError::Failed(format!(
            "no capture is among the {} inputs; a trial makes them with replays = [\"capture\"]",
            members.len()
        )));
    }
    let captures = list.iter().filter_map(|(_, found)| match found {
        Found::Capture(loaded, _) => Some(&**loaded),
        _ => None,
    });
    let views = views(captures, format);
    let out = dir.join("out");
    let captures = side_by_side(&list, threads, |index, (member, found)| {
        one(&out, index, member, found, &views, format)
    });
    let warnings = captures
        .iter()
        .filter(|c| matches!(c.status, Status::Absent | Status::Failed))
        .map(|c| format!("{}: {}", c.label, c.reason))
        .collect();
    let status = RenderStatus {
        format: FORMAT,
        renderer: "sim-pipe ray caster".to_owned(),
        renderer_version: format!(
            "{}+{}",
            env!("CARGO_PKG_VERSION"),
            &env!("SIM_FINGERPRINT")[..12]
        ),
        encoder: ENCODER.to_owned(),
        width,
        height,
        captures,
    };
    let text = serde_json::to_string_pretty(&status)
        .map_err(|e| StageError::Failed(format!("{FILE} cannot be written as JSON: {e}")))?;
    let path = out.join(FILE);
    fs::write(&path, text + "\n").at(&path)?;
    Ok(StatusFile { warnings, ..ok() })
}

/// How the captures of one scene are looked at.
#[derive(Clone, Copy)]
struct View {
    camera: Camera,
    /// Side of the ground's squares, m.
    cell: f32,
    /// Whether the camera goes with the bodies; its place is then relative to their middle.
    follows: bool,
}

/// The view that the captures of each scene share, by the scene's digest.
fn views<'a>(
    captures: impl Iterator<Item = &'a Loaded>,
    format: Format,
) -> BTreeMap<&'a str, View> {
    let mut by_scene: BTreeMap<&str, Vec<&Loaded>> = BTreeMap::new();
    for capture in captures {
        by_scene.entry(&capture.scene_digest).or_default().push(capture);
    }
    let shared = |list: Vec<&Loaded>| {
        let first = list[0];
        let start = places(&first.solids, &first.frames[0]);
        let size = size(&first.solids, &start);
        let follows = list.iter().any(|c| travels(&c.frames, size));
        let seen = |capture: &Loaded, frame: &[[f32; 7]]| {
            let from = if follows { middle(frame).unwrap_or_default() } else { [0.0; 2] };
            let all = places(&capture.solids, frame).into_iter();
            all.map(|p| p.map(|p| p.seen_from(from))).collect::<Vec<_>>()
        };
        let all = || list.iter().flat_map(|c| c.frames.iter().map(|frame| seen(c, frame)));
        let region = region(&first.solids, &seen(first, &first.frames[0]), all());
        let (width, height) = (format.width as f32, format.height as f32);
        let camera = Camera::on(&region, &first.solids, all(), width, height);
        View { camera, cell: cell(region.size()), follows }
    };
    by_scene.into_iter().map(|(scene, list)| (scene, shared(list))).collect()
}

/// Does the work of every item, `threads` at a time; the answers are in the order of the items.
fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let (next, done, work) = (&next, &done, &work);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let answer = work(index, item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(index, answer);
                }
            });
        }
    });
    std::mem::take(&mut *done.lock().unwrap_or_else(PoisonError::into_inner))
        .into_values()
        .collect()
}

/// One capture, rendered where there is one.
fn one(
    out: &Path,
    index: usize,
    member: &Member,
    found: &Found,
    views: &BTreeMap<&str, View>,
    format: Format,
) -> Rendered {
    let label = member.label.clone();
    let bare = |status, reason: &str| {
        let reason = reason.to_owned();
        Rendered { label: label.clone(), status, reason, engine: None, shown: None }
    };
    let (loaded, gates) = match found {
        Found::Absent(reason) => return bare(Status::Absent, reason),
        Found::Wrong(reason) => return bare(Status::Failed, reason),
        Found::Other => return bare(Status::Failed, "it is no capture"),
        Found::Capture(loaded, gates) => (loaded, gates),
    };
    let folder = format!("{index:03}-{}", plain(&label));
    let engine = Some(loaded.engine.clone());
    match files(out, &folder, loaded, views, format) {
        Ok(shown) => Rendered {
            label,
            status: if gates.is_some() { Status::GateFailed } else { Status::Rendered },
            reason: gates.clone().unwrap_or_default(),
            engine,
            shown: Some(shown),
        },
        Err(reason) => Rendered { engine, ..bare(Status::Failed, &reason) },
    }
}

/// Letters, digits and `_` of a label; everything else becomes `-`.
fn plain(label: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    label.chars().take(80).map(keep).collect()
}

/// Writes the files of one capture.
fn files(
    out: &Path,
    folder: &str,
    loaded: &Loaded,
    views: &BTreeMap<&str, View>,
    format: Format,
) -> Result<Shown, String> {
    let Format { width, height, .. } = format;
    let View { camera, cell, follows } =
        *views.get(loaded.scene_digest.as_str()).ok_or("its scene has no camera")?;
    let style = palette::style(&loaded.engine);
    let first = places(&loaded.solids, &loaded.frames[0]);
    let looking = |camera| Stage::new(camera, width, height, &loaded.solids, &first, cell);
    let still_stage = (!follows).then(|| looking(camera));
    let mut with = [0.0; 2];

    let last = loaded.frames.len() - 1;
    let stride = stride(loaded.interval, format.frames_per_second);
    let mut film = Film::new(width, height)?;
    let (mut frames, mut seconds) = (0, 0.0);
    let mut end = None;
    for index in (0..=last).step_by(stride) {
        let places = places(&loaded.solids, &loaded.frames[index]);
        let bar = if last == 0 { 1.0 } else { index as f32 / last as f32 };
        let moved;
        let stage = match &still_stage {
            Some(stage) => stage,
            None => {
                with = middle(&loaded.frames[index]).unwrap_or(with);
                moved = looking(camera.moved(with));
                &moved
            }
        };
        let (picture, drawn) = stage.frame(&loaded.solids, &places, style, bar);
        seconds = index as f64 * loaded.interval;
        film.add(&picture, seconds)?;
        frames += 1;
        end = Some((picture, drawn));
    }
    let (poster, drawn) = end.ok_or("it has no frame")?;

    let write = |name: &str, bytes: &[u8]| {
        let path = format!("{folder}/{name}");
        fs::create_dir_all(out.join(folder))
            .and_then(|()| fs::write(out.join(&path), bytes))
            .map_err(|e| e.to_string())?;
        Ok::<String, String>(path)
    };
    let source = Source {
        solids: &loaded.solids,
        frames: &loaded.frames,
        interval: loaded.interval,
        camera: &camera,
        follows,
        cell,
        style,
    };
    let (track, no_track) = match track(&source) {
        Ok(made) => (
            Some(TrackFile {
                file: write("track.bin", &made.bytes)?,
                stride: made.stride as u64,
                position_error_m: made.position_error,
            }),
            None,
        ),
        Err(why) => (None, Some(why)),
    };
    Ok(Shown {
        scene_digest: loaded.scene_digest.clone(),
        scene: loaded.scene.clone(),
        bodies: loaded.frames[0].len() as u64,
        rendered_bodies: drawn as u64,
        frames,
        seconds,
        camera_follows: follows,
        animation: write("replay.webp", &film.finish()?)?,
        poster: write("poster.webp", &still(&poster, width, height)?)?,
        track,
        no_track,
        final_state: loaded.final_state.clone(),
    })
}

/// Frames of the capture for each frame of the animation, at least one.
fn stride(interval: f64, frames_per_second: f64) -> usize {
    let wanted = 1.0 / (frames_per_second * interval);
    if wanted.is_finite() { (wanted.round() as usize).max(1) } else { 1 }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
