//! seccomp: denies system calls that no producer needs and that would escape the sandbox.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    apply_filter,
};
use std::collections::BTreeMap;

/// Sockets that may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// No sockets. Pairs (`socketpair`) are allowed, because they connect to nothing else.
    None,
    /// Unix sockets, where no other process's socket file is visible.
    Local,
}

/// Flags of `clone` that create namespaces.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Calls that change the system, or reach into other processes.
const FORBIDDEN: [i64; 38] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Calls whose effects outlast the program: attributes stay on a folder that a later program gets, System V memory outlives its process.
const LASTING: [i64; 6] = [
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
];

/// Calls whose arguments are in memory, where a filter cannot see them. Programs work without them on kernels that lack them.
const OPAQUE: [i64; 4] = [
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Denies these calls to this process and its children. Fails when the kernel accepts no filter, or the processor is not supported.
pub(crate) fn deny(sockets: Sockets) -> Result<(), Box<dyn std::error::Error>> {
    let mut forbidden = unconditional(&FORBIDDEN);
    forbidden.insert(libc::SYS_clone, clones_with_namespaces()?);
    forbidden.insert(libc::SYS_prlimit64, limits_of_other_processes()?);
    apply(forbidden, libc::EPERM)?;
    apply(unconditional(&LASTING), libc::ENOTSUP)?;
    apply(unconditional(&OPAQUE), libc::ENOSYS)?;
    apply(
        BTreeMap::from([(libc::SYS_socket, sockets_other_than(sockets)?)]),
        libc::EAFNOSUPPORT,
    )
}

/// Returns rules that match these calls whatever their arguments.
fn unconditional(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// Matches a `clone` with any flag that creates a namespace.
fn clones_with_namespaces() -> Result<Vec<SeccompRule>, BackendError> {
    let with = |flag: i32| {
        let flag = u64::from(flag.cast_unsigned());
        let is_set = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?;
        SeccompRule::new(vec![is_set])
    };
    NAMESPACES.into_iter().map(with).collect()
}

/// Matches a `prlimit64` of another process: the program must not change the limits of its supervisor.
fn limits_of_other_processes() -> Result<Vec<SeccompRule>, BackendError> {
    Ok(vec![SeccompRule::new(vec![first_argument_is_not(0)?])?])
}

/// Matches the creation of sockets that are not allowed; no rule matches every socket.
fn sockets_other_than(allowed: Sockets) -> Result<Vec<SeccompRule>, BackendError> {
    match allowed {
        Sockets::None => Ok(Vec::new()),
        Sockets::Local => {
            let family = u64::from(libc::AF_UNIX.cast_unsigned());
            Ok(vec![SeccompRule::new(vec![first_argument_is_not(family)?])?])
        }
    }
}

fn first_argument_is_not(value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn apply(rules: Rules, error: i32) -> Result<(), Box<dyn std::error::Error>> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error.cast_unsigned()), arch)?;
    let program: BpfProgram = filter.try_into()?;
    Ok(apply_filter(&program)?)
}
