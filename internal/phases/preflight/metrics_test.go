package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// requested is a line of an API server's metrics.
func requested(group, release, resource, sub, version, value string) string {
	return fmt.Sprintf("apiserver_requested_deprecated_apis{group=%q,removed_release=%q,resource=%q,subresource=%q,"+
		"version=%q} %s\n", group, release, resource, sub, version, value)
}

// metrics are lines as an API server writes them.
var metrics = "# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs\n" +
	"# TYPE apiserver_requested_deprecated_apis gauge\n" + requested("", "", "componentstatuses", "", "v1", "1") +
	requested("flowcontrol.apiserver.k8s.io", "1.34", "flowschemas", "status", "v1beta3", "1") +
	requested("", "1.35", "endpoints", "", "v1", "1") + requested("x", "1.34", "never", "", "v1", "0") +
	"apiserver_requested_deprecated_apis_total{removed_release=\"1.34\",resource=\"y\",version=\"v1\"} 1\n" +
	"apiserver_request_total{code=\"200\"} 17\n"

func TestDeprecatedAPIsAreReadOutOfMetrics(t *testing.T) {
	flows := deprecated{"flowcontrol.apiserver.k8s.io/v1beta3/flowschemas/status", 34}
	want := []deprecated{flows, {"v1/endpoints", 35}}
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(metrics),
		"byte by byte":         iotest.OneByteReader(strings.NewReader(metrics)),
		"without its last end": strings.NewReader(strings.TrimSuffix(metrics, "\n")),
		"behind a long line":   strings.NewReader("x{" + strings.Repeat("y", 200<<10) + "}\n" + metrics)} {
		got, err := readDeprecated(r)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(deprecated{})); diff != "" || err != nil {
			t.Error(name, diff, err)
		}
	}
	if _, err := readDeprecated(iotest.TimeoutReader(iotest.HalfReader(strings.NewReader(metrics)))); err == nil {
		t.Error("half an answer is no answer")
	}
	for text, want := range map[string]string{
		`group="a\"b\\\n",removed_release="1.2",resource="r",version="v1"} 1`: `a"b\ / /v1/r`,
		`removed_release="1.2",resource="r",version="v1"} 1e0`:                "v1/r",
		`removed_release="1.2",resource="r",version="v1"}`:                    "",
		`removed_release="1.2",resource="r",version="v1`:                      "",
		`removed_release="2.1",resource="r",version="v1"} 1`:                  "",
		`removed_release="1.x",resource="r",version="v1"} 1`:                  "",
		`removed_release="1.-3",resource="r",version="v1"} 1`:                 "",
		`removed_release`: "", "": "", "}": "", `a="`: "", `a="\`: "",
	} {
		if got, _ := parseDeprecated(text); got.api != want {
			t.Errorf("%s: %q, want %q", text, got.api, want)
		}
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte(metrics))
	f.Add([]byte("apiserver_requested_deprecated_apis{removed_release=\"1.9\",version=\"\x1b[2J\",resource=\"r\"} 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readDeprecated(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			if d.removed < 0 || strings.ContainsAny(d.api, "\x1b\n\r\x00") {
				t.Errorf("%+v", d)
			}
		}
	})
}

func TestAPIsInUseThatTheVersionNoLongerHas(t *testing.T) {
	const flows = "flowcontrol.apiserver.k8s.io/v1beta3/flowschemas/status"
	for name, c := range map[string]struct {
		spoil func(in *Input, texts map[string]string)
		want  string
	}{
		"removed": {func(*Input, map[string]string) {}, "error upgrade.api-removed " + flows + " 1.34 m1, m2"},
		"removed by a later hop": {func(in *Input, _ map[string]string) {
			in.Upgrade.Later = []Hop{{Version: "v1.35.4"}}
		},
			"error upgrade.api-removed " + flows + " 1.34 m1, m2; error upgrade.api-removed v1/endpoints 1.35 m1, m2"},
		"removed later": {func(in *Input, _ map[string]string) { in.Upgrade.To = "v1.33.14" }, ""},
		"continued": {func(in *Input, _ map[string]string) { in.Upgrade.Continues = true },
			"warning upgrade.api-removed " + flows + " 1.34 m1, m2"},
		"no metrics": {func(_ *Input, texts map[string]string) { delete(texts, "/metrics") },
			"warning upgrade.no-metrics   ; warning upgrade.no-metrics   "},
		"no server": {func(_ *Input, texts map[string]string) { clear(texts) }, ""},
		"not known": {func(in *Input, _ map[string]string) { in.Upgrade.Objects = nil }, ""},
	} {
		in := upgradeInput()
		in.Cluster.Nodes = append(in.Cluster.Nodes, config.Node{Name: "m2", Roles: []bundle.Role{cpRole}})
		texts := map[string]string{"/version": `{"gitVersion":"v1.33.13"}`, "/metrics": metrics}
		in.Upgrade.Server = answers(texts)
		c.spoil(in, texts)
		var got []string
		for _, f := range allFindings(t, in, checkUpgradeDeprecated()) {
			a := f.Fault.Args
			got = append(got, fmt.Sprintf("%s %s %s %s %s", f.Severity, f.Fault.Code, a["api"], a["removed"],
				a["servers"]))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
	// One that breaks off says so: nothing is known of the rest.
	in := upgradeInput()
	in.Upgrade.Server = func(_ context.Context, _ config.Node, path string) (io.ReadCloser, error) {
		if path == "/version" {
			return io.NopCloser(strings.NewReader("{}")), nil
		}
		return io.NopCloser(iotest.ErrReader(errors.New("broke off"))), nil
	}
	if got := found(t, in, checkUpgradeDeprecated()); got != "m1 warning upgrade.no-metrics" {
		t.Error(got)
	}
}
