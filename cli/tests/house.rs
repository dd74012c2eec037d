//! How the command's files stand to each other: no circles, and no verb knows another one's types.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

/// A file's place in the tree of modules: `bench::show::table`.
type Module = Vec<String>;
/// From each module to those that it uses.
type Graph = BTreeMap<Module, BTreeSet<Module>>;

const VERBS: [&str; 13] = [
    "run", "verify", "explain", "doctor", "plot", "stats", "top", "exporter", "prof", "record",
    "trace", "graft", "bench",
];

/// What files of tests alone are called.
const TESTS: [&str; 2] = ["_tests", "synthetic"];

fn source() -> BTreeMap<Module, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = BTreeMap::new();
    read_folder(&root, &Module::new(), &mut files);
    files
}

fn read_folder(folder: &Path, above: &Module, files: &mut BTreeMap<Module, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let inside: Module = above.iter().cloned().chain([name.clone()]).collect();
        if path.is_dir() {
            read_folder(&path, &inside, files);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !TESTS.iter().any(|end| name.ends_with(end))
        {
            let is_folders_own = name == "mod" || name == "main";
            let module = if is_folders_own { above.clone() } else { inside };
            files.insert(module, code_of(&std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Without comments, texts and tests.
fn code_of(text: &str) -> String {
    static TESTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"#\[cfg\(test\)\]\s*mod \w+ \{").unwrap());
    static LEFT_OUT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r##"//[^\n]*|'(?:[^'\\]|\\.)'|r#"(?s:.*?)"#|"(?:[^"\\]|\\.)*""##).unwrap()
    });
    let text = TESTS.find(text).map_or(text, |found| &text[..found.start()]);
    LEFT_OUT.replace_all(text, "").into_owned()
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else { return vec![tree.trim().to_owned()] };
    let (mut depth, mut start, mut parts) = (0, open + 1, Vec::new());
    for (at, one) in tree.char_indices().skip(open) {
        match one {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (one == ',' && depth == 1) || (one == '}' && depth == 0) {
            parts.push(&tree[start..at]);
            start = at + 1;
        }
    }
    let before = tree[..open].trim();
    let whole = |part: &str| expanded(&format!("{before}{}", part.trim()));
    parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(whole).collect()
}

/// Every path that a file names.
fn paths(code: &str) -> Vec<String> {
    static USES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse\s+([^;]+);").unwrap());
    static INLINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b[a-z_]\w*(?:::\w+)+").unwrap());
    let trees = USES.captures_iter(code).flat_map(|found| expanded(&found[1]));
    let rest = USES.replace_all(code, "");
    trees.chain(INLINE.find_iter(&rest).map(|found| found.as_str().to_owned())).collect()
}

/// The module that a path in a module leads to, if it is one of the command's.
fn resolved(path: &str, from: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let words: Vec<&str> = path.split("::").map(str::trim).collect();
    let below = |at: &Module, word: &str| {
        let below: Module = at.iter().cloned().chain([word.to_owned()]).collect();
        modules.contains(&below).then_some(below)
    };
    let mut at = if words[0] == "crate" { Module::new() } else { from.clone() };
    let is_up = |word: &&&str| ["crate", "self", "super"].contains(*word);
    let ups = words.iter().take_while(is_up).count();
    if ups == 0 {
        // A module below; all others are of other crates, or named by a `use`.
        below(&at, words[0])?;
    }
    words[..ups].iter().filter(|word| **word == "super").for_each(|_| drop(at.pop()));
    for word in &words[ups..] {
        match below(&at, word) {
            Some(further) => at = further,
            None => break,
        }
    }
    Some(at)
}

fn graph(files: &BTreeMap<Module, String>) -> Graph {
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let used = |(module, code): (&Module, &String)| {
        let all = paths(code);
        let found = all.iter().filter_map(|path| resolved(path, module, &modules));
        (module.clone(), found.filter(|other| other != module).collect())
    };
    files.iter().map(used).collect()
}

/// Modules that use each other, directly or through others: the way round.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    fn visit(
        at: &Module,
        graph: &Graph,
        way: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> bool {
        if let Some(start) = way.iter().position(|one| one == at) {
            way.drain(..start);
            return true;
        }
        if done.contains(at) {
            return false;
        }
        way.push(at.clone());
        let used = graph.get(at).into_iter().flatten();
        if used.into_iter().any(|other| visit(other, graph, way, done)) {
            return true;
        }
        way.pop();
        done.insert(at.clone());
        false
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|module| {
        let mut way = Vec::new();
        let found = visit(module, graph, &mut way, &mut done);
        found.then(|| way.iter().map(|module| module.join("::")).collect())
    })
}

/// The same between folders, cut off at a depth.
fn folders(graph: &Graph, depth: usize) -> Graph {
    let cut = |module: &Module| module.iter().take(depth).cloned().collect::<Module>();
    let mut folders = Graph::new();
    for (module, used) in graph.iter().filter(|(module, _)| module.len() >= depth) {
        let others = used.iter().filter(|other| other.len() >= depth).map(cut);
        let others = others.filter(|other| *other != cut(module));
        folders.entry(cut(module)).or_default().extend(others);
    }
    folders
}

#[test]
fn no_file_uses_what_uses_it() {
    let graph = graph(&source());
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 150, "uses are found");
    let verify = &graph[&vec!["verify".to_owned()]];
    assert!(verify.contains(&vec!["verify".to_owned(), "inspect".to_owned()]), "those below, too");
    assert_eq!(circle(&graph), None);
}

#[test]
fn no_folder_uses_what_uses_it() {
    let graph = graph(&source());
    for depth in [1, 2] {
        assert_eq!(circle(&folders(&graph, depth)), None, "depth {depth}");
    }
}

#[test]
fn no_verb_knows_another_ones_types() {
    for (module, used) in graph(&source()) {
        let Some(verb) = VERBS.iter().find(|verb| module.first().is_some_and(|one| one == *verb))
        else {
            continue;
        };
        for other in used {
            let is_other =
                VERBS.iter().any(|one| one != verb && other.first().is_some_and(|it| it == one));
            assert!(!is_other, "{} uses {}", module.join("::"), other.join("::"));
        }
    }
}

#[test]
fn a_circle_is_found() {
    let files = [
        ("a", "use crate::b::{self, Thing};"),
        ("b", "fn f() { crate::c::d::call(); }"),
        ("c", "mod d;"),
        ("c::d", "use super::super::a; // and more"),
    ];
    let module = |name: &str| name.split("::").map(str::to_owned).collect::<Module>();
    let files = files.map(|(name, code)| (module(name), code_of(code))).into_iter().collect();
    let graph = graph(&files);
    assert_eq!(circle(&graph).unwrap(), ["a", "b", "c::d"]);
    assert_eq!(circle(&folders(&graph, 1)).unwrap(), ["a", "b", "c"]);
    let straight =
        BTreeMap::from([(module("a"), "use crate::b;".to_owned()), (module("b"), String::new())]);
    assert_eq!(circle(&self::graph(&straight)), None);
}

#[test]
fn every_file_of_tests_is_in_their_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let program = std::fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_module = path.extension().is_some_and(|extension| extension == "rs")
            && !["main", "damaged"].contains(&name);
        assert!(!is_module || program.contains(&format!("\nmod {name};\n")), "mod {name};");
    }
}
