package phasestest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Tree is all of the machines' files and of their fakes' state: path with node → mode and content, or where a link
// leads. What the API server keeps, and what it wrote in a node's stead, is not in it, nor identities that are made
// again each time.
func (l *Lab) Tree() (map[string]string, error) {
	out := map[string]string{}
	for name, n := range l.Nodes {
		for _, part := range []string{"root", "state"} {
			err := filepath.WalkDir(filepath.Join(n.dir, part), func(p string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				rel, err := filepath.Rel(n.dir, p)
				if err != nil {
					return err
				}
				i, err := d.Info()
				if err != nil {
					return err
				}
				what := i.Mode().String()
				if i.Mode().IsRegular() {
					data, err := os.ReadFile(p)
					if err != nil {
						return err
					}
					what += " " + string(bytes.ReplaceAll(data, []byte(filepath.Join(n.dir, "root")), nil))
				}
				if i.Mode()&fs.ModeSymlink != 0 {
					to, err := os.Readlink(p)
					if err != nil {
						return err
					}
					what += " " + strings.TrimPrefix(to, filepath.Join(n.dir, "root"))
				}
				if strings.HasPrefix(rel, "state/journal/") || rel == "state/routes" ||
					rel == "state/runtime" {
					return nil
				}
				if rel == "root/var/lib/etcd/default.etcd/member/id" {
					what = "some identity"
				}
				if rel == "root/var/lib/eggo-node/owner" { // each run writes its own
					what = "some owner"
				}
				if rel == "root/var/lib/eggo-node/record" { // in the order in which two lanes wrote
					lines := strings.Split(what, "\n")
					sort.Strings(lines)
					what = strings.Join(lines, "\n")
				}
				out[name+"/"+rel] = what
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
