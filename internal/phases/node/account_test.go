package node_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// storeService is a unit that runs as an account, whose files are below a directory of root's.
func storeService() node.Service {
	return node.Service{Unit: "store.service", Account: &node.Account{Name: "store", Dir: "/var/lib/store"}}
}

// An account that a service needs is made once, and is removed again with all else; the directory that it has to pass
// through is passable as long as it is needed.
func TestTheAccountOfAService(t *testing.T) {
	for _, was := range []string{"nobody's", "a directory that was there"} {
		sim, n, said := machine(t)
		passwd, group := read(t, sim, "/etc/passwd"), read(t, sim, "/etc/group")
		if err := os.MkdirAll(sim.Path("/var/lib/store"), 0o700); err != nil {
			t.Fatal(err)
		}
		want := []string{"group store eggo", "user store eggo"}
		if was == "nobody's" {
			if err := os.Remove(sim.Path("/var/lib/store")); err != nil {
				t.Fatal(err)
			}
			tree := node.Tree{Path: "/var/lib/store", Mode: 0o700}
			if _, err := n.Change(t.Context(), node.Change{Desc: event.M("change.claim"),
				Script: tree.Script()}); err != nil {
				t.Fatal(err)
			}
			want = slices.Insert(want, 0, "tree /var/lib/store cleanup")
		} else {
			want = append(want, "mode /var/lib/store 700")
		}
		*said = nil
		for range 2 {
			if err := n.Prepare(t.Context(), storeService()); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(*said, []string{"change.account"}) {
			t.Errorf("%s: announced %q", was, *said)
		}
		info, err := os.Stat(sim.Path("/var/lib/store"))
		if got := records(t, n); err != nil || !slices.Equal(got, want) || info.Mode().Perm() != 0o701 ||
			!strings.Contains(read(t, sim, "/etc/passwd"), "store:") {
			t.Errorf("%s: recorded %q, %v %v", was, got, info, err)
		}
		// A change of packages meanwhile takes it from nobody.
		if kept := expel(t, n, "other"); len(kept) > 0 || !strings.Contains(read(t, sim, "/etc/passwd"), "store:") {
			t.Errorf("%s: removed with packages, or kept %q", was, kept)
		}
		recs, err := n.Records(t.Context())
		if err != nil || n.Understood(recs) != nil {
			t.Fatal(err, n.Understood(recs))
		}
		for range 2 {
			kept, err := n.Undo(t.Context(), event.M("change.undo-files"), recs, false, "mode", "user", "group")
			if err != nil || len(kept) > 0 {
				t.Fatal(kept, err)
			}
		}
		if read(t, sim, "/etc/passwd") != passwd || read(t, sim, "/etc/group") != group {
			t.Errorf("%s: the account is still there", was)
		}
		if info, err = os.Stat(sim.Path("/var/lib/store")); was != "nobody's" &&
			(err != nil || info.Mode().Perm() != 0o700) {
			t.Errorf("the directory has the mode %v %v", info, err)
		}
	}
}

// An account of the name that was there is used and stays; a person's is not.
func TestAnAccountThatWasThere(t *testing.T) {
	for uid, code := range map[string]string{"104": "", "1000": "node.account", "0": "node.account"} {
		sim, n, _ := machine(t)
		write(t, sim.Path("/etc/passwd"), read(t, sim, "/etc/passwd")+"store:x:"+uid+":104::/:/bin/false\n")
		if err := os.MkdirAll(sim.Path("/var/lib/store"), 0o700); err != nil {
			t.Fatal(err)
		}
		err := n.Prepare(t.Context(), storeService())
		if got := codeOf(err); got != code {
			t.Errorf("%s: %v", uid, err)
		}
		if got := records(t, n); slices.ContainsFunc(got, func(r string) bool { return strings.HasPrefix(r, "user") }) {
			t.Errorf("%s: recorded %q", uid, got)
		}
	}
}
