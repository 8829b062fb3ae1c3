//! Planning from outside: whole pipeline texts, and the text of every diagnostic.

mod kinds;
mod plans;
