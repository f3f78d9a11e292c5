package lab

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Snapshot is the state of a node, in an order that two snapshots share: what an installer can leave behind.
type Snapshot struct {
	Node     string             `json:"node"`
	Excluded []Exclusion        `json:"excluded"` // files that are not listed, and why
	Sections map[string][]Entry `json:"sections"`
}

// Entry is one fact. Two entries of the same key with different values are a change.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Exclusion is a path (or a glob of the whole path) that is left out of the files.
type Exclusion struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// exclusions are what changes on a machine that nobody touches, or says what another section says better.
// Other file systems (/proc, /sys, /dev, /run) are not walked in the first place.
var exclusions = []Exclusion{
	{"/proc", "not files"}, {"/sys", "not files"}, {"/dev", "not files"}, {"/run", "gone at reboot"},
	{"/var/log", "logs"},
	{"/var/lib/apt/lists", "package lists"}, {"/var/cache/apt", "package cache"},
	{"/var/lib/apt/extended_states", "rewritten by apt; see packages"},
	{"/var/lib/dpkg", "rewritten by dpkg; see packages"}, {"/var/cache/debconf", "rewritten by debconf"},
	{"/var/backups", "copies of dpkg's state"},
	{"/var/lib/rpm", "rewritten by rpm; see packages"},
	{"/var/cache/ldconfig", "cache"}, {"/etc/ld.so.cache", "cache"}, {"/var/cache/man", "cache"},
	{"/var/lib/systemd", "clocks and random seed of systemd"}, {"/var/lib/private", "state of systemd's dynamic users"},
	{"/var/lib/sudo", "who was lectured"}, {"/home/*/.sudo_as_admin_successful", "that sudo was used once"},
	{"/tmp/systemd-private-*", "private /tmp of a running unit"},
	{"/var/tmp/systemd-private-*", "private /tmp of a running unit"},
	{"/lost+found", "of the file system"}, {"/etc/.pwd.lock", "lock of useradd"},
	{"/etc/passwd-", "copy that useradd makes"}, {"/etc/group-", "copy that groupadd makes"},
	{"/etc/shadow-", "copy that useradd makes"},
	{"/etc/gshadow-", "copy that groupadd makes"}, {"/etc/subuid-", "copy that useradd makes"},
	{"/etc/subgid-", "copy that useradd makes"},
	{"/root/.bash_history", "of whoever logged in"}, {"/home/*/.bash_history", "of whoever logged in"},
}

func excluded(path string) bool {
	return slices.ContainsFunc(exclusions, func(e Exclusion) bool {
		ok, _ := filepath.Match(e.Path, path)
		return ok
	})
}

// Snapshot lists the state of a running node. It looks from outside, so it needs no tool and no sshd in the node
// (but systemctl, dpkg-query, and rpm where it is) and leaves nothing there. A virtual machine is looked at through
// ssh.
func (l *Lab) Snapshot(ctx context.Context, node string) (Snapshot, error) {
	if err := l.mustRun(node); err != nil {
		return Snapshot{}, err
	}
	look, err := l.kind(node).look(ctx, node)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Node: node, Excluded: exclusions, Sections: map[string][]Entry{}}
	defer func() { _ = look.close() }()
	n := listing{look}
	for _, section := range []struct {
		name string
		list func() ([]Entry, error)
	}{
		{"files", n.files}, {"packages", n.packages}, {"units", n.units}, {"failed units", n.failedUnits},
		{"mounts", n.mounts},
		{"links", n.links}, {"addresses", n.addresses}, {"routes", n.routes}, {"packet filter", n.packetFilter},
		{"users", n.accounts("/etc/passwd")}, {"groups", n.accounts("/etc/group")}, {"listening ports", n.ports},
		{"processes", n.processes},
	} {
		entries, err := section.list()
		if err != nil {
			return Snapshot{}, fmt.Errorf("%s of %s: %w", section.name, node, err)
		}
		slices.SortFunc(entries, func(a, b Entry) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
		})
		s.Sections[section.name] = slices.Compact(entries)
	}
	return s, nil
}

