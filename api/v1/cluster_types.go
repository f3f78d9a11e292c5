package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeletionPolicy defines the effect of deleting a Cluster.
// +kubebuilder:validation:Enum=Confirm;Cleanup;Orphan
type DeletionPolicy string

// The policies.
const (
	// DeletionConfirm refuses a deletion without AnnotationConfirmDeletion, then does as DeletionCleanup.
	DeletionConfirm DeletionPolicy = "Confirm"
	// DeletionCleanup removes the cluster from its machines, which are free then.
	DeletionCleanup DeletionPolicy = "Cleanup"
	// DeletionOrphan leaves machines and state as they are. A Cluster of the same name takes them over.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// ApprovalPolicy defines which changes need an approval.
// +kubebuilder:validation:Enum=Automatic;Manual
type ApprovalPolicy string

// The policies.
const (
	ApprovalAutomatic ApprovalPolicy = "Automatic" // none
	ApprovalManual    ApprovalPolicy = "Manual"    // all: each is a plan first, which AnnotationApprove approves
)

// FailurePolicy defines how a run continues after a step failed on a machine.
// +kubebuilder:validation:Enum=Abort;Skip;Ask
type FailurePolicy string

// The policies.
const (
	OnFailureAbort FailurePolicy = "Abort" // the run ends
	OnFailureSkip  FailurePolicy = "Skip"  // the rest of the run skips the machine
	OnFailureAsk   FailurePolicy = "Ask"   // the run waits for a decision in its Operation
)

// DriftPolicy defines how the operator treats changes that others made to a cluster.
// +kubebuilder:validation:Enum=Report;Correct
type DriftPolicy string

// The policies.
const (
	DriftReport  DriftPolicy = "Report"  // the condition Drifted has them
	DriftCorrect DriftPolicy = "Correct" // a deploy reverts them
)

// RequireMachineConfig requires machines of the pool.
type RequireMachineConfig struct {
	// Number of machines.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Number int32 `json:"number"`
	// Features are labels that the machines must have.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Features map[string]string `json:"features,omitempty"`
}

// ClusterMachine is a Machine that the cluster has to have.
type ClusterMachine struct {
	// Name of the Machine.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Roles of the machine.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Roles []Role `json:"roles"`
}

// ClusterSpec is a cluster as it is wanted.
//
// +kubebuilder:validation:XValidation:rule="has(self.machines) != has(self.masterRequire)",message="either masterRequire or machines is required, and not both"
// +kubebuilder:validation:XValidation:rule="!has(self.machines) || !(has(self.workerRequire) || has(self.etcdRequire) || has(self.loadbalanceRequires))",message="machines cannot be combined with workerRequire, etcdRequire or loadbalanceRequires"
// +kubebuilder:validation:XValidation:rule="!has(self.masterRequire) || self.masterRequire.number >= 1",message="masterRequire.number must be at least 1"
// +kubebuilder:validation:XValidation:rule="!has(self.loadbalanceRequires) || self.loadbalanceRequires.number <= 1",message="loadbalanceRequires.number must be 0 or 1"
type ClusterSpec struct {
	// MasterRequire requires the control planes.
	// +optional
	MasterRequire *RequireMachineConfig `json:"masterRequire,omitempty"`
	// WorkerRequire requires the workers.
	// +optional
	WorkerRequire *RequireMachineConfig `json:"workerRequire,omitempty"`
	// LoadbalanceRequires requires the load balancer: one machine, or none.
	// +optional
	LoadbalanceRequires *RequireMachineConfig `json:"loadbalanceRequires,omitempty"`
	// LoadbalanceBindPort is the port that clients of the API server use. Default: 8443.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	LoadbalanceBindPort int32 `json:"loadbalance-bindport,omitempty"`
	// EggoAffinity is the affinity of the pods of runs, as in a PodSpec.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	EggoAffinity *runtime.RawExtension `json:"eggoAffinity,omitempty"`
	// MachineLoginSecret names the Secret for SSH, of type kubernetes.io/basic-auth or kubernetes.io/ssh-auth, for
	// machines that have none of their own.
	// +optional
	MachineLoginSecret *corev1.ObjectReference `json:"machineLoginSecret,omitempty"`
	// Infrastructure names the Infrastructure, with the bundles.
	// +optional
	Infrastructure *corev1.ObjectReference `json:"infrastructure,omitempty"`
	// APIEndpoint is where the API server is reached. Default: the load balancer, or else the first control plane.
	// +optional
	APIEndpoint APIEndpointConfig `json:"apiendpoint,omitzero"`
	// Runtime is the container runtime.
	// +optional
	Runtime RuntimeConfig `json:"runtime,omitzero"`
	// EnableKubeletServing has the cluster's CA sign the serving certificates of kubelets.
	// +optional
	EnableKubeletServing bool `json:"enableKubeletServing,omitempty"`
	// Network of the cluster.
	// +optional
	Network ClusterNetworkConfig `json:"network,omitzero"`
	// EggoImageVersion is the image of the runs. Default: that of the operator.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	EggoImageVersion string `json:"eggoImageVersion,omitempty"`
	// Addons are manifests of the bundle.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Addons []string `json:"addons,omitempty"`

	ClusterPolicy `json:",inline"`
}

// ClusterPolicy are the fields of a ClusterSpec that the original eggops does not have.
//
// +kubebuilder:validation:XValidation:rule="!has(self.machines) || self.machines.exists(m, m.roles.exists(r, r == 'master'))",message="one of machines must have the role master"
type ClusterPolicy struct {
	// Version of Kubernetes: v1.34.2. A newer one upgrades the cluster; an older one is refused. Default: that of the
	// only version in the Infrastructure.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`
	Version string `json:"version,omitempty"`
	// EtcdRequire requires machines for etcd. Default: the control planes.
	// +optional
	EtcdRequire *RequireMachineConfig `json:"etcdRequire,omitempty"`
	// Machines are those of the cluster by name, in place of numbers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Machines []ClusterMachine `json:"machines,omitempty"`
	// Driver is binary (default: components are services) or kubeadm (static pods).
	// +optional
	// +kubebuilder:validation:Enum=binary;kubeadm
	Driver string `json:"driver,omitempty"`
	// Config are more keys of deploy.yaml, those that name no file and no secret and that no field of this spec sets.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`
	// Paused stops all work on the cluster. A run in progress ends its steps.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// DeletionPolicy says what the deletion of this object does. Default: Confirm.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// CleanupTimeout is how long a deletion waits for machines that do not answer; then they are in quarantine.
	// Default: 1h.
	// +optional
	CleanupTimeout *metav1.Duration `json:"cleanupTimeout,omitempty"`
	// Approval says which changes wait for a person. Default: Automatic.
	// +optional
	Approval ApprovalPolicy `json:"approval,omitempty"`
	// OnFailure says what becomes of a step that failed on a machine. Default: Abort.
	// +optional
	OnFailure FailurePolicy `json:"onFailure,omitempty"`
	// MaintenanceWindow is the time of the day, in UTC, in which changes begin: 22:00-06:00. Default: always.
	// +optional
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:Pattern=`^([01]?[0-9]|2[0-3]):[0-5][0-9]-(([01]?[0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	MaintenanceWindow string `json:"maintenanceWindow,omitempty"`
	// Drain is how nodes are drained.
	// +optional
	Drain *DrainPolicy `json:"drain,omitempty"`
	// Upgrade is how a newer version is installed.
	// +optional
	Upgrade *UpgradePolicy `json:"upgrade,omitempty"`
	// DriftPolicy says what is done about changes by others. Default: Report.
	// +optional
	DriftPolicy DriftPolicy `json:"driftPolicy,omitempty"`
	// SnapshotClaim names the PersistentVolumeClaim for snapshots of etcd. Without it there is no upgrade, no restore,
	// and no snapshot before a cleanup.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SnapshotClaim string `json:"snapshotClaim,omitempty"`
	// Backup takes backups on a schedule.
	// +optional
	Backup *BackupPolicy `json:"backup,omitempty"`
	// Adopt takes over a cluster whose state is in a backup.
	// +optional
	Adopt *AdoptSource `json:"adopt,omitempty"`
	// HostNetwork has the pods of runs use the network of their node.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`
}

// DrainPolicy is how nodes are drained.
type DrainPolicy struct {
	// Timeout bounds the eviction of a node's pods. Default: 5m.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Force continues when pods were not evicted in time, and removes nodes that do not answer.
	// +optional
	Force bool `json:"force,omitempty"`
}

// UpgradePolicy is how a newer version is installed.
type UpgradePolicy struct {
	// Batch is how many workers are upgraded at a time: 3 or 10%. Default: 1.
	// +optional
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,3}%?$`
	Batch string `json:"batch,omitempty"`
	// Soak is how long a control plane of a new minor version runs with the features of the old one. Default: 10m.
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`
	// Packages has packages upgraded that the bundles have in a newer version.
	// +optional
	Packages bool `json:"packages,omitempty"`
}

