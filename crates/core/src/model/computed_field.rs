//! Data from which fields without a stored value are computed.
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::time::Time;

/// Source of the temporary addresses of files.
pub trait DownloadUrls: std::fmt::Debug {
    /// Returns the address of the file that was created for a node at this time, or `None` if the file no longer exists.
    fn address(&self, of: &Node, made: Time) -> Option<String>;
    /// Returns the address at which a browser shows the file of an attachment, or `None` if it can only be downloaded.
    fn view_address(&self, of: &Node) -> Option<String>;
}

/// Data that computed fields need besides the node.
#[derive(Clone, Copy, Debug)]
pub struct ComputedFieldContext<'a> {
    /// User or service account that reads the record.
    pub viewer: Gid,
    /// App that makes the request, if there is one.
    pub app: Option<u64>,
    /// Address of the API, without a trailing slash.
    pub base_url: &'a str,
    /// Source of addresses of files; `None` if no addresses are given out.
    pub files: Option<&'a dyn DownloadUrls>,
}
