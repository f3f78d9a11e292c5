package node_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// machine is a bare machine, and the paths of the changes that were announced.
func machine(t *testing.T) (sim *phasestest.Node, n *node.Node, said *[]string) {
	t.Helper()
	sim, err := phasestest.NewNode(t.TempDir(), "n1", "192.0.2.11")
	if err != nil {
		t.Fatal(err)
	}
	said = &[]string{}
	return sim, node.New(sim, func(e event.Event) error {
		if c, ok := e.(event.Change); ok {
			*said = append(*said, strings.TrimSpace(c.Desc.Key+" "+c.Desc.Args["path"]))
		}
		return nil
	}), said
}

func read(t *testing.T, sim *phasestest.Node, path string) string {
	t.Helper()
	data, err := os.ReadFile(sim.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func place(t *testing.T, sim *phasestest.Node, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(sim.Path(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sim.Path(path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func records(t *testing.T, n *node.Node) []string {
	t.Helper()
	list, err := n.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range list {
		out = append(out, r.Kind+" "+r.Key+" "+r.Was)
	}
	return out
}

func codeOf(err error) string {
	if f := event.AsFault(err); f != nil {
		return f.Code
	}
	return ""
}

func TestFilesAreWrittenWholeAndRecordedFirst(t *testing.T) {
	sim, n, said := machine(t)
	files := []node.File{{Path: "/etc/kubernetes/a b.conf", Mode: 0o600, Data: []byte("secret\n"), Secret: true},
		{Path: "/etc/kubernetes/pki/c", Mode: 0o644, Data: []byte{0, 1, '\n', 0xff}},
		{Path: "/etc/kubernetes/empty", Mode: 0o640}}
	for i, want := range []bool{true, false} {
		if changed, err := n.Put(t.Context(), files); err != nil || changed != want {
			t.Fatal(i, changed, err)
		}
	}
	for _, f := range files {
		i, err := os.Stat(sim.Path(f.Path))
		if err != nil || i.Mode().Perm() != os.FileMode(f.Mode) || read(t, sim, f.Path) != string(f.Data) {
			t.Errorf("%s: %v %v", f.Path, i, err)
		}
	}
	slices.Sort(*said)
	if want := []string{"change.file /etc/kubernetes/a b.conf", "change.file /etc/kubernetes/empty",
		"change.file /etc/kubernetes/pki/c"}; !slices.Equal(*said, want) {
		t.Errorf("announced %q", *said)
	}
	if want := []string{"dir /etc/kubernetes absent", "file /etc/kubernetes/a b.conf absent",
		"dir /etc/kubernetes/pki absent", "file /etc/kubernetes/pki/c absent",
		"file /etc/kubernetes/empty absent"}; !slices.Equal(records(t, n), want) {
		t.Errorf("recorded %q", records(t, n))
	}
	// Another mode or content is written again, and only that.
	*said = nil
	if err := os.Chmod(sim.Path(files[0].Path), 0o644); err != nil {
		t.Fatal(err)
	}
	place(t, sim, files[1].Path, "changed by somebody")
	if same, err := n.Same(t.Context(), files); same || err != nil {
		t.Error(same, err)
	}
	if changed, err := n.Put(t.Context(), files); err != nil || !changed || len(*said) != 2 {
		t.Error(changed, err, *said)
	}
	if same, err := n.Same(t.Context(), files); !same || err != nil {
		t.Error(same, err)
	}
}

// A dry run changes nothing: what only announces is announced, and a script that nobody knows is refused.
func TestADryRunRunsNoScript(t *testing.T) {
	sim, _, _ := machine(t)
	n := node.DryRun(sim, func(event.Event) error { return nil })
	if _, err := n.Run(t.Context(), shell.Command{Script: "touch /etc/x\n"}); codeOf(err) != "node.dry-run" ||
		event.AsFault(err).Node != "n1" {
		t.Error(err)
	}
	if list := sim.Commands(); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

func TestWhatSomebodyElseMadeIsRefused(t *testing.T) {
	sim, n, _ := machine(t)
	if err := os.Symlink("/nowhere", sim.Path("/etc/link")); err != nil {
		t.Fatal(err)
	}
	place(t, sim, "/etc/dir/x", "")
	for _, path := range []string{"/etc/hosts", "/etc/link", "/etc/dir"} {
		if _, err := n.Put(t.Context(), []node.File{{Path: path, Mode: 0o644,
			Data: []byte("ours")}}); codeOf(err) != "node.file-exists" || event.AsFault(err).Node != "n1" {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := n.Place(t.Context(), upload(path, "ours")); codeOf(err) != "node.file-exists" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := records(t, n); len(got) > 0 {
		t.Error("recorded", got)
	}
}

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

func upload(path, text string) shell.Upload {
	sum := sha256.Sum256([]byte(text))
	return shell.Upload{Path: path, Mode: 0o755, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:]),
		Open: func() (io.ReadSeekCloser, error) { return reader{bytes.NewReader([]byte(text))}, nil }}
}

func TestAnUploadIsRecordedAndNotRepeated(t *testing.T) {
	sim, n, said := machine(t)
	for i, want := range []bool{true, false} {
		if changed, err := n.Place(t.Context(), upload("/opt/cni/bin/bridge", "program")); err != nil ||
			changed != want {
			t.Fatal(i, changed, err)
		}
	}
	if read(t, sim, "/opt/cni/bin/bridge") != "program" || len(*said) != 1 ||
		!slices.Contains(records(t, n), "file /opt/cni/bin/bridge absent") {
		t.Error(*said, records(t, n))
	}
}

func TestTheFirstRecordStands(t *testing.T) {
	_, n, _ := machine(t)
	for _, was := range []string{"0", "1"} {
		if _, err := n.Change(t.Context(), node.Change{Records: []node.Record{{Kind: "sysctl",
			Key: "net.ipv4.ip_forward", Was: was}}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := records(t, n); !slices.Equal(got, []string{"sysctl net.ipv4.ip_forward 0"}) {
		t.Error(got)
	}
}

func TestATornRecordIsLeftOut(t *testing.T) {
	sim, n, _ := machine(t)
	place(t, sim, node.Dir+"/record",
		"file\t/a\tabsent\n\nnonsense\nfile\t/b\nfile\t/c\tabsent\textra\ndir\t/d\tabsent\nfile\t/cut")
	if got := records(t, n); !slices.Equal(got, []string{"file /a absent", "file+ /c absent\textra", "dir /d absent"}) {
		t.Errorf("%q", got)
	}
}

// What a newer program recorded is neither dropped nor taken for something else, and its format is refused.
func TestARecordThatSaysMoreThanWeKnow(t *testing.T) {
	sim, n, _ := machine(t)
	if _, err := n.Change(t.Context(), node.Change{Records: []node.Record{{Kind: "unit", Key: "a.service",
		Was: "stopped"}}}); err != nil {
		t.Fatal(err)
	}
	record := read(t, sim, node.Dir+"/record")
	if record != "format\t1\t-\nunit\ta.service\tstopped\n" {
		t.Fatalf("%q", record)
	}
	const newer = "quota\t/var\t10G\nfile\t/x\tabsent\tsha256:1\nfile\t/torn\n"
	place(t, sim, node.Dir+"/record", record+newer)
	list, err := n.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := event.AsFault(n.Understood(list))
	if f == nil || f.Code != "node.record-unknown" || f.Args["kinds"] != "file+, quota" || f.Node != "n1" {
		t.Fatalf("%+v", f)
	}
	if _, err := n.Change(t.Context(), node.Change{Script: "unrec unit a.service\nrec dir /y absent\n"}); err != nil {
		t.Fatal(err)
	}
	if err := n.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, sim, node.Dir+"/record"); got != "format\t1\t-\nquota\t/var\t10G\nfile\t/x\tabsent\tsha256:1\n" {
		t.Errorf("%q", got)
	}
	place(t, sim, node.Dir+"/record", "format\t2\t-\n"+record)
	if _, err := n.Records(t.Context()); codeOf(err) != "node.record-format" ||
		event.AsFault(err).Args["format"] != "2" {
		t.Error(err)
	}
}

// sources are the files beneath internal/phases that are no tests, by path.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") ||
			!strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sh") {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out[filepath.Join("..", "component", "driver", "binary", "step.go")] == "" {
		t.Fatal("the drivers were not read")
	}
	return out
}

// Every kind that a script or a change records is known.
func TestEveryKindThatIsRecordedIsKnown(t *testing.T) {
	found := 0
	kind := regexp.MustCompile(`(?:\brec |Kind: "|\[\]Record\{\{")([a-z]+)[ "]`)
	for file, text := range sources(t) {
		for _, m := range kind.FindAllStringSubmatch(text, -1) {
			if found++; node.UnsupportedRecord("", []string{m[1]}) != nil {
				t.Errorf("%s records %q, which is not in kinds()", file, m[1])
			}
		}
	}
	if found < 20 {
		t.Error("only", found, "were found")
	}
}

func TestAFailureNamesItsCause(t *testing.T) {
	_, n, _ := machine(t)
	_, err := n.Change(t.Context(),
		node.Change{Script: "for i in 1 2 3 4 5 6 7; do echo line $i >&2; done\nprintf '\\033[31mred\\n' >&2\nexit " +
			"7\n"})
	f := event.AsFault(err)
	if codeOf(err) != "node.command-failed" || f.Args["status"] != "7" || f.Node != "n1" ||
		strings.Contains(f.Cause, "line 3") || !strings.Contains(f.Cause, "line 7") ||
		strings.ContainsRune(f.Cause, 0x1b) {
		t.Errorf("%+v", f)
	}
	if cmd := f.Args["command"]; !strings.HasPrefix(cmd, "for i in 1 2 3") || !strings.HasSuffix(cmd, "exit 7") {
		t.Errorf("what was run: %q", cmd)
	}
	if _, err = n.Query(t.Context(), "false "+strings.Repeat("长",
		400)); len(event.AsFault(err).Args["command"]) > 610 {
		t.Errorf("a script of %d bytes is kept", len(event.AsFault(err).Args["command"]))
	}
	if _, err = n.Change(t.Context(), node.Change{Script: "echo a-password >&2; exit 1\n",
		Secret: true}); strings.Contains(event.AsFault(err).Error(), "a-password") ||
		event.AsFault(err).Args["command"] != "" {
		t.Error(err)
	}
	if _, err = n.Change(t.Context(),
		node.Change{Script: "fail node.module 'over lay'\n"}); codeOf(err) != "node.module" ||
		event.AsFault(err).Args["what"] != "over lay" {
		t.Error(err)
	}
	if _, err = n.Query(t.Context(),
		"echo eggo-fault node.module x >&2; exit 1"); codeOf(err) != "node.command-failed" {
		t.Error("another status than ours names no code:", err)
	}
	if _, err = n.Query(t.Context(), "false; echo not reached"); codeOf(err) != "node.command-failed" {
		t.Error("a script continues after a failure:", err)
	}
}

func service(text string) node.Service {
	return node.Service{Unit: "thing.service", Files: []node.File{{Path: "/etc/systemd/system/thing.service",
		Mode: 0o644, Data: []byte("[Service]\nExecStart=/usr/local/bin/own\n")},
		{Path: "/etc/thing.conf", Mode: 0o600, Data: []byte(text)}}}
}

// Of what an earlier start put in the places of a service, nothing is left that it does not have any more; what is
// there and not ours stays.
func TestAServiceLeavesNothingInItsPlaces(t *testing.T) {
	sim, n, _ := machine(t)
	if err := os.Chmod(sim.Path("/usr/local/bin/own"), 0o755); err != nil {
		t.Fatal(err)
	}
	with := func(names ...string) node.Service {
		s := service("a")
		s.Places = []string{"/etc/things.d", "/etc/thing.login"}
		for _, name := range names {
			s.Files = append(s.Files, node.File{Path: name, Mode: 0o600, Data: []byte("x"), Secret: true})
		}
		return s
	}
	there := func(name string) bool { _, err := os.Lstat(sim.Path(name)); return err == nil }
	all := []string{"/etc/things.d/a b/ca.crt", "/etc/things.d/b/ca.crt", "/etc/thing.login"}
	if err := n.Start(t.Context(), with(all...)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sim.Path("/etc/things.d/theirs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	less := with(all[1])
	for range 2 {
		if err := n.Start(t.Context(), less); err != nil {
			t.Fatal(err)
		}
		if ok, err := n.Running(t.Context(), less); !ok || err != nil {
			t.Errorf("it does not count as running: %v", err)
		}
	}
	for name, want := range map[string]bool{all[0]: false, all[1]: true, all[2]: false, "/etc/things.d/theirs": true} {
		if there(name) != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	records, err := n.Records(t.Context())
	if err != nil || slices.ContainsFunc(records, func(r node.Record) bool { return r.Key == all[0] }) {
		t.Errorf("what is gone is recorded still: %v %v", records, err)
	}
}

func TestAServiceIsStartedAnewOnlyForAReason(t *testing.T) {
	sim, n, _ := machine(t)
	if err := os.Chmod(sim.Path("/usr/local/bin/own"), 0o755); err != nil {
		t.Fatal(err)
	}
	runs := func(s node.Service) bool {
		ok, err := n.Running(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	s := service("a")
	if runs(s) {
		t.Error("runs before it was started")
	}
	for range 2 {
		if err := n.Start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if !runs(s) {
			t.Fatal("does not run")
		}
	}
	if runs(service("b")) {
		t.Error("with another file it is another service")
	}
	for name, spoil := range map[string]func() error{
		"stopped":      func() error { return os.Remove(sim.State("active/thing.service")) },
		"disabled":     func() error { return os.Remove(sim.State("enabled/thing.service")) },
		"a file gone":  func() error { return os.Remove(sim.Path("/etc/thing.conf")) },
		"a file other": func() error { return os.WriteFile(sim.Path("/etc/thing.conf"), []byte("x"), 0o600) },
		"not by us":    func() error { return os.Remove(sim.Path(node.Dir + "/applied/thing.service")) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if runs(s) {
			t.Error(name, "and said to run")
		}
		if err := n.Start(t.Context(), s); err != nil || !runs(s) {
			t.Error(name, err)
		}
	}
}

// The whole way back, twice, with what must stay.
func TestUndo(t *testing.T) {
	sim, n, _ := machine(t)
	if err := os.Chmod(sim.Path("/usr/local/bin/own"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(sim.Path("/opt/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context(), service("a")); err != nil {
		t.Fatal(err)
	}
	script := "tree /var/lib/thing 700 cleanup\ntree /var/log/thing 755 purge\ntree /opt/empty 755 cleanup\n[ " +
		"\"$(cat /proc/sys/net/ipv4/ip_forward)\" = 1 ] || { rec sysctl net.ipv4.ip_forward \"$(cat " +
		"/proc/sys/net/ipv4/ip_forward)\"; echo 1 >/proc/sys/net/ipv4/ip_forward; }\ndirs /opt/shared\n"
	if _, err := n.Change(t.Context(), node.Change{Script: script}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/var/lib/thing/data/x", "/var/log/thing/log", "/opt/empty/made",
		"/opt/shared/of-somebody"} {
		place(t, sim, p, "made later")
	}
	gone := func(paths ...string) {
		t.Helper()
		for _, p := range paths {
			if _, err := os.Lstat(sim.Path(p)); err == nil {
				t.Error("still there:", p)
			}
		}
	}
	for _, purge := range []bool{false, false, true, true} {
		list, err := n.Records(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, kinds := range [][]string{{"unit"}, {"file", "block", "sysctl", "module"}, {"tree", "emptied", "dir"}} {
			k, err := n.Undo(t.Context(), event.M("change.undo"), list, purge, kinds...)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, k...)
		}
		gone("/etc/systemd/system/thing.service", "/etc/thing.conf", "/var/lib/thing", "/opt/empty/made")
		if got := read(t, sim, "/proc/sys/net/ipv4/ip_forward"); got != "0\n" {
			t.Error("sysctl", got)
		}
		if _, err := os.Stat(sim.State("active/thing.service")); err == nil {
			t.Error("it still runs")
		}
		if i, err := os.Stat(sim.Path("/opt/empty")); err != nil || !i.IsDir() {
			t.Error("a directory that was there before is gone:", err)
		}
		if read(t, sim, "/opt/shared/of-somebody") != "made later" || !slices.Contains(kept, "/opt/shared") {
			t.Error("kept", kept)
		}
		if purge {
			gone("/var/log/thing")
		} else if read(t, sim, "/var/log/thing/log") != "made later" || !slices.Contains(kept, "/var/log/thing") {
			t.Error("kept", kept)
		}
	}
	if err := os.RemoveAll(sim.Path("/opt/shared")); err != nil {
		t.Fatal(err)
	}
	if err := n.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone(node.Dir)
}

// A file of others is kept before ours takes its place, and is there again when ours is taken away, however often each
// is done.
func TestAFileOfAnotherInstallerComesBack(t *testing.T) {
	sim, n, _ := machine(t)
	place(t, sim, "/etc/other/a.conf", "theirs")
	place(t, sim, "/etc/other/b.conf", "theirs too")
	ours := []node.File{{Path: "/etc/other/a.conf", Mode: 0o600, Data: []byte("ours")}}
	if _, err := n.Put(t.Context(), ours); codeOf(err) != "node.file-exists" {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := n.Change(t.Context(), node.Change{
			Script: "aside /etc/other/a.conf\naside /etc/other/none\n"}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Put(t.Context(), ours); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, sim, "/etc/other/a.conf"); got != "ours" {
		t.Fatal(got)
	}
	if got := read(t, sim, node.Dir+"/former"+sim.Path("/etc/other/a.conf")); got != "theirs" {
		t.Fatal(got)
	}
	if got := strings.Join(records(t, n), ", "); got !=
		"former /etc/other/a.conf -, file /etc/other/a.conf former" {
		t.Error(got)
	}
	if _, err := n.Put(t.Context(), []node.File{{Path: "/etc/other/b.conf", Mode: 0o600}}); codeOf(err) !=
		"node.file-exists" {
		t.Error("a file that was not kept is written over:", err)
	}
	for range 2 {
		list, err := n.Records(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Undo(t.Context(), event.M("change.undo"), list, true, "file"); err != nil {
			t.Fatal(err)
		}
		if got := read(t, sim, "/etc/other/a.conf"); got != "theirs" {
			t.Error(got)
		}
		if i, err := os.Stat(sim.Path("/etc/other/a.conf")); err != nil || i.Mode().Perm() != 0o644 {
			t.Error(i, err)
		}
	}
	if err := n.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sim.Path(node.Dir)); err == nil {
		t.Error("our directory is still there")
	}
}

func TestWhatIsKeptStaysRecorded(t *testing.T) {
	sim, n, _ := machine(t)
	if _, err := n.Change(t.Context(),
		node.Change{Script: "tree /opt/a 755 cleanup\ntree /opt/b 755 purge\ndirs /opt/c\nown /opt/c/file\nstamp x " +
			"y\n"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(sim.Path("/opt/a")); err != nil {
		t.Fatal(err)
	}
	if err := n.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := records(t, n); !slices.Equal(got, []string{"tree /opt/b purge", "dir /opt/c absent"}) {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(sim.Path(node.Dir + "/applied")); err == nil {
		t.Error("more than the record is left")
	}
}

func TestARecordAfterATornOneIsALineOfItsOwn(t *testing.T) {
	sim, n, _ := machine(t)
	place(t, sim, node.Dir+"/record", "file\t/a\tabsent\nfile\t/b\tab")
	if _, err := n.Change(t.Context(), node.Change{Records: []node.Record{{Kind: "file", Key: "/c",
		Was: "absent"}}}); err != nil {
		t.Fatal(err)
	}
	if got := records(t, n); !slices.Contains(got, "file /a absent") || !slices.Contains(got, "file /c absent") {
		t.Errorf("%q", got)
	}
}

func TestABlockIsOursAndTheRestIsNot(t *testing.T) {
	sim, n, _ := machine(t)
	before := read(t, sim, "/etc/hosts")
	write := func(block string) error {
		_, err := n.Change(t.Context(), node.Change{Script: "block /etc/hosts\n", Stdin: []byte(block)})
		return err
	}
	for range 2 {
		if err := write("# eggo begin\n192.0.2.11 m1\n# eggo end\n"); err != nil {
			t.Fatal(err)
		}
		if got := read(t, sim, "/etc/hosts"); got != before+"# eggo begin\n192.0.2.11 m1\n# eggo end\n" {
			t.Errorf("%q", got)
		}
	}
	if err := write(""); err != nil || read(t, sim, "/etc/hosts") != before {
		t.Errorf("%v: %q", err, read(t, sim, "/etc/hosts"))
	}
	torn := before + "# eggo begin\n192.0.2.11 m1\n10.0.0.1 of-somebody\n"
	place(t, sim, "/etc/hosts", torn)
	if err := write("# eggo begin\n# eggo end\n"); codeOf(err) != "node.torn-block" ||
		read(t, sim, "/etc/hosts") != torn {
		t.Errorf("%v: %q", err, read(t, sim, "/etc/hosts"))
	}
}

// The records that version 56abbcc wrote on a control plane and on a worker are read by every later version.
func TestARecordOfFormat1IsRead(t *testing.T) {
	for name, want := range map[string]int{"m1": 103, "w1": 61} {
		sim, n, _ := machine(t)
		text, err := os.ReadFile(filepath.Join("testdata", "format1", name, "record"))
		if err != nil {
			t.Fatal(err)
		}
		place(t, sim, node.Dir+"/record", string(text))
		list, err := n.Records(t.Context())
		if err != nil || len(list) != want || len(list) != strings.Count(string(text), "\n") {
			t.Errorf("%s: %d records, %v", name, len(list), err)
		}
		if err := n.Understood(list); err != nil {
			t.Error(err)
		}
	}
}
