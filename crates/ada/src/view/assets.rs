//! The page's files, which are part of the executable.

/// A file of the page.
pub(super) struct Asset {
    pub(super) kind: &'static str,
    pub(super) bytes: &'static str,
}

macro_rules! assets {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../../viewer/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = &assets![
    "index.html"
    "compare.html"
    "style.css"
    "compare.css"
    "js/about.js"
    "js/address.js"
    "js/api.js"
    "js/arrows.js"
    "js/axis.js"
    "js/calls.js"
    "js/compare.js"
    "js/colours.js"
    "js/coverage.js"
    "js/crashes.js"
    "js/details.js"
    "js/draw.js"
    "js/flame.js"
    "js/format.js"
    "js/function.js"
    "js/help.js"
    "js/hit.js"
    "js/input.js"
    "js/kept.js"
    "js/keys.js"
    "js/layout.js"
    "js/lens.js"
    "js/live.js"
    "js/lives.js"
    "js/main.js"
    "js/marks.js"
    "js/minimap.js"
    "js/modules.js"
    "js/names.js"
    "js/notes.js"
    "js/overlay.js"
    "js/overview.js"
    "js/panel.js"
    "js/pictures.js"
    "js/pointed.js"
    "js/range.js"
    "js/search.js"
    "js/selection.js"
    "js/share.js"
    "js/states.js"
    "js/strips.js"
    "js/threads.js"
    "js/tip.js"
    "js/trackList.js"
    "js/tracks.js"
    "js/view.js"
];

/// The file at a path of the server. Nothing is read from a disk, so that no path leads anywhere else.
pub(super) fn find(path: &str) -> Option<Asset> {
    let name = if path == "/" { "index.html" } else { path.strip_prefix('/')? };
    let &(_, bytes) = FILES.iter().find(|(known, _)| *known == name)?;
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "text/javascript; charset=utf-8",
    };
    Some(Asset { kind, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_the_page_are_there() {
        assert!(find("/").is_some_and(|it| it.kind.starts_with("text/html")));
        assert!(find("/js/main.js").is_some_and(|it| it.kind.starts_with("text/javascript")));
        for path in ["/js/../main.js", "/../Cargo.toml", "//index.html", "/js/", "", "/js/main.js/", "/etc/passwd"] {
            assert!(find(path).is_none(), "{path}");
        }
    }

    #[test]
    fn every_import_of_a_script_is_there() {
        for (name, text) in FILES.iter().filter(|(name, _)| name.ends_with(".js")) {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.rsplit('"').nth(1).expect("a module is named in quotes");
                let path = format!("/js/{}", from.trim_start_matches("./"));
                assert!(find(&path).is_some(), "{name} imports {from}");
            }
        }
    }
}
