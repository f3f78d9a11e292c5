package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verb names the work of an Operation.
// +kubebuilder:validation:Enum=preflight;plan;deploy;join;delete;renew;snapshot;restore;upgrade;upgrade-back;backup;cleanup
type Verb string

// The verbs.
const (
	VerbPreflight   Verb = "preflight"
	VerbPlan        Verb = "plan"
	VerbDeploy      Verb = "deploy"
	VerbJoin        Verb = "join"
	VerbDelete      Verb = "delete"
	VerbRenew       Verb = "renew"
	VerbSnapshot    Verb = "snapshot"
	VerbRestore     Verb = "restore"
	VerbUpgrade     Verb = "upgrade"
	VerbUpgradeBack Verb = "upgrade-back"
	VerbBackup      Verb = "backup"
	VerbCleanup     Verb = "cleanup"
)

// Changes reports whether an Operation of the verb changes machines.
func (v Verb) Changes() bool {
	switch v {
	case VerbPreflight, VerbPlan, VerbSnapshot, VerbBackup:
		return false
	case VerbDeploy, VerbJoin, VerbDelete, VerbRenew, VerbRestore, VerbUpgrade, VerbUpgradeBack, VerbCleanup:
	}
	return true
}

// StopKind defines how a run is stopped.
// +kubebuilder:validation:Enum=Stop;Abort
type StopKind string

// The kinds.
const (
	StopSteps StopKind = "Stop"  // running steps end, and no other begins
	StopAbort StopKind = "Abort" // running steps are broken off
)

// OperationSpec describes a run. Only Stop and Decisions can change.
//
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef && self.verb == oldSelf.verb && has(self.args) == has(oldSelf.args) && (!has(self.args) || self.args == oldSelf.args) && has(self.specDigest) == has(oldSelf.specDigest) && (!has(self.specDigest) || self.specDigest == oldSelf.specDigest) && has(self.fence) == has(oldSelf.fence) && (!has(self.fence) || self.fence == oldSelf.fence)",message="an Operation cannot change: create another one. Only stop and decisions can be set"
// +kubebuilder:validation:XValidation:rule="self.verb != 'restore' || (has(self.args) && has(self.args.snapshot))",message="restore needs args.snapshot"
// +kubebuilder:validation:XValidation:rule="self.verb != 'delete' || (has(self.args) && has(self.args.nodes) && self.args.nodes.size() > 0)",message="delete needs args.nodes"
type OperationSpec struct {
	// ClusterRef is the Cluster that the run is for.
	ClusterRef OperationCluster `json:"clusterRef"`
	// Verb names the work of the run.
	Verb Verb `json:"verb"`
	// Args of the verb.
	// +optional
	Args *OperationArgs `json:"args,omitempty"`
	// SpecDigest is that of everything that the operator made the run of.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	SpecDigest string `json:"specDigest,omitempty"`
	// Fence is the number that the machines must not be ahead of; 0: it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Fence int64 `json:"fence,omitempty"`
	// Stop ends the run early. It can be continued by another one.
	// +optional
	Stop StopKind `json:"stop,omitempty"`
	// Decisions are answers to questions of the run, which are in status.asked.
	// +optional
	// +listType=map
	// +listMapKey=step
	// +kubebuilder:validation:MaxItems=1000
	Decisions []StepDecision `json:"decisions,omitempty"`
}

// OperationCluster names a Cluster of the same namespace.
// +structType=atomic
type OperationCluster struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
}

// OperationArgs are arguments of verbs. Those that a verb does not have are ignored.
type OperationArgs struct {
	// Nodes are names of machines in the cluster. delete: those that leave; cleanup: these alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Nodes []string `json:"nodes,omitempty"`
	// Force continues when pods were not evicted in time, and removes nodes that do not answer.
	// +optional
	Force bool `json:"force,omitempty"`
	// Purge removes data too: images, volumes, logs and snapshots.
	// +optional
	Purge bool `json:"purge,omitempty"`
	// Version to upgrade to.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`
	Version string `json:"version,omitempty"`
	// Snapshot is the name of a file in the claim for snapshots.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][-A-Za-z0-9._]*$`
	Snapshot string `json:"snapshot,omitempty"`
	// TakeOver is the number of the run of another copy of the state that this run continues after; 0: such a run is
	// refused.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TakeOver int64 `json:"takeOver,omitempty"`
}

// StepDecision is the answer to a question of a run.
type StepDecision struct {
	// Step is the ID of the step, as in status.asked.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Step string `json:"step"`
	// +kubebuilder:validation:Enum=retry;skip;abort
	Decision string `json:"decision"`
}

// OperationPhase is how far a run is.
// +kubebuilder:validation:Enum=Pending;Queued;Running;Asking;Succeeded;Failed;Stopped
type OperationPhase string

