//! Extended attributes of a file, including access control lists: a file that replaces another gets its attributes.

use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// Limit of a list of names and of a value, in bytes (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX` of Linux).
const LONGEST: usize = 64 << 10;

/// Copies the attributes of a file to another. Returns whether it has all of them then. Fails when the attributes of `from` cannot be read.
pub fn carry_over(from: &File, to: &File) -> io::Result<bool> {
    let mut names = Vec::with_capacity(LONGEST);
    match flistxattr(from, spare_capacity(&mut names)) {
        // The file system has no attributes.
        Err(Errno::NOTSUP) => return Ok(true),
        listed => drop(listed?),
    }
    let (mut value, mut own) = (Vec::with_capacity(LONGEST), Vec::with_capacity(LONGEST));
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        value.clear();
        own.clear();
        match fgetxattr(from, name, spare_capacity(&mut value)) {
            // The attribute was removed meanwhile.
            Err(Errno::NODATA) => continue,
            read => drop(read?),
        }
        // Every new file gets some attributes that no program may set.
        let has = fgetxattr(to, name, spare_capacity(&mut own)).is_ok() && own == value;
        if !has && fsetxattr(to, name, &value, XattrFlags::empty()).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_carried_over() {
        let (from, to) = (tempfile::tempfile().expect("file"), tempfile::tempfile().expect("file"));
        let long = vec![b'x'; 1_000];
        let given: [(&str, &[u8]); 3] = [("user.charset", b"utf-8"), ("user.empty", b""), ("user.long", &long)];
        for (name, value) in given {
            match fsetxattr(&from, name, value, XattrFlags::empty()) {
                // Without attributes there is nothing to copy.
                Err(Errno::NOTSUP) => return assert!(carry_over(&from, &to).expect("read")),
                set => set.expect("set"),
            }
        }
        fsetxattr(&to, "user.charset", b"latin1", XattrFlags::empty()).expect("set");
        assert!(carry_over(&from, &to).expect("read"));
        for (name, value) in given {
            let mut found = Vec::with_capacity(LONGEST);
            fgetxattr(&to, name, spare_capacity(&mut found)).expect("there");
            assert_eq!(found, value, "{name}");
        }
    }
}
