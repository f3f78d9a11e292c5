package lab

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hierarchy is a mounted cgroup hierarchy of this machine.
type hierarchy struct {
	dir         string
	v2          bool
	controllers []string // v1: from the mount; v2: what cgroup.controllers offers
}

// parseHierarchies reads /proc/self/mountinfo.
func parseHierarchies(mountinfo string) []hierarchy {
	var out []hierarchy
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		b, a := strings.Fields(before), strings.Fields(after)
		if !ok || len(b) < 5 || len(a) < 3 || b[3] != "/" {
			continue // a part of a hierarchy bound elsewhere
		}
		switch a[0] {
		case "cgroup2":
			out = append(out, hierarchy{dir: b[4], v2: true})
		case "cgroup":
			h := hierarchy{dir: b[4]}
			for option := range strings.SplitSeq(a[2], ",") {
				if option != "rw" && option != "ro" {
					h.controllers = append(h.controllers, option)
				}
			}
			out = append(out, h)
		}
	}
	return out
}

func hierarchies() ([]hierarchy, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	hs := parseHierarchies(string(text))
	for i := range hs {
		if hs[i].v2 {
			c, err := os.ReadFile(filepath.Join(hs[i].dir, "cgroup.controllers"))
			if err != nil {
				return nil, err
			}
			hs[i].controllers = strings.Fields(string(c))
		}
	}
	return hs, nil
}

// missingControllers names what the kubelet and systemd need and no hierarchy has.
func missingControllers(hs []hierarchy) []string {
	missing := []string{"cpu", "cpuset", "memory", "pids"}
	v2 := false
	for _, h := range hs {
		if v2 = v2 || h.v2; !h.v2 && !slices.Contains(missing, "name=systemd") {
			missing = append(missing, "name=systemd") // systemd-nspawn wants it where there is any v1
		}
	}
	for _, h := range hs {
		missing = slices.DeleteFunc(missing, func(c string) bool { return slices.Contains(h.controllers, c) })
	}
	if !v2 { // systemd follows its processes there; with v1 alone it never hears that a cgroup is empty
		missing = append(missing, "a cgroup2 mount")
	}
	return missing
}

// freezer returns the file and the words that freeze and thaw a cgroup.
func freezer(hs []hierarchy, cgroup string) (file, freeze, thaw string, err error) {
	for _, h := range hs {
		if !h.v2 && slices.Contains(h.controllers, "freezer") {
			return filepath.Join(h.dir, cgroup, "freezer.state"), "FROZEN", "THAWED", nil
		}
	}
	for _, h := range hs {
		if h.v2 {
			return filepath.Join(h.dir, cgroup, "cgroup.freeze"), "1", "0", nil
		}
	}
	return "", "", "", fmt.Errorf("this machine has no cgroup freezer")
}

func (l *Lab) setFrozen(node string, frozen bool) error {
	hs, err := hierarchies()
	if err != nil {
		return err
	}
	file, word, thaw, err := freezer(hs, l.nodeCgroup(node))
	if err != nil {
		return err
	}
	if !frozen {
		word = thaw
	}
	if err := os.WriteFile(file, []byte(word), 0o644); err != nil {
		return err
	}
	return until(10*time.Second, "the freezer to act on "+node, func() bool {
		state, err := frozenState(file)
		return err == nil && state == frozen
	})
}

// frozenState reads what setFrozen wrote; freezing takes a moment.
func frozenState(file string) (bool, error) {
	text, err := os.ReadFile(file)
	state := strings.TrimSpace(string(text))
	if strings.HasSuffix(file, "cgroup.freeze") {
		return state == "1", err
	}
	return state == "FROZEN", err
}

func (l *Lab) frozen(node string) bool {
	hs, err := hierarchies()
	if err != nil {
		return false
	}
	file, _, _, err := freezer(hs, l.nodeCgroup(node))
	if err != nil {
		return false
	}
	state, err := frozenState(file)
	return err == nil && state
}

// sweepCgroup kills what is left in the cgroup and removes it and everything beneath it.
func sweepCgroup(cgroup string) error {
	hs, err := hierarchies()
	if err != nil {
		return err
	}
	return until(20*time.Second, "cgroup "+cgroup+" to be empty", func() bool {
		left := false
		for _, h := range hs {
			left = !removeCgroup(filepath.Join(h.dir, cgroup)) || left
		}
		return !left
	})
}

// removeCgroup kills the processes of the tree and removes its directories, children first; false when
// something is left. A frozen process cannot die: the node's cgroup may be frozen, and so may a container's, by a
// container runtime that was killed before it thawed it.
func removeCgroup(top string) bool {
	var dirs []string
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // it vanishes while we walk
	})
	slices.Reverse(dirs)
	for _, d := range dirs {
		thaw(filepath.Join(d, "freezer.state"), "THAWED")
		thaw(filepath.Join(d, "cgroup.freeze"), "0")
		procs, _ := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(procs)) {
			if n, err := strconv.Atoi(pid); err == nil && n > 1 {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
		_ = syscall.Rmdir(d)
	}
	_, err := os.Stat(top)
	return os.IsNotExist(err)
}

// thaw writes a word into a file of a cgroup, if the cgroup has it.
func thaw(file, word string) {
	if f, err := os.OpenFile(file, os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString(word) // it is gone already, or the next try thaws it
		_ = f.Close()
	}
}

// until polls: the kernel tells nobody when a cgroup is empty, a loop device free or a port open.
func until(limit time.Duration, what string, done func() bool) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		if done() {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s", limit, what)
		}
	}
}
