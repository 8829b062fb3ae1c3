//! The data of the site's pages, one module a page or part.

mod action;
mod actions;
mod batch;
mod case;
mod control;
mod coverage;
mod curves;
mod device;
mod differences;
mod files;
mod index;
mod limits;
mod machine;
mod precision;
mod protocol;
mod replay;
mod scene;
mod score;
mod settings;
mod sheets;
mod table;
mod verdict;
mod words;

use crate::cases::{Cases, Column};
use crate::error::ReportError;
use crate::load::Input;
use crate::site::Site;
use crate::trial::Trial;
use crate::{svg, text};
use serde::Serialize;
use sim_model::{Class, Digest, Machine};
use std::collections::BTreeMap;

/// What every page module sees.
pub(crate) struct Ctx<'a> {
    pub(crate) input: &'a Input,
    pub(crate) cases: &'a Cases,
    /// Machines that measured anything, in order of their identity.
    pub(crate) machines: Vec<&'a Machine>,
    /// Pages by key.
    pub(crate) pages: BTreeMap<Digest, usize>,
    /// Pages by output: an input keeps the key it had when it was used, and its maker may have got
    /// another one since, with the same bytes.
    pub(crate) makers: BTreeMap<Digest, usize>,
}

/// What the frame of every page shows.
#[derive(Serialize)]
struct Head<'a> {
    title: &'a str,
    nav: Vec<Link>,
    /// Whether there are trials; a site of files alone has no methods of timing.
    trials: bool,
    /// Engine columns; one alone is compared with nothing.
    engines: usize,
}

/// A link.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    pub(crate) text: String,
    pub(crate) href: String,
}

/// A page in its frame. `root` leads from the page to the site's folder.
#[derive(Serialize)]
struct Frame<'a, T> {
    site: &'a Head<'a>,
    root: &'static str,
    title: String,
    here: &'static str,
    page: T,
}

/// A column's heading.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ColumnHead {
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) group: &'static str,
    pub(crate) id: String,
    pub(crate) style: usize,
    /// Its marker, as SVG.
    pub(crate) key: String,
}

impl ColumnHead {
    pub(crate) fn of(i: usize, c: &Column) -> Self {
        let version: Vec<String> = c.versions.iter().map(|v| text::line(v)).collect();
        let version =
            if version.is_empty() { "version unknown".to_owned() } else { version.join(", ") };
        Self {
            title: text::line(&c.title),
            detail: format!("{version} \u{b7} {}", text::line(&c.detail)),
            group: c.group.name(),
            id: c.id.clone(),
            style: i % svg::STYLES,
            key: svg::key(i),
        }
    }
}

impl Ctx<'_> {
    /// The headings of all columns.
    pub(crate) fn heads(&self) -> Vec<ColumnHead> {
        self.cases.columns.iter().enumerate().map(|(i, c)| ColumnHead::of(i, c)).collect()
    }

    /// The page of the action that made an input.
    pub(crate) fn maker(&self, input: &sim_model::record::RecordInput) -> Option<usize> {
        let key = input.key?;
        let by_tree = || self.makers.get(input.tree.as_ref()?);
        self.pages.get(&key).or_else(by_tree).copied()
    }

    /// A short name for a machine.
    pub(crate) fn machine_name(&self, i: usize) -> String {
        match self.machines.get(i) {
            Some(m) => format!("{}, {} processors", text::line(&m.cpu_model), m.cpus),
            None => "an unrecorded machine".to_owned(),
        }
    }
}

/// How much a page may hold. A page that comes out larger than [`BUDGET`] is made again with less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room(usize);

/// Bytes of one page, media not counted.
const BUDGET: usize = 300_000;

impl Room {
    /// From much to little.
    fn all() -> impl Iterator<Item = Self> {
        (0..8).map(Self)
    }

    /// Cells of a table; a longer one is linked as data.
    pub(crate) fn cells(self) -> usize {
        [700, 300, 300, 300, 300, 300, 120, 0][self.0]
    }

    /// Figures; further ones are on the scenes' pages.
    pub(crate) fn figures(self) -> usize {
        [16, 8, 4, 2, 1, 1, 1, 1][self.0]
    }

