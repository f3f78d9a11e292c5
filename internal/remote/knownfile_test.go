package remote

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func keyNumber(t *testing.T, n int) ssh.PublicKey {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, fmt.Sprint("key ", n))
	s, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		t.Fatal(err)
	}
	return s.PublicKey()
}

// counted is a file whose parses and writes are counted; the first write waits until all keys but one are on their way.
func counted(t *testing.T, all int) (k *knownFile, parses, writes *int) {
	t.Helper()
	k = newKnownFile(filepath.Join(t.TempDir(), "known_hosts"))
	parses, writes = new(int), new(int)
	parse, write := k.parse, k.write
	k.parse = func(files ...string) (*knownDB, error) { *parses++; return parse(files...) }
	k.write = func(path string, data []byte) error {
		*writes++
		for written := strings.Count(string(data), "\n"); *writes == 1; {
			k.mu.Lock()
			here := len(k.waiting) + written
			k.mu.Unlock()
			if here >= all {
				break
			}
		}
		return write(path, data)
	}
	return k, parses, writes
}

// A thousand first contacts parse the file once and write it twice at most: once for who came first, once for all that
// came meanwhile.
func TestAThousandFirstContactsAreTwoWrites(t *testing.T) {
	const nodes = 1000
	k, parses, writes := counted(t, nodes)
	addr := func(i int) string { return fmt.Sprintf("10.0.%d.%d:22", i/250, i%250) }
	var wg sync.WaitGroup
	for i := range nodes {
		key := keyNumber(t, i)
		wg.Go(func() {
			if _, err := k.algorithms(addr(i)); err != nil {
				t.Error(err)
			}
			if err := k.check(addr(i), &net.TCPAddr{}, key); !knownhosts.IsHostUnknown(err) {
				t.Error(addr(i), err)
			}
			if err := k.add(t.Context(), addr(i), key, nil); err != nil {
				t.Error(err)
			}
			if err := k.check(addr(i), &net.TCPAddr{}, key); err != nil {
				t.Error("added and not known:", err)
			}
			if algorithms, err := k.algorithms(addr(i)); err != nil || len(algorithms) != 1 ||
				algorithms[0] != ssh.KeyAlgoED25519 {
				t.Error(algorithms, err)
			}
		})
	}
	wg.Wait()
	if *parses != 1 || *writes > 2 {
		t.Errorf("%d parses, %d writes", *parses, *writes)
	}
	text, err := os.ReadFile(k.path)
	if err != nil || strings.Count(string(text), "\n") != nodes {
		t.Fatalf("%v, %d lines", err, strings.Count(string(text), "\n"))
	}
	// Another key is refused, though the file was not parsed since.
	if err := k.check(addr(7), &net.TCPAddr{}, keyNumber(t, 8)); !knownhosts.IsHostKeyChanged(err) {
		t.Error("another key:", err)
	}
	fresh := newKnownFile(k.path)
	for i := range nodes {
		if err := fresh.check(addr(i), &net.TCPAddr{}, keyNumber(t, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// What another run writes is seen, and what two write at once is all there.
func TestAKnownHostsFileOfTwoRuns(t *testing.T) {
	a := newKnownFile(filepath.Join(t.TempDir(), "known_hosts"))
	b := newKnownFile(a.path)
	for i, k := range []*knownFile{a, b, a, b} {
		addr := fmt.Sprintf("10.0.0.%d:22", i)
		if err := k.check(addr, &net.TCPAddr{}, keyNumber(t, i)); !knownhosts.IsHostUnknown(err) {
			t.Fatal(err)
		}
		if err := k.add(t.Context(), addr, keyNumber(t, i), nil); err != nil {
			t.Fatal(err)
		}
		for j := range i + 1 {
			for _, other := range []*knownFile{a, b} {
				if err := other.check(fmt.Sprintf("10.0.0.%d:22", j), &net.TCPAddr{}, keyNumber(t, j)); err != nil {
					t.Errorf("%d after %d: %v", j, i, err)
				}
			}
		}
	}
	// A line that somebody takes out is not known any more; one that was added twice stands once.
	if err := os.WriteFile(a.path+".new", []byte("# nobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(a.path+".new", a.path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.add(t.Context(), "10.0.0.9:22", keyNumber(t, 9), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.check("10.0.0.1:22", &net.TCPAddr{}, keyNumber(t, 1)); !knownhosts.IsHostUnknown(err) {
		t.Error(err)
	}
	if text, _ := os.ReadFile(a.path); strings.Count(string(text), "\n") != 2 {
		t.Errorf("%s", text)
	}
}

// A lock that nobody gives back ends the wait, with a word on what was waited for; who is cancelled does not wait that
// long, and when the lock is free again all is as before.
func TestALockThatIsNotGivenBack(t *testing.T) {
	k := newKnownFile(filepath.Join(t.TempDir(), "known_hosts"))
	k.soon, k.limit = time.Millisecond, 20*time.Millisecond
	told := make(chan struct{}, 3)
	h := &hostKeys{file: k.path, known: k, policy: AcceptNew, tell: func() { told <- struct{}{} }}
	lock := flock.New(k.path + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	f := event.AsFault(h.add(t.Context(), "10.0.0.1:22", keyNumber(t, 1)))
	if f.Code != "ssh.known-hosts-locked" || f.Args["file"] != k.path+".lock" || !f.Retry {
		t.Errorf("%+v", f)
	}
	<-told
	k.limit = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-told; cancel() }()
	if f := event.AsFault(h.add(ctx, "10.0.0.1:22", keyNumber(t, 1))); f.Code != "ssh.cancelled" {
		t.Errorf("%+v", f)
	}
	go func() { // the next one waits behind the one that gave up
		<-told
		_ = lock.Unlock()
	}()
	if err := h.add(t.Context(), "10.0.0.1:22", keyNumber(t, 1)); err != nil {
		t.Error(err)
	}
	if err := k.check("10.0.0.1:22", &net.TCPAddr{}, keyNumber(t, 1)); err != nil {
		t.Error(err)
	}
}

// A key that is written while the one that wants it is cancelled is in the file: the next connection has it made safe.
func TestAKeyThatNobodyWaitsForIsMadeSafe(t *testing.T) {
	k := newKnownFile(filepath.Join(t.TempDir(), "known_hosts"))
	h := &hostKeys{file: k.path, known: k, policy: AcceptNew}
	ctx, cancel := context.WithCancel(t.Context())
	gone, write := make(chan struct{}), k.write
	k.write = func(path string, data []byte) error {
		cancel()
		<-gone
		return write(path, data)
	}
	if f := event.AsFault(h.add(ctx, "10.0.0.1:22", keyNumber(t, 1))); f.Code != "ssh.cancelled" {
		t.Errorf("%+v", f)
	}
	again := &newKey{addr: "10.0.0.1:22", key: keyNumber(t, 1), done: make(chan error, 1)}
	k.mu.Lock()
	k.waiting = append(k.waiting, again) // comes back when the first one is written
	k.mu.Unlock()
	close(gone)
	if err := <-again.done; err != nil {
		t.Fatal(err)
	}
	calls := 0
	if err := h.persist(t.Context(), func(context.Context) error { calls++; return nil }); err != nil || calls != 1 {
		t.Errorf("%v, called %d times", err, calls)
	}
}

// Who wants no word on the lock waits for it all the same.
func TestALockThatNobodyIsToldOf(t *testing.T) {
	k := newKnownFile(filepath.Join(t.TempDir(), "known_hosts"))
	k.soon, k.limit = time.Millisecond, 20*time.Millisecond
	lock := flock.New(k.path + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := k.add(t.Context(), "10.0.0.1:22", keyNumber(t, 1), nil); !errors.Is(err, errHeld) {
		t.Error(err)
	}
}
