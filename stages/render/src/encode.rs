//! WebP files: an animation that plays in simulated time, and a still.

use webp_animation::{Encoder, EncoderOptions, EncodingConfig, EncodingType, LossyEncodingConfig};

/// Names the encoder in what is recorded.
pub(crate) const ENCODER: &str = "libwebp through webp-animation 0.10.0";

/// Quality of libwebp's lossy mode, 0 to 100.
const QUALITY: f32 = 72.0;
const STILL_QUALITY: f32 = 85.0;
/// How long the last frame stays before the animation begins again, ms.
const HOLD_MS: i32 = 1000;

fn encoder(width: usize, height: usize, quality: f32) -> Result<Encoder, String> {
    let lossy = LossyEncodingConfig::new_from_drawing_preset();
    let encoding = EncodingConfig { quality, encoding_type: EncodingType::Lossy(lossy), method: 4 };
    let options = EncoderOptions { encoding_config: Some(encoding), ..EncoderOptions::default() };
    Encoder::new_with_options((width as u32, height as u32), options).map_err(|e| e.to_string())
}

/// An animation under way; frames are rows of red, green, blue, alpha.
pub(crate) struct Film {
    encoder: Encoder,
    last_ms: i32,
}

impl Film {
    pub(crate) fn new(width: usize, height: usize) -> Result<Self, String> {
        Ok(Self { encoder: encoder(width, height, QUALITY)?, last_ms: 0 })
    }

    /// Adds the frame that is shown from `seconds` of simulated time on.
    pub(crate) fn add(&mut self, frame: &[u8], seconds: f64) -> Result<(), String> {
        self.last_ms = (seconds * 1000.0).round() as i32;
        self.encoder.add_frame(frame, self.last_ms).map_err(|e| e.to_string())
    }

    /// The file.
    pub(crate) fn finish(self) -> Result<Vec<u8>, String> {
        let data = self.encoder.finalize(self.last_ms + HOLD_MS).map_err(|e| e.to_string())?;
        Ok(data.to_vec())
    }
}

/// A still picture.
pub(crate) fn still(frame: &[u8], width: usize, height: usize) -> Result<Vec<u8>, String> {
    let mut encoder = encoder(width, height, STILL_QUALITY)?;
    encoder.add_frame(frame, 0).map_err(|e| e.to_string())?;
    Ok(encoder.finalize(HOLD_MS).map_err(|e| e.to_string())?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use webp_animation::Decoder;

    fn plain(value: u8) -> Vec<u8> {
        [value, value, value, 255].repeat(16 * 8)
    }

    #[test]
    fn frames_are_shown_at_their_simulated_time() {
        let mut film = Film::new(16, 8).unwrap();
        for (value, seconds) in [(0, 0.0), (120, 0.05), (250, 0.1)] {
            film.add(&plain(value), seconds).unwrap();
        }
        let file = film.finish().unwrap();
        let decoder = Decoder::new(&file).unwrap();
        let frames: Vec<_> = decoder.into_iter().collect();
        // The decoder gives the time at which a frame ends.
        let times: Vec<i32> = frames.iter().map(|f| f.timestamp()).collect();
        assert_eq!(times, [50, 100, 1100]);
        for (frame, value) in frames.iter().zip([0.0, 120.0, 250.0]) {
            assert!((f64::from(frame.data()[0]) - value).abs() < 4.0);
        }
    }

    #[test]
    fn a_still_is_one_frame() {
        let file = still(&plain(90), 16, 8).unwrap();
        assert_eq!((&file[..4], &file[8..12]), (&b"RIFF"[..], &b"WEBP"[..]));
        assert_eq!(Decoder::new(&file).unwrap().into_iter().count(), 1);
    }
}
