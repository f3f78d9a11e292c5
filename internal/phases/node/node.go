package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Node is one machine, its way and its record.
type Node struct {
	Host
	emit func(event.Event) error
	dry  bool // changes are announced and not made
}

// New makes a Node; emit receives a Change event ahead of each change.
func New(h Host, emit func(event.Event) error) *Node { return &Node{Host: h, emit: emit} }

// DryRun makes a Node whose changes are announced and not made; what only asks, asks.
func DryRun(h Host, emit func(event.Event) error) *Node {
	return &Node{Host: h, emit: emit, dry: true}
}

// Run is not for a dry run, where nobody can tell what a script does: ask with Query, change with Change.
func (n *Node) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	if n.dry {
		return shell.Result{}, event.NewFault(event.ClassFailed, "node.dry-run", nil).On(n.Name())
	}
	return n.Host.Run(ctx, c)
}

// Upload is Host.Upload; in a dry run it is announced like a change.
func (n *Node) Upload(ctx context.Context, up shell.Upload) (changed bool, err error) {
	if !n.dry {
		return n.Host.Upload(ctx, up)
	}
	return true, n.announceUpload(ctx, up)
}

func (n *Node) announceUpload(ctx context.Context, up shell.Upload) error {
	return n.announce(ctx, uploading(up))
}

func uploading(up shell.Upload) event.Msg {
	return event.M("change.upload", "path", up.Path, "bytes", strconv.FormatInt(up.Size, 10))
}

// Change is one change of the machine.
type Change struct {
	Desc    event.Msg
	Script  string // runs after the prelude lib, under set -eu
	Env     map[string]string
	Stdin   []byte
	Secret  bool
	Quiet   bool
	Records []Record // recorded before Script runs
}

// Record is what stood before a change: kind and key name the thing, Was how it was.
type Record struct{ Kind, Key, Was string }

// Change announces and makes a change. It is the only way in which this program changes a machine.
func (n *Node) Change(ctx context.Context, c Change) (shell.Result, error) {
	if err := n.announce(ctx, c.Desc); err != nil {
		return shell.Result{}, err
	}
	if n.dry {
		return shell.Result{}, nil
	}
	var b strings.Builder
	b.WriteString(lib)
	b.WriteString("home\n")
	for _, r := range c.Records {
		fmt.Fprintf(&b, "rec %s %s %s\n", shell.Quote(r.Kind), shell.Quote(r.Key), shell.Quote(r.Was))
	}
	b.WriteString(c.Script)
	cmd := shell.Command{Script: b.String(), Env: c.Env, Stdin: c.Stdin, Secret: c.Secret, Quiet: c.Quiet}
	r, err := n.must(ctx, cmd)
	return r, withCommand(err, c.Script, c.Secret)
}

// commandMost bounds, in bytes, what a fault keeps of the script that failed.
const commandMost = 600

// withCommand adds to the fault of a script that failed what was run, for a person who is to understand it. A secret's
// script is not kept.
func withCommand(err error, script string, secret bool) error {
	f := (*event.Fault)(nil)
	if secret || !errors.As(err, &f) || f.Code != "node.command-failed" {
		return err
	}
	script = strings.TrimSpace(script)
	if len(script) > commandMost {
		script = strings.ToValidUTF8(script[:commandMost], "") + "…"
	}
	f.Args["command"] = script
	return err
}

func (n *Node) announce(ctx context.Context, desc event.Msg) error {
	return n.emit(event.Change{Host: n.Name(), Step: engine.StepID(ctx), Desc: desc})
}

// Query runs a script that changes nothing; a non-zero status is a fault.
func (n *Node) Query(ctx context.Context, script string) (string, error) {
	r, err := n.must(ctx, shell.Command{Script: "set -eu\n" + script, Quiet: true})
	return string(r.Stdout), withCommand(err, script, false)
}

// must runs cmd and turns a non-zero exit status into a fault: the one that the prelude named, or node.command-failed
// with the last words of stderr.
func (n *Node) must(ctx context.Context, cmd shell.Command) (shell.Result, error) {
	r, err := n.Host.Run(ctx, cmd)
	if err != nil {
		return r, err
	}
	if r.Status == 0 {
		return r, nil
	}
	lines := strings.Split(strings.TrimSpace(string(r.Stderr)), "\n")
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, "eggo-fault "); ok && r.Status == 90 {
			if code, arg, _ := strings.Cut(rest, " "); scriptFault(code) {
				return r, event.NewFault(event.ClassFailed, code, nil, "what", arg).On(n.Name())
			}
		}
	}
	cause := lastWords(string(r.Stderr))
	if cmd.Secret {
		cause = ""
	}
	f := event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", strconv.Itoa(r.Status)).On(n.Name())
	f.Cause = cause
	return r, f
}

