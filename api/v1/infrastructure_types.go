package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InfrastructureSpec has the bundles of clusters, and what else clusters share.
//
// +kubebuilder:validation:XValidation:rule="has(self.packagePersistentVolumeClaim) || (has(self.bundles) && self.bundles.size() > 0)",message="bundles or packagePersistentVolumeClaim is required"
type InfrastructureSpec struct {
	// PackagePersistentVolumeClaim names the claim with the bundles of install.package-source.srcPackages.
	// +optional
	PackagePersistentVolumeClaim *corev1.ObjectReference `json:"packagePersistentVolumeClaim,omitempty"`
	// InstallConfig are packages, as in deploy.yaml.
	// +optional
	InstallConfig InstallConfig `json:"install,omitzero"`
	// OpenPorts are opened in the firewalls of machines beside those of Kubernetes.
	// +optional
	OpenPorts OpenPortsConfig `json:"open-ports,omitzero"`

	// Bundles are those of one or several versions of Kubernetes, one for each version and architecture. A new one here
	// upgrades no cluster.
	// +optional
	// +listType=map
	// +listMapKey=version
	// +listMapKey=arch
	// +listMapKey=os
	// +kubebuilder:validation:MaxItems=64
	Bundles []BundleSource `json:"bundles,omitempty"`
	// SignersRef names a ConfigMap whose key allowed_signers has the keys that bundles have to be signed with. Without
	// it bundles without a signature are accepted.
	// +optional
	SignersRef *ConfigMapReference `json:"signersRef,omitempty"`
}

// ConfigMapReference names a ConfigMap of the same namespace.
// +structType=atomic
type ConfigMapReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SignersKey is the key of the ConfigMap of InfrastructureSpec.SignersRef.
const SignersKey = "allowed_signers"

// BundleSource is where a bundle is: in a claim, in a registry or behind a URL.
//
// +kubebuilder:validation:XValidation:rule="(has(self.claim) ? 1 : 0) + (has(self.image) ? 1 : 0) + (has(self.url) ? 1 : 0) == 1",message="exactly one of claim, image and url is required"
// +kubebuilder:validation:XValidation:rule="has(self.url) == has(self.sha256)",message="url and sha256 belong together"
type BundleSource struct {
	// Version of Kubernetes that the bundle has: v1.34.2.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`
	Version string `json:"version"`
	// Arch of the machines that the bundle is for.
	// +kubebuilder:validation:Enum=amd64;arm64
	Arch string `json:"arch"`
	// OS tells bundles for several operating systems apart; any word.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=64
	OS string `json:"os"`
	// Claim has the bundle as a file.
	// +optional
	Claim *ClaimFile `json:"claim,omitempty"`
	// Image is an OCI artifact by digest: registry/name@sha256:….
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][-A-Za-z0-9._:/]*@sha256:[0-9a-f]{64}$`
	Image string `json:"image,omitempty"`
	// URL of the bundle, https. It is not redirected to another host.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHost() != ''",message="url must begin with https:// and name a host"
	URL string `json:"url,omitempty"`
	// SHA256 of the file behind URL.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256,omitempty"`
	// PullSecretRef names the Secret for the registry (kubernetes.io/dockerconfigjson) or for URL (basic-auth, or tls
	// with a client certificate).
	// +optional
	PullSecretRef *SecretReference `json:"pullSecretRef,omitempty"`
}

// ClaimFile is a file in a PersistentVolumeClaim of the same namespace.
// +structType=atomic
type ClaimFile struct {
	// Name of the claim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Path of the file in the volume, without a leading / and without parts that begin with a dot.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][-A-Za-z0-9_.+~]*(/[A-Za-z0-9_][-A-Za-z0-9_.+~]*)*$`
	Path string `json:"path"`
}

