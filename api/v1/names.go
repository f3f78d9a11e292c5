package v1

// Annotations that people and the operator set.
const (
	// AnnotationConfirmDeletion allows the deletion of what is protected: its value is the name of the object. On a
	// CustomResourceDefinition it is the name of that definition.
	AnnotationConfirmDeletion = Group + "/confirm-deletion"
	// AnnotationApprove approves a plan of a Cluster: its value is the digest of the plan.
	AnnotationApprove = Group + "/approve"
	// AnnotationRetry has a Cluster that is Stalled tried again each time its value changes.
	AnnotationRetry = Group + "/retry"
	// AnnotationRelease marks a Machine that leaves its cluster first when the cluster gets smaller. If it does not
	// answer, it is replaced by another machine of the pool.
	AnnotationRelease = Group + "/release"
	// AnnotationPasswordOnFirstUse allows, with the value true, that the password of a login of type
	// kubernetes.io/basic-auth is sent to a Machine whose first host key is trusted (TrustOnFirstUse).
	AnnotationPasswordOnFirstUse = Group + "/password-on-first-use"
	// AnnotationTakeOver continues a cluster whose machines have seen a newer run of another copy of its state: its
	// value is the number of that run, as the refusal says it.
	AnnotationTakeOver = Group + "/take-over"
)

// Labels of objects that the operator makes.
const (
	// LabelCluster is the name of the Cluster.
	LabelCluster = Group + "/cluster"
	// LabelOperation is the name of the Operation.
	LabelOperation = Group + "/operation"
)

const (
	// FinalizerCluster is on each Cluster, as in the original eggops.
	FinalizerCluster = "cluster." + Group + "/finalizer"
	// FinalizerState is on each Secret with the state of a cluster.
	FinalizerState = Group + "/state"
	// SecretTypeState is the type of a Secret with the state of a cluster.
	SecretTypeState = Group + "/state"
)

// StatePart is one of the Secrets with the state of a cluster.
type StatePart string

// The parts of the state.
const (
	StatePKI      StatePart = "pki"      // authorities, keys and certificates
	StateConfig   StatePart = "config"   // deploy.yaml
	StateAccess   StatePart = "access"   // admin.conf and known_hosts
	StateProgress StatePart = "progress" // owner, and how far an upgrade or a restore is
)

// StateParts returns all parts of the state.
func StateParts() []StatePart { return []StatePart{StatePKI, StateConfig, StateAccess, StateProgress} }

// StateSecret returns the name of the Secret with a part of the state of a cluster.
func StateSecret(cluster string, part StatePart) string { return cluster + "-state-" + string(part) }

// KubeconfigSecret returns the name of the Secret with the kubeconfig of a cluster, in the key KubeconfigKey.
func KubeconfigSecret(cluster string) string { return cluster + "-kubeconfig" }

// KubeconfigKey is the key of the kubeconfig in its Secret: that of Cluster API.
const KubeconfigKey = "value"

// BindingName returns the name of the MachineBinding of a cluster, as in the original eggops.
func BindingName(cluster string) string { return "machinebind-" + cluster }

// LeaseName returns the name of the Lease that the run of a cluster holds.
func LeaseName(cluster string) string { return cluster }

// InputSecret returns the name of the Secret with what a run reads: its request and the deploy.yaml that is wanted.
func InputSecret(operation string) string { return operation + "-input" }

// LogSecret returns the name of the Secret with the compressed event log of a run.
func LogSecret(operation string) string { return operation + "-log" }

// Keys of an InputSecret.
const (
	InputRequest = "request.json" // as internal/operation/request encodes it
	InputConfig  = "deploy.yaml"  // missing when the run uses the deploy.yaml of the state
)