    /// Figures of error against cost. They are large: further ones give way to the tables of results.
    pub(crate) fn frontiers(self) -> usize {
        [16, 16, 8, 6, 4, 2, 2, 2][self.0]
    }

    /// Rows of other lists; the rest is counted.
    pub(crate) fn rows(self) -> usize {
        [250, 120, 120, 120, 60, 60, 30, 8][self.0]
    }

    /// Links in a list.
    pub(crate) fn links(self) -> usize {
        [2000, 2000, 2000, 2000, 2000, 1500, 1500, 500][self.0]
    }

    /// Bytes of escaped log.
    pub(crate) fn log(self) -> usize {
        [120_000, 80_000, 80_000, 50_000, 50_000, 25_000, 25_000, 4_000][self.0]
    }
}

/// Writes every page.
pub(crate) fn write(input: &Input, site: &Site) -> Result<(), ReportError> {
    let machines = measuring_machines(input);
    let number: BTreeMap<Digest, usize> =
        machines.iter().enumerate().map(|(i, m)| (m.identity(), i)).collect();
    let of_record: Vec<usize> = input
        .records
        .iter()
        .map(|r| number.get(&r.machine.identity()).copied().unwrap_or(0))
        .collect();
    let machine_of = |t: &Trial| t.record.map_or(0, |r| of_record[r]);
    let cases = Cases::of(input, &machine_of);
    let pages = input
        .pages
        .iter()
        .enumerate()
        .filter_map(|(i, p)| Some((input.records[p.record?].key, i)))
        .collect();
    let makers = input
        .pages
        .iter()
        .enumerate()
        .rev()
        .filter_map(|(i, p)| Some((input.records[p.record?].output.as_ref()?.digest, i)))
        .collect();
    let ctx = Ctx { input, cases: &cases, machines, pages, makers };

    let title = site_title(&ctx);
    let trials = !input.trials.is_empty();
    let measured = input.records.iter().any(|r| r.class == Class::Measured);
    let nav = [
        ("Results", "index.html", true),
        (if trials { "Methods" } else { "Checking" }, "methods.html", true),
        ("Machine", "machine.html", trials || measured),
        ("Actions", "actions.html", true),
    ];
    let nav = nav.into_iter().filter(|(_, _, there)| *there);
    let nav = nav.map(|(text, href, _)| Link { text: text.into(), href: href.into() }).collect();
    let head = Head { title: &title, nav, trials, engines: cases.columns.len() };
    let frame = |root, here, title: String| Framing { head: &head, root, here, title };

    let sheets = sheets::write(&ctx, site)?;
    let files = files::write(&ctx, site)?;
    let replays = replay::write(&ctx, site)?;
    frame("", "index.html", String::new()).fit(site, "index.html", "index.html", |room| {
        index::page(&ctx, &files, &sheets, &replays, room)
    })?;
    for name in cases.scenarios.keys() {
        let path = format!("scenes/{}.html", text::slug(name));
        let title = text::line(&cases.scenarios[name]);
        frame("../", "index.html", title).fit(site, &path, "scene.html", |room| {
            scene::page(&ctx, name, replays.of(name), room)
        })?;
    }
    for case in &cases.cases {
        let page = case::page(&ctx, case, replays.figure(&case.scenario, &case.page));
        let path = format!("cases/{}.html", case.page);
        frame("../", "index.html", page.title.clone()).write(site, &path, "case.html", page)?;
    }
    write_protocols(&ctx, &replays, &head, site)?;
    let page = limits::methods(&ctx);
    let title = if trials { "Methods and limits" } else { "How to check this" };
    frame("", "methods.html", title.into()).write(site, "methods.html", "methods.html", page)?;
    if trials || measured {
        let page = machine::page(&ctx);
        frame("", "machine.html", "Machine and conditions".into()).write(
            site,
            "machine.html",
            "machine.html",
            page,
        )?;
    }
    let page = actions::page(&ctx);
    frame("", "actions.html", "Actions".into()).write(
        site,
        "actions.html",
        "actions.html",
        page,
    )?;
    write_actions(&ctx, &head, site)
}

