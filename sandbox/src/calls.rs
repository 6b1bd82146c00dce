//! seccomp: denies system calls that no producer needs and that would escape the sandbox.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
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

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Denies these calls to this process and its children.
///
/// # Errors
/// When the kernel accepts no filter, or the processor is not supported.
pub(crate) fn deny(sockets: Sockets) -> Result<(), Box<dyn std::error::Error>> {
    let forbidden = [
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
    let mut rules: Rules = forbidden.into_iter().map(|call| (call, Vec::new())).collect();
    let mut clones = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        clones.push(SeccompRule::new(vec![SeccompCondition::new(
            0,
            SeccompCmpArgLen::Qword,
            SeccompCmpOp::MaskedEq(flag),
            flag,
        )?])?);
    }
    rules.insert(libc::SYS_clone, clones);
    // The program must not change the limits of other processes, least of all of its supervisor.
    let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![other])?]);
    apply(rules, libc::EPERM)?;

    // Attributes would stay on a folder that a later program gets; System V memory outlives its process.
    let kept = [
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_shmget,
        libc::SYS_msgget,
        libc::SYS_semget,
    ];
    apply(kept.into_iter().map(|call| (call, Vec::new())).collect(), libc::ENOTSUP)?;

    // Programs work without these on kernels that lack them; a filter cannot see their arguments in memory.
    let unknown = [
        libc::SYS_clone3,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ];
    apply(unknown.into_iter().map(|call| (call, Vec::new())).collect(), libc::ENOSYS)?;

    let other = |allowed: i32| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(allowed.cast_unsigned()));
    let socket = match sockets {
        Sockets::None => Vec::new(),
        Sockets::Local => vec![SeccompRule::new(vec![other(libc::AF_UNIX)?])?],
    };
    apply(BTreeMap::from([(libc::SYS_socket, socket)]), libc::EAFNOSUPPORT)
}

fn apply(rules: Rules, error: i32) -> Result<(), Box<dyn std::error::Error>> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error.cast_unsigned()), arch)?;
    let program: BpfProgram = filter.try_into()?;
    Ok(apply_filter(&program)?)
}