// The phases.
const (
	PhasePending   OperationPhase = "Pending"   // there is no pod yet
	PhaseQueued    OperationPhase = "Queued"    // others run
	PhaseRunning   OperationPhase = "Running"   //
	PhaseAsking    OperationPhase = "Asking"    // the run waits for a decision
	PhaseSucceeded OperationPhase = "Succeeded" //
	PhaseFailed    OperationPhase = "Failed"    //
	PhaseStopped   OperationPhase = "Stopped"   // ended early; another Operation can continue it
)

// Ended reports whether the run has ended.
func (p OperationPhase) Ended() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseStopped
}

// OperationStatus is how far a run is, and how it ended.
type OperationStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about; -1 before the first.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Phase is how far the run is.
	// +optional
	Phase OperationPhase `json:"phase,omitempty"`
	// Position in the queue of the operator, 1 is next; 0: it does not wait.
	// +optional
	Position int32 `json:"position,omitempty"`
	// Step that runs, or that failed.
	// +optional
	Step string `json:"step,omitempty"`
	// Progress of the phases of the run.
	// +optional
	Progress *OperationProgress `json:"progress,omitempty"`
	// Failure that ended the run.
	// +optional
	Failure *OperationFailure `json:"failure,omitempty"`
	// Asked are steps that wait for a decision, at most 20.
	// +optional
	// +listType=atomic
	Asked []OperationFailure `json:"asked,omitempty"`
	// Changes of a plan, at most 200.
	// +optional
	// +listType=atomic
	Changes []PlannedChange `json:"changes,omitempty"`
	// ChangesTotal is how many changes the plan has.
	// +optional
	ChangesTotal int32 `json:"changesTotal,omitempty"`
	// PlanDigest is that of all changes of the plan.
	// +optional
	PlanDigest string `json:"planDigest,omitempty"`
	// ExitCode of the run, as in docs/exit-codes.md; missing before the end.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// ExitClass is ExitCode in a word: OK, Failed, Usage, Partial, Auth, Preflight, Bundle, Locked, Interrupted.
	// +optional
	ExitClass string `json:"exitClass,omitempty"`
	// RunID of the last attempt.
	// +optional
	RunID string `json:"runID,omitempty"`
	// PodName of the last attempt.
	// +optional
	PodName string `json:"podName,omitempty"`
	// Attempts that were begun.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// StartTime of the first attempt.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// FinishTime of the last attempt.
	// +optional
	FinishTime *metav1.Time `json:"finishTime,omitempty"`
	// LogSecretRef names the Secret with the compressed event log.
	// +optional
	LogSecretRef *SecretReference `json:"logSecretRef,omitempty"`
}

// OperationProgress is how far the phases of a run are.
type OperationProgress struct {
	// Phases in their order.
	// +optional
	// +listType=atomic
	Phases []PhaseProgress `json:"phases,omitempty"`
	// Done and Total are counts of steps.
	Done  int32 `json:"done"`
	Total int32 `json:"total"`
	// NotDone are machines that have steps left, at most 20.
	// +optional
	// +listType=atomic
	NotDone []string `json:"notDone,omitempty"`
	// Failures that the run has seen, at most 5.
	// +optional
	// +listType=atomic
	Failures []OperationFailure `json:"failures,omitempty"`
}

// PhaseProgress is how far a phase of a run is.
type PhaseProgress struct {
	Name   string `json:"name"`
	Done   int32  `json:"done"`
	Total  int32  `json:"total"`
	Failed int32  `json:"failed"`
}

// OperationFailure is a step that failed, or a run that did.
type OperationFailure struct {
	// Step that failed; "" if none did.
	// +optional
	Step string `json:"step,omitempty"`
	// Machine on which it failed.
	// +optional
	Machine string `json:"machine,omitempty"`
	// Code of the fault.
	Code string `json:"code"`
	// Message is the English sentence, at most 1024 characters.
	Message string `json:"message"`
	// Next says how to continue, at most 1024 characters.
	// +optional
	Next string `json:"next,omitempty"`
}

// PlannedChange is a change that a run would make.
type PlannedChange struct {
	// Machine that is changed; "" for the cluster.
	// +optional
	Machine string `json:"machine,omitempty"`
	// Change in words, at most 512 characters.
	Change string `json:"change"`
}

// Operation is one run for a Cluster. The operator makes them; people can.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=eop,categories=eggo
// +kubebuilder:selectablefield:JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Verb",type=string,JSONPath=`.spec.verb`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.step`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Code",type=string,priority=1,JSONPath=`.status.failure.code`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.failure.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name of an Operation must have at most 63 characters: a-z, 0-9 and -"
type Operation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec OperationSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status OperationStatus `json:"status,omitempty"`
}

// OperationList is a list of Operations.
// +kubebuilder:object:root=true
type OperationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Operation `json:"items"`
}
