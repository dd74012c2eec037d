//! The C runtimes of programs for Windows, and loam-redirect.dll, which puts loam in their place.

use crate::binary::entry_points_windows as entry_points;
use crate::binary::pe::Image;

pub const REDIRECT: &str = "loam-redirect.dll";

/// Whose functions it redirects (src/redirect/runtimes_windows.c).
const REDIRECTED: [&str; 6] =
    ["ucrtbase.dll", "msvcrt.dll", "msvcr120.dll", "msvcr110.dll", "msvcr100.dll", "msvcr90.dll"];
/// Under these names programs import the UCRT.
const UCRT_SETS: &str = "api-ms-win-crt-";
/// No C runtime begins with these.
const BARE: [&str; 3] = ["kernel32.dll", "kernelbase.dll", "ntdll.dll"];
/// What a runtime that is linked into a module takes its memory by.
const HEAP_FUNCTIONS: [&str; 4] = ["HeapAlloc", "HeapFree", "HeapReAlloc", "HeapSize"];

pub enum Redirect {
    No,
    First,
    /// Behind a library, which may take blocks of a runtime's before.
    Behind(String),
}

/// Whether the program imports loam-redirect.dll in time.
pub fn redirect(program: &Image) -> Redirect {
    let is_redirect = |library: &String| library.eq_ignore_ascii_case(REDIRECT);
    let Some(place) = program.libraries.iter().position(is_redirect) else { return Redirect::No };
    let before = program.libraries[..place].iter();
    let mut others = before.filter(|library| !is_one_of(library, &BARE));
    others.next().map_or(Redirect::First, |other| Redirect::Behind(other.clone()))
}

fn is_one_of(library: &str, names: &[&str]) -> bool {
    names.iter().any(|name| library.eq_ignore_ascii_case(name))
}

/// Whether loam-redirect.dll takes the malloc family of this library.
pub fn is_redirected(library: &str) -> bool {
    is_one_of(library, &REDIRECTED) || is_ucrt_set(library)
}

fn is_ucrt_set(library: &str) -> bool {
    library.to_lowercase().starts_with(UCRT_SETS)
}

/// The runtime whose malloc a module imports, if it is one that is redirected.
pub fn imported(image: &Image) -> Option<String> {
    let family = image.imports.iter().filter(|import| entry_points::find(&import.name).is_some());
    let library = family.map(|import| &import.library).find(|library| is_redirected(library))?;
    Some(if is_ucrt_set(library) { "ucrtbase.dll".into() } else { library.to_lowercase() })
}

/// Whether a module has a runtime linked into it: it uses the system's heap as a malloc does, and
/// imports no malloc.
pub fn is_inside(image: &Image) -> bool {
    let imports = |name: &&str| image.imports.iter().any(|import| import.name == **name);
    image.loam_note.is_none()
        && HEAP_FUNCTIONS.iter().all(imports)
        && !image.imports.iter().any(|import| entry_points::find(&import.name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::pe::Import;

    fn image(imports: &[(&str, &str)]) -> Image {
        let mut image = Image {
            loam_note: None,
            imports: Vec::new(),
            libraries: Vec::new(),
            malloc_addresses: None,
        };
        for (library, name) in imports {
            let (library, name) = (library.to_string(), name.to_string());
            if !image.libraries.contains(&library) {
                image.libraries.push(library.clone());
            }
            image.imports.push(Import { library, name, slot_address: 0, is_delayed: false });
        }
        image
    }

    #[test]
    fn the_redirect_comes_in_time_if_no_runtime_can_begin_before() {
        let set = "api-ms-win-crt-heap-l1-1-0.dll";
        let (ours, bare) = (("Loam-Redirect.dll", "loam_redirect"), ("KERNEL32.dll", "Sleep"));
        assert!(matches!(redirect(&image(&[bare, (set, "free")])), Redirect::No));
        assert!(matches!(redirect(&image(&[bare, ours, (set, "free")])), Redirect::First));
        let late = redirect(&image(&[bare, (set, "free"), ours]));
        assert!(matches!(late, Redirect::Behind(library) if library == set));
    }

    #[test]
    fn runtimes_are_told_by_imports() {
        let set = "api-ms-win-crt-heap-l1-1-0.dll";
        assert_eq!(imported(&image(&[(set, "malloc")])).as_deref(), Some("ucrtbase.dll"));
        assert_eq!(imported(&image(&[("MSVCRT.dll", "free")])).as_deref(), Some("msvcrt.dll"));
        assert_eq!(imported(&image(&[("ucrtbased.dll", "free"), (set, "strlen")])), None);
        let heap = HEAP_FUNCTIONS.map(|name| ("KERNEL32.dll", name));
        assert!(is_inside(&image(&heap)));
        assert!(!is_inside(&image(&heap[..3])));
        assert!(!is_inside(&image(&[&heap[..], &[(set, "malloc")]].concat())));
    }
}
