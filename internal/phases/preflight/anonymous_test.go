package preflight

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// thisMachine runs scripts here.
type thisMachine struct{ node.Host }

func (thisMachine) Name() string { return "m1" }

func (thisMachine) Run(ctx context.Context, cmd shell.Command) (shell.Result, error) {
	out, err := exec.CommandContext(ctx, "sh", "-c", cmd.Script).Output()
	return shell.Result{Stdout: out}, err
}

// boxOf is a bundle with one file for a place.
type boxOf struct {
	nodestest.Box
	text string
}

func (b boxOf) Open(string) (io.ReadSeekCloser, error) {
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader([]byte(b.text)), io.NopCloser(nil)}, nil
}

// With static pods the API server has to answer anonymous probes, whatever the file of --authentication-config says.
func TestAnonymousProbesThatAFileRefuses(t *testing.T) {
	const (
		head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
		off  = head + "anonymous: {enabled: false}\n"
		some = head + "anonymous:\n  enabled: true\n  conditions:\n"
	)
	probes, twice := "error preflight.anonymous-probes", "error preflight.anonymous-twice"
	for name, c := range map[string]struct {
		text, paths string
		spoil       func(in *Input, file string)
		want        []string
	}{
		"no anonymous requests": {text: off, paths: "/livez, /readyz", want: []string{probes}},
		"as JSON": {text: `{"anonymous":{"enabled":false}}`, paths: "/livez, /readyz",
			want: []string{probes}},
		"nothing said of it": {text: head + "anonymous: {}\n", paths: "/livez, /readyz", want: []string{probes}},
		"one path":           {text: some + "  - path: /livez\n", paths: "/readyz", want: []string{probes}},
		"an older path": {text: some + "  - path: /healthz\n", paths: "/livez, /readyz",
			want: []string{probes}},
		"a path below": {text: some + "  - path: /readyz\n  - path: /livez/ping\n", paths: "/livez",
			want: []string{probes}},
		"both paths": {text: some + "  - {path: /livez}\n  - {path: /readyz}\n"},
		"all paths":  {text: head + "anonymous: {enabled: true}\n"},
		"no field":   {text: head + "jwt: []\n"},
		"null":       {text: head + "anonymous:\n"},
		"no YAML":    {text: "\t:"},
		"no file":    {text: off, spoil: func(_ *Input, file string) { _ = os.Remove(file) }},
		"another driver": {text: off, spoil: func(in *Input, _ string) {
			in.Cluster.Eggo.Driver = config.DriverBinary
		}},
		"another flag": {text: off, spoil: func(in *Input, file string) {
			in.Cluster.ExtraArgs[0].Args = map[string]string{"--audit-policy-file": file}
		}},
		"another component": {text: off, spoil: func(in *Input, _ string) {
			in.Cluster.ExtraArgs[0].Component = "kube-scheduler"
		}},
		"the flag beside it": {text: some + "  - {path: /livez}\n  - {path: /readyz}\n", want: []string{twice},
			spoil: func(in *Input, _ string) { in.Cluster.ExtraArgs[0].Args["--anonymous-auth"] = "true" }},
		"the flag alone": {text: head,
			spoil: func(in *Input, _ string) { in.Cluster.ExtraArgs[0].Args["--anonymous-auth"] = "true" }},
		"the bundle's file, which takes its place": {text: head, paths: "/livez, /readyz", want: []string{probes},
			spoil: func(in *Input, file string) {
				m := nodestest.Manifest()
				m.Members = append(m.Members, bundle.Member{Kind: bundle.ExtraFile, Path: "file/" + filepath.Base(file),
					Name: filepath.Base(file)})
				in.SetBundle("amd64", boxOf{nodestest.Box{Is: m}, off})
				in.Cluster.Packages[bundle.ControlPlane] = []config.Package{{Type: "file", Name: filepath.Base(file),
					Dst: filepath.Dir(file), Addition: true}}
			}},
		"a node of another cluster": {text: off, spoil: func(in *Input, _ string) { in.Fact("m1").Cluster = "other" }},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "it's auth.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			in, f := newInput(), nodestest.Good(master)
			in.Cluster.Eggo.Driver = config.DriverKubeadm
			in.Cluster.ExtraArgs = []config.ExtraArgs{{Component: "kube-apiserver",
				Args: map[string]string{"--authentication-config": file}}}
			in.SetFact(master.Name, f)
			in.SetNode(master.Name, node.New(thisMachine{}, nil))
			if c.spoil != nil {
				c.spoil(in, file)
			}
			got := findingsOf(t, in, checkAnonymous(), master, f)
			if codes := nodestest.Codes(got); !slices.Equal(codes, c.want) {
				t.Fatalf("%q, want %q", codes, c.want)
			}
			if len(got) > 0 && (got[0].Fault.Args["file"] != file || got[0].Fault.Args["paths"] != c.paths) {
				t.Errorf("%v, want %s of %s", got[0].Fault.Args, c.paths, file)
			}
			in.SetNode(worker.Name, node.New(thisMachine{}, nil))
			if got := findingsOf(t, in, checkAnonymous(), worker, nodestest.Good(worker)); len(got) > 0 {
				t.Errorf("a worker: %+v", got)
			}
		})
	}
	if !slices.ContainsFunc(Deploy(), func(c Check) bool { return c.Name == "anonymous" }) {
		t.Error("a deploy does not check it")
	}
}
