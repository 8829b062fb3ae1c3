//! `sim-pipe report`: the site of a pipeline that has run. Never runs physics (P121).

use crate::commands::run::{site_base, site_path};
use crate::error::{CliError, CliResult, exit};
use crate::global::Global;
use crate::progress::Progress;
use crate::project::Project;
use crate::{site, text};
use clap::Args;
use sim_exec::{Cancel, Resolver, State, preview};
use std::io::Read as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The pipeline file
    pipeline: PathBuf,
    /// Where to lay out the site [default: out/PIPELINE in the project's root]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show it on this machine until interrupted
    #[arg(long)]
    serve: bool,
    /// Port for --serve; 0 takes a free one
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    port: u16,
}

pub(crate) fn run(global: &Global, args: &ReportArgs) -> CliResult {
    let project = Project::load(global, &args.pipeline, &[])?;
    let store = project.store(global)?;
    let mut options = project.options()?;
    let reports: Vec<usize> = (0..project.plan.actions.len())
        .filter(|i| project.plan.actions[*i].kind == "report")
        .collect();
    if reports.is_empty() {
        return Err(CliError::new(exit::NOTHING, format!("{} has no report stage", project.file))
            .hint("add a stage of kind \"report\""));
    }
    let states = {
        let resolver = Resolver::new(
            &store,
            &project.plan,
            &project.root,
            project.machine.clone(),
            options.path_var.clone(),
        );
        preview(&resolver, &options)?.states
    };
    let missing = states
        .iter()
        .enumerate()
        .filter(|(i, s)| !reports.contains(i) && matches!(s, State::WouldRun(_) | State::Waits(_)))
        .count();
    if missing > 0 {
        return Err(CliError::new(
            exit::ACTION,
            format!("{} of {} must run first", text::count(missing, "action"), project.plan.name),
        )
        .hint(format!("`sim-pipe run {}`", args.pipeline.display())));
    }
    options.only = Some(reports.clone());
    let mut progress = Progress::new(global, &store);
    let cancel = Cancel::new()?;
    let summary = sim_exec::run(
        &store,
        &project.plan,
        &project.root,
        project.machine.clone(),
        &options,
        &cancel,
        &mut progress,
    )?;
    let base = site_base(&project, args.output.as_deref());
    let mut first = None;
    for index in &reports {
        let outcome = summary.outcomes.get(index);
        let Some(tree) = outcome.and_then(|o| o.output.as_ref()) else {
            let reason = outcome.map_or("", |o| o.reason.as_str());
            return Err(CliError::new(exit::ACTION, format!("the report failed: {reason}")));
        };
        let to = site_path(&base, &project.plan.actions[*index].label, reports.len());
        let to = site::lay_out(&store, &tree.digest, &to)?;
        text::say(&format!("site: {}", to.join("index.html").display()));
        first.get_or_insert(to);
    }
    match first {
        Some(dir) if args.serve => serve(&dir, args.port),
        _ => Ok(exit::OK),
    }
}

/// Serves a folder on the loopback address until interrupted. Only for looking: the site needs no
/// server.
fn serve(dir: &Path, port: u16) -> CliResult {
    let server = tiny_http::Server::http(("127.0.0.1", port))
        .map_err(|e| CliError::new(exit::MISSING, format!("port {port}: {e}")))?;
    text::out(&format!("http://{}/", server.server_addr()));
    for request in server.incoming_requests() {
        let hosts: Vec<&str> = request
            .headers()
            .iter()
            .filter(|h| h.field.equiv("Host"))
            .map(|h| h.value.as_str())
            .collect();
        let response = match hosts.as_slice() {
            hosts if hosts.iter().all(|h| is_this_machine(h)) => answer(dir, request.url()),
            _ => tiny_http::Response::from_string("this server answers to localhost alone")
                .with_status_code(403),
        };
        // A browser that hung up is no error of ours.
        let _ = request.respond(response);
    }
    Ok(exit::OK)
}

/// Whether a `Host` header names this machine. A page of a stranger's could otherwise have its own
/// name resolved to this address and read the site through the reader's browser.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")
}

fn answer(dir: &Path, url: &str) -> tiny_http::Response<std::io::Cursor<Vec<u8>>> {
    let path = url.split(['?', '#']).next().unwrap_or("/").trim_start_matches('/');
    let path = decode(path);
    let not_found = || tiny_http::Response::from_string("not found").with_status_code(404);
    if path.split('/').any(|p| p == ".." || p.starts_with('.')) {
        return not_found();
    }
    let mut file = dir.join(&path);
    if file.is_dir() {
        file = file.join("index.html");
    }
    let mut bytes = Vec::new();
    let read = fs_err::File::open(&file).and_then(|mut f| f.read_to_end(&mut bytes));
    if read.is_err() {
        return not_found();
    }
    let kind = match file.extension().and_then(|e| e.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("csv") => "text/csv; charset=utf-8",
        Some("txt") => "text/plain; charset=utf-8",
        Some("webp") => "image/webp",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    };
    let mut response = tiny_http::Response::from_data(bytes);
    if let Ok(header) = tiny_http::Header::from_bytes("Content-Type", kind) {
        response.add_header(header);
    }
    response
}

/// Percent-decoding; what is not valid stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = bytes
            .get(i + 1..i + 3)
            .and_then(|h| std::str::from_utf8(h).ok())
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        match (bytes[i], hex) {
            (b'%', Some(b)) => {
                out.push(b);
                i += 3;
            }
            (b, _) => {
                out.push(b);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
