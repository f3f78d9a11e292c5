package node

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// VersionsDir has a directory of its own for each version of a binary. Its name comes from the content, so that two
// versions lie side by side.
const VersionsDir = "/opt/eggo"

// Binary is one that a service executes. Units and users call it by its link; which version that is changes with the
// link, when the service is restarted.
type Binary struct {
	Link   string
	File   string // of this version, as VersionedPath has it
	SHA256 string
}

// VersionedPath is where the version of a binary with a checksum lies. Its directory is called bin, so that SELinux's
// policy knows what is in it.
func VersionedPath(name, sha256 string) string {
	return path.Join(VersionsDir, name+"-"+sha256[:min(12, len(sha256))], "bin", name)
}

// VersionOf is the name of the version that lies at a path, as users are told it; "" of a path of another kind.
func VersionOf(file string) string {
	if dir := path.Dir(file); path.Base(dir) == "bin" && path.Dir(path.Dir(dir)) == VersionsDir {
		return path.Base(path.Dir(dir))
	}
	return ""
}

// binaryLib is the part of the prelude that changes of binaries need.
//
//go:embed binaries.sh
var binaryLib string

// PlaceBinary uploads a version of a binary beside those that are there. Its link is made if there is none; one that
// leads elsewhere, or a file of an earlier time in its place, waits until the service is restarted.
func (n *Node) PlaceBinary(ctx context.Context, b Binary, up shell.Upload) error {
	out, err := n.Query(ctx, fmt.Sprintf("if [ -f %[1]s ]; then stat -c '%%a %%s' %[1]s; sha256sum <%[1]s; fi\n",
		shell.Quote(b.File)))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(out, fmt.Sprintf("%o %d\n%s", up.Mode, up.Size, up.SHA256)) {
		up.Path = b.File
		if n.dry {
			return n.announceUpload(ctx, up)
		}
		if _, err := n.Change(ctx, Change{Desc: uploading(up),
			Script: binaryLib + "version " + shell.Quote(b.File) + " " + shell.Quote(b.Link) + "\n"}); err != nil {
			return err
		}
		if _, err := n.Upload(ctx, up); err != nil {
			return err
		}
	}
	is, err := n.links(ctx, []Binary{b})
	if err != nil || is[0] != "" {
		return err
	}
	_, err = n.Change(ctx, Change{Desc: event.M("change.link", "path", b.Link, "to", VersionOf(b.File)),
		Script: binaryLib + point(b)})
	return err
}

func point(b Binary) string { return "point " + shell.Quote(b.Link) + " " + shell.Quote(b.File) + "\n" }

// links are where the binaries' links lead; "file" for something else in their place, "" for nothing.
func (n *Node) links(ctx context.Context, list []Binary) ([]string, error) {
	var script strings.Builder
	for _, b := range list {
		fmt.Fprintf(&script, "if [ -L %[1]s ]; then readlink %[1]s; elif [ -e %[1]s ]; then echo file; else echo; fi\n",
			shell.Quote(b.Link))
	}
	out, err := n.Query(ctx, script.String())
	if err != nil {
		return nil, err
	}
	is := make([]string, len(list))
	copy(is, strings.Split(out, "\n"))
	return is, nil
}

// linked says whether each link leads to its version, and the version is there.
func (n *Node) linked(ctx context.Context, list []Binary) (bool, error) {
	if len(list) == 0 {
		return true, nil
	}
	var script strings.Builder
	for _, b := range list {
		fmt.Fprintf(&script, "[ \"$(readlink %s)\" = %[2]s ] && [ -x %[2]s ] || exit 0\n", shell.Quote(b.Link),
			shell.Quote(b.File))
	}
	out, err := n.Query(ctx, script.String()+"echo yes\n")
	return strings.TrimSpace(out) == "yes", err
}

// switches announces which links are about to lead to another version, and returns the script for it.
func (n *Node) switches(ctx context.Context, list []Binary) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	is, err := n.links(ctx, list)
	if err != nil {
		return "", err
	}
	script := binaryLib
	for i, b := range list {
		desc := event.M("change.switch", "path", b.Link, "was", VersionOf(is[i]), "to", VersionOf(b.File))
		switch {
		case is[i] == b.File:
			continue
		case VersionOf(is[i]) == "":
			desc = event.M("change.link", "path", b.Link, "to", VersionOf(b.File))
		}
		if err := n.announce(ctx, desc); err != nil {
			return "", err
		}
		script += point(b)
	}
	if script == binaryLib {
		return "", nil
	}
	return script, nil
}

// Retired are the recorded versions of binaries that gave way to those that are kept. A binary of which no version is
// kept is none of them: nobody knows who calls it.
func (n *Node) Retired(ctx context.Context, keep []Binary) ([]string, error) {
	recs, err := n.Records(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range recs {
		if r.Kind != "file" || VersionOf(r.Key) == "" ||
			slices.ContainsFunc(keep, func(b Binary) bool { return b.File == r.Key }) {
			continue
		}
		if slices.ContainsFunc(keep, func(b Binary) bool { return path.Base(b.File) == path.Base(r.Key) }) {
			out = append(out, r.Key)
		}
	}
	return out, nil
}

// Retire removes versions and their records; one to which a link of the binaries that are kept still leads is refused
// (node.version-linked).
func (n *Node) Retire(ctx context.Context, files []string, keep []Binary) error {
	links := ""
	for _, b := range keep {
		links += " " + shell.Quote(b.Link)
	}
	for _, f := range files {
		desc := event.M("change.remove", "path", path.Dir(path.Dir(f)))
		if _, err := n.Change(ctx, Change{Desc: desc,
			Script: binaryLib + "retire " + shell.Quote(f) + links + "\n"}); err != nil {
			return err
		}
	}
	return nil
}
