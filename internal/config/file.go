package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// LoadFile loads the file: Load, and what only the file system can tell. Paths of the jump host become absolute: those
// of bundles relative to the file's directory, ~/ in the home directory. It warns when the file holds a password and
// others can read it, or it lies in a git repository. The error is a fault of class usage: the file cannot be read at
// all.
func LoadFile(name string) (*Cluster, Problems, error) {
	data, info, err := readFile(name)
	if err != nil {
		return nil, nil, err
	}
	c, problems, err := LoadText(data, name)
	if c == nil {
		return nil, problems, err
	}
	if key := secretKey(c); key != "" {
		problems = append(problems, fileProblems(c, name, info, key)...).Sorted()
	}
	return c, problems, nil
}

// LoadText is LoadFile for a text that is, or is to become, the file of that name.
func LoadText(data []byte, name string) (*Cluster, Problems, error) {
	c, problems := Load(data, name)
	if c == nil {
		return nil, problems, nil
	}
	if err := c.resolvePaths(name); err != nil {
		return nil, problems, fileFault(name, "config.home", err)
	}
	return c, problems, nil
}

// secretKey is the first key of the file that holds a password, "" if none does.
func secretKey(c *Cluster) string {
	switch {
	case c.SSH.Password != "":
		return "password"
	case c.Eggo.SudoPassword != "":
		return "eggo.sudo-password"
	case slices.ContainsFunc(c.Eggo.Bastions, func(b Bastion) bool { return b.Password != "" }):
		return "eggo.bastion"
	}
	for _, l := range c.Eggo.Machines {
		hop := func(b Bastion) bool { return b.Password != "" }
		if l.Password != "" || l.SudoPassword != "" || slices.ContainsFunc(l.Bastions, hop) {
			return "eggo.machines"
		}
	}
	for _, r := range c.Eggo.Registries {
		if r.Password != "" {
			return "eggo.registries"
		}
	}
	return ""
}

// readFile reads a regular file of at most MaxSize; a larger one is refused without reading it.
func readFile(name string) ([]byte, fs.FileInfo, error) {
	// Without O_NONBLOCK the opening of a pipe would wait for its writer.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fileFault(name, "config.no-file", nil)
	}
	if err != nil {
		return nil, nil, fileFault(name, "config.unreadable", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, fileFault(name, "config.unreadable", err)
	case !info.Mode().IsRegular():
		return nil, nil, fileFault(name, "config.not-a-file", nil)
	case info.Size() > MaxSize:
		return nil, nil, fileFault(name, "config.too-large", nil, "size", strconv.FormatInt(info.Size(), 10), "max",
			strconv.Itoa(MaxSize))
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, nil, fileFault(name, "config.unreadable", err)
	}
	return data, info, nil
}

func fileFault(name, code string, err error, kv ...string) *event.Fault {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err // the sentence names the file
	}
	return event.NewFault(event.ClassUsage, code, err, append(kv, "file", name)...)
}

// fileProblems warns about a file with a password that others see.
func fileProblems(c *Cluster, name string, info fs.FileInfo, key string) Problems {
	at, ok := c.given[key]
	if !ok {
		at = position{1, 1}
	}
	warning := func(code string, kv ...string) Problem {
		return Problem{
			File: name, Line: at.line, Col: at.col, Key: key, Code: code, Severity: event.Warning,
			Args: event.M("", append(kv, "key", key, "file", name)...).Args,
		}
	}
	var out Problems
	if mode := info.Mode().Perm(); mode&0o044 != 0 {
		out = append(out, warning("config.readable-secret", "mode", strconv.FormatUint(uint64(mode), 8)))
	}
	if abs, err := filepath.Abs(name); err == nil && inGit(filepath.Dir(abs)) {
		out = append(out, warning("config.secret-in-git"))
	}
	return out
}

// inGit reports whether the directory or one above it is a git work tree.
func inGit(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// resolvePaths makes the paths of the jump host absolute.
func (c *Cluster) resolvePaths(name string) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	home, homeErr := os.UserHomeDir()
	resolve := func(p *string, prefix string) {
		s := strings.TrimPrefix(*p, prefix)
		if rest, ok := strings.CutPrefix(s, "~/"); ok {
			if homeErr != nil {
				err = homeErr
			}
			*p = prefix + filepath.Join(home, rest)
		}
	}
	for arch, p := range c.Source.Bundles {
		resolve(&p, "")
		if !filepath.IsAbs(p) {
			p = filepath.Join(filepath.Dir(abs), p)
		}
		c.Source.Bundles[arch] = p
	}
	for i := range c.Source.More {
		p := &c.Source.More[i]
		resolve(p, "")
		if !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(abs), *p)
		}
	}
	for _, p := range []*string{&c.SSH.PrivateKeyPath, &c.Eggo.KnownHosts, &c.ExternalCA} {
		resolve(p, "")
	}
	sources := []*string{&c.Eggo.PasswordFrom, &c.Eggo.SudoPasswordFrom}
	hops := func(bastions []Bastion) {
		for i := range bastions {
			resolve(&bastions[i].PrivateKeyPath, "")
			sources = append(sources, &bastions[i].PasswordFrom)
		}
	}
	hops(c.Eggo.Bastions)
	logins := map[string]*Login{}
	for name, l := range c.Eggo.Machines {
		resolve(&l.PrivateKeyPath, "")
		sources = append(sources, &l.PasswordFrom, &l.SudoPasswordFrom)
		hops(l.Bastions)
		logins[name] = &l
	}
	registries := map[string]*Registry{}
	for host, r := range c.Eggo.Registries {
		resolve(&r.CAPath, "")
		sources = append(sources, &r.PasswordFrom)
		registries[host] = &r
	}
	for _, p := range sources {
		if strings.HasPrefix(*p, "file:") {
			resolve(p, "file:")
		}
	}
	for name, l := range logins {
		c.Eggo.Machines[name] = *l
	}
	for host, r := range registries {
		c.Eggo.Registries[host] = *r
	}
	return err
}