// BackupPolicy takes backups on a schedule.
type BackupPolicy struct {
	// Schedule is the time between two backups: 24h.
	Schedule metav1.Duration `json:"schedule"`
	// Claim names the PersistentVolumeClaim of the backups.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`
	// Keep is how many are kept. Default: 7.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Keep int32 `json:"keep,omitempty"`
	// Recipients are public keys of age that backups are encrypted for.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=2048
	Recipients []string `json:"recipients"`
}

// AdoptSource is the state of a cluster that was installed elsewhere.
type AdoptSource struct {
	// SecretRef names a Secret with a backup in the key backup and the private key of age in the key identity.
	SecretRef SecretReference `json:"secretRef"`
}

// APIEndpointConfig is where the API server is reached.
type APIEndpointConfig struct {
	// Advertise is a name or an address.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Advertise string `json:"advertise,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	BindPort *int32 `json:"bind-port,omitempty"`
}

// RuntimeConfig is the container runtime.
type RuntimeConfig struct {
	// Runtime is containerd, docker or iSulad.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Runtime string `json:"runtime,omitempty"`
	// RuntimeEndpoint is unix:// with a path below /run or /var/run.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RuntimeEndpoint string `json:"runtime-endpoint,omitempty"`
}

// ClusterNetworkConfig is the network of a cluster.
type ClusterNetworkConfig struct {
	// ServiceCIDR is the network of services. Default: 10.32.0.0/16.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="service-cidr must be an IPv4 network"
	ServiceCIDR string `json:"service-cidr,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="service-dns-ip must be an address"
	ServiceDNSIP string `json:"service-dns-ip,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="service-gateway must be an address"
	ServiceGateway string `json:"service-gateway,omitempty"`
	// PodCIDR is the network of pods. Default: 10.244.0.0/16.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="pod-cidr must be an IPv4 network"
	PodCIDR string `json:"pod-cidr,omitempty"`
	// PodPlugin is flannel (default), calico, canal, cilium, kube-router or weave.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PodPlugin string `json:"pod-plugin,omitempty"`
	// PodPluginArgs are arguments of the plugin: NetworkYamlPath.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	PodPluginArgs map[string]string `json:"pod-plugin-args,omitempty"`
	// Domain is the suffix of the names of services. Default: cluster.local.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Domain string `json:"domain,omitempty"`
}