// scriptFault says whether a script of ours ends with that fault (fail CODE). Any program on a node can say such a
// line, so that it chooses among these and no others.
func scriptFault(code string) bool {
	switch code {
	case "node.account", "node.file-exists", "node.module", "node.no-binary", "node.short-write", "node.torn-block",
		"node.unsafe-dir", "node.unsafe-versions", "node.version-linked", "packages.locked":
		return true
	}
	return false
}

// File on the node.
type File struct {
	Path   string
	Mode   uint32
	Data   []byte
	Secret bool
}

func sum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// Same says whether all files are on the node as given, mode included.
func (n *Node) Same(ctx context.Context, files []File) (bool, error) {
	diff, err := n.differing(ctx, files)
	return len(diff) == 0, err
}

func (n *Node) differing(ctx context.Context, files []File) ([]File, error) {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b,
			"if [ -f %[1]s ]; then printf '%%s %%s\\n' \"$(stat -c %%a %[1]s)\" \"$(sha256sum <%[1]s)\"; else echo "+
				"absent; fi\n", shell.Quote(f.Path))
	}
	out, err := n.Query(ctx, b.String())
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var diff []File
	for i, f := range files {
		want := fmt.Sprintf("%o %s", f.Mode, sum(f.Data))
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			diff = append(diff, f)
		}
	}
	return diff, nil
}

// Put writes the files that differ, each in place at once, after recording them; it refuses one that somebody else made
// (node.file-exists).
func (n *Node) Put(ctx context.Context, files []File) (changed bool, err error) {
	diff, err := n.differing(ctx, files)
	if err != nil || len(diff) == 0 {
		return false, err
	}
	for _, f := range diff[1:] {
		if err := n.announce(ctx, event.M("change.file", "path", f.Path)); err != nil {
			return false, err
		}
	}
	script, data := puts(diff)
	_, err = n.Change(ctx, Change{Desc: event.M("change.file", "path", diff[0].Path), Script: script, Stdin: data,
		Secret: secret(diff)})
	return err == nil, err
}

// puts is the script that writes files, and their content for its standard input.
func puts(files []File) (script string, data []byte) {
	for _, f := range files {
		script += fmt.Sprintf("put %s %o %d\n", shell.Quote(f.Path), f.Mode, len(f.Data))
		data = append(data, f.Data...)
	}
	return script, data
}

func secret(files []File) bool {
	return slices.ContainsFunc(files, func(f File) bool { return f.Secret })
}

// Service is a systemd unit of ours with the files that it reads.
type Service struct {
	Unit  string // etcd.service
	Files []File // the unit's own file or drop-in among them
	// Places are files, or directories, in which nothing of ours is left that Files does not have.
	Places []string
	// Binaries are those of the bundle that the service executes.
	Binaries []Binary
	// Account is whom it runs as; nil is root.
	Account *Account
	// Tables: the service makes packet filter tables; those that are not there before are recorded.
	Tables bool
	// Reload: while it runs, what differs beside the unit's own file takes effect by a reload.
	Reload bool
}

// Tree is a directory whose whole content is ours; its content goes at cleanup, or only with --purge.
type Tree struct {
	Path  string
	Mode  uint32
	Purge bool
}

// Script makes the tree and records it.
func (t Tree) Script() string {
	when := "cleanup"
	if t.Purge {
		when = "purge"
	}
	return fmt.Sprintf("tree %s %o %s\n", shell.Quote(path.Clean(t.Path)), t.Mode, when)
}

