//! What all pages have: one file, with styles and scripts in it, and everything in it escaped but
//! what is the command's own.

use anyhow::{Context, Result};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Serialize;

/// A page's body, and the scripts that it needs behind those of all.
pub struct Template {
    pub html: &'static str,
    pub scripts: &'static [&'static str],
}

/// Pictures of cells, to be looked at closely.
pub const RASTER: &str = include_str!("raster.js");

/// How every page begins: with a title, and with styles in it.
pub const HEAD: &str = include_str!("head.html");
/// What pages of figures have, too.
pub const COLORS: &str = include_str!("colors.css");
pub const STYLE: &str = include_str!("style.css");

const PAGE: &str = include_str!("page.html");
const MACROS: &str = include_str!("macros.html");
const TIP: &str = include_str!("tip.js");
const STYLES: [&str; 3] = [COLORS, STYLE, include_str!("map.css")];

/// The page. The content has a title.
pub fn render(template: &Template, content: &impl Serialize) -> Result<String> {
    let mut environment = Environment::new();
    // The names' endings turn escaping on.
    for (name, text) in [
        ("page.html", PAGE),
        ("head.html", HEAD),
        ("macros.html", MACROS),
        ("body.html", template.html),
    ] {
        environment.add_template(name, text).context("the page's template")?;
    }
    let values = context! {
        page => Value::from(Serde(content)),
        styles => STYLES,
        scripts => [&[TIP], template.scripts].concat(),
        version => env!("CARGO_PKG_VERSION"),
    };
    let page = environment.get_template("page.html").context("the page's template")?;
    page.render(values).context("the page's template")
}
