package v1

// Conditions of several kinds, which kstatus reads.
const (
	// ConditionReady is True when the object is as its spec wants it.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the operator works towards the spec.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when no further attempt is made until something changes.
	ConditionStalled = "Stalled"
)

// Conditions of a Machine.
const (
	// ConditionReachable is True when the last probe logged in.
	ConditionReachable = "Reachable"
	// ConditionSuitable is True when the machine by itself passes preflight.
	ConditionSuitable = "Suitable"
	// ConditionClean is False while something of a former cluster may be on the machine: it is not allocated.
	ConditionClean = "Clean"
)

// Conditions of an Infrastructure, and of a Cluster about its Infrastructure.
const (
	// ConditionBundlesReady is True when all bundles were read and their signatures checked.
	ConditionBundlesReady = "BundlesReady"
)

// Conditions of a Cluster.
const (
	// ConditionMachinesBound is True when the MachineBinding has all machines that the spec requires.
	ConditionMachinesBound = "MachinesBound"
	// ConditionValid is True when spec, binding and bundles make a valid deploy.yaml.
	ConditionValid = "Valid"
	// ConditionPreflightPassed is about the machines in the last run.
	ConditionPreflightPassed = "PreflightPassed"
	// ConditionInfrastructureReady is about packages, runtimes and the load balancer of the machines.
	ConditionInfrastructureReady = "InfrastructureReady"
	// ConditionEtcdReady is True when etcd is healthy.
	ConditionEtcdReady = "EtcdReady"
	// ConditionControlPlaneReady is True when all control planes are.
	ConditionControlPlaneReady = "ControlPlaneReady"
	// ConditionWorkersReady is True when all workers are.
	ConditionWorkersReady = "WorkersReady"
	// ConditionAddonsReady is True when the add-ons run.
	ConditionAddonsReady = "AddonsReady"
	// ConditionAPIAvailable is True when the API server of the cluster answers.
	ConditionAPIAvailable = "APIAvailable"
	// ConditionCertificatesValid is False when a certificate is about to expire and is not renewed.
	ConditionCertificatesValid = "CertificatesValid"
	// ConditionUpToDate is True when nothing has to change on the machines.
	ConditionUpToDate = "UpToDate"
	// ConditionDrifted is True when the cluster was changed by others.
	ConditionDrifted = "Drifted"
	// ConditionAwaitingApproval is True while a plan waits for AnnotationApprove.
	ConditionAwaitingApproval = "AwaitingApproval"
	// ConditionDeletionBlocked is True while a Cluster that is being deleted is left alone.
	ConditionDeletionBlocked = "DeletionBlocked"
)

// Reasons that are not made of the code of a fault. A fault's code "host-key.changed" becomes HostKeyChanged.
const (
	// ReasonSucceeded is of a condition that is as it should be.
	ReasonSucceeded = "Succeeded"
	// ReasonUnknown is of a condition that was not examined yet.
	ReasonUnknown = "Unknown"
	// ReasonProgressing is of an object that the operator works on.
	ReasonProgressing = "Progressing"
	// ReasonPaused is of a Cluster with spec.paused.
	ReasonPaused = "Paused"
	// ReasonDeleting is of an object with a deletion timestamp.
	ReasonDeleting = "Deleting"
	// ReasonNotConfirmed is of a deletion that was not confirmed.
	ReasonNotConfirmed = "NotConfirmed"
	// ReasonWaitingForMachines is of a Cluster that has not got its machines yet.
	ReasonWaitingForMachines = "WaitingForMachines"
	// ReasonWaitingForWindow is of a change that waits for the maintenance window.
	ReasonWaitingForWindow = "WaitingForWindow"
	// ReasonWaitingForApproval is of a plan that waits for AnnotationApprove.
	ReasonWaitingForApproval = "WaitingForApproval"
	// ReasonQueued is of an Operation that waits for others.
	ReasonQueued = "Queued"
	// ReasonOperationFailed is of a Cluster whose last Operation failed.
	ReasonOperationFailed = "OperationFailed"
	// ReasonNotFound is of an object that is named and does not exist.
	ReasonNotFound = "NotFound"
	// ReasonVersionOlder is of a version that is older than that of the cluster.
	ReasonVersionOlder = "VersionOlder"
	// ReasonNoBundle is of a version, or an architecture, without a bundle.
	ReasonNoBundle = "NoBundle"
	// ReasonNoSnapshotClaim is of an operation that keeps snapshots and has no claim for them.
	ReasonNoSnapshotClaim = "NoSnapshotClaim"
	// ReasonMaintenance is of a Machine with spec.maintenance.
	ReasonMaintenance = "Maintenance"
	// ReasonBound is of a Machine that a cluster has.
	ReasonBound = "Bound"
	// ReasonHostKeyUnknown is of a Machine whose host key is neither pinned nor trusted on first use.
	ReasonHostKeyUnknown = "HostKeyUnknown"
	// ReasonHostKeyChanged is of a Machine that shows another host key than it should.
	ReasonHostKeyChanged = "HostKeyChanged"
	// ReasonLoginMissing is of a login whose Secret does not exist, or lacks a key.
	ReasonLoginMissing = "LoginMissing"
	// ReasonLoginType is of a login whose Secret has neither of the two types.
	ReasonLoginType = "LoginType"
	// ReasonDuplicateIP is of a Machine with the address of another.
	ReasonDuplicateIP = "DuplicateIP"
	// ReasonAddressRefused is of an address that is not probed: loopback, link-local, or one of the cluster in which
	// the operator runs.
	ReasonAddressRefused = "AddressRefused"
	// ReasonNotClean is of a Machine with something of another installation or a former cluster.
	ReasonNotClean = "NotClean"
	// ReasonQuarantined is of a Machine that left a cluster without a cleanup.
	ReasonQuarantined = "Quarantined"
)
