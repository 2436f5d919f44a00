//! Properties of the codecs through the public interface.

mod codecs;
mod cursor;
