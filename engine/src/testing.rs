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
    let shortest = |size| (0..3).map(|_| processor_time(size)).fold(f64::INFINITY, f64::min);
    let (one, four) = (shortest(size), shortest(4 * size));
    assert!(four < 10.0 * one, "size {size}: {one} s, four times the size: {four} s");
}
