package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// remote looks into a virtual machine through ssh.
type remote struct{ sh *remoteShell }

func (n remote) close() error { return n.sh.close() }

func (n remote) node(name string, args ...string) (string, error) {
	// systemd of an emulated machine may need longer than the 25 s that systemctl waits.
	return n.sh.run("LC_ALL=C SYSTEMD_BUS_TIMEOUT=300 " + shell.QuoteAll(append([]string{name}, args...)))
}

// net runs the node's own ip and ss, and the nft that the root file system hides for this.
func (n remote) net(name string, args ...string) (string, error) {
	if name == "nft" {
		name = "/usr/lib/lab/nft/run"
	}
	return n.node(name, args...)
}

func (n remote) read(path string) (string, error) {
	const missing = "missing\n"
	out, err := n.node("sh", "-c", `if [ -e "$1" ]; then echo there; cat "$1"; else echo missing; fi`, "sh", path)
	if err == nil && out == missing {
		return "", fmt.Errorf("%s: %w", path, os.ErrNotExist)
	}
	return strings.TrimPrefix(out, "there\n"), err
}

func (n remote) proc(path string) (string, error) { return n.read("/proc/1/" + path) }

// files has find list them and sha256sum read them: what goes away meanwhile is none.
func (n remote) files() ([]Entry, error) {
	find := "find / -xdev"
	for i, e := range exclusions {
		find += map[bool]string{true: ` \( `, false: " -o "}[i == 0] + "-path " + shell.Quote(e.Path)
	}
	find += ` \) -prune -o`
	list, err := n.node("sh", "-c", find+` -printf '%D\t%y\t%m\t%U:%G\t%p\0%l\0' || true`)
	if err != nil {
		return nil, err
	}
	sums, err := n.node("sh", "-c", find+` -type f -print0 | xargs -0 -r sha256sum -z -- || true`)
	if err != nil {
		return nil, err
	}
	return parseFiles(list, sums)
}

// kinds are the words of a snapshot for find's letters.
func kinds(letter string) string {
	if word, ok := map[string]string{"f": "file", "d": "dir", "l": "link", "b": "device", "c": "device"}[letter]; ok {
		return word
	}
	return "other"
}

// parseFiles joins what find and sha256sum -z print. What is of another file system than the root directory is mounted
// there: see mounts.
func parseFiles(list, sums string) ([]Entry, error) {
	content := map[string]string{}
	for line := range strings.SplitSeq(sums, "\x00") {
		if sum, path, ok := strings.Cut(line, "  "); ok {
			content[path] = sum
		}
	}
	fields := strings.Split(list, "\x00")
	device := ""
	var entries []Entry
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.SplitN(fields[i], "\t", 5)
		if len(f) != 5 {
			return nil, fmt.Errorf("find printed %q", fields[i])
		}
		path := f[4]
		if device == "" {
			device = f[0]
		}
		if f[0] != device || excluded(path) {
			continue
		}
		mode, err := strconv.ParseUint(f[2], 8, 32)
		if err != nil {
			return nil, fmt.Errorf("the mode of %s: %w", path, err)
		}
		what := content[path]
		switch f[1] {
		case "l":
			what = "-> " + fields[i+1]
		case "f":
			if what == "" {
				continue // it went away
			}
		}
		value := fmt.Sprintf("%s %04o %s %s", kinds(f[1]), mode, f[3], what)
		entries = append(entries, Entry{path, strings.TrimSpace(value)})
	}
	return entries, nil
}

// processes leaves out the threads of the node's kernel.
func (n remote) processes() ([]Entry, error) {
	out, err := n.node("ps", "--ppid", "2", "-p", "2", "--deselect", "-o", "comm=")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for line := range strings.Lines(out) {
		if name := strings.TrimSpace(line); stays(name) && name != "ps" { // nor what lists them
			entries = append(entries, Entry{name, ""})
		}
	}
	return entries, nil
}
