//! Tests of summaries and C# targets through the real rules and the real engine, in one program, so that it links once.

mod asked;
mod corrected;
mod desk;
mod edited;
mod renamed;
mod shown;
mod split_off;
mod together;
