//! Layered drawing of a small graph, from left to right: each node is right of all its inputs. Long edges pass between the nodes of the layers
//! that they cross. Works on numbers, without nodes or pages. Deterministic: equal graphs give equal drawings.

/// Width of a node.
pub const WIDTH: i32 = 172;
/// Height of a node.
pub const HEIGHT: i32 = 40;
/// Distance between the left sides of two adjacent layers.
const STEP: i32 = WIDTH + 58;
/// Gap between the nodes of a layer.
const GAP: i32 = 12;
/// Height of an edge where it passes through a layer.
const PASS: i32 = 10;
/// Margin around the drawing.
const MARGIN: i32 = 28;
/// Number of passes that sort the layers by their neighbours.
const SWEEPS: usize = 12;
/// Number of passes that pull nodes towards their neighbours.
const PULLS: usize = 10;

/// Positions of nodes and edges.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    pub width: i32,
    pub height: i32,
    /// Upper left corner of each node.
    pub nodes: Vec<(i32, i32)>,
    /// Points of each edge, in the order of the edges.
    pub edges: Vec<Vec<(i32, i32)>>,
}

/// Element of a layer: a node, or an edge that passes through.
struct LayerElement {
    layer: usize,
    height: i32,
    /// Upper side.
    y: i32,
    before: Vec<usize>,
    after: Vec<usize>,
}

/// Lays out `count` nodes with edges between them. Also draws the back edges of a cycle forwards.
pub fn layout(count: usize, edges: &[(usize, usize)]) -> Layout {
    let layers_of = layers(count, edges);
    let depth = layers_of.iter().max().map_or(0, |last| last + 1);
    let mut places: Vec<LayerElement> = layers_of.iter().map(|&layer| place_at(layer, HEIGHT)).collect();
    let mut ways: Vec<Vec<usize>> = Vec::with_capacity(edges.len());
    for &(from, to) in edges {
        // In a cycle, the first node of an edge may be in the later layer.
        let (left, right) = if layers_of[from] <= layers_of[to] { (from, to) } else { (to, from) };
        let mut way = vec![left];
        for layer in layers_of[left] + 1..layers_of[right] {
            way.push(places.len());
            places.push(place_at(layer, PASS));
        }
        way.push(right);
        for pair in way.windows(2) {
            if places[pair[0]].layer < places[pair[1]].layer {
                places[pair[0]].after.push(pair[1]);
                places[pair[1]].before.push(pair[0]);
            }
        }
        ways.push(way);
    }
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); depth];
    for (at, place) in places.iter().enumerate() {
        order[place.layer].push(at);
    }
    sort(&mut order, &places);
    assign_heights(&order, &mut places);
    let top = places.iter().map(|place| place.y).min().unwrap_or(0);
    for place in &mut places {
        place.y += MARGIN - top;
    }
    let bottom = places.iter().map(|place| place.y + place.height).max().unwrap_or(0);
    let x = |place: &LayerElement| MARGIN + i32::try_from(place.layer).unwrap_or(0) * STEP;
    let route = |way: &Vec<usize>| {
        let mut points = Vec::new();
        for (at, &id) in way.iter().enumerate() {
            let place = &places[id];
            let middle = place.y + place.height / 2;
            if at > 0 {
                points.push((x(place), middle));
            }
            if at + 1 < way.len() {
                points.push((x(place) + WIDTH, middle));
            }
        }
        points
    };
    Layout {
        width: 2 * MARGIN + WIDTH + STEP * i32::try_from(depth.saturating_sub(1)).unwrap_or(0),
        height: bottom + MARGIN,
        nodes: places[..count].iter().map(|place| (x(place), place.y)).collect(),
        edges: ways.iter().map(route).collect(),
    }
}

fn place_at(layer: usize, height: i32) -> LayerElement {
    let (before, after) = (Vec::new(), Vec::new());
    LayerElement {
        layer,
        height,
        y: 0,
        before,
        after,
    }
}