// JobHistory is one of the last Operations of a cluster.
type JobHistory struct {
	Name      string      `json:"name"`
	StartTime metav1.Time `json:"start-time"`
	// +optional
	FinishTime *metav1.Time `json:"finish-time,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
}

// ClusterStatus is a cluster as it is.
type ClusterStatus struct {
	// MachineLoginSecretRef, InfrastructureRef, PackagePersistentVolumeClaimRef, MachineBindingRef, ConfigRef and
	// JobRef are the objects that the cluster uses at present.
	// +optional
	MachineLoginSecretRef *corev1.ObjectReference `json:"machineLoginSecretRef,omitempty"`
	// +optional
	InfrastructureRef *corev1.ObjectReference `json:"infrastructureRef,omitempty"`
	// +optional
	PackagePersistentVolumeClaimRef *corev1.ObjectReference `json:"packagePersistentVolumeClaimRef,omitempty"`
	// +optional
	MachineBindingRef *corev1.ObjectReference `json:"machineBindingRef,omitempty"`
	// +optional
	ConfigRef *corev1.ObjectReference `json:"configRef,omitempty"`
	// +optional
	JobRef *corev1.ObjectReference `json:"jobRef,omitempty"`
	// JobHistorys are the last Operations, the newest first.
	// +optional
	// +listType=atomic
	JobHistorys []JobHistory `json:"jobHistorys,omitempty"`
	// HasCluster is true from before the first change of a machine on. Driver, networks and domain are fixed then.
	// +optional
	HasCluster bool `json:"hasCluster,omitempty"`
	// Deleted is true when the cluster was removed from its machines.
	// +optional
	Deleted bool `json:"deleted,omitempty"`
	// Message is that of the condition Ready while it is False.
	// +optional
	Message string `json:"message,omitempty"`

	// ObservedGeneration is the generation of the spec that this status is about; -1 before the first.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Version of Kubernetes that the cluster has.
	// +optional
	Version string `json:"version,omitempty"`
	// Endpoint is the URL of the API server.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// KubeconfigSecretRef names the Secret with the kubeconfig, in the key value.
	// +optional
	KubeconfigSecretRef *SecretReference `json:"kubeconfigSecretRef,omitempty"`
	// Nodes are counts of the nodes.
	// +optional
	Nodes *NodeCounts `json:"nodes,omitempty"`
	// CurrentOperation is the Operation in progress.
	// +optional
	CurrentOperation *CurrentOperation `json:"currentOperation,omitempty"`
	// Attempt is the last Operation that changed, or was to change, the machines.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
	// Plan waits for AnnotationApprove.
	// +optional
	Plan *PlanStatus `json:"plan,omitempty"`
	// CertificatesExpire is when the first certificate does.
	// +optional
	CertificatesExpire *metav1.Time `json:"certificatesExpire,omitempty"`
	// LastHealth is when the API of the cluster was last asked.
	// +optional
	LastHealth *metav1.Time `json:"lastHealth,omitempty"`
}

// NodeCounts are counts of the nodes of a cluster.
type NodeCounts struct {
	Ready int32 `json:"ready"`
	Want  int32 `json:"want"`
	// Summary is ready/want.
	Summary string `json:"summary"`
}

// CurrentOperation is the Operation in progress.
type CurrentOperation struct {
	Name string `json:"name"`
	Verb Verb   `json:"verb"`
	// Step that runs.
	// +optional
	Step string `json:"step,omitempty"`
}

// Attempt is an Operation and what it was made of. The same is not tried again after a failure that another try cannot
// help.
type Attempt struct {
	Operation string `json:"operation"`
	// Digest of the request and of everything that it was made of.
	Digest string `json:"digest"`
	// Retry is the value of AnnotationRetry at that time.
	// +optional
	Retry string `json:"retry,omitempty"`
}

// PlanStatus is a plan that waits for approval.
type PlanStatus struct {
	// Operation that made the plan.
	Operation string `json:"operation"`
	// Digest is the value that AnnotationApprove has to have.
	Digest string `json:"digest"`
	// Summary of the changes.
	// +optional
	Summary string `json:"summary,omitempty"`
}

// Cluster is a cluster of Kubernetes on machines of the pool.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ec,categories=eggo
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.nodes.summary`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.currentOperation.name`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.currentOperation.step`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Endpoint",type=string,priority=1,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$')",message="the name of a Cluster must have at most 40 characters: a-z, 0-9 and -"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.hasCluster) || !self.status.hasCluster || (has(self.spec.driver) ? self.spec.driver : 'binary') == (has(oldSelf.spec.driver) ? oldSelf.spec.driver : 'binary')",message="driver cannot change any more: the cluster is being installed, or is installed"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.hasCluster) || !self.status.hasCluster || (has(self.spec.network) && has(self.spec.network.pod__dash__cidr) ? self.spec.network.pod__dash__cidr : '10.244.0.0/16') == (has(oldSelf.spec.network) && has(oldSelf.spec.network.pod__dash__cidr) ? oldSelf.spec.network.pod__dash__cidr : '10.244.0.0/16')",message="network.pod-cidr cannot change any more: the cluster is being installed, or is installed"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.hasCluster) || !self.status.hasCluster || (has(self.spec.network) && has(self.spec.network.service__dash__cidr) ? self.spec.network.service__dash__cidr : '10.32.0.0/16') == (has(oldSelf.spec.network) && has(oldSelf.spec.network.service__dash__cidr) ? oldSelf.spec.network.service__dash__cidr : '10.32.0.0/16')",message="network.service-cidr cannot change any more: the cluster is being installed, or is installed"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.hasCluster) || !self.status.hasCluster || (has(self.spec.network) && has(self.spec.network.domain) ? self.spec.network.domain : 'cluster.local') == (has(oldSelf.spec.network) && has(oldSelf.spec.network.domain) ? oldSelf.spec.network.domain : 'cluster.local')",message="network.domain cannot change any more: the cluster is being installed, or is installed"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of Clusters.
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}
