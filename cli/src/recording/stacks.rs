//! Who called: a tree of addresses, of which every stack is a node. Its callers are those above.

/// The tree of a recording as far as it has been read.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    /// Node 1 is the first here; node 0 is above all, and stands for an unknown stack.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    /// The call above, a smaller number; 0 for none.
    pub above: u32,
    /// Behind the call instruction.
    pub address: u64,
}

impl Stacks {
    /// Of how many nodes there are; the next one has this number and 1.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// `false` if there is no call above such as it names.
    pub fn add(&mut self, node: Node) -> bool {
        let is_known = node.above as usize <= self.nodes.len();
        if is_known {
            self.nodes.push(node);
        }
        is_known
    }

    pub fn since(&self, number: usize) -> &[Node] {
        &self.nodes[number..]
    }

    /// The addresses of a stack, the caller of the allocation function first.
    pub fn frames(&self, mut stack: u32) -> Vec<u64> {
        let mut frames = Vec::new();
        while let Some(node) = stack.checked_sub(1).and_then(|at| self.nodes.get(at as usize)) {
            frames.push(node.address);
            stack = node.above;
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_a_node_and_those_above() {
        let mut stacks = Stacks::default();
        assert!(stacks.add(Node { above: 0, address: 10 }));
        assert!(stacks.add(Node { above: 1, address: 20 }));
        assert!(!stacks.add(Node { above: 3, address: 30 }));
        assert_eq!(stacks.frames(2), [20, 10]);
        assert!(stacks.frames(0).is_empty() && stacks.frames(9).is_empty());
    }
}
