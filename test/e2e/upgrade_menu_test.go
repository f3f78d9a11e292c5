package e2e

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestUpgradeFromMenu: a person upgrades in a real terminal. The menu finds the newer bundle beside the cluster's own,
// says in which order what will happen, how long the API will be away and how long there is a way back, shows what
// would be changed, and begins.
func TestUpgradeFromMenu(t *testing.T) {
	full(t)
	u := installed(t, "menu", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}}, nil)
	u.patched()
	x := sit(t, u.Stand, "en")
	x.command("eggo-tui")
	x.choose("Upgrade")
	x.see(2*time.Minute, minorOwn+" → "+aPatch, "Order of the upgrade", "some seconds",
		"can be reverted until the upgrade has ended")
	u.Say("what the person chooses from:\n%s", x.screen())
	x.press("End", "Enter")
	x.see(3*time.Minute, "Enter upgrade", "switch /usr/local/bin/kube-apiserver")
	u.Say("the plan:\n%s", x.screen())
	x.press("Enter")
	x.see(time.Minute, "Upgrade menu?", "Upgrades 2 nodes from "+minorOwn+" to "+aPatch)
	x.press("y")
	x.see(2*time.Minute, "Upgrade menu", "running", "Control plane to "+aPatch)
	u.Say("the board:\n%s", x.screen())
	x.see(20*time.Minute, "Cluster menu is ready")
	u.Say("the summary:\n%s", x.screen())
	x.press("q")
	x.back(time.Minute, "Cluster menu is ready")
	u.allRun(aPatch)
	u.spread()
	u.gone()
}
