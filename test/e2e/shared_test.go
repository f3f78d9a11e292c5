package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// packed is the directory of the default bundle, which the first scenario that needs it packs for all.
var packed struct {
	sync.Mutex
	dir string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if packed.dir != "" {
		_ = os.RemoveAll(packed.dir)
	}
	os.Exit(code)
}

// pack has the default bundle where the stand expects it.
func pack(t *testing.T, s *stand.Stand) {
	t.Helper()
	if os.Getenv("EGGO_E2E_DIR") != "" || os.Getenv("EGGO_E2E_BUNDLE") != "" { // it stays for the next process
		must(t, "pack", s.Pack(t.Context()))
		return
	}
	packed.Lock()
	defer packed.Unlock()
	name := filepath.Base(s.Bundle)
	if packed.dir == "" {
		dir, err := os.MkdirTemp("", "eggo-e2e-")
		must(t, "pack", err)
		first := *s
		first.Dir, first.Bundle = dir, filepath.Join(dir, name)
		if err := first.Pack(t.Context()); err != nil {
			t.Fatal("pack:", errors.Join(err, os.RemoveAll(dir)))
		}
		packed.dir = dir
	}
	must(t, "pack", os.Link(filepath.Join(packed.dir, name), s.Bundle))
}

// take leaves a scenario that another process has begun to that one: make e2e has two of them, each with a lab of its
// own, which write down what they begin in the directory EGGO_E2E_TAKEN.
func take(t *testing.T) {
	t.Helper()
	dir := os.Getenv("EGGO_E2E_TAKEN")
	if dir == "" {
		return
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	file, me := filepath.Join(dir, name), strconv.Itoa(os.Getpid())
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		if by, err := os.ReadFile(file); err != nil || string(by) != me {
			t.Skip("runs in the other lab")
		}
		return
	}
	must(t, "take", err)
	_, err = f.WriteString(me)
	must(t, "take", errors.Join(err, f.Close()))
}
