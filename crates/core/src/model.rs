//! Model of the domain: gids, nodes, drafts, the declarations of resource types with their fields, and checks of input.
pub mod custom_field_values;
pub mod draft;
pub mod email_address;
pub mod external_data;
pub mod gid;
pub mod node;
pub mod registry;
pub mod resources;
pub mod schedule;
pub mod time;
pub mod validate;
