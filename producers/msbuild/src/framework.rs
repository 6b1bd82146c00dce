//! Target frameworks: parses monikers such as `net8.0-windows`, orders them by age, and lists the symbols that the SDK defines for each.

use std::cmp::Ordering;

/// A family of frameworks. Later variants are newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// `net472`.
    Framework,
    /// `netstandard2.0`.
    Standard,
    /// `netcoreapp3.1`, `net8.0`.
    Core,
}

/// A parsed target framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Framework {
    pub family: Family,
    /// Major, minor and build number.
    pub version: [u32; 3],
    /// `windows`, `ios`, … in lower case.
    pub platform: String,
    /// Version of the platform as written.
    pub platform_version: String,
}

/// Versions that have `…_OR_GREATER` symbols, oldest first.
const FRAMEWORKS: [[u32; 3]; 14] = [
    [2, 0, 0],
    [3, 5, 0],
    [4, 0, 0],
    [4, 5, 0],
    [4, 5, 1],
    [4, 5, 2],
    [4, 6, 0],
    [4, 6, 1],
    [4, 6, 2],
    [4, 7, 0],
    [4, 7, 1],
    [4, 7, 2],
    [4, 8, 0],
    [4, 8, 1],
];
const STANDARDS: [[u32; 3]; 9] = [
    [1, 0, 0],
    [1, 1, 0],
    [1, 2, 0],
    [1, 3, 0],
    [1, 4, 0],
    [1, 5, 0],
    [1, 6, 0],
    [2, 0, 0],
    [2, 1, 0],
];
const CORES: [[u32; 3]; 7] = [[1, 0, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0], [2, 2, 0], [3, 0, 0], [3, 1, 0]];

impl Framework {
    /// Parses a moniker; `None` if it is unknown.
    pub fn from_moniker(text: &str) -> Option<Self> {
        let lower = text.trim().to_ascii_lowercase();
        let (name, platform) = lower.split_once('-').unwrap_or((&lower, ""));
        let digits = platform.find(|c: char| c.is_ascii_digit()).unwrap_or(platform.len());
        let (family, version) = if let Some(rest) = name.strip_prefix("netstandard") {
            (Family::Standard, dotted(rest)?)
        } else if let Some(rest) = name.strip_prefix("netcoreapp") {
            (Family::Core, dotted(rest)?)
        } else {
            let rest = name.strip_prefix("net")?;
            match dotted(rest)? {
                version if rest.contains('.') && version[0] >= 5 => (Family::Core, version),
                version if rest.contains('.') => (Family::Framework, version),
                _ => (Family::Framework, packed(rest)?),
            }
        };
        Some(Self {
            family,
            version,
            platform: platform[..digits].to_owned(),
            platform_version: platform[digits..].to_owned(),
        })
    }

    /// Returns `TargetFrameworkIdentifier`.
    pub fn identifier(&self) -> &'static str {
        match self.family {
            Family::Framework => ".NETFramework",
            Family::Standard => ".NETStandard",
            Family::Core => ".NETCoreApp",
        }
    }

    /// Returns `TargetFrameworkVersion` without its `v`.
    pub fn version_text(&self) -> String {
        let [major, minor, build] = self.version;
        if build > 0 {
            format!("{major}.{minor}.{build}")
        } else {
            format!("{major}.{minor}")
        }
    }

    /// Whether a project for `self` may use assemblies built for `other`.
    pub fn runs(&self, other: &Self) -> bool {
        let platform = other.platform.is_empty() || other.platform == self.platform;
        platform
            && match (self.family, other.family) {
                (same, of) if same == of => self.version >= other.version,
                (Family::Core, Family::Standard) => {
                    other.version[0] < 2 || self.version >= [if other.version[1] > 0 { 3 } else { 2 }, 0, 0]
                }
                (Family::Framework, Family::Standard) => {
                    other.version <= [2, 0, 0] && self.version >= if other.version[0] == 2 { [4, 6, 1] } else { [4, 5, 0] }
                }
                _ => false,
            }
    }

    /// Returns the symbols that the SDK defines, unordered.
    pub fn symbols(&self) -> Vec<String> {
        let [major, minor, _] = self.version;
        let mut symbols = Vec::new();
        let mut greater = |prefix: &str, known: &[[u32; 3]], packed: bool| {
            for version in known.iter().filter(|version| **version <= self.version) {
                symbols.push(format!("{prefix}{}_OR_GREATER", underscored(*version, packed)));
            }
        };
        match self.family {
            Family::Framework => {
                greater("NET", &FRAMEWORKS, true);
                symbols.push("NETFRAMEWORK".into());
                symbols.push(format!("NET{}", underscored(self.version, true)));
            }
            Family::Standard => {
                greater("NETSTANDARD", &STANDARDS, false);
                symbols.push("NETSTANDARD".into());
                symbols.push(format!("NETSTANDARD{major}_{minor}"));
            }
            Family::Core => {
                greater("NETCOREAPP", &CORES, false);
                let modern: Vec<[u32; 3]> = (5..=major.min(100)).map(|major| [major, 0, 0]).collect();
                greater("NET", &modern, false);
                symbols.push("NETCOREAPP".into());
                if major >= 5 {
                    symbols.push("NET".into());
                    symbols.push(format!("NET{major}_{minor}"));
                } else {
                    symbols.push(format!("NETCOREAPP{major}_{minor}"));
                }
            }
        }
        if !self.platform.is_empty() {
            let platform = self.platform.to_ascii_uppercase();
            if !self.platform_version.is_empty() {
                let version = self.platform_version.replace('.', "_");
                symbols.push(format!("{platform}{version}"));
                symbols.push(format!("{platform}{version}_OR_GREATER"));
            }
            symbols.push(platform);
        }
        symbols
    }
}

