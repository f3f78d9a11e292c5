package runs

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// What one user has told that is wrong does not spoil the runs of others, and is gone when a login was refused.
func TestSecretsAreThoseOfTheirUsers(t *testing.T) {
	r := New(Options{Root: t.TempDir(), Data: t.TempDir()})
	refused := event.NewFault(event.ClassAuth, "ssh.auth", nil)
	run := func(by, want string, f *event.Fault) {
		t.Helper()
		got := r.secretsFor("one", by, manager.Renew)
		if got.values["password"] != want {
			t.Errorf("%s uses %q, want %q", by, got.values["password"], want)
		}
		r.used("one", by, got, f)
	}
	tell := func(by, value string) { r.SetSecrets("one", by, map[string]string{"password": value}) }
	run("ann", "", nil)
	tell("ann", "right")
	tell("otto", "wrong")
	run("ann", "right", nil)          // her own, though it is not the newest
	run("schedule", "right", nil)     // what has worked
	run("vera", "right", nil)         // as well
	run("otto", "wrong", refused)     // his own
	run("otto", "right", nil)         // which is gone
	tell("otto", "wrong")             // again
	run("schedule", "right", refused) // it was changed on the nodes
	run("schedule", "wrong", refused)
	run("schedule", "", nil)
	tell("ann", "new")
	tell("otto", " \n")
	run("otto", "new", event.NewFault(event.ClassAuth, "ssh.hostkey-unknown", nil)) // no secret is wrong
	run("otto", "new", event.NewFault(event.ClassFailed, "internal", nil))
	got := r.secretsFor("one", "ann", manager.Renew)
	tell("ann", "newest")
	r.used("one", "ann", got, refused) // it was about the former one
	run("ann", "newest", nil)
	// A user whose own secret is wrong does not lose those of others for them.
	r.SetSecrets("one", "otto", map[string]string{"sudo": "wrong"})
	run("otto", "newest", refused)
	if got := r.secretsFor("one", "otto", manager.Renew).values; got["password"] != "newest" || got["sudo"] != "" {
		t.Error(got)
	}
}

// What runs ask for follows from the deploy.yaml of the cluster: its own, or the one that it is created with.
func TestWhatIsAskedFor(t *testing.T) {
	r := runner(t)
	ask := threeNodes + "eggo:\n  password-from: prompt\n  sudo-password-from: env:SUDO\n" +
		"  bastion: [{host: b.example, user: ops, password-from: prompt}]\n" +
		"  machines: {w1: {password-from: prompt, sudo-password-from: prompt}, w2: {private-key-path: /k/w2}}\n" +
		"  registries: {r.example: {username: u, password-from: prompt}}\n"
	const want = "bastion ops@b.example:22, key /k/w2, password, password w1, registry r.example, sudo w1"
	got, err := r.Asks(t.Context(), "one", ask, true)
	if strings.Join(got, ", ") != want || err != nil {
		t.Error(got, err)
	}
	if got, err := r.Asks(t.Context(), "one", "", false); got != nil || err != nil {
		t.Error(got, err)
	}
	install(t, r)
	got, err = r.Asks(t.Context(), "one", ask, false)
	if strings.Contains(strings.Join(got, ", "), "w1") || err != nil {
		t.Error(got, err) // its own counts
	}
}
