package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Role of a machine in a cluster, with the words of deploy.yaml.
// +kubebuilder:validation:Enum=master;worker;etcd;loadbalance
type Role string

// The roles.
const (
	RoleMaster      Role = "master"
	RoleWorker      Role = "worker"
	RoleEtcd        Role = "etcd"
	RoleLoadBalance Role = "loadbalance"
)

// Bit returns the role as one bit of the original's usages: 1 Master, 2 Worker, 4 Etcd, 8 Loadbalance; 0 for another
// word.
func (r Role) Bit() int32 {
	switch r {
	case RoleMaster:
		return 1
	case RoleWorker:
		return 2
	case RoleEtcd:
		return 4
	case RoleLoadBalance:
		return 8
	}
	return 0
}

// Usage returns the role in the original's words for machineSets; "" for another word.
func (r Role) Usage() string {
	switch r {
	case RoleMaster:
		return "Master"
	case RoleWorker:
		return "Worker"
	case RoleEtcd:
		return "Etcd"
	case RoleLoadBalance:
		return "Loadbalance"
	}
	return ""
}

// MachineBindingSpec has the machines of a cluster. A Machine that is in no MachineBinding is free. The allocator alone
// writes it.
type MachineBindingSpec struct {
	// MachineSets repeat Machines as the original eggops wrote them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	MachineSets []MachineSetOfUsage `json:"machineSets,omitempty"`
	// Usages repeat the roles of Machines by UID, added: 1 Master, 2 Worker, 4 Etcd, 8 Loadbalance.
	// +optional
	// +kubebuilder:validation:MaxProperties=3000
	Usages map[string]int32 `json:"usages,omitempty"`

	// ClusterRef is the Cluster that has the machines.
	// +optional
	ClusterRef *ClusterReference `json:"clusterRef,omitempty"`
	// Machines are those of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=3000
	Machines []BoundMachine `json:"machines,omitempty"`
}

// BoundMachine is a Machine with its roles in the cluster.
type BoundMachine struct {
	// Name of the Machine.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// UID of the Machine.
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
	// Roles of the machine, at least one.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Roles []Role `json:"roles"`
	// Leaving marks a machine that has to leave the cluster. It is bound until its cleanup succeeded, or until it is in
	// quarantine.
	// +optional
	Leaving bool `json:"leaving,omitempty"`
}

// MachineSetOfUsage are the machines of one role.
type MachineSetOfUsage struct {
	// Machines are copies of Machine objects.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3000
	Machines []MachineCopy `json:"machines,omitempty"`
	// Usage is Master, Worker, Etcd or Loadbalance.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Usage string `json:"usage,omitempty"`
}

// MachineCopy has the fields of a Machine that the original eggops reads. More fields are kept as they are.
// +kubebuilder:pruning:PreserveUnknownFields
type MachineCopy struct {
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Metadata MachineCopyMeta `json:"metadata,omitzero"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec MachineCopySpec `json:"spec,omitzero"`
}

// MachineCopyMeta names the Machine of a copy.
type MachineCopyMeta struct {
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +optional
	UID string `json:"uid,omitempty"`
}

// MachineCopySpec are the original's fields of a Machine.
type MachineCopySpec struct {
	// +optional
	HostName string `json:"hostname,omitempty"`
	// +optional
	Arch string `json:"arch,omitempty"`
	// +optional
	IP string `json:"ip,omitempty"`
	// +optional
	Port *int32 `json:"port,omitempty"`
}

// MachineCondition is the original's status of a machine.
type MachineCondition struct {
	// UsagesStatus are the roles that the machine has by now, added. It is always written: an entry of a map without
	// any field would be null after a server-side apply.
	// +optional
	UsagesStatus int32 `json:"usagesStatus"`
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// MachineBindingStatus repeats what is known of the machines.
type MachineBindingStatus struct {
	// Conditions are those of machines, by UID.
	// +optional
	Conditions map[string]MachineCondition `json:"usages,omitempty"`
}

// MachineBinding has the machines of one cluster. The operator makes it; its name is machinebind-CLUSTER.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=emb,categories=eggo
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Machines",type=string,JSONPath=`.spec.machines[*].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MachineBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec MachineBindingSpec `json:"spec,omitempty"`
	// +optional
	Status MachineBindingStatus `json:"status,omitempty"`
}

// MachineBindingList is a list of MachineBindings.
// +kubebuilder:object:root=true
type MachineBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MachineBinding `json:"items"`
}
