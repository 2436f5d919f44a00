//! A server of buckets on this machine: SeaweedFS, which checks the signatures of all requests.
use super::clients::ready;
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const NAME: &str = "attachments";
const KEY: &str = "workgraph-key";
const SECRET: &str = "workgraph+secret/";
const IDENTITIES: &str = "{\"identities\": [{\"name\": \"workgraph\", \"actions\": [\"Admin\"], \"credentials\": \
    [{\"accessKey\": \"workgraph-key\", \"secretKey\": \"workgraph+secret/\"}]}]}";

/// Server with one bucket, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct BucketServer {
    child: Child,
    port: u16,
}

impl BucketServer {
    /// Starts a server with its data in a folder. Returns `None`, with a message, if it cannot or is not to run here.
    pub(crate) fn start(what: &str, folder: &Path) -> Option<Self> {
        let programs = ready(what, &["python3"], "bucket/install.sh")?;
        let weed = programs.join("bucket/bin/weed");
        std::fs::create_dir_all(folder.join("data")).unwrap();
        std::fs::write(folder.join("identities.json"), IDENTITIES).unwrap();
        for _ in 0..3 {
            let mut server = Self::spawn(&weed, folder);
            if server.makes_bucket() {
                return Some(server);
            }
        }
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        panic!("the server of buckets does not start: {log}");
    }

    fn spawn(weed: &Path, folder: &Path) -> Self {
        // Ports that were free a moment ago; if one is not any more, the server ends, and another is started.
        let free = [(); 8].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = free.map(|listener| listener.local_addr().unwrap().port());
        let mut command = Command::new(weed);
        command
            .arg("-logtostderr")
            .args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
        command.args(["-filer", "-s3", "-s3.iam=false", "-volume.max=20"]);
        command.args([
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-master.volumeSizeLimitMB=100",
        ]);
        let names = [
            "master.port",
            "master.port.grpc",
            "volume.port",
            "volume.port.grpc",
            "filer.port",
            "filer.port.grpc",
            "s3.port.grpc",
            "s3.port",
        ];
        for (name, port) in names.iter().zip(ports) {
            command.arg(format!("-{name}={port}"));
        }
        for (name, file) in [
            ("dir", "data"),
            ("s3.config", "identities.json"),
            ("filer.localSocket", "filer.sock"),
            ("s3.localSocket", "s3.sock"),
        ] {
            command.arg(format!("-{name}={}", folder.join(file).display()));
        }
        let log = File::create(folder.join("log")).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        Self {
            child: command.spawn().unwrap(),
            port: ports[7],
        }
    }

    fn makes_bucket(&mut self) -> bool {
        let (_open, nothing) = mpsc::channel::<()>();
        for _ in 0..300 {
            let made = self
                .bucket()
                .create_bucket(&credentials())
                .sign(Duration::from_secs(60));
            match self.ask("PUT", made.as_str()) {
                Some((200, _)) => return true,
                _ if self.child.try_wait().unwrap().is_some() => return false,
                _ => {}
            }
            let _timeout = nothing.recv_timeout(Duration::from_millis(100));
        }
        false
    }

    fn bucket(&self) -> Bucket {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        Bucket::new(endpoint.parse().unwrap(), UrlStyle::Path, NAME, "us-east-1").unwrap()
    }

    /// Returns the settings with which files are kept there.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("bucket.endpoint", format!("http://127.0.0.1:{}", self.port)),
            ("bucket.name", NAME.to_owned()),
            ("bucket.prefix", "work graph/".to_owned()),
            ("bucket.access_key", KEY.to_owned()),
            ("bucket.secret_key", SECRET.to_owned()),
        ]
    }

    /// Returns the keys of all files and then those of all unfinished uploads, without the prefix.
    pub(crate) fn contents(&self) -> [Vec<String>; 2] {
        [("list-type", "2"), ("uploads", "")].map(|(name, value)| {
            let (bucket, credentials) = (self.bucket(), credentials());
            let mut list = bucket.get_object(Some(&credentials), "");
            list.query_mut().insert(name, value);
            let (status, text) = self
                .ask("GET", list.sign(Duration::from_secs(60)).as_str())
                .unwrap();
            assert_eq!(status, 200, "{text}");
            let keys = text.split("<Key>").skip(1);
            let key = |text: &str| {
                let key = text.split("</Key>").next().unwrap();
                key.rsplit_once("graph/").unwrap().1.to_owned()
            };
            let keys = keys.map(key).filter(|key| key != "workgraph-owner");
            keys.collect()
        })
    }

    /// Sends a request without a body. Returns status and reply, or `None` if there is no whole one.
    fn ask(&self, method: &str, url: &str) -> Option<(u16, String)> {
        let target = url.split_once(&format!(":{}", self.port))?.1;
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let port = self.port;
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let status = text.get(9..12)?.parse().ok()?;
        Some((status, text))
    }
}

fn credentials() -> Credentials {
    Credentials::new(KEY, SECRET)
}

impl Drop for BucketServer {
    fn drop(&mut self) {
        // This fails only when the process has ended already.
        let _over = self.child.kill();
        let _status = self.child.wait();
    }
}
