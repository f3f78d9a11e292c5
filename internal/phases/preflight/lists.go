package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// The lists say what is checked ahead of which work. What is found is told in their order.

// Deploy is what is checked before nodes are installed, and before the others are brought to what they are without
// those that leave.
func Deploy() []Check {
	return slices.Concat(Machine(), []Check{
		checkPrograms(), checkPlaces(), checkAway(),
		checkDNSChange(), checkLost(), checkRestoring(),
		checkFiles(), checkTargets(),
		checkTogether(), checkExternalCA(),
	}, Bundle(), []Check{
		checkManifestURLs(),
		checkReach(),
	})
}

// Machine is what can be said of a machine by itself, whatever the others and the bundles are.
func Machine() []Check {
	return []Check{
		checkArch(), checkSystemd(), checkAddress(), checkClock(), checkMissing(), checkSwap(), checkRoute(),
		checkDockerJSON(), checkSize(), checkSELinuxBalancer(), checkEndpoint(), checkRecord(false), checkFirewall(),
		checkPlugin(), checkDNSPort(), checkCgroup(), checkSpace(), checkSystem(), checkOurs(), checkOtherCluster(),
		checkTaken(),
	}
}

// Bundle is what is checked of bundles.
func Bundle() []Check {
	return []Check{
		checkBundleStaged(), checkBundleArch(), checkBundleVersions(), checkVersion(), checkFlags(), checkRuntime(),
		checkDNSProgram(), checkImages(), checkAddons(), checkPackages(),
	}
}

// Cleanup is what is checked before what was installed is removed.
func Cleanup() []Check {
	return []Check{
		checkAuthority(true),
		checkForgotten(),
		checkGone(), checkOtherCluster(), checkRecord(true),
	}
}

// Remove is what is checked of nodes that leave a cluster, which lives.
func Remove() []Check {
	return []Check{
		checkLeaveAPI(),
		checkLeaveGone(), checkOtherCluster(), checkRecord(true),
		checkQuorum(),
	}
}

// Restore is what is checked before etcd's data are replaced by those of a snapshot. A member that deploy.yaml no
// longer names would keep the old data, and its API server with it: two clusters of one name.
func Restore() []Check {
	return []Check{
		checkRestoreAway(), checkRestoreDeployed(), checkAuthority(false), checkMember(),
		checkDNSChange(), checkLost(), checkSnapshot(),
	}
}

// kubelets are the nodes with a kubelet.
func kubelets(_ *Input, n config.Node) bool { return nodes.IsKubelet(n) }