// Settled takes snapshots of a node that has just started until two in a row are alike: what systemd starts once all
// units run, and the kernel's routes to addresses that it still proves, come a moment later and are no change of
// anybody's making. A node that goes on changing by itself for a minute is an error.
func (l *Lab) Settled(ctx context.Context, node string) (Snapshot, error) {
	last, err := l.Snapshot(ctx, node)
	for end := time.Now().Add(time.Minute); err == nil; {
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-time.After(2 * time.Second):
		}
		var now Snapshot
		if now, err = l.Snapshot(ctx, node); err != nil {
			break
		}
		changes := Diff(last, now)
		if len(changes) == 0 {
			return now, nil
		}
		if time.Now().After(end) {
			return now, fmt.Errorf("%s goes on changing by itself: %v", node, changes)
		}
		last = now
	}
	return last, err
}

// Write prints the snapshot for people and for diff(1).
func (s Snapshot) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, e := range s.Excluded {
		_, _ = fmt.Fprintf(b, "not listed: %s (%s)\n", e.Path, e.Why)
	}
	names := make([]string, 0, len(s.Sections))
	for name := range s.Sections {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		_, _ = fmt.Fprintf(b, "\n[%s]\n", name)
		for _, e := range s.Sections[name] {
			_, _ = fmt.Fprintln(b, strings.TrimRight(e.Key+"\t"+e.Value, "\t"))
		}
	}
	return b.Flush()
}

// view is what a snapshot sees of a node.
type view interface {
	// files lists the files of the root file system that are not excluded.
	files() ([]Entry, error)
	// processes lists the programs that run in the node, each once.
	processes() ([]Entry, error)
	// node runs a program of the node, in the node.
	node(name string, args ...string) (string, error)
	// net runs ip, ss or nft in the node's network; the node need not have it.
	net(name string, args ...string) (string, error)
	// read returns a file of the node, and proc one of its PID 1 in /proc; os.ErrNotExist if there is none.
	read(path string) (string, error)
	proc(path string) (string, error)
	close() error
}

// listing makes the sections out of it.
type listing struct{ view }

func (n listing) packages() ([]Entry, error) {
	out, err := n.node("dpkg-query", "--show", "--showformat",
		"${Package}:${Architecture}\t${Version} ${db:Status-Abbrev}\n")
	if err != nil {
		return nil, err
	}
	entries := keyed(out, "\t")
	if out, err = n.node("sh", "-c", "test ! -e /usr/bin/rpm || echo rpm"); err != nil || out == "" {
		return entries, err
	}
	out, err = n.node("rpm", "-qa", "--qf", "rpm %{NAME}.%{ARCH}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n")
	return append(entries, keyed(out, "\t")...), err
}

// keyed makes an entry of each line, cut at the separator.
func keyed(text, separator string) []Entry {
	var entries []Entry
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			key, value, _ := strings.Cut(line, separator)
			entries = append(entries, Entry{key, strings.Join(strings.Fields(value), " ")})
		}
	}
	return entries
}

// transient units come and go with sessions of users.
var transient = regexp.MustCompile(`^(session-|user@|user-|run-u|run-user-)`)

func (n listing) units() ([]Entry, error) {
	out, err := n.node("systemctl", "list-unit-files", "--no-legend", "--no-pager", "--plain")
	return slices.DeleteFunc(keyed(out, " "), func(e Entry) bool { return transient.MatchString(e.Key) }), err
}

func (n listing) failedUnits() ([]Entry, error) {
	out, err := n.node("systemctl", "list-units", "--failed", "--no-legend", "--no-pager", "--plain")
	return keyed(out, " "), err
}

// What of a mount differs from boot to boot: the disk's device, and files of nspawn with random names.
var (
	loopDevice = regexp.MustCompile(`^/dev/(loop\d+|vda|root)$`)
	randomFile = regexp.MustCompile(`/\.#[a-z_-]+[0-9a-f]{16}//deleted$`)
)

func (n listing) mounts() ([]Entry, error) {
	text, err := n.proc("mountinfo")
	return parseMounts(text), err
}

// parseMounts reads mountinfo(5). The number of a loop device depends on the order of boots; mounts of logged-in
// users and of units' credentials come and go.
func parseMounts(mountinfo string) []Entry {
	var entries []Entry
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		b, a := strings.Fields(before), strings.Fields(after)
		if !ok || len(b) < 5 || len(a) < 2 || strings.HasPrefix(b[4], "/run/user/") ||
			strings.HasPrefix(b[4], "/run/credentials/") {
			continue
		}
		source := a[1]
		if loopDevice.MatchString(source) || strings.HasSuffix(source, "/disk.img") {
			source = "disk"
		}
		entries = append(entries, Entry{b[4], a[0] + " " + source + " " + randomFile.ReplaceAllString(b[3], "deleted")})
	}
	return entries
}

