//! Call paths: each function below each caller is one node.

use std::collections::HashMap;

/// The most paths that are kept; further calls count for the nearest caller that has one.
const MOST: usize = 1 << 21;

/// A node's caller, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) parent: Option<u32>,
    pub(crate) what: u32,
}

/// All paths so far.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    known: HashMap<(Option<u32>, u32), u32>,
}

impl Paths {
    /// The path of something below another one.
    pub(crate) fn below(&mut self, parent: Option<u32>, what: u32) -> Option<u32> {
        if let Some(&node) = self.known.get(&(parent, what)) {
            return Some(node);
        }
        if self.nodes.len() >= MOST {
            return parent;
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { parent, what });
        self.known.insert((parent, what), node);
        Some(node)
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// What leads to a node, outermost first.
    pub(crate) fn path(&self, node: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next {
            let it = self.nodes[node as usize];
            path.push(it.what);
            next = it.parent;
        }
        path.reverse();
        path
    }
}
