package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

func testServices(t *testing.T) *Draft {
	t.Helper()
	home := t.TempDir()
	h := testHost(t, filepath.Join(home, "state"), map[string]string{"HOME": home})
	return h.newDraft(h.store().Draft())
}

// inspect runs a probe to its end and answers what it asks.
func inspect(d *Draft, of config.Draft, m config.Machine, trust bool) (stages []string, last draft.Probe) {
	d.Probe(context.Background(), of, m, func(l draft.Probe) {
		stages, last = append(stages, string(l.Stage)), l
		if l.Stage == draft.Asking {
			l.Key.Answer(trust)
		}
	})
	return stages, last
}

// A machine is met, its key is asked about once, and what it is comes back, though the draft is far from a cluster; a
// wrong password is told.
func TestTheWizardLooksAtAMachine(t *testing.T) {
	t.Parallel()
	srv := remotetest.New(t)
	d := testServices(t)
	of := config.Draft{}.WithValues(map[string]string{"password": "secret", "service.cidr": "nonsense"})
	m := config.Machine{Name: "n1", IP: srv.IP, Port: strconv.Itoa(srv.Port), Roles: []bundle.Role{bundle.Worker}}
	if s, last := inspect(d, of, m, false); last.Stage != draft.Failed || last.Fault.Code != "ssh.hostkey-unknown" {
		t.Errorf("refused: %v, %v", s, last.Fault)
	}
	s, last := inspect(d, of, m, true)
	// The login is told when the key is trusted, and when the way is there.
	if want := "asking login looking seen"; strings.Join(slices.Compact(s), " ") != want || last.OS == "" ||
		last.Arch == "" {
		t.Fatalf("%v, want %s: %+v %v", s, want, last, last.Fault)
	}
	if s, _ := inspect(d, of, m, false); strings.Join(s, " ") != "login looking seen" {
		t.Errorf("a key that is trusted is asked about again: %v", s)
	}
	of.Set("password", "wrong")
	if _, last := inspect(d, of, m, false); last.Stage != draft.Failed || last.Fault.Class != event.ClassAuth {
		t.Errorf("%+v", last.Fault)
	}
	m.Port = "1"
	if _, last := inspect(d, of, m, false); last.Stage != draft.Failed ||
		!strings.HasPrefix(last.Fault.Code, "ssh.connect") {
		t.Errorf("%+v", last.Fault)
	}
	file := filepath.Join(d.h.Getenv("HOME"), "c", "deploy.yaml")
	of.Set("cluster-id", "prod")
	if err := d.Write(file, of, d.h.Printer()); err != nil {
		t.Fatal(err)
	}
	if known, err := os.ReadFile(filepath.Join(d.h.Root, "prod", "known_hosts")); err != nil ||
		strings.Count(string(known), "\n") != 1 {
		t.Errorf("the cluster does not know the key: %q %v", known, err)
	}
}

// What is written is readable by its owner alone, has no password in it, and what was there is kept.
func TestTheWizardWritesWithABackup(t *testing.T) {
	t.Parallel()
	d := testServices(t)
	file := d.File("prod")
	if filepath.Base(file) != "deploy.yaml" {
		t.Error(file)
	}
	of := config.Draft{
		Machines: []config.Machine{{Name: "a", IP: "192.0.2.1", Roles: []bundle.Role{bundle.ControlPlane}}},
	}.WithValues(map[string]string{"cluster-id": "prod", "password": "geheim"})
	if err := d.Write(file, of, d.h.Printer()); err != nil {
		t.Fatal(err)
	}
	of.Machines[0].Name = "b"
	if err := d.Write(file, of, d.h.Printer()); err != nil {
		t.Fatal(err)
	}
	kept, _ := filepath.Glob(file + ".*.bak")
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	text, _ := os.ReadFile(file)
	schema, err := os.ReadFile(filepath.Join(filepath.Dir(file), config.SchemaName))
	if err != nil || !config.IsSchema(schema) || !bytes.HasPrefix(text, []byte(config.Modeline)) {
		t.Errorf("no schema beside the file, or its first line does not name it: %v\n%s", err, text)
	}
	for _, f := range append(kept, file) {
		data, err := os.ReadFile(f)
		i, _ := os.Stat(f)
		if err != nil || i.Mode() != fs.FileMode(0o600) || strings.Contains(string(data), "geheim") {
			t.Errorf("%s: %v %v\n%s", f, i.Mode(), err, data)
		}
	}
	if other := d.File("test"); filepath.Base(other) != "test.yaml" {
		t.Errorf("another cluster's file is offered: %s", other)
	}
	saved := draft.Saved{Draft: of.WithoutSecrets(), Step: "nodes"}
	if err := d.Save(saved); err != nil {
		t.Fatal(err)
	}
	if got, ok := d.Load(); !ok || !got.Draft.Equal(saved.Draft) || got.Step != "nodes" {
		t.Errorf("%v %+v", ok, got)
	}
	if err := d.Forget(); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Load(); ok {
		t.Error("it is still there")
	}
}

