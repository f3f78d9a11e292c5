package trust

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// StoreName is the file of a control host's signers, in its state directory, in the format of ssh-keygen(1). A person
// may edit it too.
const StoreName = "allowed_signers"

// Store is that file.
type Store struct{ path string }

// In is the store of a state directory.
func In(root string) *Store { return &Store{filepath.Join(root, StoreName)} }

// Path of the file.
func (s *Store) Path() string { return s.path }

// Load reads the signers; nil when none is known. A file that cannot be understood is no reason to trust everybody: the
// fault is "trust.file".
func (s *Store) Load() (*sign.AllowedSigners, error) {
	data, err := s.read()
	if err != nil {
		return nil, err
	}
	return s.parse(data)
}

func (s *Store) read() ([]byte, error) {
	data, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, s.fault(err)
	}
	return data, nil
}

func (s *Store) parse(data []byte) (*sign.AllowedSigners, error) {
	a, err := sign.ParseAllowedSigners(bytes.NewReader(data), time.Local)
	if f := event.AsFault(err); f != nil {
		if f.Code == "sign.allowed-empty" {
			return nil, nil
		}
		return nil, fileFault(s.path, f)
	}
	return a, nil
}

func (s *Store) fault(err error) error {
	return event.NewFault(event.ClassFailed, "trust.store", pathless(err), "file", s.path)
}

// ReadFile reads an allowed_signers file that a person named; one without a key in it is the fault "trust.file" too.
func ReadFile(path string) (*sign.AllowedSigners, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileFault(path, pathless(err))
	}
	defer f.Close()
	a, err := sign.ParseAllowedSigners(f, time.Local)
	if err != nil {
		return nil, fileFault(path, err)
	}
	return a, nil
}

// fileFault names the file, and the line in it.
func fileFault(path string, err error) error {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		why := f.Cause
		switch {
		case f.Code == "sign.allowed-empty":
			why = "no key in it"
		case f.Code == "sign.allowed-certificate":
			why = "cert-authority is not supported"
		}
		if line := f.Args["line"]; line != "" {
			why = "line " + line + ": " + why
		}
		err = errors.New(why)
	}
	return event.NewFault(event.ClassUsage, "trust.file", err, "file", path)
}

// Add puts lines into the file, and says how many it did not have. What it had stays, comments too.
func (s *Store) Add(lines []string) (int, error) {
	added := 0
	err := s.change(func(have []string) []string {
		for _, l := range lines {
			if l = strings.TrimSpace(l); l != "" && !slices.Contains(have, l) {
				have = append(have, l)
				if !strings.HasPrefix(l, "#") {
					added++
				}
			}
		}
		return have
	})
	return added, err
}

// Remove takes out the lines of a key, named by its fingerprint, or of a signer, named as the file does. It gives those
// that went.
func (s *Store) Remove(who string) ([]sign.Listed, error) {
	var gone []sign.Listed
	err := s.change(func(have []string) []string {
		a, err := s.parse([]byte(strings.Join(have, "\n")))
		if err != nil || a == nil {
			return have
		}
		for _, l := range slices.Backward(a.List()) {
			if l.Fingerprint == who || l.Principals == who {
				gone = append(gone, l)
				have = slices.Delete(have, l.Line-1, l.Line)
			}
		}
		return have
	})
	slices.Reverse(gone)
	return gone, err
}

// change replaces the file's lines at once, one process after the other. What would not be understood afterwards is not
// written.
func (s *Store) change(edit func(lines []string) []string) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return s.fault(err)
	}
	lock := flock.New(s.path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return s.fault(err)
	}
	defer lock.Unlock() //nolint:errcheck // released with the process in any case
	data, err := s.read()
	if err != nil {
		return err
	}
	if _, err := s.parse(data); err != nil {
		return err
	}
	var lines []string
	if text := strings.TrimSuffix(string(data), "\n"); text != "" {
		lines = strings.Split(text, "\n")
	}
	after := []byte(strings.Join(edit(lines), "\n") + "\n")
	if _, err := s.parse(after); err != nil {
		return err
	}
	if bytes.Equal(after, data) {
		return nil
	}
	if err := renameio.WriteFile(s.path, after, 0o600, renameio.IgnoreUmask()); err != nil {
		return s.fault(err)
	}
	return nil
}
