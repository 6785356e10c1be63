//! A tree of lines with the branches drawn.

use ratatui::text::{Line, Span};

use crate::tui::Theme;

/// A line and what hangs on it.
#[derive(Clone, Debug, Default)]
pub struct Node<'a> {
    /// The line.
    pub line: Line<'a>,
    /// What hangs on it.
    pub children: Vec<Node<'a>>,
}

impl<'a> Node<'a> {
    /// A line with nothing on it.
    pub fn leaf(line: impl Into<Line<'a>>) -> Self {
        Self { line: line.into(), children: Vec::new() }
    }
}

/// The lines of trees, one below the other.
pub fn lines<'a>(roots: Vec<Node<'a>>, theme: &Theme) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for root in roots {
        lines.push(root.line);
        grow(root.children, "", theme, &mut lines);
    }
    lines
}

fn grow<'a>(children: Vec<Node<'a>>, before: &str, theme: &Theme, lines: &mut Vec<Line<'a>>) {
    let count = children.len();
    for (number, child) in (1..).zip(children) {
        let (branch, below) = if number == count { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let mut line = Line::from(Span::styled(format!("{before}{branch}"), theme.border));
        line.spans.extend(child.line.spans);
        lines.push(line);
        grow(child.children, &format!("{before}{below}"), theme, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_lead_to_what_hangs_on_them() {
        let leaf = |text: &'static str| Node::leaf(text);
        let middle = Node { line: "b".into(), children: vec![leaf("c"), leaf("d")] };
        let tree = Node { line: "a".into(), children: vec![middle, leaf("e")] };
        let lines = lines(vec![tree], &Theme::new(crate::tui::theme::Palette::None));
        let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["a", "├─ b", "│  ├─ c", "│  └─ d", "└─ e"]);
    }
}