/// Parses `4.7.2` into three numbers; missing ones are 0.
fn dotted(text: &str) -> Option<[u32; 3]> {
    let mut version = [0; 3];
    for (at, part) in text.split('.').enumerate() {
        let number: u32 = part.parse().ok()?;
        *version.get_mut(at)? = number;
    }
    Some(version)
}

/// Parses `472` as 4.7.2.
fn packed(text: &str) -> Option<[u32; 3]> {
    let mut version = [0; 3];
    for (at, digit) in text.chars().enumerate() {
        *version.get_mut(at)? = digit.to_digit(10)?;
    }
    Some(version)
}

fn underscored([major, minor, build]: [u32; 3], packed: bool) -> String {
    match (packed, build) {
        (true, 0) => format!("{major}{minor}"),
        (true, _) => format!("{major}{minor}{build}"),
        _ => format!("{major}_{minor}"),
    }
}

/// Orders the newest first: modern .NET before .NET Standard before .NET Framework; of equal versions those without a platform; unknown ones last.
pub fn newest_first(a: &str, b: &str) -> Ordering {
    let rank = |text: &str| Framework::from_moniker(text).map(|found| (found.family, found.version, std::cmp::Reverse(found.platform)));
    rank(b).cmp(&rank(a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn symbols(text: &str) -> String {
        let mut symbols = Framework::from_moniker(text).expect(text).symbols();
        symbols.sort();
        symbols.join(" ")
    }

    #[test]
    fn implicit_symbols() {
        assert_eq!(
            symbols("net6.0"),
            "NET NET5_0_OR_GREATER NET6_0 NET6_0_OR_GREATER NETCOREAPP NETCOREAPP1_0_OR_GREATER NETCOREAPP1_1_OR_GREATER NETCOREAPP2_0_OR_GREATER NETCOREAPP2_1_OR_GREATER NETCOREAPP2_2_OR_GREATER NETCOREAPP3_0_OR_GREATER NETCOREAPP3_1_OR_GREATER"
        );
        assert_eq!(
            symbols("net462"),
            "NET20_OR_GREATER NET35_OR_GREATER NET40_OR_GREATER NET451_OR_GREATER NET452_OR_GREATER NET45_OR_GREATER NET461_OR_GREATER NET462 NET462_OR_GREATER NET46_OR_GREATER NETFRAMEWORK"
        );
        assert_eq!(
            symbols("netstandard1.1"),
            "NETSTANDARD NETSTANDARD1_0_OR_GREATER NETSTANDARD1_1 NETSTANDARD1_1_OR_GREATER"
        );
        assert!(symbols("net8.0-windows10.0.19041.0").ends_with("WINDOWS WINDOWS10_0_19041_0 WINDOWS10_0_19041_0_OR_GREATER"));
    }

    #[test]
    fn order() {
        let mut list = [
            "net472", "nonsense", "net8.0-windows", "netstandard2.1", "net10.0", "netcoreapp3.1", "net8.0", "net48",
        ];
        list.sort_by(|a, b| newest_first(a, b));
        assert_eq!(
            list,
            [
                "net10.0", "net8.0", "net8.0-windows", "netcoreapp3.1", "netstandard2.1", "net48", "net472", "nonsense"
            ]
        );
    }

    #[test]
    fn compatibility() {
        let runs = |a: &str, b: &str| Framework::from_moniker(a).expect(a).runs(&Framework::from_moniker(b).expect(b));
        assert!(
            runs("net8.0", "net6.0")
                && runs("net8.0", "netstandard2.1")
                && runs("net472", "netstandard2.0")
                && runs("net8.0-ios", "net8.0")
        );
        assert!(
            !runs("net6.0", "net8.0") && !runs("net472", "netstandard2.1") && !runs("net8.0", "net8.0-ios") && !runs("net8.0", "net472")
        );
    }

    proptest! {
        #[test]
        fn any_text(text: String) {
            if let Some(framework) = Framework::from_moniker(&text) {
                framework.symbols();
            }
        }
    }
}
