package bundle

import (
	"fmt"
	"strconv"
	"syscall"
)

const (
	// stageReserve stays free on the disk of a stage: the event log is written there while and after it is unpacked.
	stageReserve = 64 << 20
	perFile      = 4096 // what a file takes beside its bytes, at most: the rest of its last block
	// maxRatio bounds what a bundle says it unpacks to, by the size of its file. Packages and layers are compressed
	// already and programs shrink to a third: real bundles are below 4. What is mostly zeros comes to 1000.
	maxRatio   = 50
	ratioSlack = 64 << 20 // of small bundles, which are mostly text
)

// freeSpace is what this user can still write on the disk of a directory, in bytes.
func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec // a disk has fewer bytes than that
}

// unpacked is what the members of a manifest take on a disk; carried is of those that the file itself has.
func (m *Manifest) unpacked() (all, carried int64) {
	for _, e := range m.Members {
		all += e.Size + perFile
		switch {
		case e.From != "":
		case e.Carried > 0:
			carried += e.Carried
		default:
			carried += e.Size
		}
	}
	return all, carried
}

// checkRatio refuses a file that unpacks to far more than a bundle does.
func checkRatio(m *Manifest, size int64) error {
	if _, carried := m.unpacked(); (carried-ratioSlack)/maxRatio > size {
		return fault("bundle.ratio", nil, "size", mib(size), "unpacked", mib(carried), "ratio", strconv.Itoa(maxRatio))
	}
	return nil
}

// room makes sure that so many bytes fit on the disk of a stage, before the first of them is written.
func (o options) room(dir string, need int64) error {
	free, err := o.freeIn(dir)
	if err != nil {
		return storeFault(err, "")
	}
	if free-stageReserve < need {
		return noSpace(nil, dir, need, free)
	}
	return nil
}

func (o options) freeIn(dir string) (int64, error) {
	if o.free != nil {
		return o.free(dir)
	}
	return freeSpace(dir)
}

func noSpace(err error, dir string, need, free int64) error {
	return fault("bundle.no-space", err, "dir", dir, "need", mib(need), "free", mib(max(0, free)), "reserve",
		mib(stageReserve))
}

// full says of a disk that got full on the way what was needed.
func (o options) full(err error, dir string, need int64) error {
	if f := asBundleFault(err); f == nil || f.Code != "bundle.no-space" || f.Args["need"] != "" {
		return err
	}
	free, _ := o.freeIn(dir)
	return noSpace(asBundleFault(err).Err, dir, need, free)
}

func mib(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
