package pack

import "golang.org/x/sys/unix"

// takeRoom takes the room of a file's first bytes. The size is kept: on FAT a longer file would be filled with zeros
// first.
func takeRoom(fd int, size int64) error {
	return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size)
}

// startWriting has the kernel bring a slice of a file to the disk, and does not wait.
func startWriting(fd int, at, size int64) {
	_ = unix.SyncFileRange(fd, at, size, unix.SYNC_FILE_RANGE_WRITE)
}

// waitWritten brings a slice of a file to the disk.
func waitWritten(fd int, at, size int64) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	return unix.SyncFileRange(fd, at, size, all)
}
