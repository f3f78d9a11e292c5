package phases

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFlannelGetsTheClustersNetwork(t *testing.T) {
	conf := func(kind, name, text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "apiVersion": "v1",
			"metadata": map[string]any{"name": name}}}
		if text != "" {
			o.Object["data"] = map[string]any{"net-conf.json": text, "cni-conf.json": "{}"}
		}
		return o
	}
	for name, c := range map[string]struct {
		o       *unstructured.Unstructured
		changed bool
	}{
		"upstream's": {conf("ConfigMap", "kube-flannel-cfg",
			`{"Network": "10.244.0.0/16", "EnableNFTables": false, "Backend": {"Type": "vxlan"}}`), true},
		"the right one":      {conf("ConfigMap", "kube-flannel-cfg", `{"Network": "10.200.0.0/16"}`), false},
		"somebody else's":    {conf("ConfigMap", "other", `{"Network": "10.244.0.0/16"}`), false},
		"not a ConfigMap":    {conf("Secret", "kube-flannel-cfg", `{"Network": "10.244.0.0/16"}`), false},
		"without data":       {conf("ConfigMap", "kube-flannel-cfg", ""), false},
		"with other than it": {conf("ConfigMap", "kube-flannel-cfg", `[`), false},
	} {
		before := c.o.DeepCopy()
		if got := setFlannelNetwork(c.o, "10.200.0.0/16"); got != c.changed {
			t.Errorf("%s: changed %v", name, got)
		}
		text, _, _ := unstructured.NestedString(c.o.Object, "data", "net-conf.json")
		switch {
		case !c.changed && !cmp.Equal(before, c.o):
			t.Errorf("%s: %v", name, c.o)
		case c.changed && (!strings.Contains(text, `"Network": "10.200.0.0/16"`) ||
			!strings.Contains(text, `"vxlan"`) || strings.Contains(text, "10.244")):
			t.Errorf("%s: %s", name, text)
		}
		if setFlannelNetwork(c.o, "10.200.0.0/16") {
			t.Errorf("%s: changed twice", name)
		}
	}
}
