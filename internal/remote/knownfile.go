package remote

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

const (
	gatherKeys = 20 * time.Millisecond // a new key waits for others, so that many first contacts are one write
	fileSoon   = time.Second           // another run has the lock of the file for a moment; longer is worth a word
	fileLimit  = 10 * time.Second      // less than a handshake may take
	fileRetry  = 10 * time.Millisecond
)

// errHeld says that the lock of the file was not to be had.
var errHeld = errors.New("another process holds the lock of the file")

// knownFile is a known_hosts file, and others that are read beside it, as the connections of one run see them: they are
// parsed again only when another process changed one, and the keys that come together are written together. It is safe
// for concurrent use.
type knownFile struct {
	path  string   // where keys are added
	also  []string // that are only read
	parse func(files ...string) (*knownDB, error)
	write func(path string, data []byte) error
	soon  time.Duration // until it is said that the lock is waited for
	limit time.Duration // of that wait

	adds, safe atomic.Int64 // keys that are in the file since, and how many of them Options.Added knows of

	mu      sync.Mutex
	db      *knownDB
	seen    []fs.FileInfo              // the files that db was parsed from, or that we wrote since; nil: there was none
	warned  bool                       // that lines are skipped
	added   map[string][]ssh.PublicKey // by address: in the file and not in db, for we wrote them
	waiting []*newKey
	writing bool
}

// newKey waits to be written.
type newKey struct {
	addr string
	key  ssh.PublicKey
	tell func()          // says that the lock of the file is waited for
	gone <-chan struct{} // closed when nobody waits for it any more
	done chan error
}

func newKnownFile(path string, also ...string) *knownFile {
	return &knownFile{path: path, also: also, parse: parseKnown, soon: fileSoon, limit: fileLimit,
		write: func(p string, data []byte) error { return renameio.WriteFile(p, data, 0o600) }}
}

// known is the run's view of a known_hosts file and those that are read beside it.
func (s *Shared) known(path string, also []string) *knownFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]*knownFile{}
	}
	key := strings.Join(append([]string{path}, also...), "\x00")
	if s.files[key] == nil {
		s.files[key] = newKnownFile(path, also...)
	}
	return s.files[key]
}

// stat gives the files, the one that is written first; nil for one that does not exist.
func (k *knownFile) stat() ([]fs.FileInfo, error) {
	out := make([]fs.FileInfo, 0, 1+len(k.also))
	for _, path := range append([]string{k.path}, k.also...) {
		st, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil {
			st = nil
		}
		out = append(out, st)
	}
	return out, nil
}

// same reports whether it is the same file with the same content: a file is replaced, never written in place.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// current parses the files if they are not those that are known. The caller holds mu.
func (k *knownFile) current(again bool) error {
	st, err := k.stat()
	if err != nil {
		return err
	}
	if k.db != nil && !again && slices.EqualFunc(st, k.seen, same) {
		return nil
	}
	var files []string
	for i, path := range append([]string{k.path}, k.also...) {
		if st[i] != nil {
			files = append(files, path)
		}
	}
	db, err := k.parse(files...)
	if err != nil {
		return err
	}
	k.db, k.seen, k.added = db, st, map[string][]ssh.PublicKey{}
	return nil
}

// skipped names the lines that cannot be parsed, once.
func (k *knownFile) skipped() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.warned || k.db == nil || len(k.db.skipped) == 0 {
		return nil
	}
	k.warned = true
	return k.db.skipped
}

// algorithms are those of the keys that are known for the address.
func (k *knownFile) algorithms(addr string) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.current(false); err != nil {
		return nil, err
	}
	out := k.db.algorithms(addr)
	for _, key := range k.added[knownhosts.Normalize(addr)] {
		for _, a := range algorithmsOf(key) {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out, nil
}

func algorithmsOf(key ssh.PublicKey) []string {
	if key.Type() == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{key.Type()}
}

// check holds a key against the file.
func (k *knownFile) check(host string, remote net.Addr, key ssh.PublicKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	ours := k.added[knownhosts.Normalize(host)]
	if slices.ContainsFunc(ours, func(o ssh.PublicKey) bool { return bytes.Equal(o.Marshal(), key.Marshal()) }) {
		return nil
	}
	if err := k.current(len(ours) > 0); err != nil {
		return err
	}
	return k.db.check(host, remote, key)
}

// add returns when the key is in the file. Who comes first writes for all that came meanwhile; tell is called when that
// takes long because another process has the lock of the file, if it is not nil. A key may be in the file though ctx
// ended meanwhile.
func (k *knownFile) add(ctx context.Context, addr string, key ssh.PublicKey, tell func()) error {
	if tell == nil {
		tell = func() {}
	}
	n := &newKey{addr: knownhosts.Normalize(addr), key: key, tell: tell, gone: ctx.Done(), done: make(chan error, 1)}
	k.mu.Lock()
	k.waiting = append(k.waiting, n)
	if !k.writing {
		k.writing = true
		go k.writeAll()
	}
	k.mu.Unlock()
	select {
	case err := <-n.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *knownFile) writeAll() {
	for {
		time.Sleep(gatherKeys)
		k.mu.Lock()
		batch := k.waiting
		k.waiting = nil
		k.writing = len(batch) > 0
		k.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		err := k.append(batch)
		for _, n := range batch {
			n.done <- err
		}
	}
}

// hold takes the lock of the file, as long as somebody in the batch waits for it.
func (k *knownFile) hold(lock *flock.Flock, batch []*newKey) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), k.limit, errHeld)
	defer cancel()
	go func() {
		for _, n := range batch {
			select {
			case <-n.gone:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	soon, over := context.WithTimeout(ctx, k.soon)
	_, err := lock.TryLockContext(soon, fileRetry)
	over()
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	batch[0].tell()
	if _, err = lock.TryLockContext(ctx, fileRetry); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// append adds keys to the file, which is rewritten and renamed, under a lock, so that runs beside each other lose
// nothing.
func (k *knownFile) append(batch []*newKey) error {
	if err := os.MkdirAll(filepath.Dir(k.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(k.path+".lock", flock.SetPermissions(0o600))
	if err := k.hold(lock, batch); err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	before, err := k.stat()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(k.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	was := len(text)
	for _, n := range batch {
		line := knownhosts.Line([]string{n.addr}, n.key)
		if bytes.Contains(append([]byte("\n"), text...), []byte("\n"+line+"\n")) {
			continue
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		text = append(append(text, line...), '\n')
	}
	if len(text) > was {
		if err := k.write(k.path, text); err != nil {
			return err
		}
	}
	k.adds.Add(int64(len(batch))) // here: who waits for a key may have gone, and it is in the file all the same
	after, err := k.stat()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.db == nil || !slices.EqualFunc(before, k.seen, same) {
		// another process wrote, too: it is parsed again when it is needed
		return nil
	}
	k.seen = after
	for _, n := range batch {
		k.added[n.addr] = append(k.added[n.addr], n.key)
	}
	return nil
}