// A schema of somebody else's stays, and the file that is written does not name it.
func TestTheWizardNamesNoForeignSchema(t *testing.T) {
	t.Parallel()
	d, dir := testServices(t), t.TempDir()
	other := filepath.Join(dir, config.SchemaName)
	if err := os.WriteFile(other, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "deploy.yaml")
	if err := d.Write(file, config.Draft{}.WithValues(map[string]string{"cluster-id": "prod"}),
		d.h.Printer()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if schema, e := os.ReadFile(other); err != nil || e != nil || string(schema) != "{}" ||
		bytes.Contains(text, []byte(config.SchemaName)) {
		t.Errorf("%v %v %s\n%s", err, e, schema, text)
	}
}

// Where deploy.yaml cannot be written, the schema beside its place is what it was.
func TestNoSchemaOfAFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, was := range []string{"", string(config.Schema(i18n.NewPrinter(i18n.Chinese)))} {
		d, dir := testServices(t), t.TempDir()
		schema := filepath.Join(dir, config.SchemaName)
		if was != "" {
			if err := os.WriteFile(schema, []byte(was), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, "deploy.yaml")
		if err := os.Mkdir(file, 0o700); err != nil { // no file can take its place
			t.Fatal(err)
		}
		err := d.Write(file, config.Draft{}.WithValues(map[string]string{"cluster-id": "prod"}), d.h.Printer())
		if err == nil {
			t.Error("a directory was replaced")
		}
		if text, err := os.ReadFile(schema); string(text) != was || was == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d bytes of a schema where there were %d: %v", len(text), len(was), err)
		}
	}
}

// Preflight and plan of a draft: the faults of the verbs, and machines that nobody has trusted are refused.
func TestTheWizardRunsPreflight(t *testing.T) {
	t.Parallel()
	srv := remotetest.New(t)
	d := testServices(t)
	of := config.Draft{
		Machines: []config.Machine{{Name: "n1", IP: srv.IP, Port: strconv.Itoa(srv.Port),
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}},
	}.WithValues(map[string]string{"password": "secret", "package-src.x86src": "/nowhere/x.tar.gz",
		"package-src.armsrc": "/nowhere/y.tar.gz"})
	run := func() (codes []string, end draft.Check) {
		d.Preflight(context.Background(), of, "deploy.yaml", func(c draft.Check) {
			if c.Finding != nil {
				codes = append(codes, c.Finding.Fault.Code)
			}
			if c.End {
				end = c
			}
		})
		return codes, end
	}
	codes, end := run()
	if got := strings.Join(codes, " "); !end.End || end.Fault != nil || !strings.Contains(got, "ssh.hostkey-unknown") ||
		!strings.Contains(got, "bundle.") {
		t.Errorf("%s %+v", got, end)
	}
	inspect(d, of, of.Machines[0], true)
	codes, _ = run()
	if got := strings.Join(codes, " "); strings.Contains(got, "ssh.") || !strings.Contains(got, "bundle.") {
		t.Errorf("%s", got)
	}
	if _, err := d.Plan(context.Background(), of, "deploy.yaml"); err == nil {
		t.Error("there is a plan without a bundle")
	}
	var faults []string
	d.Bundles(context.Background(), []string{"/nowhere/x.tar.gz"}, func(b draft.Bundle) {
		if b.Fault != nil {
			faults = append(faults, b.Fault.Code)
		}
	})
	if len(faults) != 1 || faults[0] != "bundle.open" {
		t.Error(faults)
	}
}

