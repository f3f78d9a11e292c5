package build

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/deb"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/rpm"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// debDirectory reads the packages of a directory, each by its own word.
func (q *question) debDirectory(ctx context.Context, idx *deb.Index, r spec.Repository) error {
	return idx.AddFiles(ctx, os.DirFS(r.Dir.File), deb.Repository{URL: "file:" + r.Dir.Name, Priority: r.Priority})
}

// rpmDirectory reads the packages of a directory, each by its own word.
func (q *question) rpmDirectory(ctx context.Context, idx *rpm.Index, r spec.Repository, name string) error {
	list, err := rpm.ReadDir(ctx, os.DirFS(r.Dir.File), r.Dir.Name)
	if err != nil {
		return err
	}
	// The time of a file is that of its copy: two builders would not agree on it.
	for _, p := range list {
		p.FileTime = 0
	}
	return idx.AddPackages(list, name, r.Priority)
}

// checkRPM holds a fetched rpm against its own signature, and what it says of itself against the metadata that it was
// chosen by.
func (p *plan) checkRPM(ctx context.Context, f io.Reader, x lock.Package) error {
	want, err := rpm.PackageOfMeta(x.Meta)
	if err != nil {
		return err
	}
	if !p.vouches(x) {
		return otherKeyring(x)
	}
	in := bufio.NewReaderSize(f, 256<<10)
	if x.Keyring == "" {
		h, err := rpm.VerifyDigests(in, want.File())
		if err != nil {
			return err
		}
		return h.Match(want)
	}
	keys, err := p.keysNamed(ctx, x)
	if err != nil {
		return err
	}
	h, err := rpm.Verify(in, want.File(), keys, p.Now())
	if err != nil {
		return err
	}
	return h.Match(want)
}

func otherKeyring(x lock.Package) error {
	why := errors.New("the spec names another one than bundle.lock")
	return event.NewFault(event.ClassUsage, "build.keyring", why, "keyring", x.Keyring, "repository", x.URL)
}

// vouches says whether the keyring that the lock names for a package is that of its repository in the spec: the lock is
// no way around it. A package whose address is elsewhere (xml:base) is of some repository of the spec.
func (p *plan) vouches(x lock.Package) bool {
	some, own, ok := false, false, false
	for _, r := range p.spec.Repositories {
		same := r.Keyring+r.KeyringFile.Name == x.Keyring
		some = some || same
		if r.URL != "" && strings.HasPrefix(x.URL, r.URL+"/") || r.Dir.Name != "" &&
			strings.HasPrefix(x.URL, "file:"+r.Dir.Name+"/") {
			own, ok = true, ok || same
		}
	}
	return ok || some && !own
}

// localPackage reads a package of a directory that the spec names; name begins with the directory as the spec writes
// it.
func (p *plan) localPackage(name string) func(int64) (io.ReadCloser, error) {
	return func(offset int64) (io.ReadCloser, error) {
		for _, r := range p.spec.Repositories {
			rest, ok := strings.CutPrefix(name, r.Dir.Name+"/")
			if r.Dir.Name == "" || !ok || path.Base(rest) != rest {
				continue
			}
			f, err := os.Open(filepath.Join(r.Dir.File, rest))
			if err == nil {
				_, err = f.Seek(offset, io.SeekStart)
			}
			return f, err
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}

// sumOfTree is a sum over the names and contents of a file, or of the files of a directory and those below it.
func sumOfTree(root string) (string, error) {
	all := sha256.New()
	root, err := filepath.EvalSymlinks(root) // the spec may name a link; below it there are none
	if err != nil {
		return "", err
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		sum, err := sumOfFile(name)
		_, _ = io.WriteString(all, filepath.ToSlash(rel)+"\x00"+sum+"\n") // a hash takes everything
		return err
	})
	return hex.EncodeToString(all.Sum(nil)), err
}

func sumOfFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
