//! Truth functions as reduced, ordered binary decision diagrams: equal functions are equal numbers.
//!
//! ```text
//! and(x, not(x)) == FALSE        a + b == b + a, bit for bit
//! ```
//!
//! A diagram that would become too large is given up: `is_full`, and no answer holds from then on.
//!
//! Paper: Bryant, *Graph-Based Algorithms for Boolean Function Manipulation* (1986).

use rustc_hash::FxHashMap;

/// A truth function.
pub(super) type Truth = u32;

pub(super) const FALSE: Truth = 0;
pub(super) const TRUE: Truth = 1;

/// Nodes of all functions together.
const MOST: usize = 400_000;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Node {
    /// Variables are tested in ascending order.
    variable: u32,
    low: Truth,
    high: Truth,
}

#[derive(Debug)]
pub(super) struct Diagrams {
    nodes: Vec<Node>,
    unique: FxHashMap<Node, Truth>,
    known: FxHashMap<[Truth; 3], Truth>,
    full: bool,
}

impl Diagrams {
    pub(super) fn new() -> Diagrams {
        let end = Node {
            variable: u32::MAX,
            low: FALSE,
            high: FALSE,
        };
        Diagrams {
            nodes: vec![end, end],
            unique: FxHashMap::default(),
            known: FxHashMap::default(),
            full: false,
        }
    }

    /// Returns true if something was given up.
    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn variable(&mut self, number: u32) -> Truth {
        self.node(Node {
            variable: number,
            low: FALSE,
            high: TRUE,
        })
    }

    fn node(&mut self, node: Node) -> Truth {
        if node.low == node.high {
            return node.low;
        }
        if let Some(&known) = self.unique.get(&node) {
            return known;
        }
        if self.nodes.len() >= MOST {
            self.full = true;
            return FALSE;
        }
        let number = self.nodes.len() as Truth;
        self.nodes.push(node);
        self.unique.insert(node, number);
        number
    }

    /// `condition ? then : otherwise`
    pub(super) fn choose(&mut self, condition: Truth, then: Truth, otherwise: Truth) -> Truth {
        match (condition, then, otherwise) {
            (TRUE, ..) => return then,
            (FALSE, ..) => return otherwise,
            (_, then, otherwise) if then == otherwise => return then,
            (condition, TRUE, FALSE) => return condition,
            _ => {}
        }
        let key = [condition, then, otherwise];
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        if self.full {
            return FALSE;
        }
        let first = key.iter().map(|&of| self.nodes[of as usize].variable);
        let variable = first.min().unwrap_or(u32::MAX);
        let [low, high] = [false, true].map(|side| {
            let [c, t, o] = key.map(|of| self.at(of, variable, side));
            self.choose(c, t, o)
        });
        let made = self.node(Node {
            variable,
            low,
            high,
        });
        self.known.insert(key, made);
        made
    }

    /// A function where a variable that none above it tests has a value.
    fn at(&self, of: Truth, variable: u32, value: bool) -> Truth {
        let node = self.nodes[of as usize];
        match (node.variable == variable, value) {
            (false, _) => of,
            (true, false) => node.low,
            (true, true) => node.high,
        }
    }

    pub(super) fn not(&mut self, a: Truth) -> Truth {
        self.choose(a, FALSE, TRUE)
    }
    pub(super) fn and(&mut self, a: Truth, b: Truth) -> Truth {
        self.choose(a, b, FALSE)
    }
    pub(super) fn or(&mut self, a: Truth, b: Truth) -> Truth {
        self.choose(a, TRUE, b)
    }
    pub(super) fn xor(&mut self, a: Truth, b: Truth) -> Truth {
        let unlike = self.not(b);
        self.choose(a, unlike, b)
    }
}
