//! Planning from outside: whole pipeline texts, and the text of every diagnostic.

mod diagnostics;
mod hostile;
mod kinds;
mod pages;
mod plans;
