// Package v1 has the objects of Eggo's operator: Machine, MachineBinding, Infrastructure, Cluster and Operation of the
// group eggo.isula.org. Names of kinds and fields are those of the original eggops, whose objects stay valid; fields
// that Eggo added are optional and in camelCase.
//
// What a single object shows is checked by the API server, with the rules in the markers of this package. What needs
// other objects, or the rules of deploy.yaml, is reported in the condition Valid.
//
// +kubebuilder:object:generate=true
// +groupName=eggo.isula.org
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of all kinds.
const Group = "eggo.isula.org"

// GroupVersion returns the group and version of this package.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: "v1"} }

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(),
		&Machine{}, &MachineList{}, &MachineBinding{}, &MachineBindingList{},
		&Infrastructure{}, &InfrastructureList{}, &Cluster{}, &ClusterList{}, &Operation{}, &OperationList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
