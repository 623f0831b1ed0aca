//! The segments of the spool: files that are appended to, read from the first to the last, and deleted.

use super::SpoolError;
use super::file::{create, failed, fill, make_folder, put, sync_folder_of};
use super::frame::{Piece, framed, pieces};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A segment that has grown so long is not appended to.
const SEGMENT_BYTES: u64 = 4 << 20;
/// What a name ends with.
const ENDING: &str = "spool";
/// The file that keeps room.
const RESERVE: &str = "reserve";

/// How much room the spool takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// With more bytes waiting it counts as full.
    pub max_bytes: u64,
    /// So many bytes of the disk are kept for the records of what is under way when it turns out to be full.
    pub reserve_bytes: u64,
}

/// Bytes of a segment that were no records, as a crash leaves them; kept in a file of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where they are now.
    pub kept_in: PathBuf,
    /// How many.
    pub bytes: usize,
}

/// A spool, for one process at a time.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    room: Room,
    /// Those on the disk, the oldest first.
    segments: VecDeque<Segment>,
    /// The last one, while it may grow.
    writing: Option<File>,
    /// Records of the first one that have not been removed, once it is read.
    reading: Option<VecDeque<Vec<u8>>>,
    next_number: u64,
    has_reserve: bool,
    full: Option<String>,
}

#[derive(Debug)]
struct Segment {
    path: PathBuf,
    bytes: u64,
    /// Not removed yet.
    records: u64,
    /// When it was begun.
    begun_at: Option<SystemTime>,
}

impl Spool {
    /// Opens the spool in a folder, or makes one. What was torn or damaged is set aside.
    ///
    /// # Errors
    /// When the folder cannot be read, or what must be written there cannot.
    pub fn open(folder: &Path, room: Room) -> Result<(Self, Vec<Damage>), SpoolError> {
        make_folder(folder)?;
        let (mut numbered, mut highest) = (Vec::new(), 0);
        for entry in fs::read_dir(folder).map_err(failed("read the folder", folder))? {
            let path = entry.map_err(failed("read the folder", folder))?.path();
            let Some(number) = number_of(&path) else {
                continue;
            };
            highest = highest.max(number);
            if path.extension().is_some_and(|ending| ending == ENDING) {
                numbered.push((number, path));
            }
        }
        numbered.sort();
        let mut spool = Self {
            folder: folder.to_owned(),
            room,
            segments: VecDeque::new(),
            writing: None,
            reading: None,
            // What was set aside keeps its number, and its file.
            next_number: highest.saturating_add(1),
            has_reserve: false,
            full: None,
        };
        let mut damages = Vec::new();
        for (_, path) in numbered {
            damages.extend(spool.take_up(path)?);
        }
        spool.refresh();
        Ok((spool, damages))
    }

