package hooks

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The types of hooks that a command line names.
const (
	ClusterPreHook  = "cluster-prehook"
	ClusterPostHook = "cluster-posthook"
	PreHook         = "prehook"
	PostHook        = "posthook"
)

// Check says whether each hook has a machine among the nodes to run on. One that has none was given for nothing, and
// whoever relies on it has to know: hook.nowhere.
func Check(hooks []input.Hook, nodes []config.Node) error {
	for _, h := range hooks {
		if !slices.ContainsFunc(nodes, h.On) {
			word := "master"
			for w, role := range roles() {
				if role == h.Role && w != "node" {
					word = w
				}
			}
			return event.NewFault(event.ClassUsage, "hook.nowhere", nil, "flag", "--"+h.Type, "hook", h.Name, "role",
				word)
		}
	}
	return nil
}

// maxSize bounds a hook's size, in bytes.
const maxSize = 1 << 20

func roles() map[string]bundle.Role {
	return map[string]bundle.Role{"master": bundle.ControlPlane, "worker": bundle.Worker, "node": bundle.Worker,
		"etcd": bundle.Etcd, "loadbalance": bundle.LoadBalancer}
}

// Load reads what the flag of a type says: PATH[,ROLE], where PATH is a script, or a directory whose scripts run
// in the order of their names, and ROLE is master when it is not given; without it PreHook and PostHook are for all
// machines that come or go. What runs as root on machines has to be the caller's or root's own and out of reach of
// others: the faults are hook.role, hook.path, hook.file with the reason, hook.empty.
func Load(kind, flag string) ([]input.Hook, error) {
	path, word, given := strings.Cut(flag, ",")
	role := bundle.ControlPlane
	if kind == PreHook || kind == PostHook {
		role = ""
	}
	if given {
		var ok bool
		if role, ok = roles()[word]; !ok {
			return nil, event.NewFault(event.ClassUsage, "hook.role", nil, "role", event.Clean(word), "choices",
				"master, worker, etcd, loadbalance")
		}
	}
	if !filepath.IsAbs(path) {
		return nil, event.NewFault(event.ClassUsage, "hook.path", nil, "path", event.Clean(path))
	}
	st, err := os.Lstat(path)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "hook.unreadable", err, "path", event.Clean(path))
	}
	files := []string{path}
	if st.IsDir() {
		if why := refusal(st); why != "" && why != "mode" && why != "size" {
			return nil, event.NewFault(event.ClassUsage, "hook."+why, nil, "path", event.Clean(path))
		}
		if st.Mode().Perm()&0o022 != 0 {
			return nil, event.NewFault(event.ClassUsage, "hook.mode", nil, "path", event.Clean(path))
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, event.NewFault(event.ClassUsage, "hook.unreadable", err, "path", event.Clean(path))
		}
		files = nil
		for _, e := range entries { // in the order of names
			files = append(files, filepath.Join(path, e.Name()))
		}
		if len(files) == 0 {
			return nil, event.NewFault(event.ClassUsage, "hook.empty", nil, "path", event.Clean(path))
		}
	}
	var out []input.Hook
	for _, f := range files {
		data, err := read(f)
		if err != nil {
			return nil, err
		}
		out = append(out, input.Hook{Type: kind, Name: filepath.Base(f), Data: data, Role: role})
	}
	return out, nil
}

// read reads one script after looking at the file that it has opened, not at a name that may have changed its
// meaning.
func read(path string) ([]byte, error) {
	refuse := func(why string) error {
		return event.NewFault(event.ClassUsage, "hook."+why, nil, "path", event.Clean(path))
	}
	before, err := os.Lstat(path)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "hook.unreadable", err, "path", event.Clean(path))
	}
	if !before.Mode().IsRegular() {
		return nil, refuse("not-regular")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "hook.unreadable", err, "path", event.Clean(path))
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil && !os.SameFile(before, st) {
		err = errors.New("it was replaced while it was read")
	}
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "hook.unreadable", err, "path", event.Clean(path))
	}
	if !slices.Contains([]string{".sh", ".bash"}, filepath.Ext(path)) || !validName(filepath.Base(path)) {
		return nil, refuse("name")
	}
	if why := refusal(st); why != "" {
		return nil, refuse(why)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "hook.unreadable", err, "path", event.Clean(path))
	}
	if len(data) == 0 || len(data) > maxSize {
		return nil, refuse("size")
	}
	return data, nil
}

// refusal is what stands against running the file as root: its owner, its mode, its size.
func refusal(st os.FileInfo) string {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
		return "owner"
	}
	switch {
	case st.Mode().Perm()&^0o750 != 0 || st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0:
		return "mode"
	case st.Size() == 0 || st.Size() > maxSize:
		return "size"
	}
	return ""
}

// validName says whether a file's name can be one on a node: no word of a shell, no option.
func validName(name string) bool {
	return len(name) <= 128 && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, ".") &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}
