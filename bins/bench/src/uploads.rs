//! Uploads of files: their rate compared with a bare hyper server that writes the same bytes to disk, and their memory use.

use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::bench_cli::UploadArgs;
use crate::bench_clock;
use crate::graph_builder;
use crate::http_client::parse_head;
use crate::measure::median;
use crate::procfs;
use crate::run::{ScratchDir, binary};
use crate::server_process::ServerProcess;

/// Environment that sets limits far above the load.
const SERVER_ENV: [(&str, &str); 4] = [
    ("WORKGRAPH_LIMITS_COST", "off"),
    ("WORKGRAPH_LIMITS_STANDARD_PAID", "1000000000"),
    ("WORKGRAPH_LIMITS_CONCURRENT_WRITES", "10000"),
    ("WORKGRAPH_UPLOAD_MAX", "1000000000"),
];
/// Minimum share of bare hyper's rate.
const RATE_FLOOR: f64 = 0.7;
/// Maximum memory above that of the idle server, in MiB.
const MEMORY_LIMIT: f64 = 64.0;
const BOUNDARY: &str = "workgraph-bench-boundary";

/// Measures in rounds, prints the figures, and fails if one is out of bounds.
pub(crate) fn run(args: &UploadArgs) -> Result<()> {
    println!("{}", procfs::machine());
    let folder = ScratchDir::make(&args.data)?;
    let data = folder.0.join("data");
    let bare_files = folder.0.join("bare");
    fs::create_dir_all(&bare_files)?;
    let program = binary(args.server.as_deref())?;
    let program = program.context("no workgraph binary beside this program and no --server")?;
    let env = SERVER_ENV.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let server = ServerProcess::workgraph(&program, &data, &env, true)?;
    let bare = ServerProcess::bare_uploads(&folder.0, &bare_files)?;
    let client = graph_builder::client(&server, &data)?;
    let workspaces = client.get("/api/1.0/workspaces")?;
    let workspace = workspaces.pointer("/data/0/gid").context("no workspace")?;
    let body = json!({"data": {"name": "Uploads", "workspace": workspace}});
    let task = client.post("/api/1.0/tasks", &body)?;
    let task = task.pointer("/data/gid").and_then(|gid| gid.as_str());
    let request = upload(task.context("no task")?, &client.token, args.size);

    bench_clock::pause(Duration::from_secs(2));
    let idle = procfs::resident_mib(server.pid())?;
    procfs::reset_peak(server.pid())?;
    let each = args.uploads.div_ceil(args.rounds as usize);
    let mut rates = [Vec::new(), Vec::new()];
    let (ours_begun, bare_begun) = (server.cpu()?, bare.cpu()?);
    let mut ratios = Vec::new();
    for round in 0..args.rounds {
        let mut both = [0.0, 0.0];
        // The two sides alternate in going first.
        for side in [round as usize % 2, 1 - round as usize % 2] {
            let (addr, files) = if side == 0 {
                (server.addr, data.join("attachments"))
            } else {
                (bare.addr, bare_files.clone())
            };
            let rate = rate(addr, &request, each, args.connections)?;
            if let (Some(all), Some(one)) = (rates.get_mut(side), both.get_mut(side)) {
                all.push(rate);
                *one = rate;
            }
            let written = empty(&files)?;
            if written < each {
                bail!("{written} of {each} files were written");
            }
        }
        let [ours, ceiling] = both;
        ratios.push(ours / ceiling);
        println!(
            "round {}: {ours:.1} uploads/s, bare hyper {ceiling:.1}/s",
            round + 1
        );
    }
    let peak = procfs::peak_mib(server.pid())?;
    let sent = each * args.rounds as usize;
    let [ours_cpu, ceiling_cpu] =
        [(&server, ours_begun), (&bare, bare_begun)].map(|(side, begun)| {
            let used = side.cpu().unwrap_or(begun).saturating_sub(begun);
            used.as_secs_f64() * 1e3 / sent as f64
        });
    server.stop()?;
    let [ours, ceiling] = rates.map(|all| median(&all).unwrap_or_default());
    let ratio = median(&ratios).context("no rounds")?;
    let megabytes = args.size as f64 / 1e6;
    println!(
        "{sent} uploads of {megabytes:.1} MB over {} connections: {ours:.1}/s ({:.0} MB/s), bare hyper to disk {ceiling:.1}/s; \
         ratio {ratio:.2} (at least {RATE_FLOOR})",
        args.connections,
        ours * megabytes,
    );
    println!("processor time of an upload: {ours_cpu:.1} ms, bare hyper {ceiling_cpu:.1} ms");
    let taken = peak - idle;
    println!(
        "memory: idle {idle:.1} MiB, most {peak:.1} MiB; {taken:.1} MiB for the uploads (at most {MEMORY_LIMIT})"
    );
    if ratio < RATE_FLOOR || taken > MEMORY_LIMIT {
        bail!("out of bounds");
    }
    Ok(())
}

/// Returns a request that uploads a file of this size.
fn upload(task: &str, token: &str, size: usize) -> Vec<u8> {
    let before = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"parent\"\r\n\r\n{task}\r\n\
         --{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"upload.bin\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    let after = format!("\r\n--{BOUNDARY}--\r\n");
    let length = before.len() + size + after.len();
    let mut request = format!(
        "POST /api/1.0/attachments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {length}\r\n\r\n{before}"
    )
    .into_bytes();
    // Not a repeated byte: a parser looks for line ends and dashes.
    let line = b"--0123456789 abcdefghijklmnopqrstuvwxyz\r\n";
    request.extend(line.iter().cycle().take(size));
    request.extend_from_slice(after.as_bytes());
    request
}

/// Sends a request this many times over this many connections. Returns the number per second.
fn rate(addr: SocketAddr, request: &[u8], uploads: usize, connections: usize) -> Result<f64> {
    let (begun, failure) = (AtomicUsize::new(0), Mutex::new(None));
    let start = bench_clock::now();
    std::thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                if let Err(error) = send_all(addr, request, uploads, &begun) {
                    *failure.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
                }
            });
        }
    });
    let time = bench_clock::now().duration_since(start).as_secs_f64();
    match failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some(error) => Err(error),
        None => Ok(uploads as f64 / time),
    }
}

fn send_all(addr: SocketAddr, request: &[u8], uploads: usize, begun: &AtomicUsize) -> Result<()> {
    let mut stream = TcpStream::connect(addr)?;
    let mut reply = vec![0; 64 << 10];
    while begun.fetch_add(1, Ordering::Relaxed) < uploads {
        stream.write_all(request)?;
        let mut length = 0;
        loop {
            let room = reply.get_mut(length..).unwrap_or_default();
            let read = stream.read(room)?;
            if read == 0 {
                bail!("the connection was closed, or the reply is too large");
            }
            length += read;
            let seen = reply.get(..length).unwrap_or_default();
            match parse_head(seen)? {
                Some(head) if head.status != 200 => {
                    bail!("{}: {}", head.status, String::from_utf8_lossy(seen));
                }
                Some(head) if head.total() <= length => break,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Removes the files in a folder and its subfolders, so that a run does not fill the disk. Returns their number.
fn empty(folder: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            count += empty(&entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
            count += 1;
        }
    }
    Ok(count)
}
