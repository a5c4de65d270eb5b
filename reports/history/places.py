"""Whether a folder lies on a network file system, where sqlite's write-ahead log does not work.

Known on Linux, from /proc/self/mountinfo; anywhere else a folder is taken for local.
"""

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "davfs2", "fuse.ceph", "fuse.davfs",
    "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
    "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "prl_fs", "smb",
    "smb2", "smb3", "smbfs", "sshfs", "vboxsf", "virtiofs", "vmhgfs",
}  # fmt: skip


def is_on_network(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether several machines may share the folder."""
    return kind_of(folder, mounts) in NETWORK


def kind_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """The type of the file system `folder` is on; empty where it cannot be told.

    A folder that does not exist yet is on the file system of the nearest one above it that does.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place = os.path.realpath(folder)
    best, kind = "", ""
    for line in lines:
        left, found, right = line.partition(" - ")
        fields = left.split()
        if not found or len(fields) < 5 or not right.split():
            continue
        # Octal escapes stand for blanks in a name; of two mounts on one place the later is seen.
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
        inside = point == "/" or place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split()[0]
    return kind