/// The pages of protocols and of their scenarios.
fn write_protocols(
    ctx: &Ctx<'_>,
    replays: &replay::Replays,
    head: &Head<'_>,
    site: &Site,
) -> Result<(), ReportError> {
    for judged in &ctx.input.protocols {
        let page = protocol::page(judged, protocol::files(judged, site)?);
        let frame = |title: &str| Framing {
            head,
            root: "../",
            here: "index.html",
            title: title.to_owned(),
        };
        frame(&page.title).write(site, &protocol::path(judged), "protocol.html", &page)?;
        let first = judged.report.candidates.first();
        for scenario in first.into_iter().flat_map(|c| &c.scenarios) {
            let page = protocol::scenario(judged, scenario, replays);
            let path = protocol::scenario_path(judged, scenario);
            frame(&page.title).write(site, &path, "scenario.html", &page)?;
        }
    }
    for together in batch::together(ctx) {
        let page = batch::page(&together, batch::files(&together, site)?);
        let title = page.title.clone();
        let frame = Framing { head, root: "../", here: "index.html", title };
        frame.write(site, &together.path, "batch.html", &page)?;
    }
    Ok(())
}

/// The given title, or one made from the engines.
fn site_title(ctx: &Ctx<'_>) -> String {
    let given = text::line(&ctx.input.words.title);
    let mut names: Vec<String> = ctx.cases.columns.iter().map(|c| text::line(&c.title)).collect();
    names.dedup();
    match names.as_slice() {
        _ if !given.trim().is_empty() => given,
        [] => "Report".to_owned(),
        [one] => format!("{one}: time per physics step"),
        [first @ .., last] if names.len() <= 4 => {
            format!("{} and {last}: time per physics step", first.join(", "))
        }
        more => format!("Time per physics step of {} engines", more.len()),
    }
}

/// The pages of all actions. They are many and independent of each other.
fn write_actions(ctx: &Ctx<'_>, head: &Head<'_>, site: &Site) -> Result<(), ReportError> {
    let users = action::users(ctx);
    let pages = &ctx.input.pages;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let share = pages.len().div_ceil(threads).max(1);
    let write = |page: &crate::load::Page| {
        let title = text::line(&page.label);
        let frame = Framing { head, root: "../", here: "actions.html", title };
        let path = format!("provenance/{}.html", page.stem);
        frame.fit(site, &path, "provenance.html", |room| action::page(ctx, page, &users, room))
    };
    std::thread::scope(|scope| {
        let work: Vec<_> = pages
            .chunks(share)
            .map(|c| scope.spawn(move || c.iter().try_for_each(write)))
            .collect();
        work.into_iter().try_for_each(|w| match w.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

struct Framing<'a> {
    head: &'a Head<'a>,
    root: &'static str,
    here: &'static str,
    title: String,
}

impl Framing<'_> {
    /// Writes a page that is small by its making.
    fn write<T: Serialize>(
        self,
        site: &Site,
        path: &str,
        template: &str,
        page: T,
    ) -> Result<(), ReportError> {
        let Self { head, root, here, title } = self;
        let text = site.render(template, &Frame { site: head, root, title, here, page })?;
        site.write(path, text.as_bytes())
    }

    /// Writes a page that `make` fits into the budget.
    fn fit<T: Serialize>(
        self,
        site: &Site,
        path: &str,
        template: &str,
        make: impl Fn(Room) -> T,
    ) -> Result<(), ReportError> {
        let Self { head, root, here, title } = self;
        let mut frame = Frame { site: head, root, title, here, page: None };
        let mut text = String::new();
        for room in Room::all() {
            frame.page = Some(make(room));
            text = site.render(template, &frame)?;
            if text.len() <= BUDGET {
                break;
            }
        }
        site.write(path, text.as_bytes())
    }
}

fn measuring_machines(input: &Input) -> Vec<&Machine> {
    let all = |class: Option<Class>| -> BTreeMap<Digest, &Machine> {
        input
            .records
            .iter()
            .filter(|r| class.is_none_or(|c| c == r.class))
            .map(|r| (r.machine.identity(), &r.machine))
            .collect()
    };
    let measured = all(Some(Class::Measured));
    let machines = if measured.is_empty() { all(None) } else { measured };
    machines.into_values().collect()
}