    /// How many records wait.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.segments.iter().map(|segment| segment.records).sum()
    }

    /// When the file with the oldest record was begun, by the clock of the file system.
    #[must_use]
    pub fn oldest_at(&self) -> Option<SystemTime> {
        let with_records = self.segments.iter().find(|segment| segment.records > 0);
        with_records.and_then(|segment| segment.begun_at)
    }

    /// How many bytes of the disk they take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Why nothing more should be begun, if so: there is room for the records of what is under way only.
    #[must_use]
    pub fn full(&self) -> Option<&str> {
        self.full.as_deref()
    }

    /// Keeps a record: when this returns, it is on the disk.
    ///
    /// # Errors
    /// When it cannot be written, the reserve used up; then nothing of it counts as kept.
    pub fn append(&mut self, record: &[u8]) -> Result<(), SpoolError> {
        let frame = framed(record).ok_or(SpoolError::TooLong(record.len()))?;
        let mut written = self.write(&frame);
        if let Err(error) = &written {
            self.full = Some(format!("cannot be written ({error})"));
            if self.release() {
                written = self.write(&frame);
            }
        }
        written.map_err(failed("write to the spool in", &self.folder))?;
        self.mark_limit();
        Ok(())
    }

    /// The oldest record that has not been removed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn first(&mut self) -> Result<Option<&[u8]>, SpoolError> {
        loop {
            if self.reading.as_ref().is_some_and(|rest| !rest.is_empty()) {
                break;
            }
            let Some(segment) = self.segments.front() else {
                return Ok(None);
            };
            if self.reading.is_some() {
                self.delete_first()?;
                continue;
            }
            if self.segments.len() == 1 {
                // What comes now goes into another one.
                self.writing = None;
            }
            let file = fs::read(&segment.path).map_err(failed("read", &segment.path))?;
            self.reading = Some(records_of(&file));
        }
        let rest = self.reading.as_ref();
        Ok(rest.and_then(|rest| rest.front()).map(Vec::as_slice))
    }

    /// Removes the oldest record: it is where it belongs.
    ///
    /// # Errors
    /// When a segment that is done cannot be deleted; it will come again then.
    pub fn remove_first(&mut self) -> Result<(), SpoolError> {
        let Some(rest) = &mut self.reading else {
            return Ok(());
        };
        if rest.pop_front().is_some()
            && let Some(segment) = self.segments.front_mut()
        {
            segment.records = segment.records.saturating_sub(1);
        }
        if rest.is_empty() {
            self.delete_first()?;
        }
        Ok(())
    }

    /// Puts what cannot be recorded into a file of its own, for a person to look at.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_aside(&mut self, record: &[u8]) -> Result<PathBuf, SpoolError> {
        self.put_aside("refused", record)
    }

    /// Looks whether there is room again.
    pub fn refresh(&mut self) {
        if !self.has_reserve {
            let path = self.folder.join(RESERVE);
            let _ = fs::remove_file(&path);
            match fill(&path, self.room.reserve_bytes) {
                Ok(()) => self.has_reserve = true,
                Err(error) => {
                    let _ = fs::remove_file(&path);
                    self.full = Some(format!("cannot be written ({error})"));
                    return;
                }
            }
        }
        self.full = None;
        self.mark_limit();
    }

    /// Into a file that there never was.
    fn put_aside(&mut self, kind: &str, bytes: &[u8]) -> Result<PathBuf, SpoolError> {
        let number = self.next_number;
        let path = self.folder.join(format!("{kind}-{number:016x}"));
        self.next_number += 1;
        put(&path, bytes).map_err(failed("write", &path))?;
        Ok(path)
    }

    fn mark_limit(&mut self) {
        if self.bytes() > self.room.max_bytes {
            let limit = self.room.max_bytes;
            self.full = Some(format!("has grown beyond its {limit} bytes"));
        }
    }

    fn release(&mut self) -> bool {
        std::mem::take(&mut self.has_reserve) && fs::remove_file(self.folder.join(RESERVE)).is_ok()
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        let may_grow = self
            .segments
            .back()
            .is_some_and(|s| s.bytes < SEGMENT_BYTES);
        if self.writing.is_none() || !may_grow {
            let number = self.next_number;
            let path = self.folder.join(format!("{number:016x}.{ENDING}"));
            self.writing = Some(create(&path)?);
            self.next_number += 1;
            self.segments.push_back(Segment {
                path: path.clone(),
                bytes: 0,
                records: 0,
                begun_at: begun_at(&path),
            });
            sync_folder_of(&path)?;
        }
        let (Some(file), Some(segment)) = (&mut self.writing, self.segments.back_mut()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let written = file.write_all(frame).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // What of it reached the disk is uncertain: cut it off, and never write behind it.
            let _ = file.set_len(segment.bytes);
            self.writing = None;
            return Err(error);
        }
        segment.bytes += frame.len() as u64;
        segment.records += 1;
        Ok(())
    }

    fn delete_first(&mut self) -> Result<(), SpoolError> {
        self.reading = None;
        let Some(segment) = self.segments.pop_front() else {
            return Ok(());
        };
        fs::remove_file(&segment.path)
            .and_then(|()| sync_folder_of(&segment.path))
            .map_err(failed("delete", &segment.path))
    }

    /// Takes up a segment of before; what of it is no record goes into a file of its own.
    fn take_up(&mut self, path: PathBuf) -> Result<Vec<Damage>, SpoolError> {
        let file = fs::read(&path).map_err(failed("read", &path))?;
        // Before it may be written anew.
        let begun_at = begun_at(&path);
        let (mut damages, mut whole, mut records) = (Vec::new(), Vec::new(), 0);
        for piece in pieces(&file) {
            match piece {
                Piece::Record { begin, end } => {
                    // It came out of such a file.
                    whole.extend(framed(&file[begin..end]).unwrap_or_default());
                    records += 1;
                }
                Piece::Damage { begin, end } => {
                    let kept_in = self.put_aside("damaged", &file[begin..end])?;
                    let bytes = end - begin;
                    damages.push(Damage { kept_in, bytes });
                }
            }
        }
        if records == 0 {
            fs::remove_file(&path).map_err(failed("delete", &path))?;
            return Ok(damages);
        }
        if !damages.is_empty() {
            put(&path, &whole).map_err(failed("write", &path))?;
        }
        self.segments.push_back(Segment {
            path,
            bytes: whole.len() as u64,
            records,
            begun_at,
        });
        Ok(damages)
    }
}

/// When a file was begun; when it was last written, where the file system does not keep that.
fn begun_at(path: &Path) -> Option<SystemTime> {
    let facts = fs::metadata(path).ok()?;
    facts.created().or_else(|_| facts.modified()).ok()
}

/// The number in the name of a file of ours, of whatever kind.
fn number_of(path: &Path) -> Option<u64> {
    let mut parts = path.file_name()?.to_str()?.split(['-', '.']);
    let number = parts.find(|part| part.len() == 16)?;
    u64::from_str_radix(number, 16).ok()
}

fn records_of(file: &[u8]) -> VecDeque<Vec<u8>> {
    let pieces = pieces(file).into_iter();
    pieces
        .filter_map(|piece| match piece {
            Piece::Record { begin, end } => Some(file[begin..end].to_vec()),
            Piece::Damage { .. } => None,
        })
        .collect()
}

#[cfg(test)]
mod tests;
