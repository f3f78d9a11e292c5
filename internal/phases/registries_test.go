package phases_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// Logins and CAs of private registries come with a deploy, change with a later one and go with the next; no event has a
// password.
func TestPrivateRegistriesFollowTheFile(t *testing.T) {
	long(t)
	l := shaped(t, phasestest.Shape{Masters: 1, Workers: 1})
	before := tree(t, l)
	with := func(r map[string]config.Registry) {
		own := *l.Cluster
		own.Eggo.Registries = r
		l.Cluster = &own
	}
	where := func(suffix string) (out []string) {
		for _, k := range slices.Sorted(maps.Keys(tree(t, l))) {
			if strings.HasSuffix(k, suffix) {
				out = append(out, k)
			}
		}
		return out
	}
	private := func(b *book) {
		t.Helper()
		for _, e := range b.all {
			for _, secret := range []string{"hunter2", "ZTpodW50ZXIy"} {
				if text := fmt.Sprintf("%+v", e); strings.Contains(text, secret) {
					t.Errorf("an event has the password: %s", text)
				}
			}
		}
	}
	const login, ca, dir = "/var/lib/kubelet/config.json", "/certs.d/r.local:5000/ca.crt", "/certs.d/r.local:5000"
	with(map[string]config.Registry{"r.local:5000": {Username: "e", Password: "hunter2", CA: []byte("the CA\n")}})
	b, _ := dryRun(t, l, phases.Deploy)
	private(b)
	private(deploy(t, l))
	if len(where(login)) != 2 || len(where(ca)) != 2 || len(where(dir)) != 2 {
		t.Errorf("%v %v %v", where(login), where(ca), where(dir))
	}
	again(t, l, phases.Deploy)

	with(map[string]config.Registry{"r.local:5000": {Username: "e", Password: "hunter2-new", CA: []byte("the CA\n")}})
	b = deploy(t, l)
	private(b)
	if got := changes(b, "w1"); !slices.Contains(got, "change.file") || !slices.Contains(got, "change.start") {
		t.Errorf("another password: %v", got)
	}
	with(nil)
	deploy(t, l)
	if len(where(login)) > 0 || len(where(dir)) > 0 {
		t.Errorf("left: %v %v", where(login), where(dir))
	}
	again(t, l, phases.Deploy)

	with(map[string]config.Registry{"r.local:5000": {Username: "e", Password: "hunter2", CA: []byte("the CA\n")}})
	deploy(t, l)
	cleanup(t, l, purge)
	after := tree(t, l)
	for k := range after {
		if _, was := before[k]; !was && (strings.Contains(k, "certs.d") || strings.HasSuffix(k, login)) {
			t.Errorf("cleanup left %s", k)
		}
	}
}
