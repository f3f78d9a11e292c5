package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
)

// The lists say what is checked ahead of which work. What is found is told in their order.

// Deploy is what is checked before nodes are installed, and before the others are brought to what they are without
// those that leave.
func Deploy() []Check {
	return slices.Concat([]Check{checkImported(), checkTakenOver(), checkTakeoverVersions(),
		checkKubeletFlags(), checkKubeletConfig(), checkServices(), checkTakeoverSince()}, Machine(), []Check{
		checkPrograms(), checkPlaces(), checkUnreachableNodes(),
		checkOwner(false), checkDriver(), checkDNSChange(), checkLost(true), checkBalancer(), checkSinglePoint(),
		checkRestoring(), checkSeed(),
		checkFiles(), checkTargets(), checkAnonymous(),
		checkDuplicateIdentity(), checkExternalCA(), checkUndo(), checkUndoObjects(),
		checkRuntimeContainers(), checkRuntimeTurns(),
		checkManifestURLs(), // before the bundles: their checks read what was fetched
	}, Bundle(), []Check{
		checkReach(),
	})
}

// Upgrade is what is checked before a cluster that lives is brought to another version: what a deploy checks, by the
// bundles of that version, and what an upgrade may break or be stopped by.
func Upgrade() []Check {
	return slices.Concat([]Check{
		checkUpgradeAPI(), checkUpgradeUnclaimed(), checkUpgradeVersion(), checkUpgradeLimit(),
		checkUpgradeNodes(),
		checkUpgradeSkew(), checkUpgradeProxy(), checkUpgradeEtcd(), checkUpgradeDeprecated(), checkUpgradeWebhooks(),
		checkUpgradeBudgets(), checkUpgradePods(), checkUpgradeImages(), checkUpgradeCertificates(),
		checkUpgradeHops(), checkUpgradeBundle(),
	}, Deploy())
}

// Back is what is checked before an upgrade is reverted.
func Back() []Check { return append([]Check{checkUpgradeVersion(), checkUpgradeBundle()}, Deploy()...) }

// Same is what is checked before a cluster is said to have the version of the bundles already.
func Same() []Check { return []Check{checkUnreachableNodes(), checkUpgradeSame()} }

// Machine is what can be said of a machine by itself, whatever the others and the bundles are.
func Machine() []Check {
	return []Check{
		checkArch(), checkSystemd(), checkAddress(), checkClock(), checkMissing(), checkSwap(), checkSlow(),
		checkRoute(), checkDockerJSON(), checkSize(), checkSELinuxBalancer(), checkEndpoint(), checkRecord(false),
		checkFirewall(), checkPlugin(), checkProxy(), checkDNSPort(), checkCgroup(), checkSpace(), checkSystem(),
		checkOurs(), checkOtherCluster(), checkForeignCluster(),
	}
}

// Bundle is what is checked of bundles.
func Bundle() []Check {
	return []Check{
		checkBundleStaged(), checkBundleArch(), checkBundleVersions(), checkVersion(), checkKubeadm(), checkFlags(),
		checkRuntime(),
		checkDNSProgram(), checkImages(), checkAddons(), checkAddonAPIs(), checkPackages(),
	}
}

// Cleanup is what is checked before what was installed is removed.
func Cleanup() []Check {
	return []Check{
		checkAuthority(true), checkOwner(true),
		checkLeftoverNodes(),
		checkCleanupReachability(), checkOtherCluster(), checkRecord(true),
	}
}

// Import is what is checked before a cluster that others have made is taken over.
func Import() []Check {
	return []Check{
		checkUnreachableNodes(), checkArch(), checkSystemd(), checkAddress(),
		checkClock(), checkRecord(false), checkOtherCluster(), checkOwner(false),
		checkImportable(),
	}
}

// Remove is what is checked of nodes that leave a cluster, which lives.
func Remove() []Check {
	return []Check{
		checkLeaveAPI(),
		checkLeaveGone(), checkOtherCluster(), checkOwner(false), checkRecord(true),
		checkQuorum(),
	}
}

// RemoveLost is what is checked before nodes leave a cluster with an upgrade under way.
func RemoveLost() []Check { return append(Remove(), checkLeaveUpgrade()) }

// Restore is what is checked before etcd's data are replaced by those of a snapshot. A member that deploy.yaml no
// longer names would keep the old data, and its API server with it: two clusters of one name.
func Restore() []Check {
	return []Check{
		checkImportedRestore(), checkRestoreAway(), checkRestoreDeployed(), checkRestoreManifests(),
		checkAuthority(false), checkOwner(false),
		checkMember(), checkDriver(), checkDNSSaved(), checkLost(false), checkSnapshot(),
	}
}

// Handover lists the checks before a cluster gets another owner.
func Handover() []Check {
	return []Check{
		checkUnreachableNodes(), checkAuthority(false), checkOtherCluster(), checkOwner(false), checkRecord(false),
	}
}

// kubelets are the nodes with a kubelet.
func kubelets(_ *Input, n config.Node) bool { return inventory.IsKubelet(n) }
