//! Protocol 1 of dpwitness in Rust, standard library only: a sum with Laplace noise of scale 1.
//!
//!     rustc -O laplace.rs
//!     dpwitness audit --command ./laplace --epsilon 1 --pair '[0]' '[0, 1]'
//!
//! Replace `draw`; the rest is the protocol (docs/protocol.md).
use std::io::{self, BufRead, Write};

/// SplitMix64 (Steele, Lea and Flood, 2014): all randomness follows from the request's seed.
struct Rng(u64);

impl Rng {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64 // in (0, 1)
    }
}

fn draw(database: &[f64], rng: &mut Rng) -> f64 {
    let u = rng.uniform();
    let noise = if u < 0.5 { (2.0 * u).ln() } else { -(2.0 - 2.0 * u).ln() };
    database.iter().sum::<f64>() + noise
}

/// The text after `"name":`; requests have no spaces and "database" comes last.
fn after<'a>(line: &'a str, name: &str) -> &'a str {
    let key = format!("\"{name}\":");
    line.find(&key).map_or("", |place| &line[place + key.len()..])
}

fn field(line: &str, name: &str) -> u64 {
    let text = after(line, name);
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().expect("a whole number")
}

fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| c == '[' || c == ']' || c == ',' || c == '}' || c.is_whitespace())
        .filter_map(|word| word.parse().ok())
        .collect()
}

fn main() -> io::Result<()> {
    let mut lines = io::stdin().lock().lines();
    let mut out = io::stdout().lock();
    lines.next().expect("a handshake")?; // {"dpwitness":1}
    writeln!(out, r#"{{"dpwitness": 1, "name": "laplace in Rust"}}"#)?;
    out.flush()?;
    for line in lines {
        let line = line?;
        let (id, size) = (field(&line, "id"), field(&line, "size"));
        let mut rng = Rng(field(&line, "seed"));
        let database = numbers(after(&line, "database"));
        let mut bytes = Vec::with_capacity(8 * size as usize);
        for _ in 0..size {
            bytes.extend_from_slice(&draw(&database, &mut rng).to_le_bytes());
        }
        writeln!(out, r#"{{"id": {id}, "dtype": "<f8", "shape": [{size}]}}"#)?;
        out.write_all(&bytes)?;
        out.flush()?;
    }
    Ok(())
}