// Machines that join are looked at beside those of the cluster's own deploy.yaml, which lacks them still.
func TestTheWizardLooksAtMachinesThatJoin(t *testing.T) {
	t.Parallel()
	srv := remotetest.New(t)
	d := testServices(t)
	of := config.Draft{
		Machines: []config.Machine{{Name: "n1", IP: srv.IP, Port: strconv.Itoa(srv.Port),
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}},
	}.WithValues(map[string]string{"cluster-id": "prod", "password": "secret",
		"package-src.x86src": "/nowhere/x.tar.gz", "package-src.armsrc": "/nowhere/y.tar.gz"})
	saved := filepath.Join(d.h.Root, "prod", store.ConfigName)
	if err := errors.Join(os.MkdirAll(filepath.Dir(saved), 0o700), os.WriteFile(saved, of.YAML(), 0o600)); err != nil {
		t.Fatal(err)
	}
	of.Machines = append(of.Machines, config.Machine{Name: "n2", IP: "127.0.0.9", Port: "1",
		Roles: []bundle.Role{bundle.Worker}})
	var end draft.Check
	var codes []string
	d.Preflight(context.Background(), of, saved, func(c draft.Check) {
		if c.Finding != nil {
			codes = append(codes, c.Finding.Fault.Code)
		}
		if c.End {
			end = c
		}
	})
	if !end.End || end.Fault != nil || !strings.Contains(strings.Join(codes, " "), "bundle.") {
		t.Errorf("%v %+v", codes, end)
	}
}

// Where the list of machines that join cannot be written, nothing else is: the cluster does not trust hosts that did
// not join it.
func TestAListThatCannotBeWrittenTrustsNobody(t *testing.T) {
	d, dir := testServices(t), t.TempDir()
	c := request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: "prod", File: filepath.Join(dir, "deploy.yaml")}}
	err := errors.Join(os.Mkdir(filepath.Join(dir, "join.yaml"), 0o700), os.MkdirAll(d.h.Root, 0o700),
		os.WriteFile(d.kept.KnownHosts(), []byte("192.0.2.1 ssh-ed25519 AAAA\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	of := config.Draft{Machines: []config.Machine{{Name: "n1", IP: "192.0.2.1", Roles: []bundle.Role{bundle.Worker}}}}
	svc := d.joining(c, config.Draft{})
	if err := svc.Write(c.File, of, d.h.Printer()); err == nil {
		t.Error("it was written")
	}
	if known := filepath.Join(d.h.Root, "prod", "known_hosts"); exists(known) {
		t.Error("the cluster trusts hosts that do not join it")
	}
	if err := os.Remove(filepath.Join(dir, "join.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := svc.Write(c.File, of, d.h.Printer()); err != nil ||
		!exists(filepath.Join(d.h.Root, "prod", "known_hosts")) {
		t.Errorf("the second time: %v", err)
	}
}

// Machines that join keep all that was typed of them, and whoever continues on the command line names their list.
func TestMachinesThatJoinAreARequest(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "join.yaml")
	machines := []config.Machine{
		{Name: "m2", IP: "192.0.2.7", Port: "2222", Arch: "arm64",
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}},
		{Name: "w9", IP: "192.0.2.9", Roles: []bundle.Role{bundle.Worker}},
	}
	q := joinOf("rack", list, machines)
	if err := store.WriteList(list, machines); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	written, _, err := config.LoadNodes(data, list)
	if err != nil || !reflect.DeepEqual(q.Nodes, written) || len(written) != 2 {
		t.Errorf("%+v, in the list %+v: %v", q.Nodes, written, err)
	}
	for i, m := range machines {
		n := q.Nodes[slices.IndexFunc(q.Nodes, func(n config.Node) bool { return n.Name == m.Name })]
		for _, r := range m.Roles {
			if !n.Has(r) {
				t.Errorf("%d: %+v", i, n)
			}
		}
		if n.IP.String() != m.IP || n.Arch != m.Arch || m.Port != "" && strconv.Itoa(n.Port) != m.Port {
			t.Errorf("%d: %+v", i, n)
		}
	}
	if c := q.Call(); c.List != list || q.Base().Source.Cluster != "rack" {
		t.Errorf("%+v", c)
	}
}

// What the wizard writes carries the comments of template, in the person's language.
func TestTheWizardWritesComments(t *testing.T) {
	t.Parallel()
	d := testServices(t)
	of := config.Draft{
		Machines: []config.Machine{{Name: "n1", IP: "192.0.2.1", Roles: []bundle.Role{bundle.ControlPlane}}},
	}.WithValues(map[string]string{"cluster-id": "prod", "runtime": "docker"})
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p, file := i18n.NewPrinter(lang), filepath.Join(t.TempDir(), "deploy.yaml")
		if err := d.Write(file, of, p); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		for _, words := range []string{"cluster-id", "masters", "machine.ip", "runtime"} {
			if err != nil || !strings.Contains(string(text), "# "+p.T("template."+words)+"\n") {
				t.Errorf("%s: nothing explains %s (%v):\n%s", lang, words, err, text)
			}
		}
	}
}
