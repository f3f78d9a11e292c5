package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostKeyPolicy defines whether a host key that is not pinned is accepted.
// +kubebuilder:validation:Enum=Strict;TrustOnFirstUse
type HostKeyPolicy string

// The policies.
const (
	HostKeysStrict  HostKeyPolicy = "Strict"          // the machine is not logged in to
	HostKeysOnFirst HostKeyPolicy = "TrustOnFirstUse" // the first key is kept and is the only one from then on
)

// SecretReference names a Secret of the same namespace.
// +structType=atomic
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// MachineSpec is a machine as people describe it.
type MachineSpec struct {
	// HostName is the name of the machine as a node: lower case, a DNS name of at most 63 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	HostName string `json:"hostname"`
	// Arch is the architecture: amd64 or arm64. Default: that which the machine has.
	// +optional
	// +kubebuilder:validation:Enum="";amd64;arm64;x86_64;aarch64
	Arch string `json:"arch,omitempty"`
	// IP is the IPv4 address for SSH and for the cluster. It cannot change while the machine is bound.
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4",message="ip must be an IPv4 address"
	IP string `json:"ip"`
	// Port of SSH. Default: 22.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// LoginSecretRef names the Secret for SSH, of type kubernetes.io/basic-auth or kubernetes.io/ssh-auth. Default:
	// that of the cluster that has the machine; for a free machine, that of a cluster that could get it.
	// +optional
	LoginSecretRef *SecretReference `json:"loginSecretRef,omitempty"`
	// HostKeys are the public host keys of the machine, as in a .pub file: the machine has to show one of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}( [^\n\r]*)?$`
	HostKeys []string `json:"hostKeys,omitempty"`
	// HostKeyPolicy says what is done without HostKeys. Default: Strict.
	// +optional
	HostKeyPolicy HostKeyPolicy `json:"hostKeyPolicy,omitempty"`
	// Bastions are the hops to the machine, from the operator outward.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Bastions []Bastion `json:"bastions,omitempty"`
	// Maintenance keeps the machine from being bound. One that is bound stays so.
	// +optional
	Maintenance bool `json:"maintenance,omitempty"`
	// NodeLabels are labels of the Node.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// NodeTaints are taints of the Node.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	NodeTaints []Taint `json:"nodeTaints,omitempty"`
}

// Bastion is a hop on the way to a machine.
type Bastion struct {
	// Host is a name or an address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9:]([-A-Za-z0-9.:]*[A-Za-z0-9:])?$`
	Host string `json:"host"`
	// Port of SSH. Default: 22.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// LoginSecretRef names the Secret for SSH. Default: that of the machine.
	// +optional
	LoginSecretRef *SecretReference `json:"loginSecretRef,omitempty"`
	// HostKeys are the public host keys of the hop, as in a .pub file.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}( [^\n\r]*)?$`
	HostKeys []string `json:"hostKeys,omitempty"`
}

// Taint of a Node.
type Taint struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Key string `json:"key"`
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect string `json:"effect"`
}

// MachineStatus is a machine as it was found.
type MachineStatus struct {
	// RoleBindings are the roles that the machine has, added: 1 Master, 2 Worker, 4 Etcd, 8 Loadbalance.
	// +optional
	RoleBindings int32 `json:"role-bindings,omitempty"`
	// Cluster is the name of the cluster that has the machine.
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// Status is 0 when the last probe succeeded, else 1.
	// +optional
	Status int32 `json:"status,omitempty"`
	// ErrorMessage is that of the condition Ready while it is False.
	// +optional
	ErrorMessage string `json:"error-message,omitempty"`

	// ObservedGeneration is the generation of the spec that this status is about; -1 before the first.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Reachable, Suitable, Clean and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Facts are those of the last successful probe.
	// +optional
	Facts *MachineFacts `json:"facts,omitempty"`
	// ClusterRef is the Cluster that has the machine.
	// +optional
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`
	// Roles are those that the machine has in the cluster.
	// +optional
	// +listType=atomic
	Roles []Role `json:"roles,omitempty"`
	// Fingerprints are those of the host keys that the machine showed, SHA256:….
	// +optional
	// +listType=atomic
	Fingerprints []string `json:"fingerprints,omitempty"`
	// TrustedHostKeys are the keys that were kept on first use, as in a .pub file.
	// +optional
	// +listType=atomic
	TrustedHostKeys []string `json:"trustedHostKeys,omitempty"`
	// LastProbe is when the last probe ended.
	// +optional
	LastProbe *metav1.Time `json:"lastProbe,omitempty"`
}

// MachineFacts describe a machine as the last probe found it.
type MachineFacts struct {
	// OS and OSVersion are ID and VERSION_ID of os-release.
	// +optional
	OS string `json:"os,omitempty"`
	// +optional
	OSVersion string `json:"osVersion,omitempty"`
	// Arch is amd64 or arm64.
	// +optional
	Arch string `json:"arch,omitempty"`
	// CPUs is the number of CPUs; 0 if it is not known.
	// +optional
	CPUs int32 `json:"cpus,omitempty"`
	// MemoryBytes of RAM; 0 if it is not known.
	// +optional
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// DiskBytes that are free where Eggo keeps its data; 0 if it is not known.
	// +optional
	DiskBytes int64 `json:"diskBytes,omitempty"`
	// MachineID is that of systemd.
	// +optional
	MachineID string `json:"machineID,omitempty"`
	// HostName that the machine has now.
	// +optional
	HostName string `json:"hostname,omitempty"`
	// Kernel is the release.
	// +optional
	Kernel string `json:"kernel,omitempty"`
	// Cgroup is v1 or v2.
	// +optional
	Cgroup string `json:"cgroup,omitempty"`
	// Recorded reports that the machine has a record of an installation by Eggo.
	// +optional
	Recorded bool `json:"recorded,omitempty"`
	// Cluster is that which the record names.
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// Owner is the UUID of the owner that the record names.
	// +optional
	Owner string `json:"owner,omitempty"`
	// Present are paths of another installation, at most 20.
	// +optional
	// +listType=atomic
	Present []string `json:"present,omitempty"`
	// Kubelet is the version of the kubelet that runs; "" if none does.
	// +optional
	Kubelet string `json:"kubelet,omitempty"`
}

// ClusterReference names a Cluster of the same namespace.
// +structType=atomic
type ClusterReference struct {
	// Name of the Cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// UID of the Cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
}

// Machine is a machine of the pool. It has at most one cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=em,categories=eggo
// +kubebuilder:selectablefield:JSONPath=`.spec.ip`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="IP",type=string,JSONPath=`.spec.ip`
// +kubebuilder:printcolumn:name="Arch",type=string,JSONPath=`.status.facts.arch`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.status.cluster`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Hostname",type=string,priority=1,JSONPath=`.spec.hostname`
// +kubebuilder:printcolumn:name="OS",type=string,priority=1,JSONPath=`.status.facts.os`
// +kubebuilder:printcolumn:name="Roles",type=string,priority=1,JSONPath=`.status.roles`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name of a Machine must have at most 63 characters"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.clusterRef) || self.spec.ip == oldSelf.spec.ip",message="ip cannot change while the machine is bound to a cluster"
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MachineSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status MachineStatus `json:"status,omitempty"`
}

// MachineList is a list of Machines.
// +kubebuilder:object:root=true
type MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Machine `json:"items"`
}