// InstallConfig are packages by what they are for, as in deploy.yaml.
type InstallConfig struct {
	// +optional
	PackageSrc *PackageSrcConfig `json:"package-source,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	KubernetesMaster []PackageConfig `json:"kubernetes-master,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	KubernetesWorker []PackageConfig `json:"kubernetes-worker,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Network []PackageConfig `json:"network,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ETCD []PackageConfig `json:"etcd,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	LoadBalance []PackageConfig `json:"loadbalance,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Container []PackageConfig `json:"container,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Image []PackageConfig `json:"image,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	DNS []PackageConfig `json:"dns,omitempty"`
	// Addition are packages beside those that a role has.
	// +optional
	Addition AdditionConfig `json:"addition,omitzero"`
}

// PackageSrcConfig is where bundles are in the claim.
type PackageSrcConfig struct {
	// Type is tar.gz.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type,omitempty"`
	// DstPath is the directory on the machines that a bundle is put into.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DstPath string `json:"dstpath,omitempty"`
	// SrcPackages are paths in the volume, by architecture.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	SrcPackages map[string]string `json:"srcPackages,omitempty"`
}

// PackageConfig is something of the bundle that machines get.
type PackageConfig struct {
	// Name is one name, or several with commas.
	// +kubebuilder:validation:MaxLength=4096
	Name string `json:"name"`
	// Type is pkg, repo, binary, file, dir, image, yaml or shell.
	// +kubebuilder:validation:MaxLength=32
	Type string `json:"type"`
	// Dst is the directory on the machines.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Dst string `json:"dst,omitempty"`
	// Schedule is prejoin, postjoin, precleanup or postcleanup.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Schedule string `json:"schedule,omitempty"`
	// TimeOut of a script.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	TimeOut string `json:"timeout,omitempty"`
}

// AdditionConfig are packages by role.
type AdditionConfig struct {
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Master []PackageConfig `json:"master,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Worker []PackageConfig `json:"worker,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ETCD []PackageConfig `json:"etcd,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	LoadBalance []PackageConfig `json:"loadbalance,omitempty"`
}

// OpenPortsConfig are ports by role.
type OpenPortsConfig struct {
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Master []OpenPorts `json:"master,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Worker []OpenPorts `json:"worker,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	ETCD []OpenPorts `json:"etcd,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	LoadBalance []OpenPorts `json:"loadbalance,omitempty"`
}

// OpenPorts is a port to open.
type OpenPorts struct {
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// Protocol is tcp or udp.
	// +kubebuilder:validation:Enum=tcp;udp;TCP;UDP
	Protocol string `json:"protocol"`
}

// InfrastructureStatus lists the bundles that were found.
type InfrastructureStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about; -1 before the first.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are BundlesReady, Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Bundles are those that were read.
	// +optional
	// +listType=atomic
	Bundles []BundleStatus `json:"bundles,omitempty"`
}

// BundleStatus is a bundle that was read.
type BundleStatus struct {
	// Version of Kubernetes that the bundle has.
	Version string `json:"version"`
	// Arch that it is for.
	Arch string `json:"arch"`
	// Digest is sha256: and the checksum of the bundle's checksums, which name all of its files.
	// +optional
	Digest string `json:"digest,omitempty"`
	// SignedBy is the name of the signer; "" if there is none.
	// +optional
	SignedBy string `json:"signedBy,omitempty"`
	// Size in bytes.
	// +optional
	Size int64 `json:"size,omitempty"`
	// OS is that of the spec.
	// +optional
	OS string `json:"os,omitempty"`
	// Source is CLAIM/PATH, the image or the URL of the bundle.
	// +optional
	Source string `json:"source,omitempty"`
}

// Infrastructure has the bundles that clusters are made of.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ei,categories=eggo
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Versions",type=string,JSONPath=`.status.bundles[*].version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Infrastructure struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec InfrastructureSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status InfrastructureStatus `json:"status,omitempty"`
}

// InfrastructureList is a list of Infrastructures.
// +kubebuilder:object:root=true
type InfrastructureList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Infrastructure `json:"items"`
}
