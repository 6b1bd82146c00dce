//! Reading the store by several threads.

use std::panic::resume_unwind;
use std::thread;

/// Maps items by threads of this call alone, and returns the results in order.
///
/// A thread that reads may wait for the store's lock. In a pool that others share, it could block the work of the thread that holds the lock.
pub(super) fn map_together<T: Sync, R: Send>(items: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = rayon::current_num_threads().min(items.len()).max(1);
    let of_thread = |first: usize| items.iter().skip(first).step_by(threads).map(&map).collect::<Vec<R>>();
    let of_threads: Vec<Vec<R>> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|first| scope.spawn(move || of_thread(first))).collect();
        let own = of_thread(0);
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).collect()
    });
    let mut of_threads: Vec<_> = of_threads.into_iter().map(Vec::into_iter).collect();
    (0..items.len()).filter_map(|at| of_threads[at % threads].next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_items() {
        for count in [0, 1, 2, 3, 100] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(
                map_together(&items, |item| item * 2),
                items.iter().map(|item| item * 2).collect::<Vec<_>>()
            );
        }
    }
}
