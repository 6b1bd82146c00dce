//! Helpers that tests of several modules share.

use os::clocks::thread_time;

/// Asserts that four times the size takes less than ten times the processor time; what is quadratic takes sixteen times as much.
///
/// The clock is that of this thread, so other tests and a loaded machine do not count.
pub(crate) fn assert_linear(size: usize, run: impl Fn(usize)) {
    let processor_time = |size| {
        let start = thread_time();
        run(size);
        (thread_time() - start).as_secs_f64()
    };
    let mut times = Vec::new();
    // A single time may be an accident, and what is quadratic never passes: so one of three is enough.
    let is_linear = (0..3).any(|_| {
        let (one, four) = (processor_time(size), processor_time(4 * size));
        times.push((one, four));
        four < 10.0 * one
    });
    assert!(is_linear, "size {size}, in seconds, and four times the size: {times:?}");
}
