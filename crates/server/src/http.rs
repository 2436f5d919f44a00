//! HTTP: listeners and connections, the requests and responses on them, the routes, and the metrics.
pub(crate) mod accept;
pub(crate) mod app_state;
pub(crate) mod attachment_download;
pub(crate) mod byte_budgets;
pub(crate) mod connections;
pub(crate) mod download;
pub(crate) mod download_slots;
pub(crate) mod instrumented_socket;
pub(crate) mod listener;
pub(crate) mod openapi;
pub(crate) mod own_address;
pub(crate) mod request_body;
pub(crate) mod request_service;
pub(crate) mod response_body;
pub(crate) mod routed_response;
pub(crate) mod routes;
pub(crate) mod stop_signal;