// shortJSON shows the named members of each object that an ip -json command prints.
func shortJSON(text, key string, members ...string) ([]Entry, error) {
	var objects []map[string]any
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &objects); err != nil {
		return nil, err
	}
	var entries []Entry
	for _, o := range objects {
		name, _ := o[key].(string)
		if name == "" {
			continue
		}
		var values []string
		for _, m := range members {
			if v, ok := o[m]; ok {
				text, err := json.Marshal(v)
				if err != nil {
					return nil, err
				}
				values = append(values, m+"="+string(text))
			}
		}
		entries = append(entries, Entry{name, strings.Join(values, " ")})
	}
	return entries, nil
}

func (n listing) links() ([]Entry, error) {
	out, err := n.net("ip", "-details", "-json", "link", "show")
	if err != nil {
		return nil, err
	}
	return shortJSON(out, "ifname", "link_type", "mtu", "master", "operstate")
}

var peerIndex = regexp.MustCompile(`@if\d+`) // numbers of links on the other side, which differ from boot to boot

func (n listing) addresses() ([]Entry, error) {
	out, err := n.net("ip", "-brief", "addr", "show")
	return keyed(peerIndex.ReplaceAllString(out, ""), " "), err
}

func (n listing) routes() ([]Entry, error) {
	var entries []Entry
	for _, family := range []string{"-4", "-6"} {
		out, err := n.net("ip", family, "route", "show", "table", "all")
		if err != nil {
			return nil, err
		}
		rules, err := n.net("ip", family, "rule", "show")
		if err != nil {
			return nil, err
		}
		for _, line := range append(strings.Split(out, "\n"), strings.Split(rules, "\n")...) {
			if line = strings.Join(strings.Fields(line), " "); line != "" {
				entries = append(entries, Entry{"ip " + family + " " + line, ""})
			}
		}
	}
	return entries, nil
}

// packetFilter lists the rules of nftables, which iptables-nft writes too, and says which tables of the old
// iptables the node has used: those can only be listed with the old tool.
func (n listing) packetFilter() ([]Entry, error) {
	out, err := n.net("nft", "--stateless", "list", "ruleset")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	table, chain := "", ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"), line == "":
			continue
		case line == "}":
			chain = ""
			continue
		case strings.HasPrefix(line, "table "):
			table, chain = strings.TrimSuffix(line, " {"), ""
			entries = append(entries, Entry{table, ""})
			continue
		case strings.HasSuffix(line, " {"):
			chain = strings.TrimSuffix(line, " {")
			entries = append(entries, Entry{table + " " + chain, ""})
			continue
		}
		entries = append(entries, Entry{strings.Join(strings.Fields(table+" "+chain+" "+line), " "), ""})
	}
	for _, family := range []string{"ip", "ip6"} {
		names, err := n.proc("net/" + family + "_tables_names")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for name := range strings.FieldsSeq(names) {
			entries = append(entries, Entry{"legacy " + family + "tables table " + name, ""})
		}
	}
	return entries, nil
}

func (n listing) accounts(file string) func() ([]Entry, error) {
	return func() ([]Entry, error) {
		text, err := n.read(file)
		return keyed(text, ":"), err
	}
}

var listener = regexp.MustCompile(`\("([^"]+)",pid=`)

func (n listing) ports() ([]Entry, error) {
	out, err := n.net("ss", "--no-header", "--listening", "--numeric", "--processes", "--tcp", "--udp")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		program := ""
		if m := listener.FindStringSubmatch(line); m != nil {
			program = m[1]
		}
		entries = append(entries, Entry{f[0] + " " + f[4], program})
	}
	return entries, nil
}

// passing are processes of logins and of programs that systemd starts on demand.
var passing = []string{"sshd", "sudo", "su", "bash", "sh", "systemd", "systemd-hostnam", "systemd-timedat",
	"systemd-localed", "nsenter", "systemctl", "agetty", "login", "sftp-server", "ssh-agent", "systemd-tmpfile"}

// stays reports whether a program is none of those. What stands in brackets is systemd's child, on its way to become
// the program of a unit.
func stays(name string) bool {
	return name != "" && !slices.Contains(passing, name) && !strings.HasPrefix(name, "(")
}
