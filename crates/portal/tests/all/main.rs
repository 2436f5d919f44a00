//! The portal over the memory store: pages, console, and what browsers and apps send.

mod console;
mod pages;
mod portal;
