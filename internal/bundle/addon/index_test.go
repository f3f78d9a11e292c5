package addon_test

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/addon"
)

var chartIndex = []byte(`apiVersion: v1
entries:
  app:
  - {version: 1.2.0, urls: [charts/app-1.2.0.tgz], digest: ` + strings.Repeat("A", 64) + `}
  - {version: 1.10.0, urls: ["https://elsewhere.test/app-1.10.0.tgz"], digest: "sha256:` + strings.Repeat("b", 64) + `"}
  - {version: 2.0.0-rc.1, urls: [app-2.tgz]}
  - {version: v0.9.0, urls: ["oci://registry.test/app:v0.9.0"], deprecated: true}
  - {version: nightly, urls: [/top/nightly.tgz]}
  - {version: 0.1.0, urls: []}
  - {version: 0.2.0, urls: ["file:///etc/passwd"]}
  - {version: 0.3.0, urls: [x.tgz], digest: abc}
  odd: 7
`)

func TestChartIndexEntry(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	for _, c := range []struct{ chart, version, code, gotVersion, url, sum string }{
		{"app", "1.2.0", "", "1.2.0", "https://user:secret@charts.test/stable/charts/app-1.2.0.tgz", a},
		{"app", "", "", "1.10.0", "https://elsewhere.test/app-1.10.0.tgz", b},
		{"app", "~1.2", "", "1.2.0", "https://user:secret@charts.test/stable/charts/app-1.2.0.tgz", a},
		{"app", ">=1.0.0, <2", "", "1.10.0", "https://elsewhere.test/app-1.10.0.tgz", b},
		{"app", ">=2.0.0-0", "", "2.0.0-rc.1", "https://user:secret@charts.test/stable/app-2.tgz", ""},
		{"app", "0.9.0", "", "v0.9.0", "oci://registry.test/app:v0.9.0", ""},
		{"app", "nightly", "", "nightly", "https://user:secret@charts.test/top/nightly.tgz", ""},
		{"app", "3.x", "addon.index-version", "", "", ""},
		{"app", "no range", "addon.chart-range", "", "", ""},
		{"app", "0.1.0", "addon.index-url", "", "", ""},
		{"app", "0.2.0", "addon.index-url", "", "", ""},
		{"app", "0.3.0", "addon.index", "", "", ""},
		{"odd", "", "addon.index", "", "", ""},
		{"none", "", "addon.index-chart", "", "", ""},
	} {
		e, err := addon.ChartIndexEntry(chartIndex, "https://user:secret@charts.test/stable/index.yaml", c.chart,
			c.version)
		if code(t, err) != c.code {
			t.Errorf("%s %s: %v", c.chart, c.version, err)
			continue
		}
		if err != nil {
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("a password is in %v", err)
			}
			continue
		}
		if e.Version != c.gotVersion || e.URL != c.url || e.SHA256 != c.sum ||
			e.Deprecated != (c.gotVersion == "v0.9.0") {
			t.Errorf("%s %s: %+v", c.chart, c.version, e)
		}
	}
	if _, err := addon.ChartIndexEntry([]byte("entries: ["), "https://x.test/index.yaml", "a", ""); code(t,
		err) != "addon.index" {
		t.Errorf("no YAML: %v", err)
	}
}

func FuzzChartIndexEntry(f *testing.F) {
	f.Add(chartIndex, "app", ">=1")
	f.Add([]byte("entries: {a: &x [*x]}"), "a", "")
	f.Fuzz(func(t *testing.T, index []byte, name, version string) {
		e, err := addon.ChartIndexEntry(index, "https://charts.test/index.yaml", name, version)
		if code(t, err) == "" && (e.URL == "" || e.SHA256 != "" && len(e.SHA256) != 64) {
			t.Fatalf("%+v", e)
		}
	})
}
