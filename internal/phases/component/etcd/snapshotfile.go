package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// SnapshotFile is what a snapshot of etcd says of itself: a bbolt database with the sha256 of its bytes behind it.
type SnapshotFile struct {
	Path     string
	Size     int64  // bytes, the sum among them
	SHA256   string // of the whole file, lower-case hex
	Revision int64  // the store's newest
	Keys     int    // revisions of keys in it
	Members  []string
	ca       []byte // what the cluster publishes as its authority; nil when it does not yet
}

// rootCA is where the controller manager publishes the cluster's authority to pods. It is never encrypted.
const rootCA = "/registry/configmaps/kube-system/kube-root-ca.crt"

// ReadSnapshot proves a snapshot: its length, its sum, that it can be read as a database, and what is in it. Faults:
// snapshot.unreadable, snapshot.truncated, snapshot.damaged.
func ReadSnapshot(ctx context.Context, path string) (*SnapshotFile, error) {
	fault := func(code string, err error) error {
		return event.NewFault(event.ClassPreflight, code, err, "path", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fault("snapshot.unreadable", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fault("snapshot.unreadable", err)
	}
	s := &SnapshotFile{Path: path, Size: info.Size()}
	if !info.Mode().IsRegular() || s.Size <= sha256.Size || s.Size%512 != sha256.Size {
		return nil, fault("snapshot.truncated", nil)
	}
	right := false
	if s.SHA256, right, err = sumSnapshot(ctx, f, s.Size); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault("snapshot.unreadable", err)
	}
	if !right {
		return nil, fault("snapshot.damaged", nil)
	}
	if err := s.readStore(); err != nil {
		return nil, fault("snapshot.damaged", err)
	}
	return s, nil
}

// sumSnapshot gives the sum of the whole file, and says whether the one at its end is that of what stands before it.
func sumSnapshot(ctx context.Context, f *os.File, size int64) (sum string, right bool, err error) {
	data, whole := sha256.New(), sha256.New()
	src := readerWithContext{ctx, f}
	if _, err := io.Copy(io.MultiWriter(data, whole), io.LimitReader(src, size-sha256.Size)); err != nil {
		return "", false, err
	}
	var tail [sha256.Size]byte
	if _, err := io.ReadFull(src, tail[:]); err != nil {
		return "", false, err
	}
	whole.Write(tail[:])
	return hex.EncodeToString(whole.Sum(nil)), bytes.Equal(data.Sum(nil), tail[:]), nil
}

type readerWithContext struct {
	ctx context.Context
	r   io.Reader
}

func (r readerWithContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// readStore reads revision, members and authority out of the database. bbolt maps the file and trusts its pages, so the
// sum comes first. A forged file can have the right sum: a page that leads out of it is an error, not the end of the
// program.
func (s *SnapshotFile) readStore() (err error) {
	was := debug.SetPanicOnFault(true) // of this goroutine
	defer debug.SetPanicOnFault(was)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its pages are damaged: %v", v)
		}
	}()
	return s.readPages()
}

func (s *SnapshotFile) readPages() error {
	db, err := bolt.Open(s.Path, 0o400, &bolt.Options{ReadOnly: true, Timeout: 5 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		if b := tx.Bucket([]byte("members")); b != nil {
			if err := b.ForEach(func(_, v []byte) error {
				var m struct{ Name string }
				if json.Unmarshal(v, &m) == nil && m.Name != "" {
					s.Members = append(s.Members, m.Name)
				}
				return nil
			}); err != nil {
				return err
			}
			slices.Sort(s.Members)
		}
		keys := tx.Bucket([]byte("key"))
		if keys == nil {
			return errors.New("no keys in it")
		}
		return keys.ForEach(func(k, v []byte) error {
			if len(k) < 8 {
				return nil
			}
			s.Keys++
			s.Revision = int64(binary.BigEndian.Uint64(k)) // the keys are in the order of their revisions
			if bytes.Contains(v, []byte(rootCA)) {
				var kv mvccpb.KeyValue
				if kv.Unmarshal(v) == nil && string(kv.Key) == rootCA {
					s.ca = bytes.Clone(kv.Value)
				}
			}
			return nil
		})
	})
}

// Foreign says whether the snapshot is of a cluster with another authority.
func (s *SnapshotFile) Foreign(ca []byte) bool {
	return s.ca != nil && !bytes.Contains(s.ca, bytes.TrimSpace(ca))
}

// args are the snapshot's particulars for a message.
func (s *SnapshotFile) args() []string {
	return []string{"path", s.Path, "size", strconv.FormatInt(s.Size, 10), "revision",
		strconv.FormatInt(s.Revision, 10), "sha256", s.SHA256}
}
