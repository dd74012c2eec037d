//! Colours of maps can be told apart, whatever one's eyes see less of.

/// Of who sees all of red, green and blue.
pub const ALL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// As Machado, Oliveira and Fernandes model it (2009), on linear red, green and blue.
const EYES: [(&str, [[f64; 3]; 3]); 4] = [
    ("all", ALL),
    ("no red", [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    ("no green", [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    ("no blue", [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
];
const NAMES: [&str; 9] =
    ["m-pinned", "m-low", "m-half", "m-most", "m-full", "m-free", "m-cached", "m-rest", "m-own"];

/// In CIE Lab, where distances are about those that one sees.
pub fn seen(hex: &str, eyes: &[[f64; 3]; 3]) -> [f64; 3] {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    let linear = [1, 3, 5].map(channel);
    let [red, green, blue] = eyes.map(|row| {
        let sum: f64 = row.iter().zip(linear).map(|(weight, value)| weight * value).sum();
        sum.clamp(0.0, 1.0)
    });
    let shape = |value: f64| {
        if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 }
    };
    let x = shape((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505);
    let y = shape(0.2126 * red + 0.7152 * green + 0.0722 * blue);
    let z = shape((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn color<'css>(css: &'css str, name: &str) -> &'css str {
    let (_, rest) = css.split_once(&format!("--{name}: ")).expect(name);
    &rest[..7]
}

#[test]
fn colours_of_maps_can_be_told_apart_by_everybody_in_light_and_in_dark() {
    const DISTANCE_MIN: f64 = 16.0;
    let sets = |css: &'static str| css.split_once("@media").expect("two sets");
    let (maps, pages) = (sets(include_str!("map.css")), sets(include_str!("colors.css")));
    for (map, page) in [(maps.0, pages.0), (maps.1, pages.1)] {
        for (whose, eyes) in &EYES {
            let mut all: Vec<(&str, [f64; 3])> =
                NAMES.map(|name| (name, seen(color(map, name), eyes))).to_vec();
            all.push(("background", seen(color(page, "background"), eyes)));
            for (at, (first, a)) in all.iter().enumerate() {
                for (second, b) in &all[at + 1..] {
                    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
                    let distance = squares.sum::<f64>().sqrt();
                    assert!(distance >= DISTANCE_MIN, "{whose}: {first}, {second}: {distance}");
                }
            }
        }
    }
}