/// Returns the layer of each node: after all its inputs, and as close to its readers as that allows, so that edges are short.
fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0_usize; count];
    // Without cycles, each pass settles one more layer until none changes; the limit stops it in a cycle.
    for _ in 0..count {
        let mut changed = false;
        for &(from, to) in edges {
            if layers[to] <= layers[from] && layers[from] + 1 < count {
                layers[to] = layers[from] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut by_layer: Vec<usize> = (0..count).collect();
    by_layer.sort_by_key(|&node| (std::cmp::Reverse(layers[node]), node));
    for node in by_layer {
        let next = edges
            .iter()
            .filter(|(from, to)| *from == node && *to != node)
            .map(|(_, to)| layers[*to])
            .min();
        if let Some(next) = next {
            layers[node] = layers[node].max(next.saturating_sub(1));
        }
    }
    // A cycle may leave empty layers; renumber without them.
    let mut used: Vec<usize> = layers.clone();
    used.sort_unstable();
    used.dedup();
    layers.iter().map(|layer| used.binary_search(layer).unwrap_or(0)).collect()
}

/// Sorts each layer by the mean of its neighbours, from the left and from the right in turn; keeps the best order.
fn sort(order: &mut Vec<Vec<usize>>, places: &[LayerElement]) {
    let mut best = (crossings(order, places), order.clone());
    for sweep in 0..SWEEPS {
        let forwards = sweep % 2 == 0;
        let count = order.len();
        for step in 1..count {
            let (at, side) = if forwards {
                (step, step - 1)
            } else {
                (count - 1 - step, count - step)
            };
            let mut rank = vec![0.0; places.len()];
            for (index, &id) in order[side].iter().enumerate() {
                rank[id] = index as f64;
            }
            let middle = |id: usize, index: usize| {
                let near = if forwards { &places[id].before } else { &places[id].after };
                if near.is_empty() {
                    index as f64
                } else {
                    near.iter().map(|&other| rank[other]).sum::<f64>() / near.len() as f64
                }
            };
            let mut keyed: Vec<(f64, usize)> = order[at].iter().enumerate().map(|(index, &id)| (middle(id, index), id)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            order[at] = keyed.into_iter().map(|(_, id)| id).collect();
        }
        let found = crossings(order, places);
        if found < best.0 {
            best = (found, order.clone());
        }
    }
    *order = best.1;
}

/// Counts the edges that cross between adjacent layers. A drawing has few edges, so it compares all pairs.
fn crossings(order: &[Vec<usize>], places: &[LayerElement]) -> usize {
    let mut rank = vec![0; places.len()];
    for layer in order {
        for (index, &id) in layer.iter().enumerate() {
            rank[id] = index;
        }
    }
    let mut count = 0;
    for layer in order {
        let edges: Vec<(usize, usize)> = layer
            .iter()
            .flat_map(|&id| places[id].after.iter().map(move |&other| (id, other)))
            .map(|(id, other)| (rank[id], rank[other]))
            .collect();
        for (at, a) in edges.iter().enumerate() {
            count += edges[at + 1..]
                .iter()
                .filter(|b| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1))
                .count();
        }
    }
    count
}

/// Assigns heights: stacks each layer, then pulls it towards its neighbours without changing its order.
fn assign_heights(order: &[Vec<usize>], places: &mut [LayerElement]) {
    for layer in order {
        let mut y = 0;
        for &id in layer {
            places[id].y = y;
            y += places[id].height + GAP;
        }
        // All layers start centred on one line.
        for &id in layer {
            places[id].y -= y / 2;
        }
    }
    for pull in 0..PULLS {
        let layers: Vec<&Vec<usize>> = if pull % 2 == 0 {
            order.iter().collect()
        } else {
            order.iter().rev().collect()
        };
        for layer in layers {
            let wanted: Vec<i32> = layer.iter().map(|&id| ideal_top(id, places)).collect();
            stack(layer, &wanted, places);
        }
    }
}

/// Returns the preferred upper side of a place: centred on the mean of its neighbours.
fn ideal_top(id: usize, places: &[LayerElement]) -> i32 {
    let place = &places[id];
    let near = || place.before.iter().chain(&place.after);
    let count = i32::try_from(near().count()).unwrap_or(i32::MAX);
    if count == 0 {
        return place.y;
    }
    let sum: i32 = near().map(|&other| places[other].y + places[other].height / 2).sum();
    sum / count - place.height / 2
}

/// Moves a layer as close to its preferred positions as its order and the gaps allow. Places that would overlap form a block at the mean of
/// their preferred positions.
fn stack(layer: &[usize], wanted: &[i32], places: &mut [LayerElement]) {
    struct Block {
        first: usize,
        length: i32,
        sum: i32,
        count: i32,
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (at, &id) in layer.iter().enumerate() {
        let mut block = Block {
            first: at,
            length: places[id].height + GAP,
            sum: wanted[at],
            count: 1,
        };
        while let Some(above) = blocks.pop_if(|above| above.sum / above.count + above.length > block.sum / block.count) {
            block = Block {
                first: above.first,
                sum: above.sum + block.sum - block.count * above.length,
                length: above.length + block.length,
                count: above.count + block.count,
            };
        }
        blocks.push(block);
    }
    for (number, block) in blocks.iter().enumerate() {
        let end = blocks.get(number + 1).map_or(layer.len(), |next| next.first);
        let mut y = block.sum / block.count;
        for &id in &layer[block.first..end] {
            places[id].y = y;
            y += places[id].height + GAP;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the next pseudorandom number, so that the graphs are always the same.
    fn next(seed: &mut u64) -> usize {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        usize::try_from(*seed >> 33).expect("31 bits")
    }

    fn check(count: usize, edges: &[(usize, usize)], rings: bool) {
        let drawn = layout(count, edges);
        assert_eq!(drawn, layout(count, edges));
        assert_eq!((drawn.nodes.len(), drawn.edges.len()), (count, edges.len()));
        for (at, a) in drawn.nodes.iter().enumerate() {
            assert!(a.0 >= 0 && a.1 >= 0 && a.0 + WIDTH <= drawn.width && a.1 + HEIGHT <= drawn.height);
            for b in &drawn.nodes[at + 1..] {
                assert!(
                    a.0 != b.0 || (a.1 - b.1).abs() >= HEIGHT + GAP - 1,
                    "nodes stand on each other: {a:?} {b:?}"
                );
            }
        }
        for ((from, to), points) in edges.iter().zip(&drawn.edges) {
            assert!(points.len() >= 2);
            if !rings {
                assert!(drawn.nodes[*from].0 < drawn.nodes[*to].0, "an edge leads back");
                assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            }
        }
    }

    #[test]
    fn nodes_stand_apart_and_right_of_what_they_read() {
        let mut seed = 0x5eed;
        for _ in 0..60 {
            let count = 1 + next(&mut seed) % 120;
            let edges: Vec<(usize, usize)> = (0..next(&mut seed) % 200)
                .map(|_| (next(&mut seed) % count, next(&mut seed) % count))
                .filter(|(from, to)| from < to)
                .collect();
            check(count, &edges, false);
        }
    }

    #[test]
    fn rings_are_drawn_too() {
        check(3, &[(0, 1), (1, 2), (2, 0)], true);
        check(120, &(0..120).map(|at| (at, (at + 1) % 120)).collect::<Vec<_>>(), true);
        check(0, &[], true);
    }
}