func (s Service) hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", s.Unit)
	for _, f := range s.Files {
		fmt.Fprintf(h, "%s %o %s\n", f.Path, f.Mode, sum(f.Data))
	}
	for _, b := range s.Binaries {
		fmt.Fprintf(h, "%s %s\n", b.Link, b.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// unitHash is of the unit's own file.
func (s Service) unitHash() string {
	for _, f := range s.Files {
		if strings.HasSuffix(f.Path, "/"+s.Unit) {
			return sum(f.Data)
		}
	}
	return "none"
}

// Running says whether the service runs, is enabled, and was started with exactly these files and binaries.
func (n *Node) Running(ctx context.Context, s Service) (bool, error) {
	u, err := n.Unit(ctx, s.Unit)
	if err != nil || !u.Active() || !u.Enabled || u.Applied != s.hash() {
		return false, err
	}
	if ok, err := n.linked(ctx, s.Binaries); !ok || err != nil {
		return false, err
	}
	if left, err := n.leftovers(ctx, s); err != nil || len(left) > 0 {
		return false, err
	}
	return n.Same(ctx, s.Files)
}

// leftovers are files of ours in the service's places that it does not have any more.
func (n *Node) leftovers(ctx context.Context, s Service) ([]string, error) {
	if len(s.Places) == 0 {
		return nil, nil
	}
	out, err := n.Query(ctx, "awk -F'\\t' '$1==\"file\" {print $2}' "+Dir+"/record 2>/dev/null || true\n")
	if err != nil {
		return nil, err
	}
	var left []string
	for line := range strings.Lines(out) {
		file := strings.TrimSuffix(line, "\n")
		if slices.ContainsFunc(s.Files, func(f File) bool { return f.Path == file }) {
			continue
		}
		if slices.ContainsFunc(s.Places, func(p string) bool {
			return file == p || strings.HasPrefix(file, p+"/")
		}) {
			left = append(left, file)
		}
	}
	return left, nil
}

// Start writes the service's files, switches its binaries and (re)starts it.
func (n *Node) Start(ctx context.Context, s Service) error {
	if err := n.Prepare(ctx, s); err != nil {
		return err
	}
	return n.Restart(ctx, s)
}

// Prepare does what precedes a (re)start and leaves what runs alone.
func (n *Node) Prepare(ctx context.Context, s Service) error {
	if s.Tables {
		if _, err := n.Change(ctx, Change{Desc: event.M("change.tables"), Script: "tables\n"}); err != nil {
			return err
		}
	}
	if err := n.ensureAccount(ctx, s.Account); err != nil {
		return err
	}
	left, err := n.leftovers(ctx, s)
	if err != nil {
		return err
	}
	for _, file := range left {
		p := shell.Quote(file)
		if _, err := n.Change(ctx, Change{Desc: event.M("change.remove", "path", file),
			Script: "unfile " + p + "\nunrec via " + p + "\nunrec file " + p + "\n" + s.vacated(file)}); err != nil {
			return err
		}
	}
	_, err = n.Put(ctx, s.Files)
	return err
}

// vacated removes the directories of a file below the service's places that we made and that are empty without it.
func (s Service) vacated(file string) string {
	var script strings.Builder
	for _, place := range s.Places {
		for dir := path.Dir(file); strings.HasPrefix(dir, place+"/"); dir = path.Dir(dir) {
			d := shell.Quote(dir)
			fmt.Fprintf(&script, "if has dir %s && rmdir %s 2>/dev/null; then unrec dir %s; fi\n", d, d, d)
		}
	}
	return script.String()
}

// Restart switches the service's binaries and (re)starts it, in one script.
func (n *Node) Restart(ctx context.Context, s Service) error {
	binaries, err := n.switches(ctx, s.Binaries)
	if err != nil {
		return err
	}
	_, err = n.Change(ctx, Change{Desc: event.M("change.start", "unit", s.Unit), Records: s.records(),
		Script: s.script(binaries)})
	return err
}

// StartAs is Start, of a service without binaries, as one change with a description of its own.
func (n *Node) StartAs(ctx context.Context, s Service, desc event.Msg) error {
	diff, err := n.differing(ctx, s.Files)
	if err != nil {
		return err
	}
	files, data := puts(diff)
	_, err = n.Change(ctx, Change{Desc: desc, Records: s.records(), Script: files + s.script(""), Stdin: data,
		Secret: secret(diff)})
	return err
}

func (s Service) records() []Record { return []Record{{"unit", s.Unit, "stopped"}} }

// script (re)starts the service, with more just before it, and notes what it was started with.
func (s Service) script(before string) string {
	u, file := shell.Quote(s.Unit), shell.Quote(s.Unit+".file")
	how, after := "how=restart\n", ""
	if s.Reload {
		how += "if [ \"$(cat $D/applied/" + file + " 2>/dev/null)\" = " + s.unitHash() +
			" ] && systemctl is-active --quiet " + u + "; then how=reload; fi\n"
		after = "stamp " + file + " " + s.unitHash() + "\n"
	}
	return "systemctl daemon-reload\nsystemctl enable " + u + "\n" + how + before +
		"if ! systemctl $how " + u + "; then systemctl status --no-pager -l " + u + " >&2 || true; journalctl -u " + u +
		" -n 20 --no-pager -o cat >&2 || true; exit 1; fi\n" +
		after + "stamp " + u + " " + s.hash() + "\n" + Written(s.Unit, s.Files)
}

// Journal returns the last words of a unit, for faults.
func (n *Node) Journal(ctx context.Context, unit string) string {
	return n.Tail(ctx, "journalctl -u "+shell.Quote(unit)+" -n 20 --no-pager -o cat || true")
}

// Tail are the last words of what a script prints, for faults.
func (n *Node) Tail(ctx context.Context, script string) string {
	out, err := n.Query(ctx, script)
	if err != nil {
		return ""
	}
	return lastWords(out)
}

// LastWords are the last lines that a unit that has died logged; "" while it lives.
func (n *Node) LastWords(ctx context.Context, unit string) string {
	if u, err := n.Unit(ctx, unit); err != nil || u.Active() {
		return ""
	}
	return n.Journal(ctx, unit)
}
